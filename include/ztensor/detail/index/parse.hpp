// SPDX-License-Identifier: MIT
//
// The index of a .zt file to the model, whatever its version. SPEC.md section 3, section 8, section 13.
#ifndef ZTENSOR_DETAIL_INDEX_PARSE_HPP
#define ZTENSOR_DETAIL_INDEX_PARSE_HPP

#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/parse_0_1.hpp>
#include <ztensor/detail/index/parse_1.hpp>
#include <ztensor/detail/index/parse_2.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Fills `into` from its index, which scan_reach_bytes of anything follow, and which lies where `at` says in a file of
/// `file_bytes`. Without templates, which only take less time, tests see what these are to find.
/// Errors: the cbor_... and schema_... codes, duplicate_key, name_invalid, unsupported_version, limit_exceeded,
/// shape_overflow, truncated (what looked like 1.0 is none); of version 2 also shard_table, unknown_dtype,
/// type_mismatch, digest_format, misaligned_offset, out_of_bounds.
ZTENSOR_COLD inline result<void> parse_index(manifest& into, const manifest_location& at, std::uint64_t file_bytes,
                                             const read_options& limits, bool uses_templates = true) {
    if (at.kind == container::zt_2) {
        return parser_2(into, limits, at.offset, file_bytes, uses_templates).parse();
    }
    into.blobs_end = at.offset;
    switch (at.kind) {
    case container::zt_0_1:
        return parser_0_1(into, limits, at.offset, uses_templates).parse();
    case container::zt_1_0_or_cut_off:
        return is_manifest_1_0(into.bytes()) ? parser_1(into, limits, at.offset, uses_templates).parse_1_0()
                                             : missing_footer(file_bytes);
    default:
        return parser_1(into, limits, at.offset, uses_templates).parse();
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
