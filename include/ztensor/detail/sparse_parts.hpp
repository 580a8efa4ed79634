// SPDX-License-Identifier: MIT
//
// The parts of a sparse object as typed arrays, whatever the file keeps them in: a component each, one blob, or
// fields of the manifest. Borrowed where they lie in memory as they are needed, else owned. SPEC.md §5.2, §5.3, §8.3.
#ifndef ZTENSOR_DETAIL_SPARSE_PARTS_HPP
#define ZTENSOR_DETAIL_SPARSE_PARTS_HPP

#include <ztensor/component_view.hpp>
#include <ztensor/detail/cast.hpp>
#include <ztensor/detail/cbor.hpp>
#include <ztensor/detail/checked.hpp>
#include <ztensor/detail/codec.hpp>
#include <ztensor/detail/endian.hpp>
#include <ztensor/detail/sparse_rules.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {
namespace detail {

/// Elements and, unless they are borrowed from the reader, who owns them. Cheap to copy.
template <class T>
struct shared_array {
    span<const T> elements;
    std::shared_ptr<const void> owner;
};

template <class T>
[[nodiscard]] shared_array<T> own(std::vector<T> elements) {
    auto owner = std::make_shared<const std::vector<T>>(std::move(elements));
    const span<const T> all(*owner);
    return {all, std::move(owner)};
}

/// All elements of a component.
template <class T>
[[nodiscard]] result<shared_array<T>> load_elements(const component_view& component) {
    if (const result<span<const T>> borrowed = component.view<T>()) {
        return shared_array<T>{*borrowed, nullptr};
    }
    return component.read<T>().transform([](std::vector<T> elements) { return own(std::move(elements)); });
}

/// One index as another integer type. Errors: sparse_index for what that can't hold.
template <class To, class From>
[[nodiscard]] result<std::vector<To>> convert_indices(span<const From> indices) {
    std::vector<To> converted;
    converted.reserve(indices.size());
    for (const From index : indices) {
        if ((std::is_signed_v<From> && index < From{0}) ||
            index_value(index) > static_cast<std::uint64_t>(std::numeric_limits<To>::max())) {
            return error(errc::sparse_index, "index " + std::to_string(index) + " of entry " +
                                                 std::to_string(converted.size()) +
                                                 " is negative, or more than the index type asked for can hold");
        }
        converted.push_back(static_cast<To>(index));
    }
    return converted;
}

/// The same error, of row pointers.
[[nodiscard]] inline error of_row_pointers(const error& why) {
    return why.code() == errc::sparse_index
               ? error(errc::sparse_indptr, why.sentence()).in_component(why.component())
               : why;
}

/// Calls `visit(Integer{})` with the integer type of that storage. Errors: sparse_dtype if it is no integer.
template <class Visit>
[[nodiscard]] auto visit_integer(std::optional<dtype> storage, Visit&& visit) -> decltype(visit(std::uint64_t{})) {
    switch (storage.value_or(dtype::boolean)) {
    case dtype::u64:
        return visit(std::uint64_t{});
    case dtype::u32:
        return visit(std::uint32_t{});
    case dtype::u16:
        return visit(std::uint16_t{});
    case dtype::u8:
        return visit(std::uint8_t{});
    case dtype::i64:
        return visit(std::int64_t{});
    case dtype::i32:
        return visit(std::int32_t{});
    case dtype::i16:
        return visit(std::int16_t{});
    case dtype::i8:
        return visit(std::int8_t{});
    default:
        return error(errc::sparse_dtype, "indices are stored as something other than integers");
    }
}

/// All indices of a component as Index: borrowed if they are stored so. Errors: unknown_dtype, sparse_dtype,
/// sparse_index.
template <class Index>
[[nodiscard]] result<shared_array<Index>> load_indices(const component_view& component) {
    static_assert(is_integer_element_v<Index>, "an index type is an integer");
    if (component.dtype() == element_traits<Index>::storage || !component.dtype()) {
        return load_elements<Index>(component);
    }
    return visit_integer(component.dtype(), [&](auto zero) -> result<shared_array<Index>> {
        using stored = decltype(zero);
        const result<shared_array<stored>> indices = load_elements<stored>(component);
        if (!indices) {
            return indices.error();
        }
        return convert_indices<Index, stored>(indices->elements)
            .transform([](std::vector<Index> converted) { return own(std::move(converted)); })
            .transform_error([&](error why) { return std::move(why).in_component(component.role()); });
    });
}

/// The same for indices [first, last) of `count`, of raw data reading only their bytes.
template <class Index>
[[nodiscard]] result<std::vector<Index>> load_index_range(const component_view& component, std::uint64_t first,
                                                          std::uint64_t last, std::uint64_t count) {
    if (!component.dtype()) {
        return component.read_part<Index>(first, last, count); // says that the type is unknown
    }
    return visit_integer(component.dtype(), [&](auto zero) -> result<std::vector<Index>> {
        using stored = decltype(zero);
        return component.read_part<stored>(first, last, count).and_then([](const std::vector<stored>& indices) {
            return convert_indices<Index, stored>(indices);
        });
    });
}

/// Little-endian elements within a larger blob: borrowed where this host can read them in place.
template <class T>
[[nodiscard]] shared_array<T> elements_within(const shared_array<std::byte>& blob, std::size_t offset,
                                              std::size_t count, std::size_t swap_width) {
    const bytes_view part = blob.elements.subspan(offset, count * sizeof(T));
    if ((host_is_little_endian || swap_width < 2) && (part.empty() || is_aligned_for<T>(part))) {
        return {as_elements<T>(part), blob.owner};
    }
    std::vector<T> elements(count);
    const span<std::byte> bytes = as_writable_bytes(span<T>(elements));
    std::copy(part.begin(), part.end(), bytes.begin());
    if (!host_is_little_endian) {
        swap_elements(bytes, swap_width);
    }
    return own(std::move(elements));
}

/// Elements of T that make up one value: one, or for std::byte the bytes of the component's own element. Of a type that
/// is unknown only the count of entries tells.
template <class T>
[[nodiscard]] std::size_t elements_per_value(const component_view& values, std::size_t elements, std::size_t entries) noexcept {
    if constexpr (!std::is_same_v<T, std::byte>) {
        return 1;
    }
    const logical_type_facts* const type = find_logical_type(values.type());
    const bool is_plain = !values.has_type() || values.type() == values.dtype_name();
    if (values.dtype() && (is_plain || type != nullptr)) {
        return width_bytes(*values.dtype()) * static_cast<std::size_t>(type != nullptr ? type->storage_elements : 1);
    }
    return entries == 0 || elements % entries != 0 ? 1 : elements / entries;
}

/// Bytes of one value within a 0.1 blob.
template <class T>
[[nodiscard]] std::size_t value_bytes(const component_view& values) noexcept {
    return sizeof(T) * elements_per_value<T>(values, 0, 0);
}

/// The width by which a T's bytes are swapped on hosts of the other order.
template <class T>
[[nodiscard]] constexpr std::size_t swap_width() noexcept {
    return element_request_of<T>().storage ? width_bytes(*element_request_of<T>().storage) : 1;
}

// -- 0.1

/// An array of unsigned integers among the fields of a 0.1 tensor spelled "sparse"; nothing if there is none.
[[nodiscard]] inline std::optional<std::vector<std::uint64_t>> inline_array_0_1(const object_view& object,
                                                                                std::string_view field) {
    const opened_file& file = object_access::file_of(object);
    const object_record& record = object_access::record_of(object);
    std::optional<std::vector<std::uint64_t>> found;
    if (file.index.generation != generation::v0_1 || file.index.text(record.format_word) != spelled_sparse_0_1) {
        return found;
    }
    const attributes_view fields(file.index.from(record.attributes));
    const attributes_view::iterator at = fields.find(field);
    if (at == fields.end()) {
        return found;
    }
    found.emplace();
    cbor_cursor cursor(at->cbor);
    cbor_sequence items;
    std::uint64_t item = 0;
    for (cursor.enter_array(items); cursor.next(items) && cursor.read_unsigned(item);) {
        found->push_back(item);
    }
    if (cursor.failed()) { // of another kind: no field then, and the blob holds everything
        found.reset();
    }
    return found;
}

/// The one component of a 0.1 tensor, which must not be big-endian here. Errors: needs_byteswap.
[[nodiscard]] inline result<component_view> blob_0_1(const object_view& object) {
    return object.component("data").and_then([](const component_view& blob) -> result<component_view> {
        if (blob.is_big_endian()) {
            return error(errc::needs_byteswap, "sparse data stored big-endian has no defined layout");
        }
        return blob;
    });
}

[[nodiscard]] inline result<void> check_format(const object_view& object, format expected) {
    if (object.known_format() == expected) {
        return {};
    }
    return error(errc::unsupported_format, "its format is " + quote(object.format()) + ", not " +
                                               std::string(name(expected)));
}

[[nodiscard]] inline error wrong_blob_size(std::uint64_t found, const std::string& expected) {
    return error(errc::sparse_size, "the blob decodes to " + std::to_string(found) + " bytes, but " + expected);
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
