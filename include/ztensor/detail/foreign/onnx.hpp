// SPDX-License-Identifier: MIT
//
// ONNX models: their initializers, dense and sparse, wherever these keep their elements. Of the rest of a model only
// its metadata_props are looked at, which become attributes.
#ifndef ZTENSOR_DETAIL_FOREIGN_ONNX_HPP
#define ZTENSOR_DETAIL_FOREIGN_ONNX_HPP

#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/utf8.hpp>
#include <ztensor/detail/foreign/header_stream.hpp>
#include <ztensor/detail/foreign/importer.hpp>
#include <ztensor/detail/foreign/onnx_sparse.hpp>
#include <ztensor/detail/foreign/onnx_tensor.hpp>
#include <ztensor/detail/foreign/protobuf.hpp>
#include <ztensor/detail/foreign/sibling_files.hpp>
#include <ztensor/detail/read/assembled_source.hpp>
#include <ztensor/result.hpp>

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

class onnx_importer {
public:
    explicit onnx_importer(const foreign_file& file)
        : file_(file), all_(std::make_shared<assembled_source>(file.source, file.options.max_decoded_bytes_)),
          siblings_(file, *all_), stream_(*file.source, 0, file.source->size(), file.options.max_manifest_bytes_),
          from_(stream_) {}

    [[nodiscard]] result<imported> import() {
        if (result<void> read = read_model(); !read) {
            return std::move(read).error();
        }
        result<byte_buffer> index = index_.finish(file_.options.max_manifest_bytes_);
        if (!index) {
            return std::move(index).error();
        }
        imported made;
        made.kind = container_kind::onnx;
        made.source = all_;
        made.index = *std::move(index);
        made.blobs_may_overlap = true; // external data is ranges that the model chose
        return made;
    }

private:
    /// Calls `take(field)` for each field of a message; it takes what it knows and skips the rest.
    template <class Take>
    [[nodiscard]] result<void> for_each_field(std::uint64_t end, Take&& take) {
        while (from_.position() < end) {
            const result<proto_field> field = from_.next(end);
            if (!field) {
                return field.error();
            }
            if (result<void> taken = take(*field); !taken) {
                return taken;
            }
        }
        return {};
    }
    /// Calls `read(end)` for the message that the field is.
    template <class Read>
    [[nodiscard]] result<void> in_message(const proto_field& field, Read&& read) {
        const result<std::uint64_t> end = from_.message(field);
        return end ? read(*end) : end.error();
    }

    [[nodiscard]] result<void> read_model() {
        constexpr std::uint64_t graph = 7, metadata_props = 14;
        bool has_graph = false;
        result<void> read = for_each_field(file_.source->size(), [&](const proto_field& field) {
            has_graph = has_graph || field.number == graph;
            return field.number == graph ? in_message(field, [&](std::uint64_t end) { return read_graph(end); })
                   : field.number == metadata_props
                       ? in_message(field, [&](std::uint64_t end) { return read_property(end); })
                       : from_.skip(field);
        });
        if (read && !has_graph) {
            return fail(errc::schema_missing, "the model has no graph");
        }
        return read;
    }

    [[nodiscard]] result<void> read_property(std::uint64_t end) {
        const result<std::pair<std::string, std::string>> entry = read_onnx_entry(from_, end);
        if (!entry) {
            return entry.error();
        }
        cbor_encoder& value = index_.attribute(entry->first);
        if (is_utf8(entry->second)) {
            value.text(entry->second);
        } else {
            value.byte_string(as_bytes(entry->second));
        }
        return check_index_size();
    }

    [[nodiscard]] result<void> read_graph(std::uint64_t graph_end) {
        constexpr std::uint64_t initializer = 5, sparse_initializer = 15;
        return for_each_field(graph_end, [&](const proto_field& field) {
            return field.number == initializer
                       ? in_message(field, [&](std::uint64_t end) { return read_initializer(end); })
                   : field.number == sparse_initializer
                       ? in_message(field, [&](std::uint64_t end) { return read_sparse(end); })
                       : from_.skip(field);
        });
    }

    [[nodiscard]] result<void> check_index_size() const {
        return index_.bytes() <= file_.options.max_manifest_bytes_
                   ? result<void>()
                   : fail(errc::manifest_too_large, "the index of the model takes more than the {} bytes allowed",
                          {file_.options.max_manifest_bytes_});
    }

    [[nodiscard]] result<void> read_initializer(std::uint64_t end) {
        const result<onnx_tensor> tensor = onnx_tensor_reader(from_, end).read();
        if (!tensor) {
            return tensor.error();
        }
        const result<foreign_component> data = place(*tensor);
        if (!data) {
            return error(data.error()).in_object(tensor->name);
        }
        index_.add(tensor->name, tensor->dimensions, *data);
        return check_index_size();
    }

    // -- where elements are

