// SPDX-License-Identifier: MIT
//
// What is made of the tensors of an ONNX model: objects with their names, wherever their elements are, or the reason
// why one is skipped. Knows no graph.
#ifndef ZTENSOR_DETAIL_IMPORT_ONNX_OBJECTS_HPP
#define ZTENSOR_DETAIL_IMPORT_ONNX_OBJECTS_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/onnx_tensor.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class onnx_objects {
public:
    onnx_objects(const foreign_file& file, foreign_index& index)
        : file_(file), index_(index),
          all_(std::make_shared<assembled_source>(file.source, file.options.max_decoded_bytes())),
          siblings_(file, *all_), skips_(index, (uint64_t{512} << 10) + file.source->size()) {}

    [[nodiscard]] std::shared_ptr<const byte_source> source() const noexcept { return all_; }

    /// The names that come next are of one graph: one of them that stands twice is an error, and no taken name.
    void start_graph() { first_of_graph_ = index_.size(); }
    /// Whether an object of another graph has that name.
    [[nodiscard]] bool is_taken(string_view name) const noexcept {
        return names_.find(name, name_of()) < first_of_graph_;
    }

    /// A tensor under that name, of a type that find_onnx_type() finds.
    result<void> add(const string& name, const onnx_tensor& tensor) {
        result<foreign_component> data = place(tensor);
        return data ? add_object(name, tensor.dimensions, "dense", {&*data, 1})
                    : std::move(data).error().in_object(name);
    }
    /// The same of a sparse tensor.
    result<void> add(const string& name, const onnx_sparse_tensor& tensor) {
        foreign_component parts[2];
        result<void> placed = place_sparse(tensor, parts);
        return placed ? add_object(name, tensor.dimensions, "sparse_coo", parts)
                      : std::move(placed).error().in_object(name);
    }
    /// Numbers that stand in `field` of a message: f32 or i64.
    result<void> add_list(const string& name, file_range message, uint64_t field, uint64_t type, uint64_t count) {
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
    result<void> add_scalar(const string& name, uint64_t type, uint64_t bits) {
        const onnx_type& of = *find_onnx_type(type);
        foreign_component data;
        data.dtype = of.dtype;
        data.length = of.bytes;
        return add_made(name, {}, data, std::make_unique<onnx_scalar>(bits));
    }

    /// What is skipped; the list takes about as much memory as the file, or 512 KiB.
    [[nodiscard]] bounded_skips& skips() noexcept { return skips_; }

    result<void> check_size() const { return check_index_size(index_, file_.options, "model"); }

private:
    struct name_at {
        const foreign_index& index;
        string_view operator()(uint32_t object) const noexcept { return index.name_of(object); }
    };
    [[nodiscard]] name_at name_of() const noexcept { return {index_}; }

    /// Adds the object. A name that stands twice is found when the index is read.
    result<void> add_object(const string& name, span<const uint64_t> dimensions, string_view format,
                            span<const foreign_component> components) {
        index_.add(name, dimensions, format, components, nullptr);
        names_.add(name_of());
        return check_size();
    }

    result<void> add_made(const string& name, span<const uint64_t> dimensions, foreign_component data,
                          std::unique_ptr<const made_bytes> made) {
        if (made != nullptr) {
            ZTENSOR_TRY_ASSIGN(data.offset, in_object(all_->add(std::move(made), data.length), name));
        }
        return add_object(name, dimensions, "dense", {&data, 1});
    }

    // -- where elements are

    result<foreign_component> place(const onnx_tensor& tensor) {
        const onnx_type& type = *find_onnx_type(tensor.type);
        const optional<uint64_t> bits = count_elements(tensor.dimensions, type.bits);
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
        if (tensor.raw && !tensor.is_external) {
            data.offset = tensor.raw->offset;
            return tensor.raw->length == data.length ? result<foreign_component>(data)
                                                     : wrong_size(tensor.raw->length, data.length);
        }
        ZTENSOR_TRY_ASSIGN(data.offset, tensor.is_external
                                            ? place_external(tensor, data.length)
                                            : place_numbers(tensor, type, data.length, *bits / type.bits));
        return data;
    }

    [[nodiscard]] static error too_large() {
        return fail(errc::shape_overflow, "the tensor has more elements or bytes than 64 bits can count");
    }
    [[nodiscard]] static error wrong_size(uint64_t found, uint64_t expected) {
        return fail(errc::size_mismatch, "the tensor has {} bytes, but its shape and type need {}", {found, expected});
    }

    /// Floats that are packed at once lie as they are; other numbers are taken one by one when they are read.
    result<uint64_t> place_numbers(const onnx_tensor& tensor, const onnx_type& type, uint64_t bytes,
                                   uint64_t elements) {
        if (tensor.field != onnx_field::none && tensor.field != type.field) {
            return fail(errc::header_malformed, "the tensor keeps its elements in a field for other types");
        }
        if (bytes == 0 && tensor.piece_bytes == 0) {
            return tensor.message.offset;
        }
        const bool is_fixed = type.field == onnx_field::floats || type.field == onnx_field::doubles;
        const uint64_t count = type.bytes == 0 ? elements : bytes / type.bytes;
        if (is_fixed ? tensor.piece_bytes != bytes : tensor.piece_bytes < count) {
            return wrong_size(tensor.piece_bytes, bytes);
        }
        if (is_fixed && tensor.pieces == 1) {
            return tensor.only_piece.offset;
        }
        return all_->add(std::make_unique<onnx_numbers>(*file_.source, tensor.message,
                                                        static_cast<uint64_t>(type.field), type, count),
                         bytes);
    }

    result<uint64_t> place_external(const onnx_tensor& tensor, uint64_t bytes) {
        ZTENSOR_TRY_ASSIGN(const optional<uint64_t> offset, number_of("offset", tensor.external_offset));
        ZTENSOR_TRY_ASSIGN(const optional<uint64_t> length, number_of("length", tensor.external_length));
        ZTENSOR_TRY_ASSIGN(const sibling_files::sibling file, siblings_.find(tensor.location));
        if (length && *length != bytes) {
            return wrong_size(*length, bytes);
        }
        const uint64_t begin = offset.value_or(0);
        if (!fits(begin, bytes, file.size)) {
            return fail(errc::out_of_bounds, "the data takes {} bytes from byte {} of {}, which has {}",
                        {bytes, begin, in_quotes(tensor.location), file.size});
        }
        return file.begin + begin;
    }

    static result<optional<uint64_t>> number_of(const char* what, const optional<string>& digits) {
        const optional<uint64_t> number = digits ? parse_decimal(*digits) : std::nullopt;
        if (digits && !number) {
            return fail(errc::header_malformed, "the {} of the external data is {}, no number",
                        {what, in_quotes(*digits)});
        }
        return number;
    }

    // -- sparse tensors

    /// As sparse_coo, whose coordinates are u64, all of the first dimension before those of the next.
    result<void> place_sparse(const onnx_sparse_tensor& tensor, foreign_component (&parts)[2]) {
        const auto& [values, indices, dimensions] = tensor;
        constexpr uint64_t i64 = 7;
        const bool is_linear = indices.dimensions.size() == 1;
        const bool is_listed = indices.dimensions.size() == 2 && indices.dimensions[1] == dimensions.size();
        if (values.dimensions.size() != 1 || indices.type != i64 || (!is_linear && !is_listed) ||
            indices.dimensions[0] != values.dimensions[0]) {
            return fail(errc::sparse_size, "the indices of a sparse tensor do not fit its values and its shape");
        }
        ZTENSOR_TRY_ASSIGN(parts[0], place(values));
        ZTENSOR_TRY_ASSIGN(const foreign_component found, place(indices));
        const optional<uint64_t> count = checked_multiply(values.dimensions[0], dimensions.size());
        const optional<uint64_t> bytes = count ? checked_multiply(*count, 8) : std::nullopt;
        if (!bytes) {
            return too_large();
        }
        ZTENSOR_TRY_ASSIGN(parts[1].offset,
                           all_->add(std::make_unique<onnx_coordinates>(*all_, found, dimensions, is_linear,
                                                                        file_.options.max_decoded_bytes()),
                                     *bytes));
        parts[0].role = "values";
        parts[1].role = "coords";
        parts[1].dtype = "u64";
        parts[1].length = *bytes;
        return {};
    }

    const foreign_file& file_;
    foreign_index& index_;
    std::shared_ptr<assembled_source> all_;
    sibling_files siblings_;
    growing_name_table names_;
    size_t first_of_graph_ = 0; ///< of the names
    bounded_skips skips_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
