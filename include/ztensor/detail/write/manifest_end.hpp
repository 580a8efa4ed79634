// SPDX-License-Identifier: MIT
//
// What ends a file: manifest and footer, of each version. SPEC.md section 2, section 13.2.
#ifndef ZTENSOR_DETAIL_WRITE_MANIFEST_END_HPP
#define ZTENSOR_DETAIL_WRITE_MANIFEST_END_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/encoded_objects.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/write/section_writer.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct manifest_content {
    format_version version;
    const attributes* of_file; ///< null: none
    const encoded_objects& objects;
    bytes_view old_fields; ///< of a file that is gone on with: all but attributes and objects
    std::size_t old_field_count;
};

/// 0.1 to 1.2: the manifest follows the last blob.
[[nodiscard]] ZTENSOR_COLD inline result<void> write_manifest_1(section_writer& file, const manifest_content& content) {
    cbor_encoder text;
    if (content.old_field_count != 0) {
        encode_manifest_start(text, content.old_fields, content.old_field_count, content.of_file,
                              content.objects.size());
    } else {
        encode_manifest_start(text, content.version, content.of_file, content.objects.size());
    }
    const std::uint64_t manifest_bytes = text.size() + content.objects.encoded_bytes();
    result<void> written = file.write(text.bytes());
    if (written) {
        written = content.objects.hand_over(content.version, [&](bytes_view bytes) { return file.write(bytes); });
    }
    if (written) {
        text.clear();
        encode_footer(text, content.version, manifest_bytes);
        written = file.write(text.bytes());
    }
    return written;
}

/// A field of the root map of version 2, encoded, but for the objects: of those the count stands as the value.
struct root_field {
    std::string_view key;
    std::vector<std::byte> pair;
};

/// In any order.
[[nodiscard]] ZTENSOR_COLD inline std::vector<root_field> root_fields_of(const manifest_content& content,
                                                                         const shard_files* shards) {
    std::vector<root_field> fields;
    cbor_cursor old(content.old_fields);
    for (std::size_t i = 0; i < content.old_field_count; ++i) { // all of them have been read before
        const std::size_t begin = old.position();
        static_cast<void>(old.skip());
        const std::size_t key_bytes = old.position() - begin;
        static_cast<void>(old.skip());
        const bytes_view pair = old.passed_since(begin);
        fields.push_back({as_text(pair.first(key_bytes)), {pair.begin(), pair.end()}});
    }
    cbor_encoder text;
    const auto add = [&](std::string_view encoded_key) {
        fields.push_back({encoded_key, {text.bytes().begin(), text.bytes().end()}});
        text.clear();
    };
    if (content.of_file != nullptr) {
        text.text("attributes");
        encode_attributes_2(text, *content.of_file);
        add("\x6a"
            "attributes");
    }
    if (shards != nullptr && shards->count() != 0) {
        text.text("shards");
        shards->encode_table(text);
        add("\x66shards");
    }
    text.text("objects");
    text.begin_map(content.objects.size());
    add("\x67objects");
    return fields;
}

/// Version 2: the manifest is a blob, which the footer gives both ends and the XXH3 of.
[[nodiscard]] ZTENSOR_COLD inline result<void> write_manifest_2(section_writer& file, const manifest_content& content) {
    result<void> written = file.end_shards();
    ZTENSOR_TRY_ASSIGN(const std::uint64_t offset, written ? file.begin_aligned() : std::move(written).error());
    digest_memory hash;
    xxh3_start(hash);
    footer_2 footer;
    footer.manifest_offset = offset;
    const auto write = [&](bytes_view bytes) {
        xxh3_update(hash, bytes);
        footer.manifest_length += bytes.size();
        return file.write(bytes);
    };
    const std::vector<root_field> fields = root_fields_of(content, file.shards());
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < fields.size(); ++i) {
        order.push_back(i);
    }
    sort_positions(order, [&](std::uint32_t a, std::uint32_t b) { return fields[a].key < fields[b].key; });
    cbor_encoder head;
    head.begin_map(fields.size());
    written = write(head.bytes());
    for (const std::uint32_t position : order) {
        const root_field& field = fields[position];
        written = written ? write({field.pair.data(), field.pair.size()}) : std::move(written);
        if (written && field.key == "\x67objects") {
            written = content.objects.hand_over(content.version, write);
        }
    }
    footer.manifest_hash = xxh3_value(hash);
    const auto end = encode_footer_2(footer);
    return written ? file.write({end.data(), end.size()}) : written;
}

[[nodiscard]] ZTENSOR_COLD inline result<void> write_manifest(section_writer& file, const manifest_content& content) {
    return content.version == format_version::v2 ? write_manifest_2(file, content) : write_manifest_1(file, content);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
