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

#include <algorithm>
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

enum class loading {
    borrows, ///< what lies in memory as it is needed, which verifies nothing; reads the rest
    reads,   ///< everything, decoded and verified
};

/// All elements of a component.
template <class T>
[[nodiscard]] result<shared_array<T>> load_elements(const component_view& component, loading how) {
    if (how == loading::borrows) {
        if (const result<span<const T>> borrowed = component.view<T>()) {
            return shared_array<T>{*borrowed, nullptr};
        }
    }
    return component.read<T>().transform([](std::vector<T> elements) { return own(std::move(elements)); });
}

/// Integers as a file holds them. Errors: sparse_dtype for other types; sparse_index for a negative one.
[[nodiscard]] inline result<std::vector<std::uint64_t>> widen_indices(bytes_view little_endian, dtype storage) {
    const dtype_class category = facts(storage).category;
    if (category != dtype_class::unsigned_integer && category != dtype_class::signed_integer) {
        return error(errc::sparse_dtype,
                     "indices are stored as " + std::string(name(storage)) + ", which is no integer type");
    }
    const std::size_t width = width_bytes(storage);
    if (result<void> whole = check_whole_elements(little_endian.size(), width); !whole) {
        return std::move(whole).error();
    }
    const std::uint64_t sign = category == dtype_class::signed_integer ? std::uint64_t{1} << (8 * width - 1) : 0;
    std::vector<std::uint64_t> wide(little_endian.size() / width);
    for (std::size_t i = 0; i < wide.size(); ++i) {
        wide[i] = load_little(little_endian.data() + i * width, width);
        if ((wide[i] & sign) != 0) {
            const std::uint64_t magnitude = (sign - (wide[i] & (sign - 1)));
            return error(errc::sparse_index, "index -" + std::to_string(magnitude) + " of entry " + std::to_string(i) +
                                                 " is negative");
        }
    }
    return wide;
}

/// Indices as the type that was asked for. Errors: sparse_index for one that it can't hold.
template <class Index>
[[nodiscard]] result<std::vector<Index>> narrow_indices(std::vector<std::uint64_t> wide) {
    static_assert(is_integer_element_v<Index>, "an index type is an integer");
    if constexpr (std::is_same_v<Index, std::uint64_t>) {
        return wide;
    } else {
        constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<Index>::max());
        const auto found = std::find_if(wide.begin(), wide.end(), [](std::uint64_t index) { return index > largest; });
        if (found != wide.end()) {
            return error(errc::sparse_index, "index " + std::to_string(*found) + " of entry " +
                                                 std::to_string(found - wide.begin()) +
                                                 " is more than the index type asked for can hold");
        }
        std::vector<Index> narrow(wide.size());
        std::transform(wide.begin(), wide.end(), narrow.begin(),
                       [](std::uint64_t index) { return static_cast<Index>(index); });
        return narrow;
    }
}

/// The same error, of row pointers.
[[nodiscard]] inline error of_row_pointers(const error& why) {
    return why.code() == errc::sparse_index
               ? error(errc::sparse_indptr, why.sentence()).in_component(why.component())
               : why;
}

/// Indices of a logical type that is unknown are no numbers to us. Errors: unsupported_type.
[[nodiscard]] inline result<void> check_index_type(const component_view& component) {
    if (!component.has_unknown_type()) {
        return {};
    }
    return error(errc::unsupported_type, "indices of the logical type " + quote(component.type()) +
                                             " are no integers that "
                                             "this library knows")
        .in_component(component.role());
}

/// All indices of a component as Index: borrowed if they are stored so. Errors: unknown_dtype, sparse_dtype,
/// sparse_index.
template <class Index>
[[nodiscard]] result<shared_array<Index>> load_indices(const component_view& component, loading how) {
    const std::optional<dtype> storage = component.dtype();
    if (result<void> known = check_index_type(component); !known) {
        return std::move(known).error();
    }
    if (storage == element_traits<Index>::storage || !storage) {
        return load_elements<Index>(component, how);
    }
    return load_elements<std::byte>(component, how)
        .and_then([&](const shared_array<std::byte>& stored) { return widen_indices(stored.elements, *storage); })
        .and_then(narrow_indices<Index>)
        .transform(own<Index>)
        .transform_error([&](error why) { return std::move(why).in_component(component.role()); });
}

