// SPDX-License-Identifier: MIT
//
// What tells an index of 1.0 from the end of a file that was cut off. SPEC.md section 8.
#ifndef ZTENSOR_DETAIL_MANIFEST_VERSION_1_0_HPP
#define ZTENSOR_DETAIL_MANIFEST_VERSION_1_0_HPP

#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/span.hpp>

#include <string>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Passes over the next item; its text, if it is one.
[[nodiscard]] ZTENSOR_COLD inline std::string take_text(cbor_cursor& cursor) {
    std::string text;
    cbor_cursor ahead = cursor;
    static_cast<void>(cursor.skip() && ahead.read_joined(cbor_major::text, text));
    return text;
}

/// True if the index is a map with `version` "1.0" or "1.0...." and `tensors`, and nothing follows it: what tells a
/// file of 1.0, which has no magic at its end, from a later one that was cut off.
[[nodiscard]] ZTENSOR_COLD inline bool is_manifest_1_0(bytes_view index) {
    cbor_cursor cursor(index);
    cbor_sequence pairs;
    bool has_version = false;
    bool has_tensors = false;
    for (cursor.enter_map(pairs); cursor.next(pairs);) {
        const std::string key = take_text(cursor);
        has_tensors = has_tensors || key == "tensors";
        const std::string value = take_text(cursor);
        has_version = has_version || (key == "version" && (value == "1.0" || value.substr(0, 4) == "1.0."));
    }
    return has_version && has_tensors && !cursor.failed() && cursor.remaining() == 0;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