    /// Of a type that is none of ours the bytes of its message, under a word that no dtype has: listed, and refused
    /// when it is read.
    [[nodiscard]] static foreign_component place_unknown(const onnx_tensor& tensor) {
        constexpr std::uint64_t text = 8;
        foreign_component data;
        data.dtype = tensor.type == text ? "string" : "onnx_unknown";
        data.offset = tensor.message.offset;
        data.length = tensor.message.length;
        return data;
    }

    [[nodiscard]] result<foreign_component> place(const onnx_tensor& tensor) {
        const onnx_type* const type = find_onnx_type(tensor.type);
        if (type == nullptr) {
            return place_unknown(tensor);
        }
        element_counter counter;
        for (const std::uint64_t dimension : tensor.dimensions) {
            if (!counter.multiply(dimension)) {
                return too_large();
            }
        }
        const std::optional<std::uint64_t> bits = checked_multiply(counter.count(), type->bits);
        if (!bits) {
            return too_large();
        }
        foreign_component data;
        data.dtype = type->dtype;
        data.type = type->type;
        data.length = *bits / 8 + (*bits % 8 != 0 ? 1 : 0);
        const int places =
            int{tensor.is_external} + int{tensor.raw.has_value()} + int{tensor.field != onnx_field::none};
        if (places > 1 || tensor.has_two_fields) {
            return fail(errc::header_malformed, "the tensor keeps elements in more than one place");
        }
        const result<std::uint64_t> offset = tensor.is_external ? place_external(tensor, data.length)
                                             : tensor.raw       ? place_raw(*tensor.raw, data.length)
                                                          : place_numbers(tensor, *type, data.length, counter.count());
        if (!offset) {
            return offset.error();
        }
        data.offset = *offset;
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
        return all_->add(std::make_unique<onnx_numbers>(*file_.source, tensor.message, type, count), bytes);
    }

    [[nodiscard]] result<std::uint64_t> place_external(const onnx_tensor& tensor, std::uint64_t bytes) {
        const result<std::optional<std::uint64_t>> offset = number_of("offset", tensor.external_offset);
        const result<std::optional<std::uint64_t>> length = number_of("length", tensor.external_length);
        if (!offset || !length) {
            return !offset ? offset.error() : length.error();
        }
        const result<sibling_files::sibling> file = siblings_.find(tensor.location);
        if (!file) {
            return file.error();
        }
        if (*length && **length != bytes) {
            return wrong_size(**length, bytes);
        }
        const std::uint64_t begin = offset->value_or(0);
        if (!fits(begin, bytes, file->size)) {
            return fail(errc::out_of_bounds, "the data takes {} bytes from byte {} of {}, which has {}",
                        {bytes, begin, in_quotes(tensor.location), file->size});
        }
        return file->begin + begin;
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

    // -- sparse initializers

    [[nodiscard]] result<void> read_sparse(std::uint64_t sparse_end) {
        onnx_tensor values;
        onnx_tensor indices;
        std::vector<std::uint64_t> dimensions;
        const auto read_part = [&](const proto_field& field, onnx_tensor& part) {
            return in_message(field, [&](std::uint64_t end) -> result<void> {
                result<onnx_tensor> tensor = onnx_tensor_reader(from_, end).read();
                if (!tensor) {
                    return std::move(tensor).error();
                }
                part = *std::move(tensor);
                return {};
            });
        };
        result<void> read = for_each_field(sparse_end, [&](const proto_field& field) {
            return field.number == 1   ? read_part(field, values)
                   : field.number == 2 ? read_part(field, indices)
                   : field.number == 3
                       ? take_onnx_numbers(from_, field, 0,
                                           [&](std::uint64_t size) { return add_sparse_dimension(dimensions, size); })
                       : from_.skip(field);
        });
        read = read ? add_sparse(values, indices, dimensions) : std::move(read);
        return read ? check_index_size() : std::move(read).error().in_object(values.name);
    }

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
    [[nodiscard]] result<void> add_sparse(const onnx_tensor& values, const onnx_tensor& indices,
                                          const std::vector<std::uint64_t>& dimensions) {
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
        const result<std::uint64_t> offset = all_->add(
            std::make_unique<onnx_coordinates>(*all_, *found, dimensions, is_linear, file_.options.max_decoded_bytes_),
            *bytes);
        if (!offset) {
            return offset.error();
        }
        stored->role = "values";
        foreign_component coordinates;
        coordinates.role = "coords";
        coordinates.dtype = "u64";
        coordinates.offset = *offset;
        coordinates.length = *bytes;
        const foreign_component parts[] = {*stored, coordinates};
        index_.add(values.name, dimensions, "sparse_coo", parts, nullptr);
        return {};
    }

    const foreign_file& file_;
    std::shared_ptr<assembled_source> all_;
    sibling_files siblings_;
    header_stream stream_;
    proto_reader from_;
    foreign_index index_;
};

[[nodiscard]] ZTENSOR_COLD inline result<imported> import_onnx(const foreign_file& file) {
    return onnx_importer(file).import();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
