// SPDX-License-Identifier: MIT
//
// Which blobs a file of version 2 has, by what is in them: the same bytes are stored once. SPEC.md section 13.
#ifndef ZTENSOR_DETAIL_WRITE_SHARED_BLOBS_HPP
#define ZTENSOR_DETAIL_WRITE_SHARED_BLOBS_HPP

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/manifest/growing_name_table.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Where a blob lies.
struct blob_position {
    std::uint64_t offset;
    std::uint32_t shard; ///< its number; 0, the file itself
};

/// What a blob holds, but for collisions.
struct blob_identity {
    std::uint64_t xxh3;
    std::uint64_t length;
};

class shared_blobs {
    struct key_of { // the table's names are the bytes of the identities
        const shared_blobs* all;
        std::string_view operator()(std::size_t position) const noexcept { return key(all->identities_[position]); }
    };

public:
    [[nodiscard]] ZTENSOR_COLD std::optional<blob_position> find(const blob_identity& identity) const noexcept {
        const std::uint32_t found = table_.find(key(identity), key_of{this});
        return found != name_table::absent ? std::optional(positions_[found]) : std::nullopt;
    }
    /// Unless there is one: of blobs that collide the first is known.
    ZTENSOR_COLD void add(const blob_identity& identity, const blob_position& position) {
        if (!find(identity)) {
            identities_.push_back(identity);
            positions_.push_back(position);
            table_.add(key_of{this});
        }
    }

private:
    [[nodiscard]] static std::string_view key(const blob_identity& identity) noexcept {
        return as_text(as_bytes(span<const blob_identity>(&identity, 1)));
    }

    record_array<blob_identity> identities_;
    record_array<blob_position> positions_;
    growing_name_table table_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
