// SPDX-License-Identifier: MIT
//
// Which blobs of other files have been copied, and where to: what is one blob there stays one. SPEC.md section 8.
#ifndef ZTENSOR_DETAIL_WRITE_COPIED_BLOBS_HPP
#define ZTENSOR_DETAIL_WRITE_COPIED_BLOBS_HPP

#include <ztensor/detail/codec/digest_text.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/stored_component.hpp>
#include <ztensor/detail/manifest/growing_name_table.hpp>
#include <ztensor/detail/write/shared_blobs.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A blob of another file.
struct blob_place {
    std::uint64_t source; ///< where the source lies in memory
    std::uint64_t offset;
    std::uint64_t length;
};

/// Blobs of other files, and where they have been copied to.
class copied_blobs {
    struct key_of { // the table's names are the bytes of the places
        const copied_blobs* all;
        std::string_view operator()(std::size_t position) const noexcept { return key(all->places_[position]); }
    };

public:
    [[nodiscard]] ZTENSOR_COLD std::optional<blob_position> find(const blob_place& place) const noexcept {
        const std::uint32_t found = table_.find(key(place), key_of{this});
        return found != name_table::absent ? std::optional(new_places_[found]) : std::nullopt;
    }
    ZTENSOR_COLD void add(const blob_place& place, const blob_position& new_place) {
        places_.push_back(place);
        new_places_.push_back(new_place);
        table_.add(key_of{this});
    }

    /// Notes that a blob is compared with its digest; false if it has been before.
    [[nodiscard]] ZTENSOR_COLD bool begin_check(const stored_component& stored) {
        const blob_place place = {address_of(stored.source), stored.offset, stored.length};
        std::string checked(key(place));
        checked.append(stored.encoding).append(1, ' ').append(stored.digest);
        return checked_.insert(std::move(checked)).second;
    }

private:
    [[nodiscard]] static std::string_view key(const blob_place& place) noexcept {
        return as_text(as_bytes(span<const blob_place>(&place, 1)));
    }

    record_array<blob_place> places_;
    record_array<blob_position> new_places_;
    growing_name_table table_;
    std::set<std::string> checked_; ///< a place, and what is said of the bytes there
};

/// What a file of version 2 says of a raw blob, if it says it.
[[nodiscard]] ZTENSOR_COLD inline std::optional<std::uint64_t> stated_xxh3(const stored_component& stored) noexcept {
    const digest_parts digest = parse_digest_2(stored.digest);
    if (stored.generation != generation::v2 || digest.algorithm != digest::xxh3 || !digest.is_well_formed) {
        return std::nullopt;
    }
    std::uint64_t value = 0;
    for (const char digit : digest.digits) {
        value = value << 4 | static_cast<std::uint64_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return value;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
