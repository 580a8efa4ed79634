// SPDX-License-Identifier: MIT
//
// Sparse matrices and tensors of every generation: what is read is what a naive computation finds in them, and what
// breaks a rule of SPEC.md §5.2, §5.3 or §8.3 is refused. H1 to H12 are the rows of the threat model.
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using support::bytes;
using support::opening;
using support::part;
using support::refusal;
using support::sample;
using support::temp_dir;
using ztensor::bfloat16;
using ztensor::coo_view;
using ztensor::csr_view;
using ztensor::errc;
using ztensor::error;
using ztensor::format_version;
using ztensor::generation;
using ztensor::object_view;
using ztensor::reader;
using ztensor::result;
using ztensor::shape;
using ztensor::store;
using ztensor::write_options;
using ztensor::writer;
namespace cbor = support::cbor;

using integers = std::vector<std::uint64_t>;

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t two_to_31 = std::uint64_t{1} << 31;

bool host_is_little_endian() {
    const std::uint16_t one = 1;
    unsigned char first = 0;
    std::memcpy(&first, &one, 1);
    return first == 1;
}

// -- elements

/// Of each element type: one that stands for a small number, and the number that an element stands for.
template <class T>
struct element {
    using number = double;
    static T of(int value) { return static_cast<T>(value); }
    static number value_of(T stored) { return static_cast<double>(stored); }
};
template <>
struct element<bfloat16> {
    using number = double;
    static bfloat16 of(int value) { return bfloat16(static_cast<float>(value)); }
    static number value_of(bfloat16 stored) { return static_cast<double>(static_cast<float>(stored)); }
};
template <class Float>
struct element<std::complex<Float>> {
    using number = std::complex<double>;
    static std::complex<Float> of(int value) { return {static_cast<Float>(value), static_cast<Float>(-2 * value)}; }
    static number value_of(std::complex<Float> stored) { return number(stored); }
};
template <class T>
using number_of = typename element<T>::number;

/// Elements as a file holds them.
template <class T>
bytes little_endian(const std::vector<T>& values) {
    constexpr std::size_t width = ztensor::width_bytes(ztensor::element_traits<T>::storage);
    bytes out(values.size() * sizeof(T), '\0');
    if (!values.empty()) {
        std::memcpy(&out[0], values.data(), out.size());
    }
    for (std::size_t at = 0; at < out.size() && !host_is_little_endian(); at += width) {
        std::reverse(out.begin() + static_cast<std::ptrdiff_t>(at), out.begin() + static_cast<std::ptrdiff_t>(at + width));
    }
    return out;
}

template <class T>
bytes little_endian(ztensor::span<const T> values) {
    return little_endian(std::vector<T>(values.begin(), values.end()));
}

bytes as_string(ztensor::bytes_view content) {
    bytes out;
    for (const std::byte byte : content) {
        out += static_cast<char>(byte);
    }
    return out;
}

template <class T, class U>
std::vector<T> as(const U& values) {
    std::vector<T> out;
    for (const auto& value : values) {
        out.push_back(static_cast<T>(value));
    }
    return out;
}

template <class T>
std::vector<number_of<T>> numbers(const std::vector<T>& elements) {
    std::vector<number_of<T>> out;
    for (const T& each : elements) {
        out.push_back(element<T>::value_of(each));
    }
    return out;
}

// -- what is written, and what it amounts to

using random_source = std::mt19937_64;

std::uint64_t below(random_source& random, std::uint64_t limit) { return random() % limit; }

template <class T>
T random_element(random_source& random) {
    const int magnitude = 1 + static_cast<int>(below(random, 5));
    return element<T>::of(!std::is_unsigned_v<T> && below(random, 3) == 0 ? -magnitude : magnitude);
}

std::uint64_t product(const integers& dimensions) {
    return std::accumulate(dimensions.begin(), dimensions.end(), std::uint64_t{1}, std::multiplies<>());
}

shape shape_of(const integers& dimensions) { return shape(ztensor::span<const std::uint64_t>(dimensions)); }

template <class T>
struct matrix {
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    std::vector<T> values;
    integers indices;
    integers indptr = {0};

    [[nodiscard]] shape dimensions() const { return {rows, columns}; }

    [[nodiscard]] std::vector<number_of<T>> dense() const {
        std::vector<number_of<T>> out(static_cast<std::size_t>(rows * columns));
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::uint64_t at = indptr[row]; at < indptr[row + 1]; ++at) {
                const auto entry = static_cast<std::size_t>(at);
                out[static_cast<std::size_t>(row * columns + indices[entry])] += element<T>::value_of(values[entry]);
            }
        }
        return out;
    }

    [[nodiscard]] bool is_sorted() const {
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::uint64_t at = indptr[row] + 1; at < indptr[row + 1]; ++at) {
                if (indices[static_cast<std::size_t>(at - 1)] >= indices[static_cast<std::size_t>(at)]) {
                    return false;
                }
            }
        }
        return true;
    }

    /// Rows [first, last) as a matrix of their own.
    [[nodiscard]] matrix part(std::size_t first, std::size_t last) const {
        matrix out;
        out.rows = last - first;
        out.columns = columns;
        for (std::size_t row = first; row < last; ++row) {
            for (auto entry = static_cast<std::size_t>(indptr[row]); entry < indptr[row + 1]; ++entry) {
                out.values.push_back(values[entry]);
                out.indices.push_back(indices[entry]);
            }
            out.indptr.push_back(out.values.size());
        }
        return out;
    }
};

/// Some rows are empty, columns stand in any order and more than once.
template <class T>
matrix<T> random_matrix(random_source& random, std::uint64_t rows, std::uint64_t columns) {
    matrix<T> out;
    out.rows = rows;
    out.columns = columns;
    for (std::uint64_t row = 0; row < rows; ++row) {
        const std::uint64_t count = columns == 0 || below(random, 3) == 0 ? 0 : below(random, 7);
        for (std::uint64_t i = 0; i < count; ++i) {
            out.values.push_back(random_element<T>(random));
            out.indices.push_back(below(random, columns));
        }
        out.indptr.push_back(out.values.size());
    }
    return out;
}

template <class T>
struct tensor {
    integers dimensions;
    std::vector<T> values;
    integers coords; ///< all of dimension 0, then of dimension 1, …

    [[nodiscard]] std::uint64_t coordinate(std::size_t axis, std::size_t entry) const {
        return coords[axis * values.size() + entry];
    }

    [[nodiscard]] std::size_t position(std::size_t entry) const {
        std::uint64_t stride = 1;
        std::uint64_t sum = 0;
        for (std::size_t axis = dimensions.size(); axis-- > 0; stride *= dimensions[axis]) {
            sum += stride * coordinate(axis, entry);
        }
        return static_cast<std::size_t>(sum);
    }

    [[nodiscard]] std::vector<number_of<T>> dense() const {
        std::vector<number_of<T>> out(static_cast<std::size_t>(product(dimensions)));
        for (std::size_t entry = 0; entry < values.size(); ++entry) {
            out[position(entry)] += element<T>::value_of(values[entry]);
        }
        return out;
    }

    /// Of rank 2: the entries row after row, those of one row in the order that they have here.
    [[nodiscard]] matrix<T> by_rows() const {
        matrix<T> out;
        out.rows = dimensions[0];
        out.columns = dimensions[1];
        for (std::uint64_t row = 0; row < out.rows; ++row) {
            for (std::size_t entry = 0; entry < values.size(); ++entry) {
                if (coordinate(0, entry) == row) {
                    out.values.push_back(values[entry]);
                    out.indices.push_back(coordinate(1, entry));
                }
            }
            out.indptr.push_back(out.values.size());
        }
        return out;
    }
};

template <class T>
tensor<T> random_tensor(random_source& random, const integers& dimensions) {
    tensor<T> out;
    out.dimensions = dimensions;
    const std::uint64_t entries = product(dimensions) == 0 ? 0 : below(random, 20);
    for (std::uint64_t entry = 0; entry < entries; ++entry) {
        out.values.push_back(random_element<T>(random));
    }
    for (const std::uint64_t dimension : dimensions) {
        for (std::uint64_t entry = 0; entry < entries; ++entry) {
            out.coords.push_back(below(random, dimension));
        }
    }
    return out;
}

// -- comparing

template <class T, class Index>
void check_csr_values(const csr_view<T, Index>& view, const matrix<T>& expected) {
    CHECK(view.shape() == expected.dimensions());
    CHECK(view.rows() == expected.rows);
    CHECK(view.columns() == expected.columns);
    CHECK(view.entry_count() == expected.values.size());
    CHECK(as<std::uint64_t>(view.indptr()) == expected.indptr);
    CHECK(as<std::uint64_t>(view.indices()) == expected.indices);
    CHECK(little_endian(view.values()) == little_endian(expected.values));
}

/// Everything that a view tells, whatever it was made from.
template <class T, class Index>
void check_csr(const csr_view<T, Index>& view, const matrix<T>& expected) {
    check_csr_values(view, expected);
    CHECK(view.is_sorted() == expected.is_sorted());
    std::size_t entry = 0;
    for (std::uint64_t row = 0; row < expected.rows; ++row) {
        const auto of_row = view.row(row);
        const matrix<T> alone = expected.part(static_cast<std::size_t>(row), static_cast<std::size_t>(row) + 1);
        CHECK(as<std::uint64_t>(of_row.columns) == alone.indices);
        CHECK(little_endian(of_row.values) == little_endian(alone.values));
    }
    view.for_each([&](const ztensor::csr_entry<T>& each) {
        REQUIRE(entry < expected.values.size());
        CHECK(expected.indptr[static_cast<std::size_t>(each.row)] <= entry);
        CHECK(expected.indptr[static_cast<std::size_t>(each.row) + 1] > entry);
        CHECK(each.column == expected.indices[entry]);
        CHECK(element<T>::value_of(each.value) == element<T>::value_of(expected.values[entry]));
        ++entry;
    });
    CHECK(entry == expected.values.size());
    CHECK(numbers(view.to_dense().value()) == expected.dense());
}

template <class T, class Index>
void check_coo(const coo_view<T, Index>& view, const tensor<T>& expected) {
    CHECK(view.shape() == shape_of(expected.dimensions));
    CHECK(view.entry_count() == expected.values.size());
    CHECK(as<std::uint64_t>(view.coords()) == expected.coords);
    CHECK(little_endian(view.values()) == little_endian(expected.values));
    for (std::size_t axis = 0; axis < expected.dimensions.size(); ++axis) {
        for (std::size_t entry = 0; entry < expected.values.size(); ++entry) {
            CHECK(static_cast<std::uint64_t>(view.coords(axis)[entry]) == expected.coordinate(axis, entry));
        }
    }
    std::size_t seen = 0;
    view.for_each([&](std::size_t entry, const T& value) {
        CHECK(entry == seen);
        CHECK(view.position(entry) == expected.position(entry));
        CHECK(element<T>::value_of(value) == element<T>::value_of(expected.values[entry]));
        ++seen;
    });
    CHECK(seen == expected.values.size());
    CHECK(numbers(view.to_dense().value()) == expected.dense());
    if (expected.dimensions.size() == 2) {
        check_csr(view.to_csr().value(), expected.by_rows());
    } else {
        CHECK(refusal(view.to_csr()) == errc::sparse_shape);
    }
}

/// From one view to the other and back.
template <class T>
void check_conversions(const csr_view<T>& view, const matrix<T>& expected) {
    const coo_view<T> coo = view.to_coo().value();
    tensor<T> same;
    same.dimensions = {expected.rows, expected.columns};
    same.values = expected.values;
    for (std::size_t row = 0; row < expected.rows; ++row) {
        same.coords.insert(same.coords.end(), static_cast<std::size_t>(expected.indptr[row + 1] - expected.indptr[row]), row);
    }
    same.coords.insert(same.coords.end(), expected.indices.begin(), expected.indices.end());
    check_coo(coo, same);
    check_csr(coo.to_csr().value(), expected);
}

