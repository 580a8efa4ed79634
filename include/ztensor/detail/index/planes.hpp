// SPDX-License-Identifier: MIT
//
// Objects that hold a dense tensor of floats as two components, exponents and fractions: what they are, and the one
// component that they stand for. SPEC.md section 14.
#ifndef ZTENSOR_DETAIL_INDEX_PLANES_HPP
#define ZTENSOR_DETAIL_INDEX_PLANES_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/plane_kernels.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/words.hpp>

#include <algorithm>
#include <array>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

inline constexpr string_view planes_format = "ztensor-cpp.planes/1";
inline constexpr string_view planes_dtype_key = "planes.dtype";        ///< of the elements, in the words of 1.2
inline constexpr string_view planes_bits_key = "planes.exponent_bits"; ///< that each exponent takes
inline constexpr uint64_t planes_exponent_bits = 8;
/// The attributes of the layout itself; all others are the caller's.
inline constexpr std::array<string_view, 2> planes_keys = {planes_dtype_key, planes_bits_key};

[[nodiscard]] constexpr string_view role_of(plane which) noexcept {
    return which == plane::exponent ? "exponent" : "fraction";
}

/// A dense tensor that is stored as two components.
struct planes_tensor {
    component_record data;                 ///< all elements, as if they were one compressed component
    std::array<component_record, 2> blobs; ///< of its exponents and its fractions
    uint32_t first_component = 0;          ///< of its object

    [[nodiscard]] size_t width() const noexcept { return width_bytes(*data.dtype); }
    [[nodiscard]] const component_record& part(plane which) const noexcept { return blobs[static_cast<size_t>(which)]; }
    [[nodiscard]] const component_record& exponents() const noexcept { return part(plane::exponent); }
    [[nodiscard]] const component_record& fractions() const noexcept { return part(plane::fraction); }
};

/// The component that holds one plane, which decodes to so many bytes. Errors: layout_components, type_mismatch,
/// size_mismatch.
inline result<component_record> find_plane(const manifest& index, const object_record& object, plane which,
                                           uint64_t bytes) {
    const string_view role = role_of(which);
    const component_record* const found = find_component(index, object, role);
    if (found == nullptr || object.component_count != 2) {
        return fail(errc::layout_components, "an object of format {} has the components \"exponent\" and \"fraction\"",
                    {in_quotes(planes_format)});
    }
    if (found->dtype != dtype::u8 || found->logical_type != plain_type) {
        return fail(errc::type_mismatch, "planes are stored as u8 of no logical type, but these as {} {}",
                    {in_quotes(dtype_name(index, *found)), in_quotes(type_name(index, *found))})
            .in_component(role);
    }
    component_record part = *found;
    if (part.encoding && !part.decoded_length()) { // which 1.x need not say
        if (!can_decode_to(bytes, part.length)) {
            return fail(errc::size_mismatch, "its {} stored bytes can't decode to the {} that the shape needs",
                        {part.length, bytes})
                .in_component(role);
        }
        part.uncompressed_length = bytes;
        part.knows_uncompressed_length = true;
    }
    const uint64_t held = part.decoded_length().value_or(bytes);
    if (held != bytes) {
        return fail(errc::size_mismatch, "its {} stored bytes decode to {}, but the shape needs {}",
                    {part.length, held, bytes})
            .in_component(role);
    }
    return part;
}

