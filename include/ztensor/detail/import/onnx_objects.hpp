// SPDX-License-Identifier: MIT
//
// ONNX: tensors as objects, sparse ones among them.
#ifndef ZTENSOR_DETAIL_IMPORT_ONNX_OBJECTS_HPP
#define ZTENSOR_DETAIL_IMPORT_ONNX_OBJECTS_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/foreign_index.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/onnx_tensor.hpp>
#include <ztensor/detail/import/protobuf.hpp>
#include <ztensor/detail/import/sibling_files.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- onnx sparse
//
// The coordinates of a sparse initializer as sparse_coo has them.

/// Indices are i64: one for each value, which counts through the dense tensor, or one for each value and dimension. A
/// negative one becomes a coordinate beyond any shape, and a linear one beyond the tensor a first coordinate that is.
class onnx_coordinates final : public made_bytes {
public:
    onnx_coordinates(const byte_source& source, const foreign_component& indices, std::vector<std::uint64_t> dimensions,
                     bool is_linear, std::uint64_t max_bytes)
        : source_(source), offset_(indices.offset), length_(indices.length), dimensions_(std::move(dimensions)),
          is_linear_(is_linear), max_bytes_(max_bytes) {}

    [[nodiscard]] result<void> make(span<std::byte> destination) const override {
        byte_buffer indices;
        if (destination.size() > max_bytes_ || length_ > max_bytes_ - destination.size()) {
            return fail(errc::limit_exceeded, "the indices take {} bytes, more than the {} allowed",
                        {length_, max_bytes_});
        }
        if (!fits_address_space(length_) || !indices.allocate(static_cast<std::size_t>(length_))) {
            return fail(errc::out_of_memory, "no memory for indices of {} bytes", {length_});
        }
        ZTENSOR_TRY(source_.read_at(offset_, indices.writable_bytes()));
        const std::size_t rank = dimensions_.size();
        const std::size_t count = rank == 0 ? 0 : destination.size() / 8 / rank;
        for (std::size_t i = 0; i < count; ++i) {
            std::uint64_t rest = is_linear_ ? load_little_64(indices.data() + i * 8) : 0;
            for (std::size_t dimension = rank; dimension-- != 0;) {
                std::uint64_t coordinate = rest;
                if (!is_linear_) {
                    coordinate = load_little_64(indices.data() + (i * rank + dimension) * 8);
                } else if (dimension != 0 && dimensions_[dimension] != 0) {
                    coordinate = rest % dimensions_[dimension];
                    rest /= dimensions_[dimension];
                }
                store_little(coordinate, destination.data() + (dimension * count + i) * 8, 8);
            }
        }
        return {};
    }

private:
    const byte_source& source_;
    std::uint64_t offset_;
    std::uint64_t length_;
    std::vector<std::uint64_t> dimensions_;
    bool is_linear_;
    std::uint64_t max_bytes_;
};

// -- onnx objects
//
// What is made of the tensors of an ONNX model: objects with their names, wherever their elements are, or the reason
// why one is skipped. Knows no graph.

/// A SparseTensorProto.
struct onnx_sparse_tensor {
    onnx_tensor values;
    onnx_tensor indices;
    std::vector<std::uint64_t> dimensions;
};

class onnx_objects {
public:
    onnx_objects(const foreign_file& file, proto_reader& from, foreign_index& index)
        : file_(file), from_(from), index_(index),
          all_(std::make_shared<assembled_source>(file.source, file.options.max_decoded_bytes_)),
          siblings_(file, *all_) {}

    [[nodiscard]] std::shared_ptr<const byte_source> source() const noexcept { return all_; }

    /// The names that come next are of one graph: one of them that stands twice is an error, and no taken name.
    void start_graph() { first_of_graph_ = places_.size(); }
    /// Whether an object of another graph has that name.
    [[nodiscard]] bool is_taken(std::string_view name) const noexcept {
        return names_.find(name, name_of()) < first_of_graph_;
    }