template <class T>
void check_rows_of(const object_view& object, const matrix<T>& expected) {
    const auto rows = static_cast<std::size_t>(expected.rows);
    for (std::size_t first = 0; first <= rows; first += 1 + rows / 5) {
        for (std::size_t last = first; last <= expected.rows; ++last) {
            CAPTURE(first, last);
            check_csr_values(csr_view<T>::from_rows(object, first, last).value(), expected.part(first, last));
            check_csr_values(csr_view<T, std::int16_t>::from_rows(object, first, last).value(), expected.part(first, last));
        }
    }
    CHECK(refusal(csr_view<T>::from_rows(object, 0, expected.rows + 1)) == errc::out_of_bounds);
    CHECK(refusal(csr_view<T>::from_rows(object, expected.rows + 1, expected.rows + 1)) == errc::out_of_bounds);
    CHECK(refusal(csr_view<T>::from_rows(object, 1, 0)) == errc::out_of_bounds);
}

template <class T>
void check_csr_object(const object_view& object, const matrix<T>& expected, bool is_in_place) {
    const csr_view<T> view = csr_view<T>::from(object).value();
    check_csr(view, expected);
    check_conversions(view, expected);
    CHECK(view.is_borrowed() == (is_in_place && host_is_little_endian()));
    check_csr(csr_view<T, std::int32_t>::from(object).value(), expected);
    check_csr_values(csr_view<T, std::uint8_t>::from(object).value(), expected);
    const auto raw = csr_view<std::byte>::from(object).value();
    CHECK(as<std::uint64_t>(raw.indices()) == expected.indices);
    CHECK(as_string(raw.values()) == little_endian(expected.values));
    check_rows_of(object, expected);
}

template <class T>
void check_coo_object(const object_view& object, const tensor<T>& expected, bool is_in_place) {
    const coo_view<T> view = coo_view<T>::from(object).value();
    check_coo(view, expected);
    CHECK(view.is_borrowed() == (is_in_place && host_is_little_endian()));
    check_coo(coo_view<T, std::int64_t>::from(object).value(), expected);
    check_coo(coo_view<T, std::uint8_t>::from(object).value(), expected);
    const auto raw = coo_view<std::byte>::from(object).value();
    CHECK(as<std::uint64_t>(raw.coords()) == expected.coords);
    CHECK(as_string(raw.values()) == little_endian(expected.values));
}

// -- files from the writer

bytes finished(writer& to) {
    to.finish().value();
    return as_string(to.take_bytes());
}

bytes copied(const bytes& file, format_version version) {
    writer to = writer::to_memory(write_options().version(version)).value();
    ztensor::copy(reader::from_bytes(support::to_vector(file)).value(), to).value();
    return finished(to);
}

store stored(bool is_zstd) { return is_zstd ? store().zstd() : store(); }

template <class T, class Index>
bytes written(const matrix<T>& from, format_version version, const store& how) {
    writer to = writer::to_memory(write_options().version(version)).value();
    to.add("before", {3}, std::vector<std::uint8_t>{1, 2, 3}).value();
    to.add_csr("m", from.dimensions(), from.values, as<Index>(from.indices), as<Index>(from.indptr), how).value();
    return finished(to);
}

template <class T, class Index>
bytes written(const tensor<T>& from, format_version version, const store& how) {
    writer to = writer::to_memory(write_options().version(version)).value();
    to.add("before", {3}, std::vector<std::uint8_t>{1, 2, 3}).value();
    to.add_coo("m", shape_of(from.dimensions), from.values, as<Index>(from.coords), how).value();
    return finished(to);
}

/// 0.1 has no logical types.
template <class T>
constexpr bool is_in_0_1 = ztensor::element_traits<T>::type.empty();

const std::pair<std::uint64_t, std::uint64_t> matrix_sizes[] = {{0, 0}, {0, 5}, {5, 0}, {1, 1}, {1, 9},
                                                                {9, 1}, {7, 3}, {4, 11}, {16, 16}};
const integers tensor_sizes[] = {{1}, {9}, {0}, {3, 4}, {5, 0}, {16, 16}, {2, 3, 4}, {4, 1, 3, 2}, {1, 0, 2, 2}};

} // namespace

