// SPDX-License-Identifier: MIT
//
// What the generations before 1.2 spell otherwise or leave out of what elements are: types, byte order, bools and
// sizes. SPEC.md §8.
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/digest.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/reader.hpp>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using support::as_string;
using support::between_file_and_host;
using support::bytes;
using support::bytes_of;
using support::counting;
using support::data_of;
using support::elements_from;
using support::host_is_little_endian;
using support::little_endian;
using support::memory_of;
using support::open_bytes;
using support::opened;
using support::opening;
using support::refusal;
using support::sample;
using support::swapped;
using support::temp_dir;
using ztensor::component_view;
using ztensor::digest_state;
using ztensor::digest_text;
using ztensor::errc;
using ztensor::reader;
using ztensor::result;
using ztensor::version;
namespace cbor = support::cbor;
namespace zstd = support::zstd;

using namespace std::string_literals;

constexpr ztensor::version generations[] = {version::v0_1, version::v1_0, version::v1_1, version::v1_2};

constexpr ztensor::version generations_without_sizes[] = {version::v0_1, version::v1_0, version::v1_1};

/// Everything of one element type that can be read of the object "w": the bytes of the elements in memory.
struct element_calls {
    ztensor::dtype storage;
    std::size_t size_bytes;
    bytes (*read)(const reader&);
    bytes (*read_into)(const reader&, std::size_t count);
    bytes (*read_row)(const reader&, std::uint64_t row);
    result<bytes> (*view)(const reader&);
};

template <class T>
bytes read_elements(const reader& from) {
    return memory_of(from.read<T>("w").value());
}

template <class T>
bytes read_elements_into(const reader& from, std::size_t count) {
    std::vector<T> into(count);
    from.read_into("w", into).value();
    return memory_of(into);
}

template <class T>
bytes read_row(const reader& from, std::uint64_t row) {
    return memory_of(from["w"].rows(row, row + 1).read<T>().value());
}

template <class T>
result<bytes> view_elements(const reader& from) {
    const auto view = from.view<T>("w");
    return view ? result<bytes>(memory_of(*view)) : result<bytes>(view.error());
}

template <class T>
constexpr element_calls calls_of = {ztensor::element_traits<T>::storage,
                                    sizeof(T),
                                    read_elements<T>,
                                    read_elements_into<T>,
                                    read_row<T>,
                                    view_elements<T>};

const struct {
    const char* short_name;
    const char* long_name;
    element_calls calls;
} number_types[] = {
    {"f64", "float64", calls_of<double>},           {"f32", "float32", calls_of<float>},
    {"f16", "float16", calls_of<ztensor::float16>}, {"bf16", "bfloat16", calls_of<ztensor::bfloat16>},
    {"i64", "int64", calls_of<std::int64_t>},       {"i32", "int32", calls_of<std::int32_t>},
    {"i16", "int16", calls_of<std::int16_t>},       {"i8", "int8", calls_of<std::int8_t>},
    {"u64", "uint64", calls_of<std::uint64_t>},     {"u32", "uint32", calls_of<std::uint32_t>},
    {"u16", "uint16", calls_of<std::uint16_t>},     {"u8", "uint8", calls_of<std::uint8_t>},
};

void check_dtype(ztensor::version from, std::string_view short_name, std::string_view long_name,
                 const element_calls& calls) {
    const temp_dir directory;
    const bytes content = counting(48);
    const bool has_long_names = from == version::v0_1 || from == version::v1_0;
    for (const bool is_zstd : {false, true}) {
        sample file(from);
        file.shape({content.size() / calls.size_bytes}).dtype(has_long_names ? long_name : short_name).blob(content);
        if (is_zstd) {
            file.zstd_blob(zstd::frame_of(content), content.size());
        }
        for (const opening& each : open_every_way(file.file(), directory)) {
            CAPTURE(name(from), short_name, is_zstd, each.way);
            const reader& file_read = each.file.value();
            const component_view data = data_of(file_read);
            CHECK(data.dtype() == calls.storage);
            CHECK(data.dtype().text() == short_name);
            CHECK(data.dtype().original() == (has_long_names ? long_name : short_name));
            CHECK(data.type().text().empty());
            CHECK_FALSE(data.type().is_present());
            CHECK(data.decoded_bytes() == content.size());
            CHECK(data.uncompressed_length().has_value() == (is_zstd && from == version::v1_2));
            CHECK(calls.read(file_read) == between_file_and_host(content, calls.size_bytes));
        }
    }
}

const char* const order_words[] = {"little", "big"};