/// What an object of that format stands for. Errors: layout_components, type_mismatch, size_mismatch, shape_overflow,
/// attribute_not_found, attribute_type, unsupported_type.
ZTENSOR_COLD inline result<planes_tensor> read_planes(const manifest& index, const object_record& object) {
    const attributes_view attributes = attributes_of(index, object);
    ZTENSOR_TRY_ASSIGN(const string word, attributes.text(planes_dtype_key));
    ZTENSOR_TRY_ASSIGN(const uint64_t bits, attributes.unsigned_integer(planes_bits_key));
    const optional<dtype> storage = find_dtype(word);
    if (!storage || !has_planes(*storage) || bits != planes_exponent_bits) {
        return fail(errc::unsupported_type, "planes of {} with exponents of {} bits are unknown to this library",
                    {in_quotes(word), bits});
    }
    const uint64_t width = width_bytes(*storage);
    const optional<uint64_t> count = index.shape_of(object).element_count();
    const optional<uint64_t> bytes = count ? checked_multiply(*count, width) : std::nullopt;
    if (!bytes) {
        return fail(errc::shape_overflow, "the elements take more than 2^64 bytes");
    }
    planes_tensor made;
    ZTENSOR_TRY_ASSIGN(made.blobs[0], find_plane(index, object, plane::exponent, *count));
    ZTENSOR_TRY_ASSIGN(made.blobs[1], find_plane(index, object, plane::fraction, *bytes - *count));
    made.first_component = object.first_component;
    made.data.dtype = storage;
    made.data.encoding = encoding::zstd;
    made.data.offset = made.exponents().offset;
    made.data.length = made.exponents().length + made.fractions().length; // of blobs of one file
    made.data.uncompressed_length = *bytes;
    made.data.knows_uncompressed_length = true;
    made.data.is_in_planes = true;
    return made;
}

[[nodiscard]] inline bool has_planes_format(const manifest& index, const object_record& object) noexcept {
    return !object.format && index.text(object.format_word) == planes_format;
}

/// Whether an attribute is one of the layout itself.
[[nodiscard]] inline bool is_planes_key(string_view key) noexcept {
    return std::find(planes_keys.begin(), planes_keys.end(), key) != planes_keys.end();
}

/// Attributes of the caller's. Errors: duplicate_key where one is of the layout itself.
ZTENSOR_COLD inline result<void> check_no_planes_keys(const attributes& values) {
    for (const attributes::entry& each : values.values()) {
        if (is_planes_key(each.key)) {
            return fail(errc::duplicate_key, "the attribute {} is one that the layout {} needs for itself",
                        {in_quotes(each.key), in_quotes(planes_format)});
        }
    }
    return {};
}

/// All attributes of an object of that format, but with the values of others in place of the caller's own.
[[nodiscard]] ZTENSOR_COLD inline attributes with_planes_keys(attributes values, const attributes& of_object) {
    for (const attributes::entry& each : of_object.values()) {
        if (is_planes_key(each.key)) {
            static_cast<void>(values.set_cbor(each.key, each.cbor)); // which is one item
        }
    }
    return values;
}
[[nodiscard]] ZTENSOR_COLD inline attributes without_planes_keys(attributes values) {
    for (const string_view key : planes_keys) {
        values.remove(key);
    }
    return values;
}

/// The tensors of a file that are stored in planes, such as this library understands them.
class planes_table {
public:
    /// What breaks a rule of the layout is left out: it remains an object of an unknown format.
    ZTENSOR_COLD void fill(const manifest& index) {
        for (const object_record& object : index.objects) {
            if (!has_planes_format(index, object)) {
                continue;
            }
            if (result<planes_tensor> found = read_planes(index, object)) {
                all_.push_back(*found);
            }
        }
        sort_records(
            all_, [](const planes_tensor& a, const planes_tensor& b) { return a.first_component < b.first_component; });
    }

    /// Null of any other object.
    [[nodiscard]] const planes_tensor* find(const object_record& object) const noexcept {
        if (all_.empty() || object.format) {
            return nullptr;
        }
        const auto found = std::lower_bound(
            all_.begin(), all_.end(), object.first_component,
            [](const planes_tensor& each, uint32_t component) { return each.first_component < component; });
        const bool is_there = found != all_.end() && found->first_component == object.first_component;
        return is_there && object.component_count != 0 ? &*found : nullptr;
    }

    /// Whose data that is, which it is of one of them.
    [[nodiscard]] const planes_tensor& of(const component_record& data) const noexcept {
        const auto behind = std::upper_bound(
            all_.begin(), all_.end(), &data,
            [](const component_record* record, const planes_tensor& each) { return record < &each.data; });
        return *(behind - 1);
    }

private:
    vector<planes_tensor> all_; ///< by the place of their components
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
