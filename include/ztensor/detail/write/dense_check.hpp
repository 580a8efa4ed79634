// SPDX-License-Identifier: MIT
//
// A dense tensor on its way into a file, judged by the few rules that can refuse one. draft_check.hpp judges any
// object, by all the rules of reading, and of a dense tensor says the same: tests compare the two.
#ifndef ZTENSOR_DETAIL_WRITE_DENSE_CHECK_HPP
#define ZTENSOR_DETAIL_WRITE_DENSE_CHECK_HPP

#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/flawed_shape.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/core/utf8.hpp>
#include <ztensor/detail/layout/dense_size.hpp>
#include <ztensor/detail/manifest/names.hpp>
#include <ztensor/detail/manifest/write.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/store.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A dense tensor to be written. Borrows; only for the length of a call.
struct dense_tensor {
    std::string_view name;
    const ztensor::shape& dimensions;
    dtype storage;
    std::optional<std::string_view> type; ///< logical type
    const store& how;
    const object_attributes& about;
};

/// The same in the words of the version that is written.
[[nodiscard]] inline dense_tensor in_words_of(format_version version, dense_tensor tensor) noexcept {
    if (version == format_version::v2) {
        say_in_2(tensor.storage, tensor.type);
    }
    return tensor;
}

/// What the manifest will say of its data: `decoded_bytes` of them.
[[nodiscard]] inline component_entry entry_of(const dense_tensor& tensor, std::uint64_t decoded_bytes) {
    component_entry entry;
    entry.role = "data";
    entry.dtype = name(tensor.storage);
    entry.type = tensor.type;
    entry.length = decoded_bytes;
    entry.is_big_endian = tensor.how.is_big_endian_ && width_bytes(tensor.storage) > 1;
    return entry;
}

/// `data` is borrowed.
[[nodiscard]] inline object_entry entry_of(const dense_tensor& tensor, const component_entry& data) {
    object_entry object;
    object.name = tensor.name;
    object.shape = &tensor.dimensions;
    object.format = name(format::dense);
    object.attributes = tensor.about.get();
    object.components = span<const component_entry>(&data, 1);
    return object;
}

[[nodiscard]] inline result<void> check_name(format_version version, std::string_view name) {
    const char* const problem = name_problem(name);
    if (problem != nullptr) {
        return fail(errc::name_invalid, problem);
    }
    if (version == format_version::v2 && name.size() > max_name_bytes_2) {
        return fail(errc::name_invalid, "a name is longer than the {} bytes of version 2", {max_name_bytes_2});
    }
    return {};
}

[[nodiscard]] inline const logical_type_facts* find_logical_type_of(format_version version,
                                                                    std::string_view word) noexcept {
    return version == format_version::v2 ? find_logical_type_2(word) : find_logical_type(word);
}

/// Of all elements of the shape, or nothing where 64 bits don't hold that. `type` is null for the storage type's own.
[[nodiscard]] inline std::optional<std::uint64_t> bytes_of_elements(const shape& dimensions, dtype storage,
                                                                    const logical_type_facts* type) noexcept {
    if (type == nullptr || type->packed_elements == 1) {
        return dense_bytes(dimensions,
                           width_bytes(storage) * (type != nullptr ? type->storage_elements : std::uint64_t{1}));
    }
    const std::optional<std::uint64_t> count = dimensions.element_count();
    const std::uint64_t packed = type->packed_elements;
    return count ? std::optional(*count / packed + (*count % packed != 0 ? 1u : 0u)) : std::nullopt;
}

/// The data fills the shape, and its logical type stands over its storage type. Errors: shape_overflow, cbor_utf8,
/// too_large_for_host, type_mismatch, size_mismatch.
[[nodiscard]] ZTENSOR_COLD inline result<void> check_dense_data(format_version version, const dense_tensor& tensor,
                                                                std::uint64_t found_bytes) {
    const std::string_view word = tensor.type.value_or(name(tensor.storage));
    if (!is_utf8(word)) {
        return fail(errc::cbor_utf8, "the word {} is not UTF-8", {in_quotes(word)});
    }
    const std::optional<std::uint64_t> behind = checked_add(blob_alignment, found_bytes);
    if (!behind || !checked_align(*behind, blob_alignment)) {
        return fail(errc::too_large_for_host, "the object takes more than 2^64 bytes");
    }
    const logical_type_facts* const type = find_logical_type_of(version, word);
    if (type != nullptr && type->storage != tensor.storage) {
        return not_stored_as(*type, name(tensor.storage));
    }
    if (type == nullptr && word != name(tensor.storage)) {
        return {}; // a word that we don't know may mean elements of any size
    }
    std::optional<std::uint64_t> expected = bytes_of_elements(tensor.dimensions, tensor.storage, type);
    if (!expected && hides_overflow(version, tensor.dimensions)) {
        expected = 0;
    }
    if (!expected) {
        const std::uint64_t element_bytes =
            width_bytes(tensor.storage) * (type != nullptr ? type->storage_elements : std::uint64_t{1});
        return fail(errc::shape_overflow, "shape {} of elements of {} bytes needs more than 2^64 bytes",
                    {to_string(tensor.dimensions), element_bytes});
    }
    if (found_bytes != *expected) {
        return fail(errc::size_mismatch, "the data takes {} bytes, but shape {} of {} takes {}",
                    {found_bytes, to_string(tensor.dimensions), word, *expected});
    }
    return {};
}

/// All that can be wrong with a dense tensor beside its name. `data` is its entry, with the length of the decoded
/// bytes. Errors: as check_dense_data(); limit_exceeded, invalid_argument,
/// not_expressible.
[[nodiscard]] inline result<void> check_dense(format_version version, const dense_tensor& tensor,
                                              const component_entry& data) {
    if (!tensor.dimensions.is_valid()) {
        return flawed(tensor.dimensions);
    }
    const bool is_plain = !data.type && !data.is_big_endian;
    if (result<void> valid = is_plain ? result<void>() : check_expressible(version, data); !valid) {
        return std::move(valid).error().in_component(data.role);
    }
    ZTENSOR_TRY(check_countable(version, tensor.dimensions));
    result<void> valid = check_dense_data(version, tensor, data.length);
    return valid ? valid : std::move(valid).error().in_component(data.role);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