/// Elements whose bytes in the file are the same numbers, least or most significant first.
void check_order(std::string_view dtype, const element_calls& calls) {
    const temp_dir directory;
    const std::size_t width = calls.size_bytes;
    const bytes numbers = counting(6 * width); // little-endian
    const bytes expected = between_file_and_host(numbers, width);
    for (const bool is_big : {false, true}) {
        const bytes in_file = is_big ? swapped(numbers, width) : numbers;
        sample file(version::v0_1);
        file.dtype(dtype).shape({3, 2}).blob(in_file);
        file.object("data_endianness", cbor::text(order_words[is_big ? 1 : 0]));
        file.component("digest", cbor::text(digest_text(ztensor::digest::crc32c, bytes_of(in_file))));
        for (const opening& way : open_every_way(file.file(), directory)) {
            CAPTURE(dtype, is_big, way.way);
            const reader& from = way.file.value();
            const component_view data = data_of(from);
            CHECK(data.is_big_endian() == (is_big && width > 1));
            CHECK(data.verify().value() == digest_state::match);
            CHECK(as_string(data.read<std::byte>().value()) == in_file);
            CHECK(as_string(data.read_little_endian().value()) == numbers);
            CHECK(calls.read(from) == expected);
            CHECK(calls.read_into(from, 6) == expected);
            CHECK(calls.read_row(from, 1) == expected.substr(2 * width, 2 * width));
            const bool is_foreign = width > 1 && is_big == host_is_little_endian();
            const result<bytes> view = calls.view(from);
            if (!from.is_mapped()) {
                CHECK(refusal(view) == errc::not_viewable);
            } else if (is_foreign) {
                CHECK(refusal(view) == errc::needs_byteswap);
            } else {
                CHECK(view.value() == expected);
            }
        }
    }
}

} // namespace

// -- dtypes

TEST_CASE("all storage types are read under the names of their generation") {
    for (const ztensor::version from : generations) {
        for (const auto& each : number_types) {
            check_dtype(from, each.short_name, each.long_name, each.calls);
        }
    }
}

TEST_CASE("the names of another generation are unknown words: listed, and refused when they are used") {
    for (const ztensor::version from : generations) {
        const bool has_long_names = from == version::v0_1 || from == version::v1_0;
        for (const char* const word : {"f32", "float32", "i8", "int8", "Float32", "complex64", "f8_e4m3"}) {
            const std::string dtype = word;
            const bool is_long = dtype == "float32" || dtype == "int8";
            const bool is_short = dtype == "f32" || dtype == "i8";
            const bool is_of_1_1 = dtype == "complex64" || dtype == "f8_e4m3";
            if (has_long_names ? is_long : is_short || (is_of_1_1 && from == version::v1_1)) {
                continue;
            }
            sample file(from);
            (from == version::v1_0 ? file.object_map() : file.component_map()).set("dtype", cbor::text(dtype));
            const reader each = opened(file.file());
            CAPTURE(name(from), word);
            const component_view data = data_of(each);
            CHECK(!data.dtype().is_known());
            CHECK(data.dtype().text() == dtype);
            CHECK(data.dtype().original() == dtype);
            CHECK(refusal(data.read<float>()) == errc::unknown_dtype);
            CHECK(data.read<std::byte>().value().size() == 8);
        }
    }
}

TEST_CASE("1.1: four logical types stand as dtypes, raw and compressed, and have their size from the shape") {
    struct row {
        const char* word;
        const char* dtype;
        const char* type;
        std::size_t bytes_each;
    };
    const row rows[] = {{"f8_e4m3", "u8", "f8_e4m3fn", 1},
                        {"f8_e5m2", "u8", "f8_e5m2", 1},
                        {"complex64", "f32", "complex64", 8},
                        {"complex128", "f64", "complex128", 16}};
    const temp_dir directory;
    for (const row& each : rows) {
        for (const bool is_zstd : {false, true}) {
            const bytes content = counting(6 * each.bytes_each);
            sample file(version::v1_1);
            file.dtype(each.word).shape({2, 3}).blob(content);
            if (is_zstd) {
                file.zstd_blob(zstd::frame_of(content), 0);
            }
            for (const opening& way : open_every_way(file.file(), directory)) {
                CAPTURE(each.word, is_zstd, way.way);
                const reader& from = way.file.value();
                const component_view data = data_of(from);
                CHECK(data.dtype().text() == each.dtype);
                CHECK(data.type().text() == each.type);
                CHECK(data.type().is_present());
                CHECK(data.dtype().original() == each.word);
                CHECK(data.decoded_bytes() == content.size());
                CHECK_FALSE(data.uncompressed_length().has_value());
                CHECK(as_string(data.read<std::byte>().value()) == content);
            }
            sample wrong = file;
            wrong.shape({2, 4});
            const result<reader> other = open_bytes(wrong.file());
            if (!is_zstd) {
                CHECK(refusal(other) == errc::size_mismatch);
            } else {
                REQUIRE(other.has_value());
                CHECK(refusal(data_of(*other).read<std::byte>()) == errc::decode_size);
            }
        }
    }
}