    /// A tensor under that name, of a type that find_onnx_type() finds.
    [[nodiscard]] result<void> add(const std::string& name, const onnx_tensor& tensor) {
        const result<foreign_component> data = place(tensor);
        if (!data) {
            return error(data.error()).in_object(name);
        }
        add_object(name, tensor.dimensions, "dense", {&*data, 1});
        return check_index_size();
    }
    /// The same of a sparse tensor.
    [[nodiscard]] result<void> add(const std::string& name, const onnx_sparse_tensor& tensor) {
        result<void> added = add_sparse(name, tensor);
        return added ? check_index_size() : std::move(added).error().in_object(name);
    }
    /// Numbers that stand in `field` of a message: f32 or i64.
    [[nodiscard]] result<void> add_list(const std::string& name, file_range message, std::uint64_t field,
                                        std::uint64_t type, std::uint64_t count) {
        const onnx_type& of = *find_onnx_type(type);
        foreign_component data;
        data.dtype = of.dtype;
        data.length = count * of.bytes; // each took at least a byte of the file
        data.offset = message.offset;
        return add_made(name, {&count, 1}, data,
                        count == 0 ? nullptr
                                   : std::make_unique<onnx_numbers>(*file_.source, message, field, of, count));
    }
    /// A single number of that type, f32 or i64.
    [[nodiscard]] result<void> add_scalar(const std::string& name, std::uint64_t type, std::uint64_t bits) {
        const onnx_type& of = *find_onnx_type(type);
        foreign_component data;
        data.dtype = of.dtype;
        data.length = of.bytes;
        return add_made(name, {}, data, std::make_unique<onnx_scalar>(bits));
    }

    /// Lists what is skipped. The list takes about as much memory as the file, or 512 KiB: where it would take more,
    /// what comes next is only counted.
    void skip(std::string_view name, std::string_view where, std::string why) {
        constexpr std::uint64_t always = std::uint64_t{512} << 10, bytes_each = 256;
        listed_bytes_ += bytes_each + name.size() + where.size();
        if (listed_bytes_ <= always + file_.source->size()) {
            return index_.skip(name, where, std::move(why));
        }
        ++unlisted_;
    }
    /// After all were added.
    void finish() {
        if (unlisted_ != 0) {
            index_.skip("", "", std::to_string(unlisted_) + " more like these are not named");
        }
    }

    [[nodiscard]] result<onnx_sparse_tensor> read_sparse(std::uint64_t sparse_end) {
        onnx_sparse_tensor read;
        const auto read_part = [&](const proto_field& field, onnx_tensor& part) {
            return from_.in_message(field, [&](std::uint64_t end) -> result<void> {
                ZTENSOR_TRY_ASSIGN(onnx_tensor tensor, onnx_tensor_reader(from_, end).read());
                part = std::move(tensor);
                return {};
            });
        };
        result<void> done = from_.for_each_field(sparse_end, [&](const proto_field& field) {
            return field.number == 1   ? read_part(field, read.values)
                   : field.number == 2 ? read_part(field, read.indices)
                   : field.number == 3 ? take_onnx_numbers(from_, field, 0,
                                                           [&](std::uint64_t size) {
                                                               return add_sparse_dimension(read.dimensions, size);
                                                           })
                                       : from_.skip(field);
        });
        return done ? result<onnx_sparse_tensor>(std::move(read)) : std::move(done).error().in_object(read.values.name);
    }

    [[nodiscard]] result<void> check_index_size() const {
        return index_.bytes() <= file_.options.max_manifest_bytes_
                   ? result<void>()
                   : fail(errc::manifest_too_large, "the index of the model takes more than the {} bytes allowed",
                          {file_.options.max_manifest_bytes_});
    }

private:
    struct name_at {
        const foreign_index& index;
        const std::vector<std::uint32_t>& places;
        std::string_view operator()(std::uint32_t position) const noexcept { return index.name_at(places[position]); }
    };
    [[nodiscard]] name_at name_of() const noexcept { return {index_, places_}; }

    /// Adds the object. A name that stands twice is found when the index is read.
    void add_object(const std::string& name, span<const std::uint64_t> dimensions, std::string_view format,
                    span<const foreign_component> components) {
        const auto place = static_cast<std::uint32_t>(index_.next_place()); // finish() refuses more than 2^30
        index_.add(name, dimensions, format, components, nullptr);
        if (names_.find(name, name_of()) == name_table::absent) {
            places_.push_back(place);
            names_.add(name_of());
        }
    }

