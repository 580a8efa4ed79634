// SPDX-License-Identifier: MIT
//
// A blob that is read once, from its first byte to its last, and verified on the way.
#ifndef ZTENSOR_DETAIL_READ_BLOB_BYTES_HPP
#define ZTENSOR_DETAIL_READ_BLOB_BYTES_HPP

#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The stored bytes of a blob in their order: each is read once, and taken in by the check of its digest.
class blob_bytes {
public:
    blob_bytes(const opened_file& file, const component_record& component) noexcept
        : file_(file), component_(component), check_(file, component) {}

    [[nodiscard]] std::uint64_t left() const noexcept { return component_.length - position_; }

    /// All of `to`, which is at most what is left.
    [[nodiscard]] result<void> read(span<std::byte> to) {
        result<void> done = read_checked(file_, component_, position_, to, check_);
        position_ += done ? to.size() : 0;
        return done;
    }

    /// Errors: digest_mismatch. Reads what is left first, where there is a digest.
    [[nodiscard]] result<void> finish(span<std::byte> scratch) {
        while (check_.is_wanted() && left() != 0) {
            const std::size_t size = static_cast<std::size_t>((std::min<std::uint64_t>)(scratch.size(), left()));
            ZTENSOR_TRY(read(scratch.first(size)));
        }
        return check_.finish();
    }

private:
    const opened_file& file_;
    const component_record& component_;
    blob_check check_;
    std::uint64_t position_ = 0; ///< in the blob
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