TEST_CASE("1.1: numbers of the four logical types are read as such, and as what they are stored as") {
    sample file(version::v1_1);
    file.dtype("complex64").shape({1}); // of the floats 1 and 2
    const reader complex_file = opened(file.file());
    CHECK(complex_file.read<std::complex<float>>("w").value() == std::vector<std::complex<float>>{{1, 2}});
    CHECK(complex_file.read<float>("w").value() == std::vector<float>{1, 2});
    CHECK(refusal(complex_file.read_as<float>("w")) == errc::unsupported_type);
    CHECK(refusal(complex_file.read<std::complex<double>>("w")) == errc::type_mismatch);

    sample fp8(version::v1_1);
    fp8.dtype("f8_e4m3").shape({3}).blob("\x38\x7e\xb8"); // 1, 448, -1
    const reader fp8_file = opened(fp8.file());
    CHECK(fp8_file.read_as<float>("w").value() == std::vector<float>{1, 448, -1});
    CHECK(fp8_file.read<std::uint8_t>("w").value() == std::vector<std::uint8_t>{0x38, 0x7e, 0xb8});
    CHECK(fp8_file.read<ztensor::float8_e4m3fn>("w").value().front().bits() == 0x38);
    CHECK(refusal(fp8_file.read<ztensor::float8_e5m2>("w")) == errc::type_mismatch);
    fp8.dtype("f8_e5m2").blob("\x3c\x7b\xbc"); // 1, 57,344, -1
    CHECK(opened(fp8.file()).read_as<double>("w").value() == std::vector<double>{1, 57344, -1});
}

// -- byte order

TEST_CASE("0.1: data in either byte order are read alike, and viewed where the host's order is theirs") {
    for (const auto& each : number_types) {
        check_order(each.short_name, each.calls);
    }
}

TEST_CASE("0.1: big-endian numbers are what they are, whatever they are read as") {
    sample file(version::v0_1);
    file.object("data_endianness", cbor::text("big")).blob("\x3f\x80\0\0\xc0\0\0\0"s);
    const reader from = opened(file.file());
    CHECK(from.read<float>("w").value() == std::vector<float>{1, -2});
    CHECK(from.read_as<double>("w").value() == std::vector<double>{1, -2});
    CHECK(from["w"].rows(1, 2).read<float>().value() == std::vector<float>{-2});
    CHECK(from.view<std::byte>("w").value().size() == 8); // bytes have no order
    file.dtype("bool").shape({2}).blob("\0\1"s);
    CHECK(opened(file.file()).read<bool>("w").value() == std::vector<bool>{false, true});
}

TEST_CASE("0.1: without a word the order is little-endian, and so it is in every later generation") {
    for (const ztensor::version from : generations) {
        sample file(from);
        file.blob(little_endian(0x3f800000, 4) + little_endian(0xc0000000, 4));
        if (from != version::v0_1) {
            file.component("data_endianness", cbor::text("big")); // of no meaning there
        }
        const reader each = opened(file.file());
        CHECK_FALSE(data_of(each).is_big_endian());
        CHECK(each.read<float>("w").value() == std::vector<float>{1, -2});
    }
}

TEST_CASE("0.1: another byte order than little and big is refused") {
    for (const char* const word : {"", "Big", "LITTLE", "middle", "native", "big "}) {
        sample file(version::v0_1);
        file.object("data_endianness", cbor::text(word));
        const result<reader> each = open_bytes(file.file());
        CAPTURE(word);
        REQUIRE(refusal(each) == errc::schema_type);
        CHECK(each.error().object() == "w");
    }
}

// -- bools

