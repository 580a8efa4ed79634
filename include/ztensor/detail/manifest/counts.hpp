// SPDX-License-Identifier: MIT
//
// How many records the rest of an index takes. SPEC.md §3.
#ifndef ZTENSOR_DETAIL_MANIFEST_COUNTS_HPP
#define ZTENSOR_DETAIL_MANIFEST_COUNTS_HPP

#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct record_counts {
    std::uint64_t objects;
    std::uint64_t components;
};

/// The objects from the one at `position` on, and their components: a walk over the rest of the index, taken where
/// objects turn out to have more than one component, so that none need be moved.
[[nodiscard]] ZTENSOR_COLD inline record_counts count_records(bytes_view index, cbor_sequence objects,
                                                              std::size_t position) noexcept {
    constexpr std::size_t enclosing_maps = 2;
    record_counts counts = {0, 0};
    for (cbor_cursor ahead(index, enclosing_maps, position); ahead.next(objects) && ahead.skip();) {
        ++counts.objects;
        cbor_sequence fields;
        for (ahead.enter_map(fields); ahead.next(fields);) {
            cbor_sequence components;
            if (!ahead.take_word("components")) {
                ahead.skip();
                ahead.skip();
                continue;
            }
            for (ahead.enter_map(components); ahead.next(components); ++counts.components) {
                ahead.skip();
                ahead.skip();
            }
        }
    }
    return counts;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
