// SPDX-License-Identifier: MIT
//
// Blobs of seekable zstd -> bytes, frame after frame, for what is larger than memory. SPEC.md section 13.7.
#ifndef ZTENSOR_DETAIL_READ_SEEKABLE_PIECES_HPP
#define ZTENSOR_DETAIL_READ_SEEKABLE_PIECES_HPP

#include <ztensor/detail/codec/zstd_seek_table.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/seekable.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The decoded bytes of a blob in their order. Holds one frame.
class seekable_pieces {
public:
    seekable_pieces(const opened_file& file, const component_record& component)
        : file_(file), component_(component), check_(file, component) {}

    /// Called once, before fill(). Errors: those of load_seek_table().
    [[nodiscard]] result<void> start() { return load_seek_table(file_, component_, table_); }

    /// The next bytes; fewer than `to` holds only at the end. Errors: those of decode_seekable_frame().
    [[nodiscard]] result<std::size_t> fill(span<std::byte> to) {
        std::size_t made = 0;
        while (made < to.size()) {
            if (given_ == content_.size() && next_frame_ == table_.frames()) {
                break;
            }
            if (given_ == content_.size()) {
                ZTENSOR_TRY(decode_next());
                continue;
            }
            const std::size_t count = (std::min)(to.size() - made, content_.size() - given_);
            std::memcpy(to.data() + made, content_.data() + given_, count);
            given_ += count;
            made += count;
        }
        return made;
    }

    /// After the end. Errors: digest_mismatch.
    [[nodiscard]] result<void> finish() const { return check_.finish(); }

private:
    [[nodiscard]] result<void> decode_next() {
        const std::uint64_t size = table_.content_bytes(next_frame_);
        ZTENSOR_TRY(check_memory_limit(size, file_.options));
        given_ = 0;
        if (!content_.allocate(static_cast<std::size_t>(size))) {
            return fail(errc::out_of_memory, "no memory for a frame of {} bytes", {size});
        }
        result<void> done = decode_seekable_frame(file_, component_, table_, next_frame_++, content_.writable_bytes());
        if (done && check_.is_wanted()) {
            check_.take(content_.bytes());
        }
        return done;
    }

    const opened_file& file_;
    const component_record& component_;
    blob_check check_;
    seek_table table_;
    std::size_t next_frame_ = 0;
    byte_buffer content_;   ///< of the frame before that
    std::size_t given_ = 0; ///< of it
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