TEST_CASE("a bool of 0.1 is true if its byte is not 0, one of a later generation if it is 1") {
    const temp_dir directory;
    const bytes odd = "\0\1\2\x80\xff\0"s;
    for (const ztensor::version from : generations) {
        for (const bool is_zstd : {false, true}) {
            sample file(from);
            file.dtype("bool").shape({3, 2}).blob(odd);
            if (is_zstd) {
                file.zstd_blob(zstd::frame_of(odd), odd.size());
            }
            for (const opening& way : open_every_way(file.file(), directory)) {
                CAPTURE(name(from), is_zstd, way.way);
                const reader& each = way.file.value();
                std::array<bool, 6> into{};
                if (from == version::v0_1) {
                    CHECK(each.read<bool>("w").value() == std::vector<bool>{false, true, true, true, true, false});
                    CHECK(each["w"].rows(1, 2).read<bool>().value() == std::vector<bool>{true, true});
                    CHECK(each.read_as<float>("w").value() == std::vector<float>{0, 1, 1, 1, 1, 0});
                    each.read_into("w", into).value();
                    CHECK(into == std::array<bool, 6>{false, true, true, true, true, false});
                } else {
                    CHECK(refusal(each.read<bool>("w")) == errc::bad_bool);
                    CHECK(refusal(each["w"].rows(1, 2).read<bool>()) == errc::bad_bool);
                    CHECK(refusal(each.read_as<float>("w")) == errc::bad_bool);
                    into.fill(true);
                    CHECK(refusal(each.read_into("w", into)) == errc::bad_bool);
                    CHECK(into == std::array<bool, 6>{}); // none that is neither true nor false
                }
                CHECK(as_string(data_of(each).read<std::byte>().value()) == odd); // never what is stored
                CHECK(each.read<std::uint8_t>("w").value() == elements_from<std::uint8_t>(odd));
            }
        }
    }
}

TEST_CASE("bools of 0 and 1 are read alike in every generation") {
    for (const ztensor::version from : generations) {
        sample file(from);
        file.dtype("bool").shape({3}).blob("\1\0\1"s);
        const reader each = opened(file.file());
        CHECK(each.read<bool>("w").value() == std::vector<bool>{true, false, true});
        CHECK(each.read_as<double>("w").value() == std::vector<double>{1, 0, 1});
        CHECK(each["w"].rows(0, 1).read<bool>().value() == std::vector<bool>{true});
        CHECK(data_of(each).dtype().text() == "bool");
    }
}

// -- sizes that earlier generations do not state

TEST_CASE("compressed data have their size from shape and type, where the file does not state it") {
    const temp_dir directory;
    for (const ztensor::version from : generations_without_sizes) {
        for (const std::size_t decoded : {7U, 8U, 9U, 0U}) {
            sample file(from);
            file.zstd_blob(zstd::frame_of(counting(decoded)), 0); // for two floats
            for (const opening& way : open_every_way(file.file(), directory)) {
                CAPTURE(name(from), decoded, way.way);
                const reader& each = way.file.value();
                CHECK(data_of(each).decoded_bytes() == 8);
                CHECK_FALSE(data_of(each).uncompressed_length().has_value());
                if (decoded == 8) {
                    CHECK(memory_of(each.read<float>("w").value()) == memory_of(elements_from<float>(counting(8))));
                } else {
                    CHECK(refusal(each.read<float>("w")) == errc::decode_size);
                    CHECK(refusal(data_of(each).read<std::byte>()) == errc::decode_size);
                }
            }
        }
    }
}

TEST_CASE("a size from the shape that the blob can't decode to is refused when the file is opened") {
    for (const ztensor::version from : generations_without_sizes) {
        sample file(from);
        file.dtype("u8").zstd_blob("zzzz", 0).shape({4 * 32768});
        CHECK(open_bytes(file.file()).has_value());
        file.shape({4 * 32768 + 1});
        CHECK(refusal(open_bytes(file.file())) == errc::decode_limit);
        file.shape({std::uint64_t{1} << 62});
        CHECK(refusal(open_bytes(file.file())) == errc::decode_limit);
        file.dtype("f64").shape({std::uint64_t{1} << 61});
        CHECK(refusal(open_bytes(file.file())) == errc::shape_overflow);
    }
}

TEST_CASE("compressed data of an unknown type or format end with their blob") {
    for (const ztensor::version from : generations_without_sizes) {
        for (const bool is_about_format : {false, true}) {
            sample file(from);
            file.zstd_blob(zstd::frame_of("abc") + support::zstd::skippable_frame("x") + zstd::frame_of("defgh"), 0);
            if (is_about_format) {
                file.object("format", cbor::text("own"));
            } else {
                file.dtype("f24");
            }
            const reader each = opened(file.file());
            CAPTURE(name(from), is_about_format);
            CHECK_FALSE(data_of(each).decoded_bytes().has_value());
            CHECK(as_string(data_of(each).read<std::byte>().value()) == "abcdefgh");
            if (is_about_format) {
                CHECK(memory_of(data_of(each).read<float>().value()) == memory_of(elements_from<float>("abcdefgh")));
                CHECK(refusal(data_of(each).read<double>()) == errc::type_mismatch);
            }
        }
    }
}

TEST_CASE("compressed data whose size only decoding tells must be whole elements") {
    sample file(version::v1_1);
    file.zstd_blob(zstd::frame_of("abcdefg"), 0).object("format", cbor::text("own"));
    const reader each = opened(file.file());
    CHECK(refusal(data_of(each).read<float>()) == errc::size_mismatch);
    CHECK(data_of(each).read<std::byte>().value().size() == 7);
}