TEMPLATE_TEST_CASE("a matrix by rows is read as it was written, in every version and by every path", "", std::uint8_t,
                   std::int16_t, float, double, bfloat16, std::complex<float>) {
    random_source random(1);
    const temp_dir directory;
    for (const auto& [rows, columns] : matrix_sizes) {
        const auto expected = random_matrix<TestType>(random, rows, columns);
        for (const bool is_zstd : {false, true}) {
            const bytes in_1_1 = written<TestType, std::uint64_t>(expected, format_version::v1_1, stored(is_zstd));
            std::vector<bytes> files = {
                written<TestType, std::uint64_t>(expected, format_version::v1_2, stored(is_zstd)), in_1_1};
            if (is_in_0_1<TestType>) {
                files.push_back(written<TestType, std::uint64_t>(expected, format_version::v0_1, stored(is_zstd)));
                CHECK((is_zstd || files.back() == copied(in_1_1, format_version::v0_1)));
                files.push_back(copied(in_1_1, format_version::v0_1));
            }
            for (const bytes& file : files) {
                for (const opening& opened : open_every_way(file, directory)) {
                    CAPTURE(rows, columns, is_zstd, opened.way);
                    const reader& from = opened.file.value();
                    CAPTURE(name(from.generation()));
                    check_csr_object(from.find("m").value(), expected, from.is_mapped() && !is_zstd);
                    const auto narrower = csr_view<TestType, std::int32_t>::from(from.find("m").value()).value();
                    CHECK_FALSE(narrower.is_borrowed());
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("a tensor by coordinates is read as it was written, in every version and by every path", "",
                   std::uint8_t, std::int64_t, float, bfloat16, std::complex<double>) {
    random_source random(2);
    const temp_dir directory;
    for (const integers& dimensions : tensor_sizes) {
        const auto expected = random_tensor<TestType>(random, dimensions);
        for (const bool is_zstd : {false, true}) {
            const bytes in_1_1 = written<TestType, std::uint64_t>(expected, format_version::v1_1, stored(is_zstd));
            std::vector<bytes> files = {
                written<TestType, std::uint64_t>(expected, format_version::v1_2, stored(is_zstd)), in_1_1};
            if (is_in_0_1<TestType>) {
                files.push_back(written<TestType, std::uint64_t>(expected, format_version::v0_1, stored(is_zstd)));
                CHECK((is_zstd || files.back() == copied(in_1_1, format_version::v0_1)));
                files.push_back(copied(in_1_1, format_version::v0_1));
            }
            for (const bytes& file : files) {
                for (const opening& opened : open_every_way(file, directory)) {
                    CAPTURE(dimensions, is_zstd, opened.way);
                    const reader& from = opened.file.value();
                    CAPTURE(name(from.generation()));
                    const bool is_in_parts = from.generation() != generation::v0_1;
                    check_coo_object(from.find("m").value(), expected, from.is_mapped() && !is_zstd && is_in_parts);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("indices of 1.1 may be of any integer type and are read as any other", "", std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t) {
    random_source random(3);
    const auto of_matrix = random_matrix<float>(random, 12, 17);
    const auto of_tensor = random_tensor<float>(random, {4, 1, 5});
    const temp_dir directory;
    for (const bool is_zstd : {false, true}) {
        const bytes csr_file = written<float, TestType>(of_matrix, format_version::v1_1, stored(is_zstd));
        for (const opening& opened : open_every_way(csr_file, directory)) {
            CAPTURE(is_zstd, opened.way);
            const reader& from = opened.file.value();
            const object_view object = from.find("m").value();
            check_csr_object(object, of_matrix, false);
            const auto own = csr_view<float, TestType>::from(object).value();
            check_csr(own, of_matrix);
            // A type of one byte needs no order; the values need the host's.
            CHECK(own.is_borrowed() == (from.is_mapped() && !is_zstd && host_is_little_endian()));
        }
        const bytes coo_file = written<float, TestType>(of_tensor, format_version::v1_1, stored(is_zstd));
        for (const opening& opened : open_every_way(coo_file, directory)) {
            CAPTURE(is_zstd, opened.way);
            check_coo_object(opened.file.value().find("m").value(), of_tensor, false);
            check_coo(coo_view<float, TestType>::from(opened.file->find("m").value()).value(), of_tensor);
        }
    }
}

TEST_CASE("indices and row pointers of 1.1 may be of different types") {
    sample file(generation::v1_1);
    file.blobs({little_endian<std::uint16_t>({2, 0}), little_endian<std::int64_t>({0, 1, 2}), little_endian<float>({5, 7})})
        .parts("sparse_csr", {2, 3}, {{"indices", "u16", 64, 4}, {"indptr", "i64", 128, 24}, {"values", "f32", 192, 8}});
    const reader from = reader::from_bytes(support::to_vector(file.file())).value();
    CHECK(csr_view<float, std::uint32_t>::from(*from.find("w")).value().to_dense().value() ==
          std::vector<float>{0, 0, 5, 7, 0, 0});
}

TEST_CASE("values at one place are summed, and a value alone keeps its sign of zero") {
    const std::vector<float> values = {1, 2, -0.0F, 4};
    const integers indices = {1, 1, 0, 1};
    const integers indptr = {0, 4};
    const std::vector<float> dense = csr_view<float>::from_parts({1, 3}, values, indices, indptr).value().to_dense().value();
    CHECK(dense == std::vector<float>{0, 7, 0});
    CHECK(std::signbit(dense[0]));
    CHECK_FALSE(std::signbit(dense[2]));
}

// -- only what is asked for

namespace {

/// Content that is never mapped, with a list of what was read.
class counting_source final : public ztensor::byte_source {
public:
    explicit counting_source(bytes content) : content_(std::move(content)) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    [[nodiscard]] result<void> read_at(std::uint64_t offset, ztensor::span<std::byte> destination) const override {
        reads.emplace_back(offset, destination.size());
        for (std::size_t i = 0; i < destination.size(); ++i) {
            destination[i] = static_cast<std::byte>(content_.at(static_cast<std::size_t>(offset) + i));
        }
        return {};
    }

    mutable std::vector<std::pair<std::uint64_t, std::uint64_t>> reads; ///< offset and size, those of nothing too

private:
    bytes content_;
};

/// Elements [first, last) of a component, `width` bytes each, as a range of the file.
std::pair<std::uint64_t, std::uint64_t> range_of(const object_view& object, std::string_view role, std::uint64_t width,
                                                 std::uint64_t first, std::uint64_t last) {
    return {object.component(role).value().offset() + first * width, (last - first) * width};
}

template <class Index>
void check_what_rows_read(format_version version) {
    random_source random(4);
    const auto expected = random_matrix<double>(random, 20, 9);
    const auto source = std::make_shared<counting_source>(written<double, Index>(expected, version, store()));
    const reader from = reader::from_source(source).value();
    const object_view object = from.find("m").value();
    for (const auto& [first, last] : {std::pair(10, 13), std::pair(0, 1), std::pair(19, 20), std::pair(0, 20)}) {
        CAPTURE(first, last);
        const auto begin = static_cast<std::size_t>(first);
        const auto end = static_cast<std::size_t>(last);
        source->reads.clear();
        check_csr_values(csr_view<double, Index>::from_rows(object, begin, end).value(), expected.part(begin, end));
        auto reads = source->reads;
        reads.erase(std::remove_if(reads.begin(), reads.end(), [](const auto& each) { return each.second == 0; }), reads.end());
        std::sort(reads.begin(), reads.end());
        std::vector<std::pair<std::uint64_t, std::uint64_t>> needed = {
            range_of(object, "indptr", sizeof(Index), begin, end + 1),
            range_of(object, "indices", sizeof(Index), expected.indptr[begin], expected.indptr[end]),
            range_of(object, "values", sizeof(double), expected.indptr[begin], expected.indptr[end])};
        needed.erase(std::remove_if(needed.begin(), needed.end(), [](const auto& each) { return each.second == 0; }), needed.end());
        std::sort(needed.begin(), needed.end());
        CHECK(reads == needed);
    }
}

} // namespace

TEST_CASE("rows of raw components are read without a byte of any other row") {
    check_what_rows_read<std::uint64_t>(format_version::v1_2);
    check_what_rows_read<std::int32_t>(format_version::v1_1);
    check_what_rows_read<std::uint8_t>(format_version::v1_1);
}

TEST_CASE("opening a sparse object reads none of its data") {
    random_source random(5);
    const auto source = std::make_shared<counting_source>(
        written<float, std::uint64_t>(random_matrix<float>(random, 30, 30), format_version::v1_2, store()));
    const reader from = reader::from_source(source).value();
    const std::uint64_t end_of_blobs = from.file_bytes() - 16 - from.manifest_bytes();
    for (const auto& [offset, size] : source->reads) {
        CHECK((offset + size <= 64 || offset + 64 >= end_of_blobs));
    }
}

TEST_CASE("rows are cut out of parts that are stored each in its own way") {
    random_source random(6);
    const auto expected = random_matrix<float>(random, 6, 5);
    const std::string roles[] = {"values", "indices", "indptr"};
    for (const format_version version : {format_version::v1_1, format_version::v1_2}) {
        for (unsigned zstd_roles = 0; zstd_roles < 8; ++zstd_roles) {
            ztensor::object_draft draft(ztensor::format::sparse_csr, expected.dimensions());
            draft.component("values", expected.values, stored((zstd_roles & 1) != 0));
            draft.component("indices", expected.indices, stored((zstd_roles & 2) != 0));
            draft.component("indptr", expected.indptr, stored((zstd_roles & 4) != 0));
            writer to = writer::to_memory(write_options().version(version)).value();
            to.add_object("m", draft).value();
            const reader from = reader::from_bytes(to.finish().has_value() ? to.take_bytes() : std::vector<std::byte>()).value();
            CAPTURE(name(from.generation()), zstd_roles);
            check_csr_object(from.find("m").value(), expected, zstd_roles == 0);
        }
    }
}

// -- sizes

TEST_CASE("H9: a matrix too large to be written out is refused before any memory is taken") {
    const integers none;
    const std::vector<float> no_floats;
    const std::vector<std::uint8_t> no_bytes;
    CHECK(refusal(coo_view<float>::from_parts({two_to_31, two_to_31}, no_floats, none).value().to_dense()) == errc::limit_exceeded);
    CHECK(refusal(coo_view<std::uint8_t>::from_parts({two_to_31, two_to_31}, no_bytes, none).value().to_dense()) == errc::limit_exceeded);
    CHECK(refusal(coo_view<float>::from_parts({largest}, no_floats, none).value().to_dense(largest)) == errc::limit_exceeded);
    CHECK(refusal(coo_view<std::uint8_t>::from_parts({largest}, no_bytes, none).value().to_dense(largest)) == errc::limit_exceeded); // no address space has so much
    CHECK(refusal(coo_view<std::uint8_t>::from_parts({(std::uint64_t{1} << 35) + 1}, no_bytes, none).value().to_dense()) == errc::limit_exceeded);
    const integers two_zeros = {0, 0};
    CHECK(refusal(csr_view<float>::from_parts({1, two_to_31 * two_to_31}, no_floats, none, two_zeros).value().to_dense()) == errc::limit_exceeded);

    const auto small = coo_view<float>::from_parts({4, 4}, no_floats, none).value();
    CHECK(small.to_dense(64).value() == std::vector<float>(16));
    CHECK(refusal(small.to_dense(63)) == errc::limit_exceeded);
    CHECK(coo_view<float>::from_parts({two_to_31, 0}, no_floats, none).value().to_dense(0).value().empty());
}

TEST_CASE("H9: row pointers too many for memory are refused before any are made") {
    const integers none;
    const std::vector<float> no_floats;
    CHECK(refusal(coo_view<float>::from_parts({two_to_31 * two_to_31, 1}, no_floats, none).value().to_csr()) == errc::limit_exceeded);
    CHECK(refusal(coo_view<float>::from_parts({largest, 1}, no_floats, none).value().to_csr(largest)) == errc::limit_exceeded);
    const auto small = coo_view<float>::from_parts({4, 4}, no_floats, none).value();
    CHECK(small.to_csr(40).value().indptr().size() == 5);
    CHECK(refusal(small.to_csr(39)) == errc::limit_exceeded);
}

TEST_CASE("H9: a file of a huge sparse object without entries opens and can be looked at") {
    const temp_dir directory;
    writer to = writer::to_memory().value();
    to.add_coo("m", {two_to_31, two_to_31}, std::vector<double>(), integers()).value();
    for (const opening& opened : open_every_way(finished(to), directory)) {
        const auto view = coo_view<double>::from(opened.file.value().find("m").value()).value();
        CHECK(view.entry_count() == 0);
        CHECK(refusal(view.to_dense()) == errc::limit_exceeded);
        CHECK(refusal(view.to_csr(two_to_31)) == errc::limit_exceeded); // they take 16 GiB
    }
}

// -- what is refused

namespace {

/// A sparse matrix, perhaps a broken one, and how a file holds it.
struct csr_content {
    integers dimensions = {2, 3};
    integers indptr = {0, 1, 2};
    integers indices = {0, 2};
    std::vector<float> values = {5, 7};
};

struct coo_content {
    integers dimensions = {2, 3};
    integers coords = {0, 1, 0, 2};
    std::vector<float> values = {5, 7};
};

enum class layout { parts, one_blob, one_blob_as_specified, inline_arrays };

struct holding {
    const char* what;
    generation from;
    layout how;
    bool is_zstd;

    /// Whether sizes can be known when the file is opened.
    [[nodiscard]] bool states_sizes() const { return !is_zstd || from == generation::v1_2; }
};

const holding holdings[] = {
    {"1.0", generation::v1_0, layout::parts, false},
    {"1.0, zstd", generation::v1_0, layout::parts, true},
    {"1.1", generation::v1_1, layout::parts, false},
    {"1.1, zstd", generation::v1_1, layout::parts, true},
    {"1.2", generation::v1_2, layout::parts, false},
    {"1.2, zstd", generation::v1_2, layout::parts, true},
    {"0.1", generation::v0_1, layout::one_blob, false},
    {"0.1, zstd", generation::v0_1, layout::one_blob, true},
    {"0.1 as specified", generation::v0_1, layout::one_blob_as_specified, false},
    {"0.1 as specified, zstd", generation::v0_1, layout::one_blob_as_specified, true},
    {"0.1 with arrays", generation::v0_1, layout::inline_arrays, false},
    {"0.1 with arrays, zstd", generation::v0_1, layout::inline_arrays, true},
};

bytes frame_of(const bytes& content) { return support::zstd::frame(support::zstd::raw_block(content)); }

struct blob_part {
    std::string role;
    std::string dtype;
    bytes content;
};

bytes file_of_parts(const holding& how, std::string_view format, const integers& dimensions, const std::vector<blob_part>& parts) {
    sample file(how.from);
    std::vector<bytes> blobs;
    std::vector<part> described;
    std::uint64_t offset = 64;
    for (const blob_part& each : parts) {
        blobs.push_back(how.is_zstd ? frame_of(each.content) : each.content);
        part one{each.role, each.dtype, offset, blobs.back().size()};
        if (how.is_zstd) {
            one.more.set("encoding", cbor::text("zstd"));
            if (how.from == generation::v1_2) {
                one.more.set("uncompressed_length", cbor::number(each.content.size()));
            }
        }
        described.push_back(one);
        offset += (blobs.back().size() + 63) / 64 * 64;
    }
    return file.blobs(blobs).parts(format, dimensions, described).file();
}

bytes file_of_blob(const holding& how, const char* word, const integers& dimensions, const bytes& content,
                   const std::vector<std::pair<std::string, integers>>& arrays) {
    sample file(generation::v0_1);
    file.shape(dimensions).blob(content);
    if (how.is_zstd) {
        file.zstd_blob(frame_of(content), 0);
    }
    if (how.how == layout::one_blob) {
        return file.object("layout", cbor::text("sparse" + bytes(word))).file();
    }
    file.object("layout", cbor::text("sparse")).object("sparse_format", cbor::text(word));
    for (const auto& [key, values] : arrays) {
        file.object(key, cbor::numbers(values));
    }
    return file.file();
}

bytes file_of(const holding& how, const csr_content& content) {
    const bytes indptr = little_endian(content.indptr);
    const bytes indices = little_endian(content.indices);
    const bytes values = little_endian(content.values);
    switch (how.how) {
    case layout::parts:
        return file_of_parts(how, "sparse_csr", content.dimensions,
                             {{"indices", "u64", indices}, {"indptr", "u64", indptr}, {"values", "f32", values}});
    case layout::inline_arrays:
        return file_of_blob(how, "csr", content.dimensions, values, {{"indptr", content.indptr}, {"indices", content.indices}});
    default:
        return file_of_blob(how, "csr", content.dimensions, indptr + indices + values, {});
    }
}

bytes file_of(const holding& how, const coo_content& content) {
    const bytes values = little_endian(content.values);
    if (how.how == layout::parts) {
        return file_of_parts(how, "sparse_coo", content.dimensions,
                             {{"coords", "u64", little_endian(content.coords)}, {"values", "f32", values}});
    }
    if (how.how == layout::inline_arrays) {
        return file_of_blob(how, "coo", content.dimensions, values, {{"coords", content.coords}});
    }
    bytes entries;
    for (std::size_t entry = 0; entry < content.values.size(); ++entry) {
        for (std::size_t axis = 0; axis < content.dimensions.size(); ++axis) {
            entries += support::little_endian(content.coords.at(axis * content.values.size() + entry), 8);
        }
        entries += little_endian(std::vector<float>{content.values[entry]});
    }
    return file_of_blob(how, "coo", content.dimensions, entries, {});
}

/// What came of opening a file and using the sparse object in it.
struct outcome {
    bool opened = false;
    std::optional<errc> refusal;
    std::string object;

    friend bool operator==(const outcome& a, const outcome& b) { return a.opened == b.opened && a.refusal == b.refusal; }
};

std::ostream& operator<<(std::ostream& out, const outcome& from) {
    out << (from.opened ? "opened, " : "not opened, ");
    return from.refusal ? out << *from.refusal : out << "used";
}

using use = std::function<result<void>(const object_view&)>;

template <class T>
result<void> outcome_of(const result<T>& done) {
    return done ? result<void>() : result<void>(done.error());
}

template <class T, class Index = std::uint64_t>
use csr_of() {
    return [](const object_view& object) { return outcome_of(csr_view<T, Index>::from(object)); };
}
template <class T, class Index = std::uint64_t>
use coo_of() {
    return [](const object_view& object) { return outcome_of(coo_view<T, Index>::from(object)); };
}
template <class Index = std::uint64_t>
use rows_of(std::uint64_t first, std::uint64_t last) {
    return [=](const object_view& object) { return outcome_of(csr_view<float, Index>::from_rows(object, first, last)); };
}

outcome use_file(const result<reader>& file, const use& call) {
    if (!file) {
        return {false, file.error().code(), file.error().object()};
    }
    const result<void> done = call(*file->begin());
    return done ? outcome{true, {}, "w"} : outcome{true, done.error().code(), done.error().object()};
}

void check_outcome(const bytes& file, const use& call, const outcome& expected, const temp_dir& directory) {
    for (const opening& opened : open_every_way(file, directory)) {
        CAPTURE(opened.way);
        const outcome found = use_file(opened.file, call);
        CHECK(found == expected);
        CHECK(found.object == "w");
    }
}

/// A change of what is right, and what must come of it.
template <class Content>
struct broken {
    std::string rule;
    std::function<void(Content&)> change;
    std::optional<errc> refusal;
};

/// Faults in the numbers, which only reading them shows.
template <class Content>
void check_numbers(const std::vector<broken<Content>>& rows, const std::vector<use>& uses) {
    const temp_dir directory;
    for (const broken<Content>& each : rows) {
        Content content;
        each.change(content);
        for (const holding& how : holdings) {
            CAPTURE(each.rule, how.what);
            const bytes file = file_of(how, content);
            for (std::size_t i = 0; i < uses.size(); ++i) {
                CAPTURE(i);
                check_outcome(file, uses[i], {true, each.refusal, {}}, directory);
            }
        }
    }
}

/// Row pointers that end elsewhere than the values do say so; in one blob, too, where the size gives the number of
/// values.
const std::vector<broken<csr_content>> wrong_ends = {
    {"H4: pointers that end before the last value", [](csr_content& m) { m.indptr = {0, 1, 1}; }, errc::sparse_indptr},
    {"H4: pointers that end behind the last value", [](csr_content& m) { m.indptr = {0, 1, 3}; }, errc::sparse_indptr},
    {"H4: pointers that end far behind it", [](csr_content& m) { m.indptr = {0, 1, largest}; }, errc::sparse_indptr},
    {"H4: pointers that end at 2^63", [](csr_content& m) { m.indptr = {0, 1, std::uint64_t{1} << 63}; }, errc::sparse_indptr},
};

} // namespace

TEST_CASE("what is right is read from every generation and in every spelling") {
    const std::vector<broken<csr_content>> right = {
        {"two values", [](csr_content&) {}, {}},
        {"no rows", [](csr_content& m) { m = {{0, 3}, {0}, {}, {}}; }, {}},
        {"no columns", [](csr_content& m) { m = {{2, 0}, {0, 0, 0}, {}, {}}; }, {}},
        {"no values", [](csr_content& m) { m = {{2, 3}, {0, 0, 0}, {}, {}}; }, {}},
        {"H6: columns in any order and more than once",
         [](csr_content& m) { m = {{2, 3}, {0, 3, 4}, {2, 0, 2, 1}, {1, 2, 3, 4}}; }, {}},
        {"the last column", [](csr_content& m) { m.indices = {2, 2}; }, {}},
        {"as many columns as there can be", [](csr_content& m) { m = {{1, largest}, {0, 1}, {largest - 1}, {1}}; }, {}},
    };
    check_numbers(right, {csr_of<float>(), csr_of<std::byte>()});
    const std::vector<broken<coo_content>> right_coo = {
        {"two values", [](coo_content&) {}, {}},
        {"no values", [](coo_content& t) { t = {{2, 3}, {}, {}}; }, {}},
        {"no places", [](coo_content& t) { t = {{0, 3}, {}, {}}; }, {}},
        {"one dimension", [](coo_content& t) { t = {{4}, {3, 3, 0}, {1, 2, 3}}; }, {}},
        {"three dimensions", [](coo_content& t) { t = {{2, 1, 2}, {1, 0, 1}, {1}}; }, {}},
        {"H11: the same place twice", [](coo_content& t) { t.coords = {1, 1, 2, 2}; }, {}},
        {"the last place there can be", [](coo_content& t) { t = {{1, largest}, {0, largest - 1}, {1}}; }, {}},
    };
    check_numbers(right_coo, {coo_of<float>(), coo_of<std::byte>()});
}

TEST_CASE("the same matrix is read from every generation and in every spelling") {
    const temp_dir directory;
    const csr_content content;
    const coo_content coo_of_same;
    for (const holding& how : holdings) {
        for (const opening& opened : open_every_way(file_of(how, content), directory)) {
            CAPTURE(how.what, opened.way);
            const reader& from = opened.file.value();
            CHECK(from.generation() == how.from);
            const object_view object = from.find("w").value();
            CHECK(object.format() == "sparse_csr");
            const auto view = csr_view<float>::from(object).value();
            CHECK(view.to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
            const bool is_in_place = from.is_mapped() && !how.is_zstd && how.how != layout::inline_arrays;
            CHECK(view.is_borrowed() == (is_in_place && host_is_little_endian()));
            CHECK(csr_view<float>::from_rows(object, 1, 2).value().to_dense().value() == std::vector<float>{0, 0, 7});
        }
        for (const opening& opened : open_every_way(file_of(how, coo_of_same), directory)) {
            CAPTURE(how.what, opened.way);
            const object_view object = opened.file.value().find("w").value();
            CHECK(object.format() == "sparse_coo");
            const auto view = coo_view<float>::from(object).value();
            CHECK(view.to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
            const bool is_in_place = opened.file->is_mapped() && !how.is_zstd && how.how == layout::parts;
            CHECK(view.is_borrowed() == (is_in_place && host_is_little_endian()));
        }
    }
}

TEST_CASE("H4: row pointers that do not start at 0, or fall, are refused") {
    check_numbers<csr_content>({
        {"they start at 1", [](csr_content& m) { m.indptr = {1, 1, 2}; }, errc::sparse_indptr},
        {"they start at the end", [](csr_content& m) { m.indptr = {2, 2, 2}; }, errc::sparse_indptr},
        {"they fall", [](csr_content& m) { m = {{3, 3}, {0, 2, 1, 2}, {0, 2}, {5, 7}}; }, errc::sparse_indptr},
        {"they rise beyond the end", [](csr_content& m) { m.indptr = {0, 3, 2}; }, errc::sparse_indptr},
        {"they rise to the largest number", [](csr_content& m) { m.indptr = {0, largest, 2}; }, errc::sparse_indptr},
        {"they start at the largest number", [](csr_content& m) { m.indptr = {largest, 0, 2}; }, errc::sparse_indptr},
    }, {csr_of<float>(), csr_of<std::byte>()});
}

TEST_CASE("H4: row pointers that do not end at the number of values are refused") {
    const temp_dir directory;
    for (const broken<csr_content>& each : wrong_ends) {
        csr_content content;
        each.change(content);
        for (const holding& how : holdings) {
            if (how.how == layout::inline_arrays || (how.how == layout::parts && how.states_sizes())) {
                CAPTURE(each.rule, how.what);
                check_outcome(file_of(how, content), csr_of<float>(), {true, each.refusal, {}}, directory);
            }
        }
    }
}

TEST_CASE("H4: row pointers that do not end at the number of values are refused in the one blob of 0.1") {
    const temp_dir directory;
    for (const broken<csr_content>& each : wrong_ends) {
        csr_content content;
        each.change(content);
        for (const holding& how : holdings) {
            if (how.how == layout::one_blob || how.how == layout::one_blob_as_specified) {
                CAPTURE(each.rule, how.what);
                check_outcome(file_of(how, content), csr_of<float>(), {true, each.refusal, {}}, directory);
            }
        }
    }
}

TEST_CASE("H3, H4, H7: parts whose sizes stand nowhere are decoded to what the row pointers say, and to nothing else") {
    const std::vector<broken<csr_content>> rows = {
        {"H3: one pointer less than rows + 1", [](csr_content& m) { m.dimensions = {3, 3}; }, errc::decode_size},
        {"H3: one pointer more", [](csr_content& m) { m.dimensions = {1, 3}; }, errc::decode_size},
        {"H4: pointers that end before the last value", [](csr_content& m) { m.indptr = {0, 1, 1}; }, errc::decode_size},
        {"H4: pointers that end behind the last value", [](csr_content& m) { m.indptr = {0, 1, 3}; }, errc::decode_size},
        {"H4: pointers that end where no blob of this size can", [](csr_content& m) { m.indptr = {0, 1, 10'000'000}; }, errc::sparse_indptr},
        {"H4: pointers that end at 2^63", [](csr_content& m) { m.indptr = {0, 1, std::uint64_t{1} << 63}; }, errc::sparse_indptr},
        {"H4: pointers that end at the largest number", [](csr_content& m) { m.indptr = {0, 1, largest}; }, errc::sparse_indptr},
        {"H7: more values than indices", [](csr_content& m) { m.values = {5, 6, 7}; }, errc::decode_size},
        {"H7: fewer values than indices", [](csr_content& m) { m.values = {5}; }, errc::decode_size},
        {"H7: fewer indices than values", [](csr_content& m) { m.indices = {0}; }, errc::decode_size},
    };
    const temp_dir directory;
    for (const broken<csr_content>& each : rows) {
        csr_content content;
        each.change(content);
        for (const holding& how : holdings) {
            if (how.how == layout::parts && !how.states_sizes()) {
                CAPTURE(each.rule, how.what);
                check_outcome(file_of(how, content), csr_of<float>(), {true, each.refusal, {}}, directory);
            }
        }
    }
}

TEST_CASE("H3: a zstd blob that can't decode to so many row pointers is refused when the file is opened") {
    const temp_dir directory;
    for (const holding& how : holdings) {
        if (how.how == layout::parts && !how.states_sizes()) {
            CAPTURE(how.what);
            csr_content content;
            content.dimensions = {std::uint64_t{1} << 40, 3};
            check_outcome(file_of(how, content), csr_of<float>(), {false, errc::decode_limit, {}}, directory);
        }
    }
}

TEST_CASE("H5: a column that is not below the number of columns is refused") {
    check_numbers<csr_content>({
        {"the number of columns", [](csr_content& m) { m.indices = {0, 3}; }, errc::sparse_index},
        {"in the first row", [](csr_content& m) { m.indices = {3, 0}; }, errc::sparse_index},
        {"the largest number", [](csr_content& m) { m.indices = {largest, 0}; }, errc::sparse_index},
        {"any, where there are no columns", [](csr_content& m) { m.dimensions = {2, 0}; }, errc::sparse_index},
        {"the largest number, of as many columns as there can be",
         [](csr_content& m) { m = {{1, largest}, {0, 1}, {largest}, {1}}; }, errc::sparse_index},
    }, {csr_of<float>(), csr_of<std::byte>()});
}

TEST_CASE("H11: a coordinate that is not below its dimension is refused") {
    check_numbers<coo_content>({
        {"of dimension 0", [](coo_content& t) { t.coords = {0, 2, 0, 2}; }, errc::sparse_index},
        {"of dimension 1", [](coo_content& t) { t.coords = {0, 1, 3, 2}; }, errc::sparse_index},
        {"of the last entry", [](coo_content& t) { t.coords = {0, 1, 0, 3}; }, errc::sparse_index},
        {"the largest number", [](coo_content& t) { t.coords = {0, largest, 0, 0}; }, errc::sparse_index},
        {"the largest number, of as large a dimension as there can be",
         [](coo_content& t) { t = {{1, largest}, {0, largest}, {1}}; }, errc::sparse_index},
        {"any, where there is no place", [](coo_content& t) { t.dimensions = {2, 0}; }, errc::sparse_index},
    }, {coo_of<float>(), coo_of<std::byte>(), coo_of<float, std::int64_t>()});
}

TEST_CASE("rows can't be cut out where their pointers or columns are wrong") {
    check_numbers<csr_content>({
        {"pointers that fall", [](csr_content& m) { m = {{3, 3}, {0, 2, 1, 2}, {0, 2}, {5, 7}}; }, errc::sparse_indptr},
    }, {rows_of(0, 2), rows_of(1, 2), rows_of(0, 3)});
    check_numbers<csr_content>({
        {"a column outside", [](csr_content& m) { m.indices = {0, 3}; }, errc::sparse_index},
    }, {rows_of(0, 2), rows_of(1, 2)});
    check_numbers<csr_content>({
        {"a column outside, in another row", [](csr_content& m) { m.indices = {0, 2}; }, {}},
    }, {rows_of(0, 1), rows_of(0, 0), rows_of(2, 2)});
    const temp_dir directory;
    csr_content far_away;
    far_away.indptr = {0, largest, 2};
    for (const holding& how : holdings) {
        CAPTURE(how.what);
        check_outcome(file_of(how, far_away), rows_of(0, 1), {true, errc::sparse_indptr, {}}, directory);
        check_outcome(file_of(how, far_away), rows_of(1, 2), {true, errc::sparse_indptr, {}}, directory);
    }
}

TEST_CASE("H4: all rows together are refused for the same pointers as the whole matrix") {
    const temp_dir directory;
    std::vector<broken<csr_content>> rows = {
        {"they start at 1", [](csr_content& m) { m.indptr = {1, 1, 2}; }, errc::sparse_indptr},
        {"they start at the end", [](csr_content& m) { m.indptr = {2, 2, 2}; }, errc::sparse_indptr},
    };
    rows.insert(rows.end(), wrong_ends.begin(), wrong_ends.end());
    for (const broken<csr_content>& each : rows) {
        csr_content content;
        each.change(content);
        const holding how = {"1.2", generation::v1_2, layout::parts, false};
        CAPTURE(each.rule);
        check_outcome(file_of(how, content), rows_of(0, 2), {true, each.refusal, {}}, directory);
    }
}

TEST_CASE("H1, H3, H7: parts that can't belong together are refused when the file is opened, where sizes are known") {
    const std::vector<broken<csr_content>> rows = {
        {"H1: one dimension", [](csr_content& m) { m.dimensions = {2}; }, errc::sparse_shape},
        {"H1: three dimensions", [](csr_content& m) { m.dimensions = {2, 3, 1}; }, errc::sparse_shape},
        {"H1: no dimension", [](csr_content& m) { m.dimensions = {}; }, errc::sparse_shape},
        {"H2: 2^64 - 1 rows", [](csr_content& m) { m.dimensions = {largest, 1}; }, errc::shape_overflow},
        {"H3: one pointer less than rows + 1", [](csr_content& m) { m.dimensions = {3, 3}; }, errc::sparse_size},
        {"H3: one pointer more", [](csr_content& m) { m.dimensions = {1, 3}; }, errc::sparse_size},
        {"H3: no pointer", [](csr_content& m) { m.indptr = {}; }, errc::sparse_size},
        {"H7: more values than indices", [](csr_content& m) { m.values = {5, 6, 7}; }, errc::sparse_size},
        {"H7: fewer values than indices", [](csr_content& m) { m.values = {}; }, errc::sparse_size},
    };
    const temp_dir directory;
    for (const broken<csr_content>& each : rows) {
        csr_content content;
        each.change(content);
        for (const holding& how : holdings) {
            const bool is_about_sizes = each.refusal == errc::sparse_size;
            if (how.how == layout::parts && (how.states_sizes() || !is_about_sizes)) {
                CAPTURE(each.rule, how.what);
                check_outcome(file_of(how, content), csr_of<float>(), {false, each.refusal, {}}, directory);
            }
        }
    }
}

TEST_CASE("H10, H12: coordinates that can't belong to the values are refused, when the file is opened or decoded") {
    const std::vector<broken<coo_content>> rows = {
        {"H12: no dimension", [](coo_content& t) { t.dimensions = {}; }, errc::sparse_shape},
        {"one coordinate less", [](coo_content& t) { t.coords.pop_back(); }, errc::sparse_size},
        {"one coordinate more", [](coo_content& t) { t.coords.push_back(0); }, errc::sparse_size},
        {"one dimension more", [](coo_content& t) { t.dimensions = {2, 3, 1}; }, errc::sparse_size},
        {"no values", [](coo_content& t) { t.values = {}; }, errc::sparse_size},
    };
    const temp_dir directory;
    for (const broken<coo_content>& each : rows) {
        coo_content content;
        each.change(content);
        for (const holding& how : holdings) {
            if (how.how == layout::parts) {
                CAPTURE(each.rule, how.what);
                const bool is_known = how.states_sizes() || each.refusal == errc::sparse_shape;
                check_outcome(file_of(how, content), coo_of<float>(), {!is_known, each.refusal, {}}, directory);
            }
        }
    }
}

TEST_CASE("H10: values times dimensions that need more than 64 bits are refused") {
    if constexpr (sizeof(std::size_t) == 8) {
        constexpr std::size_t half = std::numeric_limits<std::size_t>::max() / 2 + 1;
        const ztensor::span<const std::uint8_t> many(nullptr, half); // nothing looks at them
        const integers none;
        CHECK(refusal(coo_view<std::uint8_t>::from_parts({2, 2}, many, none)) == errc::shape_overflow);
        writer to = writer::to_memory().value();
        CHECK(refusal(to.add_coo("m", {2, 2}, many, none)) == errc::shape_overflow);
    }
}

TEST_CASE("H8: indices of another type than the version allows are refused when the file is opened") {
    const temp_dir directory;
    const std::pair<const char*, std::uint64_t> types[] = {{"i8", 1},  {"i16", 2}, {"i32", 4},  {"i64", 8},  {"u8", 1},
                                                           {"u16", 2}, {"u32", 4}, {"f32", 4},  {"f64", 8},  {"bf16", 2},
                                                           {"bool", 1}, {"f8_e4m3", 1}, {"complex64", 8}};
    for (const auto& [word, width] : types) {
        const std::string dtype = word;
        const bool is_integer = dtype[0] == 'i' || dtype[0] == 'u';
        const bool is_known_in_1_2 = dtype != "f8_e4m3" && dtype != "complex64";
        const auto zeros = [count = width](std::uint64_t elements) { return bytes(static_cast<std::size_t>(count * elements), '\0'); };
        for (const generation from : {generation::v1_1, generation::v1_2}) {
            const holding how = {"", from, layout::parts, false};
            const bool is_allowed = is_integer && from == generation::v1_1;
            if (from == generation::v1_2 && !is_known_in_1_2) {
                continue;
            }
            const outcome expected = is_allowed ? outcome{true, {}, {}} : outcome{false, errc::sparse_dtype, {}};
            CAPTURE(dtype, name(from));
            check_outcome(file_of_parts(how, "sparse_csr", {1, 1}, {{"indices", dtype, zeros(0)}, {"indptr", "u64", bytes(16, '\0')}, {"values", "f32", ""}}),
                          csr_of<float>(), expected, directory);
            check_outcome(file_of_parts(how, "sparse_csr", {1, 1}, {{"indices", "u64", ""}, {"indptr", dtype, zeros(2)}, {"values", "f32", ""}}),
                          csr_of<float>(), expected, directory);
            check_outcome(file_of_parts(how, "sparse_coo", {1}, {{"coords", dtype, zeros(1)}, {"values", "f32", bytes(4, '\0')}}),
                          coo_of<float>(), expected, directory);
        }
    }
}

TEST_CASE("H8: indices of an unknown type are refused when they are used, and the type is named") {
    const holding how = {"", generation::v1_2, layout::parts, false};
    const bytes files[] = {
        file_of_parts(how, "sparse_csr", {1, 1}, {{"indices", "u128", bytes(16, '\0')}, {"indptr", "u64", little_endian(integers{0, 1})}, {"values", "f32", bytes(4, '\0')}}),
        file_of_parts(how, "sparse_csr", {1, 1}, {{"indices", "u64", bytes(8, '\0')}, {"indptr", "u128", bytes(32, '\0')}, {"values", "f32", bytes(4, '\0')}}),
        file_of_parts(how, "sparse_coo", {1}, {{"coords", "u128", bytes(16, '\0')}, {"values", "f32", bytes(4, '\0')}}),
    };
    for (const bytes& file : files) {
        const reader from = reader::from_bytes(support::to_vector(file)).value();
        const object_view object = from.find("w").value();
        const result<void> done = object.format() == "sparse_csr" ? csr_of<float>()(object) : coo_of<float>()(object);
        REQUIRE_FALSE(done.has_value());
        CHECK(done.error().code() == errc::unknown_dtype);
        CHECK(done.error().what().find("u128") != std::string::npos);
    }
}

namespace {

/// A matrix of 1.1 with indices and pointers of a signed type.
template <class Index>
bytes signed_matrix(std::string_view dtype, std::vector<Index> indices, std::vector<Index> indptr, bool is_zstd) {
    const holding how = {"", generation::v1_1, layout::parts, is_zstd};
    return file_of_parts(how, "sparse_csr", {2, 3}, {{"indices", std::string(dtype), little_endian(indices)},
                                                     {"indptr", std::string(dtype), little_endian(indptr)},
                                                     {"values", "f32", little_endian<float>({5, 7})}});
}

template <class Index>
void check_negative(std::string_view dtype) {
    const temp_dir directory;
    constexpr Index smallest = std::numeric_limits<Index>::min();
    for (const bool is_zstd : {false, true}) {
        CAPTURE(dtype, is_zstd);
        for (const Index negative : {Index{-1}, smallest}) {
            const bytes csr = signed_matrix<Index>(dtype, {0, negative}, {0, 1, 2}, is_zstd);
            check_outcome(csr, csr_of<float>(), {true, errc::sparse_index, {}}, directory);
            check_outcome(csr, csr_of<float, Index>(), {true, errc::sparse_index, {}}, directory);
            check_outcome(csr, rows_of<Index>(1, 2), {true, errc::sparse_index, {}}, directory);
            const holding how = {"", generation::v1_1, layout::parts, is_zstd};
            const bytes coo = file_of_parts(how, "sparse_coo", {2, 3}, {{"coords", std::string(dtype), little_endian<Index>({0, 1, negative, 2})},
                                                                        {"values", "f32", little_endian<float>({5, 7})}});
            check_outcome(coo, coo_of<float>(), {true, errc::sparse_index, {}}, directory);
            check_outcome(coo, coo_of<float, Index>(), {true, errc::sparse_index, {}}, directory);
        }
    }
}

template <class Index>
void check_negative_pointers(std::string_view dtype) {
    const temp_dir directory;
    for (const bool is_zstd : {false, true}) {
        for (const std::vector<Index>& indptr : {std::vector<Index>{-1, 1, 2}, std::vector<Index>{0, -1, 2}}) {
            CAPTURE(dtype, is_zstd, as<int>(indptr));
            const bytes file = signed_matrix<Index>(dtype, {0, 2}, indptr, is_zstd);
            check_outcome(file, csr_of<float, Index>(), {true, errc::sparse_indptr, {}}, directory);
            check_outcome(file, csr_of<float>(), {true, errc::sparse_indptr, {}}, directory);
        }
    }
}

} // namespace

TEST_CASE("a negative index is refused, whatever type it is read as") {
    check_negative<std::int8_t>("i8");
    check_negative<std::int16_t>("i16");
    check_negative<std::int32_t>("i32");
    check_negative<std::int64_t>("i64");
}

TEST_CASE("H4: a negative row pointer is refused as one, whatever type it is read as") {
    check_negative_pointers<std::int8_t>("i8");
    check_negative_pointers<std::int32_t>("i32");
    check_negative_pointers<std::int64_t>("i64");
}

TEST_CASE("an index that the type asked for can't hold is refused") {
    const temp_dir directory;
    csr_content content;
    content.dimensions = {2, 300};
    content.indices = {0, 256};
    for (const holding& how : holdings) {
        CAPTURE(how.what);
        const bytes file = file_of(how, content);
        check_outcome(file, csr_of<float, std::uint8_t>(), {true, errc::sparse_index, {}}, directory);
        check_outcome(file, csr_of<float, std::int8_t>(), {true, errc::sparse_index, {}}, directory);
        check_outcome(file, csr_of<float, std::uint16_t>(), {true, {}, {}}, directory);
        coo_content coo = {{300}, {127, 128}, {5, 7}};
        check_outcome(file_of(how, coo), coo_of<float, std::int8_t>(), {true, errc::sparse_index, {}}, directory);
        check_outcome(file_of(how, coo), coo_of<float, std::uint8_t>(), {true, {}, {}}, directory);
    }
}

TEST_CASE("a view of another format or element type is refused") {
    const temp_dir directory;
    for (const holding& how : holdings) {
        CAPTURE(how.what);
        const bytes csr = file_of(how, csr_content());
        const bytes coo = file_of(how, coo_content());
        check_outcome(csr, coo_of<float>(), {true, errc::unsupported_format, {}}, directory);
        check_outcome(coo, csr_of<float>(), {true, errc::unsupported_format, {}}, directory);
        check_outcome(coo, rows_of(0, 1), {true, errc::unsupported_format, {}}, directory);
        check_outcome(csr, csr_of<double>(), {true, errc::type_mismatch, {}}, directory);
        check_outcome(csr, csr_of<std::int32_t>(), {true, errc::type_mismatch, {}}, directory);
        check_outcome(coo, coo_of<std::complex<float>>(), {true, errc::type_mismatch, {}}, directory);
        const use dense = [](const object_view& object) { return outcome_of(object.read<float>()); };
        check_outcome(csr, dense, {true, errc::unsupported_format, {}}, directory);
    }
    check_outcome(sample().file(), csr_of<float>(), {true, errc::unsupported_format, {}}, directory);
    check_outcome(sample().file(), coo_of<float>(), {true, errc::unsupported_format, {}}, directory);
}

TEST_CASE("values of an unknown type are had as bytes alone") {
    const holding how = {"", generation::v1_2, layout::parts, false};
    const bytes values = "abcdef";
    const bytes file = file_of_parts(how, "sparse_csr", {2, 3}, {{"indices", "u64", little_endian(integers{0, 2})},
                                                                 {"indptr", "u64", little_endian(integers{0, 1, 2})},
                                                                 {"values", "f24", values}});
    const reader from = reader::from_bytes(support::to_vector(file)).value();
    const object_view object = from.find("w").value();
    REQUIRE(refusal(csr_view<float>::from(object)) == errc::unknown_dtype);
    CHECK(csr_view<float>::from(object).error().component() == "values");
    const auto view = csr_view<std::byte>::from(object).value();
    CHECK(view.entry_count() == 2);
    CHECK(as_string(view.values()) == values);
    CHECK(as_string(view.row(1).values) == "def");

    const bytes coo = file_of_parts(how, "sparse_coo", {3}, {{"coords", "u64", little_endian(integers{0, 2})}, {"values", "f24", values}});
    const reader from_coo = reader::from_bytes(support::to_vector(coo)).value();
    CHECK(refusal(coo_view<float>::from(*from_coo.find("w"))) == errc::unknown_dtype);
    CHECK(as_string(coo_view<std::byte>::from(*from_coo.find("w")).value().values()) == values);
}

TEST_CASE("values of an unknown type that entries don't divide are refused by their type, and nothing else is") {
    const struct {
        const char* what;
        const char* dtype;
        cbor::map more;
        bytes values;
        integers columns;
        errc refusal;
    } rows[] = {
        {"no bytes for an entry, of a dtype", "i4", {}, "", {1}, errc::unknown_dtype},
        {"no bytes for an entry, of a type", "u8", {{"type", cbor::text("x")}}, "", {1}, errc::unsupported_type},
        {"several to a byte, of a dtype", "i4", {}, "ab", {0, 1, 3}, errc::unknown_dtype},
        {"several to a byte, of a type", "u8", {{"type", cbor::text("int4x2")}}, "ab", {0, 1, 3}, errc::unsupported_type},
        {"bytes for no entry", "i4", {}, "ab", {}, errc::unknown_dtype},
    };
    for (const auto& each : rows) {
        CAPTURE(each.what);
        sample csr;
        csr.blobs({each.values, little_endian(each.columns), little_endian(integers{0, each.columns.size()})});
        csr.parts("sparse_csr", {1, 4}, {{"values", each.dtype, 64, each.values.size(), each.more},
                                         {"indices", "u64", each.values.empty() ? 64u : 128u, 8 * each.columns.size()},
                                         {"indptr", "u64", 64 + (each.values.empty() ? 0u : 64u) + (each.columns.empty() ? 0u : 64u), 16}});
        const reader from = reader::from_bytes(support::to_vector(csr.file())).value();
        const object_view object = from.find("w").value();
        CHECK(refusal(csr_view<std::byte>::from(object)) == each.refusal);
        CHECK(refusal(csr_view<std::byte>::from_rows(object, 0, 1)) == each.refusal);
        sample coo;
        coo.blobs({each.values, little_endian(each.columns)});
        coo.parts("sparse_coo", {4}, {{"values", each.dtype, 64, each.values.size(), each.more},
                                      {"coords", "u64", each.values.empty() ? 64u : 128u, 8 * each.columns.size()}});
        const reader from_coo = reader::from_bytes(support::to_vector(coo.file())).value();
        CHECK(refusal(coo_view<std::byte>::from(*from_coo.find("w"))) == each.refusal);
    }
}

TEST_CASE("rows of values of an unknown type are cut out, too") {
    const holding how = {"", generation::v1_2, layout::parts, false};
    const bytes file = file_of_parts(how, "sparse_csr", {2, 3}, {{"indices", "u64", little_endian(integers{0, 2})},
                                                                 {"indptr", "u64", little_endian(integers{0, 1, 2})},
                                                                 {"values", "f128", bytes(16, 'a') + bytes(16, 'b')}});
    const reader from = reader::from_bytes(support::to_vector(file)).value();
    const auto second = csr_view<std::byte>::from_rows(*from.find("w"), 1, 2).value();
    CHECK(second.entry_count() == 1);
    CHECK(as_string(second.values()) == bytes(16, 'b'));
}

TEST_CASE("indices of an unknown logical type are listed, and refused when they are used") {
    for (const generation from : {generation::v1_1, generation::v1_2}) {
        for (const char* const dtype : {"u64", "i32"}) {
            for (const std::uint64_t length : {0u, 16u}) {
                if (from == generation::v1_2 && bytes(dtype) == "i32") {
                    continue;
                }
                CAPTURE(name(from), dtype, length);
                sample file(from);
                file.blobs({bytes(16, '\0')});
                const cbor::map type = {{"type", cbor::text("foo")}};
                file.parts("sparse_csr", {1, 4}, {{"values", "u8", 64, 0}, {"indices", dtype, 64, 0, type}, {"indptr", dtype, 64, length, type}});
                const reader opened = reader::from_bytes(support::to_vector(file.file())).value();
                CHECK(refusal(csr_view<std::uint8_t>::from(*opened.find("w"))) == errc::unsupported_type);
                CHECK(refusal(csr_view<std::uint8_t>::from_rows(*opened.find("w"), 0, 1)) == errc::unsupported_type);
            }
        }
    }
}

TEST_CASE("H2: row pointers of more than 2^64 bytes are refused when the file is opened") {
    for (const generation from : {generation::v0_1, generation::v1_0, generation::v1_1, generation::v1_2}) {
        for (const bool is_zstd : {false, true}) {
            const holding how = {"", from, from == generation::v0_1 ? layout::one_blob : layout::parts, is_zstd};
            csr_content content;
            content.dimensions = {std::uint64_t{1} << 61, 1};
            CAPTURE(name(from), is_zstd);
            CHECK(refusal(reader::from_bytes(support::to_vector(file_of(how, content)))) == errc::shape_overflow);
        }
    }
}

TEST_CASE("E10: sparse values that are no whole elements are refused when the file is opened") {
    const holding how = {"", generation::v1_2, layout::parts, false};
    sample complex;
    complex.blobs({bytes(12, 'v'), little_endian(integers{0})});
    complex.parts("sparse_coo", {3}, {{"values", "f32", 64, 12, {{"type", cbor::text("complex64")}}}, {"coords", "u64", 128, 8}});
    CHECK(refusal(reader::from_bytes(support::to_vector(complex.file()))) == errc::size_mismatch);
    csr_content content;
    const holding arrays = {"", generation::v0_1, layout::inline_arrays, false};
    const bytes odd = file_of_blob(arrays, "csr", content.dimensions, little_endian(content.values) + "x",
                                   {{"indptr", content.indptr}, {"indices", content.indices}});
    CHECK(refusal(reader::from_bytes(support::to_vector(odd))) == errc::size_mismatch);
    CHECK(refusal(reader::from_bytes(support::to_vector(file_of(how, content)))).code == std::nullopt);
}

TEST_CASE("indices that are no whole numbers are refused, however they are read") {
    const temp_dir directory;
    for (const bool is_zstd : {false, true}) {
        const holding how = {"", generation::v1_1, layout::parts, is_zstd};
        const bytes ragged(11, '\0');
        const bytes coo = file_of_parts(how, "sparse_coo", {3}, {{"coords", "i32", ragged}, {"values", "f32", bytes(8, 'v')}});
        check_outcome(coo, coo_of<float>(), {is_zstd, errc::size_mismatch, {}}, directory);
        check_outcome(coo, coo_of<float, std::int32_t>(), {is_zstd, errc::size_mismatch, {}}, directory);
        check_outcome(coo, coo_of<float, std::int64_t>(), {is_zstd, errc::size_mismatch, {}}, directory);
    }
}

TEST_CASE("0.1: indices of any 64-bit unsigned type are written into the one blob") {
    const std::vector<float> two = {5, 7};
    const auto file = [&](auto zero) {
        using index = decltype(zero);
        writer to = writer::to_memory(write_options().version(format_version::v0_1)).value();
        to.add_csr("m", {2, 3}, two, std::vector<index>{0, 2}, std::vector<index>{0, 1, 2}).value();
        to.add_coo("t", {2, 3}, two, std::vector<index>{0, 1, 0, 2}).value();
        return finished(to);
    };
    static_assert(sizeof(unsigned long long) == 8);
    CHECK(file(0ULL) == file(std::uint64_t{0}));
}

TEST_CASE("a negative index is refused however large the dimension is") {
    const holding how = {"", generation::v1_1, layout::parts, false};
    const temp_dir directory;
    const std::vector<std::int64_t> columns = {-5};
    const bytes csr = file_of_parts(how, "sparse_csr", {1, largest}, {{"indices", "i64", little_endian(columns)},
                                                                      {"indptr", "i64", little_endian(integers{0, 1})},
                                                                      {"values", "f32", bytes(4, 'v')}});
    check_outcome(csr, csr_of<float, std::int64_t>(), {true, errc::sparse_index, {}}, directory);
    check_outcome(csr, csr_of<float>(), {true, errc::sparse_index, {}}, directory);
    const bytes coo = file_of_parts(how, "sparse_coo", {largest}, {{"coords", "i64", little_endian(columns)}, {"values", "f32", bytes(4, 'v')}});
    check_outcome(coo, coo_of<float, std::int64_t>(), {true, errc::sparse_index, {}}, directory);
}

TEST_CASE("more rows than memory can hold pointers for are an error, on hosts of 32 bits too") {
    const std::vector<float> one = {1};
    const integers place = {0, 0};
    const auto coo = coo_view<float>::from_parts({0xffffffff, 1}, one, place).value();
    CHECK(refusal(coo.to_csr(1 << 20)) == errc::limit_exceeded);
    if (sizeof(std::size_t) == 4) {
        CHECK(refusal(coo.to_csr()) == errc::limit_exceeded);
    }
}

TEST_CASE("what is read, not viewed, is verified and owned") {
    const cbor::map wrong = {{"digest", cbor::text("crc32c:0x00000000")}};
    sample damaged;
    damaged.blobs({bytes(4, 'v'), little_endian(integers{1})});
    damaged.parts("sparse_coo", {3}, {{"values", "f32", 64, 4, wrong}, {"coords", "u64", 128, 8}});
    const reader from = reader::from_bytes(support::to_vector(damaged.file())).value();
    CHECK(refusal(coo_view<float>::read(*from.find("w"))) == errc::digest_mismatch);
    const holding how = {"", generation::v1_2, layout::parts, false};
    const reader right = reader::from_bytes(support::to_vector(file_of(how, csr_content()))).value();
    const auto view = csr_view<float>::read(*right.find("w")).value();
    CHECK_FALSE(view.is_borrowed());
    CHECK(view.to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
}

// -- 0.1

TEST_CASE("0.1: a blob that can't hold the parts is refused when the file is opened, or when it is decoded") {
    const temp_dir directory;
    for (const holding& how : holdings) {
        if (how.how != layout::one_blob && how.how != layout::one_blob_as_specified) {
            continue;
        }
        CAPTURE(how.what);
        const outcome refused = {how.is_zstd, errc::sparse_size, {}};
        for (const std::size_t size : {0U, 1U, 8U, 16U, 23U, 25U, 35U, 37U, 47U}) {
            CAPTURE(size);
            check_outcome(file_of_blob(how, "csr", {2, 3}, bytes(size, '\0'), {}), csr_of<float>(), refused, directory);
        }
        for (const std::size_t size : {1U, 4U, 19U, 21U, 39U}) {
            CAPTURE(size);
            check_outcome(file_of_blob(how, "coo", {2, 3}, bytes(size, '\0'), {}), coo_of<float>(), refused, directory);
        }
        csr_content content;
        content.dimensions = {std::uint64_t{1} << 60, 1};
        check_outcome(file_of(how, content), csr_of<float>(), refused, directory);
        content.dimensions = {largest, 1};
        check_outcome(file_of(how, content), csr_of<float>(), {false, errc::shape_overflow, {}}, directory);
    }
}

TEST_CASE("0.1: index arrays that can't belong to the values are refused when the file is opened, or when it is decoded") {
    const temp_dir directory;
    const auto check = [&](const auto& content, const use& call, errc refusal) {
        for (const holding& how : holdings) {
            if (how.how == layout::inline_arrays) {
                CAPTURE(how.what);
                const bool only_decoding_tells = how.is_zstd && refusal == errc::decode_size;
                const errc expected = !how.is_zstd && refusal == errc::decode_size ? errc::sparse_size : refusal;
                check_outcome(file_of(how, content), call, {only_decoding_tells, expected, {}}, directory);
            }
        }
    };
    const std::vector<broken<csr_content>> rows = {
        {"H1: one dimension", [](csr_content& m) { m.dimensions = {2}; }, errc::sparse_shape},
        {"H2: 2^64 - 1 rows", [](csr_content& m) { m.dimensions = {largest, 1}; }, errc::shape_overflow},
        {"H3: one pointer less", [](csr_content& m) { m.dimensions = {3, 3}; }, errc::sparse_size},
        {"H3: no pointer", [](csr_content& m) { m.indptr = {}; }, errc::sparse_size},
        {"H7: one value more", [](csr_content& m) { m.values = {1, 2, 3}; }, errc::decode_size},
        {"H7: one index more", [](csr_content& m) { m.indices = {0, 1, 2}; }, errc::decode_size},
    };
    for (const broken<csr_content>& each : rows) {
        csr_content content;
        each.change(content);
        CAPTURE(each.rule);
        check(content, csr_of<float>(), *each.refusal);
    }
    const std::vector<broken<coo_content>> rows_of_coo = {
        {"H12: no dimension", [](coo_content& t) { t.dimensions = {}; }, errc::sparse_shape},
        {"a coordinate more", [](coo_content& t) { t.coords.push_back(0); }, errc::sparse_size},
        {"an entry more", [](coo_content& t) { t.coords = {0, 1, 0, 1, 2, 0}; }, errc::decode_size},
    };
    for (const broken<coo_content>& each : rows_of_coo) {
        coo_content content;
        each.change(content);
        CAPTURE(each.rule);
        check(content, coo_of<float>(), *each.refusal);
    }
}

namespace {

/// A one-blob matrix of 0.1, spelled "sparse", with other keys beside.
sample one_blob(std::string_view sparse_format = "csr") {
    const bytes csr = little_endian(integers{0, 1, 2}) + little_endian(integers{0, 2}) + little_endian<float>({5, 7});
    const bytes coo = little_endian(integers{0, 0}) + little_endian<float>({5}) + little_endian(integers{1, 2}) + little_endian<float>({7});
    sample file(generation::v0_1);
    file.shape({2, 3}).blob(sparse_format == "csr" ? csr : coo).object("layout", cbor::text("sparse"));
    file.object("sparse_format", cbor::text(sparse_format));
    return file;
}

} // namespace

TEST_CASE("0.1: index arrays that are complete are no attributes") {
    const holding how = {"", generation::v0_1, layout::inline_arrays, false};
    for (const bytes& file : {file_of(how, csr_content()), file_of(how, coo_content())}) {
        const reader from = reader::from_bytes(support::to_vector(file)).value();
        CHECK(from.find("w").value().attributes().empty());
        CHECK_FALSE(from.find("w").value().has_attributes());
    }
}

TEST_CASE("0.1: the one blob is no array of its dtype") {
    const temp_dir directory;
    for (const holding& how : holdings) {
        if (how.how != layout::one_blob && how.how != layout::one_blob_as_specified) {
            continue;
        }
        CAPTURE(how.what);
        for (const bytes& file : {file_of(how, csr_content()), file_of(how, coo_content())}) {
            for (const opening& opened : open_every_way(file, directory)) {
                CAPTURE(opened.way);
                const auto blob = opened.file.value().find("w").value().component("data").value();
                CHECK(blob.dtype() == ztensor::dtype::f32);
                CHECK(refusal(blob.check<float>()) == errc::type_mismatch);
                CHECK(refusal(blob.view<float>()) == errc::type_mismatch);
                CHECK(refusal(blob.read<float>()) == errc::type_mismatch);
                CHECK(refusal(blob.read_as<float>()) == errc::type_mismatch);
                CHECK(refusal(blob.read_part<float>(0, 1, 1)) == errc::type_mismatch);
                CHECK(blob.read<std::byte>().has_value());
            }
        }
    }
    const holding how = {"", generation::v0_1, layout::inline_arrays, false};
    const reader from = reader::from_bytes(support::to_vector(file_of(how, csr_content()))).value();
    CHECK(from.find("w")->component("data")->read<float>().value() == std::vector<float>{5, 7}); // the values alone
}

TEST_CASE("0.1: a blob of an unknown type can't be taken apart") {
    sample file = one_blob();
    file.dtype("float24");
    const reader from = reader::from_bytes(support::to_vector(file.file())).value();
    CHECK(refusal(csr_view<std::byte>::from(*from.find("w"))) == errc::unknown_dtype);
    CHECK(refusal(csr_view<float>::from(*from.find("w"))) == errc::unknown_dtype);
}

TEST_CASE("0.1: keys that are no complete set of index arrays are custom keys, and the blob holds the indices") {
    const struct {
        const char* what;
        const char* layout;
        std::vector<std::pair<const char*, bytes>> keys;
    } rows[] = {
        {"row pointers alone", "csr", {{"indptr", cbor::numbers({0, 1, 2})}}},
        {"columns alone", "csr", {{"indices", cbor::numbers({0, 2})}}},
        {"a negative column", "csr", {{"indptr", cbor::numbers({0, 1, 2})}, {"indices", cbor::array({cbor::minus_one_minus(0)})}}},
        {"columns as text", "csr", {{"indptr", cbor::numbers({0, 1, 2})}, {"indices", cbor::text("0 2")}}},
        {"columns in an array of arrays", "csr", {{"indptr", cbor::numbers({0, 1, 2})}, {"indices", cbor::array({cbor::numbers({0, 2})})}}},
        {"the arrays of the other layout", "csr", {{"coords", cbor::numbers({0, 1, 0, 2})}}},
        {"the arrays of the other layout", "coo", {{"indptr", cbor::numbers({0, 1, 2})}, {"indices", cbor::numbers({0, 2})}}},
        {"coordinates as a float", "coo", {{"coords", cbor::array({cbor::half_one})}}},
    };
    for (const auto& each : rows) {
        CAPTURE(each.what, each.layout);
        sample file = one_blob(each.layout);
        for (const auto& [key, value] : each.keys) {
            file.object(key, value);
        }
        const reader from = reader::from_bytes(support::to_vector(file.file())).value();
        const object_view object = from.find("w").value();
        const auto dense = std::string_view(each.layout) == "csr" ? csr_view<float>::from(object).value().to_dense()
                                                                  : coo_view<float>::from(object).value().to_dense();
        CHECK(dense.value() == std::vector<float>{5, 0, 0, 0, 0, 7});
        CHECK(object.attributes().size() == each.keys.size());
        for (const auto& [key, value] : each.keys) {
            CHECK(object.attributes().contains(key));
        }
    }
}

TEST_CASE("0.1: beside the reference's own spelling, index arrays are custom keys") {
    sample file = one_blob();
    file.object("layout", cbor::text("sparsecsr")).object("indptr", cbor::numbers({9})).object("indices", cbor::numbers({9, 9}));
    const reader from = reader::from_bytes(support::to_vector(file.file())).value();
    const object_view object = from.find("w").value();
    CHECK(csr_view<float>::from(object).value().to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
    CHECK(object.attributes().size() == 3);
    CHECK(object.attributes().text("sparse_format").value() == "csr");
    CHECK(object.attributes().contains("indptr"));
}

TEST_CASE("0.1: index arrays may have indefinite length and long heads") {
    const auto number = [](std::uint64_t value) { return cbor::head_of_size(cbor::major::unsigned_integer, value, 8); };
    sample file(generation::v0_1);
    file.shape({2, 3}).blob(little_endian<float>({5, 7})).object("layout", cbor::text("sparse"));
    file.object("sparse_format", cbor::chunked({"c", "sr"}));
    file.object("indptr", cbor::indefinite_array({number(0), number(1), number(2)}));
    file.object("indices", cbor::indefinite_array({number(0), number(2)}));
    const reader from = reader::from_bytes(support::to_vector(file.file())).value();
    CHECK(csr_view<float>::from(*from.find("w")).value().to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
}

TEST_CASE("0.1: sparse data stored big-endian is listed, and refused when it is used") {
    const temp_dir directory;
    for (const holding& how : holdings) {
        if (how.from != generation::v0_1 || how.is_zstd) {
            continue;
        }
        const auto big = [&](const bytes& file) { // as a custom key at the end of the map, whatever the layout
            const bytes entry = cbor::text("data_endianness") + cbor::text("big");
            const std::size_t index_size = static_cast<unsigned char>(file[file.size() - 8]) +
                                           256 * static_cast<std::size_t>(static_cast<unsigned char>(file[file.size() - 7]));
            bytes index = file.substr(file.size() - 8 - index_size, index_size);
            index[1] = static_cast<char>(index[1] + 1); // one pair more: the map has fewer than 23
            index += entry;
            return file.substr(0, file.size() - 8 - index_size) + index + support::little_endian(index.size(), 8);
        };
        CAPTURE(how.what);
        check_outcome(big(file_of(how, csr_content())), csr_of<float>(), {true, errc::needs_byteswap, {}}, directory);
        check_outcome(big(file_of(how, csr_content())), rows_of(0, 1), {true, errc::needs_byteswap, {}}, directory);
        check_outcome(big(file_of(how, coo_content())), coo_of<float>(), {true, errc::needs_byteswap, {}}, directory);
        check_outcome(big(file_of(how, csr_content())), csr_of<std::byte>(), {true, errc::needs_byteswap, {}}, directory);
    }
}

TEST_CASE("0.1: values of a blob that lie at odd addresses are read all the same") {
    // Three u64, then u64 columns, then doubles at a multiple of 8; and three entries of (u64, u8) at no multiple of it.
    sample file(generation::v0_1);
    file.dtype("u8").shape({300}).object("layout", cbor::text("sparsecoo"));
    file.blob(support::little_endian(299, 8) + "\1" + support::little_endian(0, 8) + "\2" + support::little_endian(256, 8) + "\3");
    const temp_dir directory;
    for (const opening& opened : open_every_way(file.file(), directory)) {
        const auto view = coo_view<std::uint8_t>::from(*opened.file.value().find("w")).value();
        CHECK(as<int>(view.coords()) == std::vector<int>{299, 0, 256});
        CHECK(as<int>(view.values()) == std::vector<int>{1, 2, 3});
    }
    const bytes content = "x" + file_of({"", generation::v0_1, layout::one_blob, false}, csr_content());
    const std::vector<std::byte> memory = support::to_vector(content);
    const reader odd = reader::from_bytes(ztensor::bytes_view(memory).subspan(1)).value();
    const auto view = csr_view<float>::from(*odd.find("w")).value();
    CHECK_FALSE(view.is_borrowed());
    CHECK(view.to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
}

TEST_CASE("parts at odd addresses of memory are copied, not borrowed") {
    const bytes content = "x" + file_of({"", generation::v1_2, layout::parts, false}, csr_content());
    const std::vector<std::byte> memory = support::to_vector(content);
    const reader odd = reader::from_bytes(ztensor::bytes_view(memory).subspan(1)).value();
    const auto view = csr_view<float>::from(*odd.find("w")).value();
    CHECK_FALSE(view.is_borrowed());
    CHECK(view.to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7});
}

TEST_CASE("a view outlives the object it was made from, and the reader's other copies") {
    std::optional<csr_view<float>> view;
    std::optional<coo_view<float>> coo;
    const reader kept = [&] {
        const reader from = reader::from_bytes(support::to_vector(file_of({"", generation::v1_1, layout::parts, true}, csr_content()))).value();
        view = csr_view<float>::from(*from.find("w")).value();
        coo = view->to_coo().value();
        return from;
    }();
    view.reset();
    CHECK(coo->to_dense().value() == std::vector<float>{5, 0, 0, 0, 0, 7}); // shares the values
}

// -- what 1.1 leaves for decoding to tell

// -- the writer

namespace {

/// Nothing of a call that was refused is in the file, and the next call works.
template <class Call>
void check_refused(format_version version, errc code, const char* rule, Call&& call) {
    CAPTURE(rule);
    writer untouched = writer::to_memory(write_options().version(version)).value();
    writer to = writer::to_memory(write_options().version(version)).value();
    const result<void> done = call(to);
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().code() == code);
    CHECK(done.error().object() == "m");
    for (writer* const each : {&untouched, &to}) {
        each->add("after", {2}, std::vector<float>{1, 2}).value();
    }
    CHECK(finished(to) == finished(untouched));
}

} // namespace

TEST_CASE("H1 to H8: the writer refuses a matrix that breaks a rule, and writes nothing of it") {
    const std::vector<float> two = {5, 7};
    const auto add = [&](shape dimensions, std::vector<float> values, integers indices, integers indptr) {
        return [=](writer& to) { return to.add_csr("m", dimensions, values, indices, indptr); };
    };
    for (const format_version version : {format_version::v1_1, format_version::v1_2}) {
        check_refused(version, errc::sparse_shape, "H1: one dimension", add({2}, two, {0, 2}, {0, 1, 2}));
        check_refused(version, errc::sparse_shape, "H1: three", add({2, 3, 1}, two, {0, 2}, {0, 1, 2}));
        check_refused(version, errc::sparse_size, "H3: one pointer less", add({3, 3}, two, {0, 2}, {0, 1, 2}));
        check_refused(version, errc::sparse_size, "H3: no pointer", add({2, 3}, two, {0, 2}, {}));
        check_refused(version, errc::sparse_size, "H7: fewer indices", add({2, 3}, two, {0}, {0, 1, 2}));
        check_refused(version, errc::sparse_size, "H7: fewer values", add({2, 3}, {5}, {0, 2}, {0, 1, 2}));
        check_refused(version, errc::sparse_indptr, "H4: from 1", add({2, 3}, two, {0, 2}, {1, 1, 2}));
        check_refused(version, errc::sparse_indptr, "H4: falling", add({2, 3}, two, {0, 2}, {0, 3, 2}));
        check_refused(version, errc::sparse_indptr, "H4: too short", add({2, 3}, two, {0, 2}, {0, 1, 1}));
        check_refused(version, errc::sparse_indptr, "H4: too long", add({2, 3}, two, {0, 2}, {0, 1, 3}));
        check_refused(version, errc::sparse_index, "H5", add({2, 3}, two, {0, 3}, {0, 1, 2}));
        check_refused(version, errc::shape_overflow, "a shape of 2^64",
                      add({2, std::uint64_t{1} << 63}, two, {0, 2}, {0, 1, 2}));
    }
    check_refused(format_version::v1_2, errc::sparse_dtype, "H8: u32 in 1.2", [&](writer& to) {
        return to.add_csr("m", {2, 3}, two, std::vector<std::uint32_t>{0, 2}, std::vector<std::uint32_t>{0, 1, 2});
    });
    check_refused(format_version::v1_2, errc::sparse_dtype, "H8: i64 in 1.2", [&](writer& to) {
        return to.add_coo("m", {3}, two, std::vector<std::int64_t>{0, 2});
    });
    check_refused(format_version::v1_1, errc::sparse_index, "a negative column", [&](writer& to) {
        return to.add_csr("m", {2, 3}, two, std::vector<int>{0, -1}, std::vector<int>{0, 1, 2});
    });
    check_refused(format_version::v1_1, errc::sparse_indptr, "a negative pointer", [&](writer& to) {
        return to.add_csr("m", {2, 3}, two, std::vector<int>{0, 2}, std::vector<int>{0, -1, 2});
    });
}

TEST_CASE("H10 to H12: the writer refuses coordinates that break a rule, and writes nothing of them") {
    const std::vector<float> two = {5, 7};
    const auto add = [&](shape dimensions, integers coords) {
        return [=](writer& to) { return to.add_coo("m", dimensions, two, coords); };
    };
    for (const format_version version : {format_version::v1_1, format_version::v1_2}) {
        check_refused(version, errc::sparse_shape, "H12: no dimension", add({}, {}));
        check_refused(version, errc::sparse_size, "one coordinate less", add({2, 3}, {0, 1, 0}));
        check_refused(version, errc::sparse_size, "one more", add({2, 3}, {0, 1, 0, 2, 0}));
        check_refused(version, errc::sparse_index, "H11: dimension 0", add({2, 3}, {0, 2, 0, 2}));
        check_refused(version, errc::sparse_index, "H11: dimension 1", add({2, 3}, {0, 1, 3, 2}));
    }
}

TEST_CASE("H1 to H12: drafts of sparse objects are refused for what can be known of their parts") {
    using ztensor::object_draft;
    const std::vector<float> two = {5, 7};
    const integers indices = {0, 2};
    const integers indptr = {0, 1, 2};
    const std::vector<float> floats = {0, 1};
    const auto csr = [&](shape dimensions) {
        return object_draft("sparse_csr", dimensions).component("values", two).component("indices", indices).component("indptr", indptr);
    };
    const auto add = [](const object_draft& draft) { return [=](writer& to) { return to.add_object("m", draft); }; };
    for (const format_version version : {format_version::v1_1, format_version::v1_2}) {
        check_refused(version, errc::sparse_shape, "H1", add(csr({6})));
        check_refused(version, errc::shape_overflow, "H2", add(csr({largest, 1})));
        check_refused(version, errc::sparse_size, "H3", add(csr({3, 3})));
        check_refused(version, errc::sparse_size, "H7", add(object_draft("sparse_csr", {2, 3}).component("values", two).component("indices", indptr).component("indptr", indptr)));
        check_refused(version, errc::sparse_dtype, "H8", add(object_draft("sparse_csr", {2, 3}).component("values", two).component("indices", floats).component("indptr", indptr)));
        check_refused(version, errc::layout_components, "no indptr", add(object_draft("sparse_csr", {2, 3}).component("values", two).component("indices", indices)));
        check_refused(version, errc::sparse_shape, "H12", add(object_draft("sparse_coo", {}).component("values", two).component("coords", integers())));
        check_refused(version, errc::sparse_size, "coordinates", add(object_draft("sparse_coo", {2, 3}).component("values", two).component("coords", indices)));
    }
}

TEST_CASE("0.1: the writer refuses sparse parts that break a rule, and writes nothing of them") {
    const std::vector<float> two = {5, 7};
    const auto version = format_version::v0_1;
    check_refused(version, errc::sparse_indptr, "H4", [&](writer& to) { return to.add_csr("m", {2, 3}, two, integers{0, 2}, integers{0, 1, 1}); });
    check_refused(version, errc::sparse_index, "H5", [&](writer& to) { return to.add_csr("m", {2, 3}, two, integers{0, 3}, integers{0, 1, 2}); });
    check_refused(version, errc::sparse_index, "H11", [&](writer& to) { return to.add_coo("m", {2}, two, integers{0, 2}); });
    check_refused(version, errc::not_expressible, "a logical type", [](writer& to) {
        return to.add_coo("m", {2}, std::vector<std::complex<float>>{1, 2}, integers{0, 1});
    });
    check_refused(version, errc::not_expressible, "big-endian data", [&](writer& to) {
        return to.add_coo("m", {2}, two, integers{0, 1}, store().big_endian());
    });
    check_refused(version, errc::sparse_dtype, "H8: u32", [&](writer& to) {
        return to.add_csr("m", {2, 3}, two, std::vector<std::uint32_t>{0, 2}, std::vector<std::uint32_t>{0, 1, 2});
    });
    check_refused(version, errc::sparse_dtype, "H8: i64", [&](writer& to) {
        return to.add_coo("m", {3}, two, std::vector<std::int64_t>{0, 2});
    });
    check_refused(version, errc::sparse_size, "a blob that can't hold the parts", [&](writer& to) {
        return to.add_object("m", ztensor::object_draft("sparse_csr", {2, 3}).component("data", two));
    });
}

TEST_CASE("parts in memory are checked as those of a file are") {
    const std::vector<float> two = {5, 7};
    const auto code = [](const auto& made) { return made ? std::optional<errc>() : std::optional(made.error().code()); };
    const auto csr = [&](const shape& dimensions, const integers& indices, const integers& indptr) {
        return code(csr_view<float>::from_parts(dimensions, two, indices, indptr));
    };
    CHECK(csr({2, 3}, {0, 2}, {0, 1, 2}) == std::nullopt);
    CHECK(csr({2}, {0, 2}, {0, 1, 2}) == errc::sparse_shape);
    CHECK(csr({2, 3}, {0, 2, 1}, {0, 1, 2}) == errc::sparse_size);
    CHECK(csr({3, 3}, {0, 2}, {0, 1, 2}) == errc::sparse_size);
    CHECK(csr({2, 3}, {0, 2}, {}) == errc::sparse_size);
    CHECK(csr({2, 3}, {0, 2}, {0, 3, 2}) == errc::sparse_indptr);
    CHECK(csr({2, 3}, {0, 3}, {0, 1, 2}) == errc::sparse_index);
    const std::vector<int> negative = {0, -1};
    const std::vector<int> pointers = {0, 1, 2};
    const std::vector<int> falling = {0, -2, 2};
    CHECK(code(csr_view<float, int>::from_parts({2, 3}, two, negative, pointers)) == errc::sparse_index);
    CHECK(code(csr_view<float, int>::from_parts({2, 3}, two, pointers, falling)) == errc::sparse_size);
    CHECK(code(csr_view<float, int>::from_parts({2, largest}, two, negative, pointers)) == errc::sparse_index);
    CHECK(code(coo_view<float, int>::from_parts({2}, two, negative)) == errc::sparse_index);
    CHECK(code(coo_view<float, int>::from_parts({largest}, two, negative)) == errc::sparse_index);
    CHECK(code(coo_view<float>::from_parts({}, two, integers())) == errc::sparse_shape);
}

// Last: a sum that overflows ends a program with a sanitizer, where it is not defined.
TEST_CASE("integers at one place wrap around when their sum overflows") {
    const integers twice = {0, 0};
    const integers pointers = {0, 2};
    const std::vector<std::int8_t> bytes_ = {127, 1};
    CHECK(as<int>(csr_view<std::int8_t>::from_parts({1, 1}, bytes_, twice, pointers).value().to_dense().value()) == std::vector<int>{-128});
    const std::vector<std::uint32_t> unsigned_ = {0xffffffff, 2};
    CHECK(csr_view<std::uint32_t>::from_parts({1, 1}, unsigned_, twice, pointers).value().to_dense().value() == std::vector<std::uint32_t>{1});
    const std::vector<std::int32_t> ints = {std::numeric_limits<std::int32_t>::max(), 1};
    CHECK(coo_view<std::int32_t>::from_parts({1}, ints, twice).value().to_dense().value() ==
          std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min()});
    const std::vector<std::int64_t> longs = {std::numeric_limits<std::int64_t>::min(), -1};
    CHECK(csr_view<std::int64_t>::from_parts({1, 1}, longs, twice, pointers).value().to_dense().value() ==
          std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max()});
}