    [[nodiscard]] result<void> add_made(const std::string& name, span<const std::uint64_t> dimensions,
                                        foreign_component data, std::unique_ptr<const made_bytes> made) {
        if (made != nullptr) {
            const result<std::uint64_t> offset = all_->add(std::move(made), data.length);
            if (!offset) {
                return error(offset.error()).in_object(name);
            }
            data.offset = *offset;
        }
        add_object(name, dimensions, "dense", {&data, 1});
        return check_index_size();
    }

    // -- where elements are

    [[nodiscard]] result<foreign_component> place(const onnx_tensor& tensor) {
        const onnx_type& type = *find_onnx_type(tensor.type);
        element_counter counter;
        for (const std::uint64_t dimension : tensor.dimensions) {
            if (!counter.multiply(dimension)) {
                return too_large();
            }
        }
        const std::optional<std::uint64_t> bits = checked_multiply(counter.count(), type.bits);
        if (!bits) {
            return too_large();
        }
        foreign_component data;
        data.dtype = type.dtype;
        data.type = type.type;
        data.length = *bits / 8 + (*bits % 8 != 0 ? 1 : 0);
        const bool has_numbers = tensor.field != onnx_field::none;
        if (!tensor.is_external && ((tensor.raw && has_numbers) || tensor.has_two_fields)) {
            return fail(errc::header_malformed, "the tensor keeps elements in more than one place");
        }
        ZTENSOR_TRY_ASSIGN(const std::uint64_t offset, tensor.is_external ? place_external(tensor, data.length)
                                                       : tensor.raw
                                                           ? place_raw(*tensor.raw, data.length)
                                                           : place_numbers(tensor, type, data.length, counter.count()));
        data.offset = offset;
        return data;
    }

    [[nodiscard]] static error too_large() {
        return fail(errc::shape_overflow, "the tensor has more elements or bytes than 64 bits can count");
    }
    [[nodiscard]] static error wrong_size(std::uint64_t found, std::uint64_t expected) {
        return fail(errc::size_mismatch, "the tensor has {} bytes, but its shape and type need {}", {found, expected});
    }

    [[nodiscard]] static result<std::uint64_t> place_raw(const file_range& raw, std::uint64_t bytes) {
        return raw.length == bytes ? result<std::uint64_t>(raw.offset) : wrong_size(raw.length, bytes);
    }

    /// Floats that are packed at once lie as they are; other numbers are taken one by one when they are read.
    [[nodiscard]] result<std::uint64_t> place_numbers(const onnx_tensor& tensor, const onnx_type& type,
                                                      std::uint64_t bytes, std::uint64_t elements) {
        if (tensor.field != onnx_field::none && tensor.field != type.field) {
            return fail(errc::header_malformed, "the tensor keeps its elements in a field for other types");
        }
        if (bytes == 0 && tensor.piece_bytes == 0) {
            return tensor.message.offset;
        }
        const bool is_fixed = type.field == onnx_field::floats || type.field == onnx_field::doubles;
        const std::uint64_t count = type.bytes == 0 ? elements : bytes / type.bytes;
        if (is_fixed ? tensor.piece_bytes != bytes : tensor.piece_bytes < count) {
            return wrong_size(tensor.piece_bytes, bytes);
        }
        if (is_fixed && tensor.pieces == 1) {
            return tensor.only_piece.offset;
        }
        return all_->add(std::make_unique<onnx_numbers>(*file_.source, tensor.message,
                                                        static_cast<std::uint64_t>(type.field), type, count),
                         bytes);
    }

