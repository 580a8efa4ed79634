// SPDX-License-Identifier: MIT
//
// What ends a file: manifest and footer, of 0.1 to 1.2. SPEC.md section 2.
#ifndef ZTENSOR_DETAIL_WRITE_MANIFEST_END_HPP
#define ZTENSOR_DETAIL_WRITE_MANIFEST_END_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/manifest/encoded_objects.hpp>
#include <ztensor/detail/manifest/footer.hpp>
#include <ztensor/detail/manifest/write.hpp>
#include <ztensor/detail/write/section_writer.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>

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

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