/// The same for indices [first, last) of `count`, of raw data reading only their bytes.
template <class Index>
[[nodiscard]] result<std::vector<Index>> load_index_range(const component_view& component, std::uint64_t first,
                                                          std::uint64_t last, std::uint64_t count) {
    const std::optional<dtype> storage = component.dtype();
    if (result<void> known = check_index_type(component); !known) {
        return std::move(known).error();
    }
    if (!storage) {
        return component.read_part<Index>(first, last, count); // says that the type is unknown
    }
    return component.read_part<std::byte>(first, last, count)
        .and_then([&](const std::vector<std::byte>& stored) { return widen_indices(stored, *storage); })
        .and_then(narrow_indices<Index>);
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

/// Loads the component of that role, of which the row pointers say that it has `entries` elements: where the file does
/// not state its size (1.0, 1.1), it is decoded to exactly that. Errors: sparse_indptr for more than its blob can
/// decode to; as `load(component_view)`.
template <class Load>
[[nodiscard]] auto load_entries(const object_view& object, std::string_view role, std::uint64_t entries, Load&& load)
    -> decltype(load(*object.begin())) {
    const opened_file& file = object_access::file_of(object);
    const object_record& record = object_access::record_of(object);
    component_record component = *find_component(file.index, record, role); // present: checked at open
    if (component.encoding == encoding::zstd && !component.knows_uncompressed_length && component.dtype &&
        component.logical_type != unknown_type) {
        const std::uint64_t element_bytes = width_bytes(*component.dtype) * storage_elements(component);
        const std::optional<std::uint64_t> bytes = checked_multiply(entries, element_bytes);
        if (!bytes || !can_decode_to(*bytes, component.length)) {
            return error(errc::sparse_indptr, "the last row pointer is " + std::to_string(entries) +
                                                  ", but a zstd blob of " + std::to_string(component.length) +
                                                  " bytes can't decode to so many elements")
                .in_component(role);
        }
        component.knows_uncompressed_length = true;
        component.uncompressed_length = *bytes;
    }
    return load(component_view(file, record, component)); // nothing that is loaded refers to the view's record
}

/// Elements of T that make up one value: one, or for std::byte the bytes of the component's own element; nothing if its
/// type is unknown.
template <class T>
[[nodiscard]] std::optional<std::size_t> elements_per_value(const component_view& values) noexcept {
    if constexpr (!std::is_same_v<T, std::byte>) {
        return 1;
    }
    if (!values.dtype() || values.has_unknown_type()) {
        return std::nullopt;
    }
    const logical_type_facts* const type = find_logical_type(values.type());
    return width_bytes(*values.dtype()) * static_cast<std::size_t>(type != nullptr ? type->storage_elements : 1);
}

/// The same of `elements` that belong to `entries`, which tell the width of a value of an unknown type if they divide
/// its bytes. Errors: unknown_dtype, unsupported_type if they don't: several values may share a byte.
template <class T>
[[nodiscard]] result<std::size_t> elements_per_value(const component_view& values, std::size_t elements,
                                                     std::size_t entries) {
    if (const std::optional<std::size_t> known = elements_per_value<T>(values)) {
        return *known;
    }
    if (entries == 0 ? elements == 0 : elements != 0 && elements % entries == 0) {
        return entries == 0 ? 1 : elements / entries;
    }
    const bool is_of_known_dtype = values.dtype().has_value();
    return error(is_of_known_dtype ? errc::unsupported_type : errc::unknown_dtype,
                 "the width of a value can't be told: there are " + std::to_string(elements) + " bytes for " +
                     std::to_string(entries) + " values of the type " +
                     quote(is_of_known_dtype ? values.type() : values.dtype_name()) + ", which is unknown")
        .in_component(values.role());
}

/// The width by which a T's bytes are swapped on hosts of the other order.
template <class T>
[[nodiscard]] constexpr std::size_t swap_width() noexcept {
    return element_request_of<T>().storage ? width_bytes(*element_request_of<T>().storage) : 1;
}

// -- 0.1

/// The index array of that name in the manifest.
[[nodiscard]] inline std::vector<std::uint64_t> load_index_array_0_1(const object_view& object,
                                                                     std::string_view field) {
    const cbor_cursor array =
        index_array_0_1(object_access::file_of(object).index, object_access::record_of(object), field);
    std::vector<std::uint64_t> numbers;
    static_cast<void>(for_each_number(array, [&](std::uint64_t number) { numbers.push_back(number); }));
    return numbers;
}

/// The one component of a sparse 0.1 tensor.
[[nodiscard]] inline const component_record& blob_record_0_1(const object_view& object) noexcept {
    return object_access::file_of(object).index.components_of(object_access::record_of(object))[0];
}

/// The same, if its values may be read as T. Errors: needs_byteswap, unknown_dtype (also for std::byte, if only the
/// width of a value tells where the parts are), type_mismatch.
template <class T>
[[nodiscard]] result<component_view> blob_0_1(const object_view& object) {
    const component_record& record = blob_record_0_1(object);
    if (record.is_big_endian) { // of std::byte, too
        return error(errc::needs_byteswap, "what big-endian means is only defined for dense data").in_component("data");
    }
    const opened_file& file = object_access::file_of(object);
    const bool is_unreadable = record.holds_indices && !record.dtype;
    return (is_unreadable ? unknown_dtype(file, record) : check_stored_type(file, record, element_request_of<T>()))
        .transform_error([](error why) { return std::move(why).in_component("data"); })
        .and_then([&] { return object.component("data"); });
}

[[nodiscard]] inline result<void> check_format(const object_view& object, format expected) {
    if (object.known_format() == expected) {
        return {};
    }
    return error(errc::unsupported_format, "its format is " + quote(object.format()) + ", not " +
                                               std::string(name(expected)));
}

} // namespace detail
} // namespace v0
} // namespace ztensor

#endif