    [[nodiscard]] result<std::uint64_t> place_external(const onnx_tensor& tensor, std::uint64_t bytes) {
        const result<std::optional<std::uint64_t>> offset = number_of("offset", tensor.external_offset);
        const result<std::optional<std::uint64_t>> length = number_of("length", tensor.external_length);
        if (!offset || !length) {
            return !offset ? offset.error() : length.error();
        }
        ZTENSOR_TRY_ASSIGN(const sibling_files::sibling file, siblings_.find(tensor.location));
        if (*length && **length != bytes) {
            return wrong_size(**length, bytes);
        }
        const std::uint64_t begin = offset->value_or(0);
        if (!fits(begin, bytes, file.size)) {
            return fail(errc::out_of_bounds, "the data takes {} bytes from byte {} of {}, which has {}",
                        {bytes, begin, in_quotes(tensor.location), file.size});
        }
        return file.begin + begin;
    }

    [[nodiscard]] static result<std::optional<std::uint64_t>> number_of(const char* what,
                                                                        const std::optional<std::string>& digits) {
        const std::optional<std::uint64_t> number = digits ? parse_number(*digits) : std::nullopt;
        if (digits && !number) {
            return fail(errc::header_malformed, "the {} of the external data is {}, no number",
                        {what, in_quotes(*digits)});
        }
        return number;
    }

    [[nodiscard]] static std::optional<std::uint64_t> parse_number(std::string_view digits) noexcept {
        std::optional<std::uint64_t> number = digits.empty() ? std::nullopt : std::optional<std::uint64_t>(0);
        for (const char digit : digits) {
            const bool is_digit = digit >= '0' && digit <= '9';
            number = number && is_digit ? checked_multiply(*number, 10) : std::nullopt;
            number = number ? checked_add(*number, static_cast<std::uint64_t>(digit - '0')) : std::nullopt;
        }
        return number;
    }

    // -- sparse tensors

    [[nodiscard]] static result<void> add_sparse_dimension(std::vector<std::uint64_t>& dimensions, std::uint64_t size) {
        constexpr std::size_t most_dimensions = 64;
        if (size >> 63 != 0 || dimensions.size() == most_dimensions) {
            return fail(errc::header_malformed, "a sparse tensor has a negative dimension, or more than {}",
                        {most_dimensions});
        }
        dimensions.push_back(size);
        return {};
    }

    /// As sparse_coo, whose coordinates are u64, all of the first dimension before those of the next.
    [[nodiscard]] result<void> add_sparse(const std::string& name, const onnx_sparse_tensor& tensor) {
        const auto& [values, indices, dimensions] = tensor;
        constexpr std::uint64_t i64 = 7;
        const bool is_linear = indices.dimensions.size() == 1;
        const bool is_listed = indices.dimensions.size() == 2 && indices.dimensions[1] == dimensions.size();
        if (values.dimensions.size() != 1 || indices.type != i64 || (!is_linear && !is_listed) ||
            indices.dimensions[0] != values.dimensions[0]) {
            return fail(errc::sparse_size, "the indices of a sparse tensor do not fit its values and its shape");
        }
        result<foreign_component> stored = place(values);
        const result<foreign_component> found = place(indices);
        if (!stored || !found) {
            return !stored ? stored.error() : found.error();
        }
        const std::optional<std::uint64_t> count = checked_multiply(values.dimensions[0], dimensions.size());
        const std::optional<std::uint64_t> bytes = count ? checked_multiply(*count, 8) : std::nullopt;
        if (!bytes) {
            return too_large();
        }
        ZTENSOR_TRY_ASSIGN(const std::uint64_t offset,
                           all_->add(std::make_unique<onnx_coordinates>(*all_, *found, dimensions, is_linear,
                                                                        file_.options.max_decoded_bytes_),
                                     *bytes));
        stored->role = "values";
        foreign_component coordinates;
        coordinates.role = "coords";
        coordinates.dtype = "u64";
        coordinates.offset = offset;
        coordinates.length = *bytes;
        const foreign_component parts[] = {*stored, coordinates};
        add_object(name, dimensions, "sparse_coo", parts);
        return {};
    }

    const foreign_file& file_;
    proto_reader& from_;
    foreign_index& index_;
    std::shared_ptr<assembled_source> all_;
    sibling_files siblings_;
    growing_name_table names_;
    std::vector<std::uint32_t> places_; ///< in the index, of each name
    std::size_t first_of_graph_ = 0;    ///< of the names
    std::uint64_t listed_bytes_ = 0;    ///< of what was skipped
    std::uint64_t unlisted_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
