// SPDX-License-Identifier: MIT
//
// The manifest without its places -> one digest. Defines content_digest(). SPEC.md section 13.
#ifndef ZTENSOR_DETAIL_READ_CONTENT_DIGEST_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_CONTENT_DIGEST_DEFINITIONS_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

inline void encode_content_of(cbor_encoder& out, const component_view& part) {
    out.begin_map(part.has_type() ? 3 : 2);
    if (part.has_type()) {
        out.text("type");
        out.text(part.type());
    }
    out.text("dtype");
    out.text(part.dtype_name());
    out.text("digest");
    out.text(part.digest());
}

/// Errors: not_expressible.
inline result<void> encode_content_of(cbor_encoder& out, const object_view& object) {
    const std::vector<component_view> parts(object.begin(), object.end());
    for (const component_view& part : parts) {
        if (!part.has_digest()) {
            return fail(errc::not_expressible, "it has no digest, so that the file has no content digest")
                .in_object(object.name())
                .in_component(part.role());
        }
    }
    out.text(object.name());
    out.begin_map(object.has_attributes() ? 4 : 3);
    out.text("parts");
    out.begin_map(parts.size());
    for_each_in_order_2(
        parts.size(), [&](std::uint32_t i) { return parts[i].role(); },
        [&](std::uint32_t i) {
            out.text(parts[i].role());
            encode_content_of(out, parts[i]);
        });
    const shape dimensions = object.shape();
    out.text("shape");
    out.begin_array(dimensions.rank());
    for (const std::uint64_t dimension : dimensions) {
        out.unsigned_integer(dimension);
    }
    out.text("layout");
    out.text(object.format());
    if (object.has_attributes()) {
        out.text("attributes");
        encode_attributes_2(out, attributes(object.attributes()));
    }
    return {};
}

} // namespace detail

ZTENSOR_COLD ZTENSOR_INLINE result<std::string> content_digest(const reader& of, digest algorithm) {
    return detail::guard_memory([&]() -> result<std::string> {
        if (algorithm != digest::xxh3 && algorithm != digest::sha256) {
            return detail::fail(errc::invalid_argument, "a content digest is one of xxh3 or sha256");
        }
        if (!can_compute(algorithm)) {
            return detail::require_xxh3().error();
        }
        if (of.generation() != generation::v2) {
            return detail::fail(errc::not_expressible,
                                "only files of version 2 have a content digest: copy() this one to version 2");
        }
        if (of.is_data_shard()) {
            return detail::fail(errc::not_expressible, "a data shard does not say what it holds: its root does");
        }
        const std::vector<object_view> objects(of.begin(), of.end());
        digester hash(algorithm);
        detail::cbor_encoder text;
        text.begin_array(2);
        text.text("zt.content/1");
        text.begin_map(objects.size());
        result<void> encoded;
        detail::for_each_in_order_2(
            objects.size(), [&](std::uint32_t i) { return objects[i].name(); },
            [&](std::uint32_t i) {
                encoded = encoded ? detail::encode_content_of(text, objects[i]) : std::move(encoded);
                hash.update(text.bytes());
                text.clear();
            });
        hash.update(text.bytes()); // of a file without objects
        return encoded ? result<std::string>(hash.text()) : std::move(encoded).error();
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
