// SPDX-License-Identifier: MIT
//
// How many records an index takes: walks ahead of what is read, so that records need not be moved to grow. SPEC.md
// section 3.
#ifndef ZTENSOR_DETAIL_MANIFEST_COUNTS_HPP
#define ZTENSOR_DETAIL_MANIFEST_COUNTS_HPP

#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/manifest/version_1_0.hpp>

#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct record_counts {
    std::uint64_t objects = 0;
    std::uint64_t components = 0;
};

/// Passes over what is left of a map: how many pairs that were.
inline std::uint64_t count_pairs(cbor_cursor& ahead, cbor_sequence pairs) noexcept {
    std::uint64_t count = 0;
    for (; ahead.next(pairs) && ahead.skip(); ++count) {
        ahead.skip();
    }
    return count;
}

/// Passes over the objects that are left of a map: how many, and their components.
[[nodiscard]] ZTENSOR_COLD inline record_counts count_records(cbor_cursor& ahead, cbor_sequence objects) {
    record_counts counts;
    for (; ahead.next(objects) && ahead.skip(); ++counts.objects) {
        cbor_sequence fields;
        for (ahead.enter_map(fields); ahead.next(fields);) {
            cbor_sequence components;
            if (!ahead.take_word("components") && take_text(ahead) != "components") {
                ahead.skip();
            } else if (ahead.enter_map(components)) {
                counts.components += count_pairs(ahead, components);
            }
        }
    }
    return counts;
}

/// The same of tensors in an array of 0.1, each of which has one component.
[[nodiscard]] ZTENSOR_COLD inline record_counts count_tensors(cbor_cursor& ahead, cbor_sequence tensors) noexcept {
    std::uint64_t count = 0;
    for (; ahead.next(tensors) && ahead.skip(); ++count) {
    }
    return {count, count};
}

/// The components from the first one of an object on: of what is left of the map of its components, of that of its
/// fields, and of that of objects.
[[nodiscard]] ZTENSOR_COLD inline std::uint64_t count_components(cbor_cursor ahead, cbor_sequence components,
                                                                 cbor_sequence fields, cbor_sequence objects) {
    const std::uint64_t own = count_pairs(ahead, components);
    count_pairs(ahead, fields);
    return own + count_records(ahead, objects).components;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
