// SPDX-License-Identifier: MIT
//
// The decoded bytes of a component one piece after the other, for what is larger than memory. SPEC.md section 6,
// section 14.
#ifndef ZTENSOR_DETAIL_READ_DECODED_STREAM_HPP
#define ZTENSOR_DETAIL_READ_DECODED_STREAM_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/decode.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The decoded bytes of a component in their order, for what is larger than memory: the blob is read once, from its
/// first byte to its last, and verified on the way. Holds a little of a raw or zstd blob, and a frame of seekable zstd.
/// Of a tensor in planes two streams go side by side.
class decoded_stream {
public:
    decoded_stream(const opened_file& file, const component_record& component,
                   digest_use use = digest_use::as_wanted) noexcept
        : file_(file), component_(component), use_(use), check_(file, component, use) {}

    /// Called once, before fill(). Errors: out_of_memory; those of load_seek_table().
    result<void> start() {
        if (component_.is_in_planes) {
            return start_planes();
        }
        ZTENSOR_TRY(is_seekable() ? load_seek_table(file_, component_, table_) : result<void>());
        stored_.add(*file_.source, component_.offset, component_.length);
        stored_.begin();
        if (!is_streamed()) { // or read by frames
            return {};
        }
        ZTENSOR_TRY(allocate(input_, cached_piece_bytes, "a piece"));
        const uint64_t claimed = component_.decoded_length().value_or(file_.options.max_decoded_bytes());
        return decoder_.start( // whatever the blob claims
            (std::min)(claimed, checked_multiply(component_.length, max_zstd_ratio).value_or(claimed)));
    }

    /// So much is best asked for at once where it is looked at and forgotten: a frame is decoded there then.
    [[nodiscard]] size_t best_bytes() const noexcept {
        return table_.frames() != 0 ? static_cast<size_t>(table_.content_bytes(0)) : cached_piece_bytes;
    }

    /// Bytes that were given.
    [[nodiscard]] uint64_t position() const noexcept { return position_; }

    /// The next bytes; fewer than `to` holds only at the end. Of planes, whole elements. Errors: as decoding does.
    result<size_t> fill(span<byte> to) {
        result<size_t> made = component_.is_in_planes      ? join(to)
                              : is_seekable() || is_whole_ ? take_held(to)
                              : is_streamed()              ? decode(to)
                                                           : read_raw(to);
        position_ += made.value_or(0);
        return made;
    }

    /// After the end, or after a failure: reads what is left, where there is a digest. Errors: digest_mismatch, and
    /// what the source says.
    result<void> finish(span<byte> scratch) {
        ZTENSOR_TRY(for_each_plane([&](decoded_stream& each) { return each.finish(scratch); }));
        while (planes_.empty() && !is_seekable() && check_.is_wanted() && left() != 0) {
            ZTENSOR_TRY(read(scratch.first(smaller_size(scratch.size(), left()))));
        }
        return check_.finish();
    }

    /// What to say of a failure: that the blob is damaged says more than what follows from it.
    [[nodiscard]] error explain(error why, span<byte> scratch) {
        const bool is_by_frames = is_seekable() || std::any_of(planes_.begin(), planes_.end(), [](const auto& each) {
                                      return each->is_seekable(); // whose digest is of frames that are left out
                                  });
        const bool says_enough = why.kind() == error_kind::io || is_by_frames;
        result<void> intact = says_enough ? result<void>() : finish(scratch);
        return !intact && intact.error().code() == errc::digest_mismatch ? std::move(intact).error() : why;
    }

private:
    static constexpr size_t joined_elements = size_t{64} << 10; ///< at once

    result<void> start_planes() {
        const planes_tensor& planes = file_.planes.of(component_);
        ZTENSOR_TRY(check_encodings(file_, planes));
        for (const plane which : {plane::exponent, plane::fraction}) {
            planes_.push_back(std::make_unique<decoded_stream>(file_, planes.part(which), use_));
            ZTENSOR_TRY(in_component(planes_.back()->start(), role_of(which)));
        }
        ZTENSOR_TRY(allocate(content_, joined_elements * planes.width(), "elements in planes"));
        return {};
    }

    /// Errors: the first of `act(stream) -> result`, in the component whose stream it was.
    template <class Act>
    result<void> for_each_plane(const Act& act) {
        for (size_t i = 0; i < planes_.size(); ++i) {
            ZTENSOR_TRY(in_component(act(*planes_[i]), role_of(static_cast<plane>(i))));
        }
        return {};
    }

    /// The next bytes of a plane. Errors: decode_size where it ends too early.
    result<void> fill_plane(plane which, span<byte> to) {
        ZTENSOR_TRY_ASSIGN(const size_t made,
                           in_component(planes_[static_cast<size_t>(which)]->fill(to), role_of(which)));
        return made == to.size() ? result<void>()
                                 : fail(errc::decode_size, "a plane ends {} bytes too early", {to.size() - made});
    }

    result<size_t> join(span<byte> to) {
        const planes_tensor& planes = file_.planes.of(component_);
        const size_t width = planes.width();
        const uint64_t left = (planes.data.uncompressed_length - position_) / width;
        const size_t wanted = smaller_size(to.size() / width, left);
        for (size_t done = 0; done < wanted; done += joined_elements) {
            const size_t count = (std::min)(joined_elements, wanted - done);
            const span<byte> exponents = content_.writable_bytes().first(count);
            const span<byte> fractions = content_.writable_bytes().subspan(count, count * (width - 1));
            ZTENSOR_TRY(fill_plane(plane::exponent, exponents));
            ZTENSOR_TRY(fill_plane(plane::fraction, fractions));
            join_planes(exponents.data(), fractions.data(), width, to.subspan(done * width, count * width));
        }
        if (wanted * width < to.size()) { // where both are over and nothing may follow
            byte behind[1];
            ZTENSOR_TRY(for_each_plane([&](decoded_stream& each) { return each.fill(behind); }));
        }
        return wanted * width;
    }

    [[nodiscard]] bool is_seekable() const noexcept { return component_.encoding == encoding::zstd_seekable; }
    [[nodiscard]] bool is_streamed() const noexcept { return component_.encoding == encoding::zstd; }
    /// Stored bytes that were not read.
    [[nodiscard]] uint64_t left() const noexcept { return component_.length - read_bytes_; }

    /// The next stored bytes, of which there are so many.
    result<void> read(span<byte> to) {
        result<void> done = read_checked(file_, component_, read_bytes_, to, check_);
        read_bytes_ += done ? to.size() : 0;
        return done;
    }

    result<size_t> read_raw(span<byte> to) {
        const auto size = smaller_size(to.size(), left());
        ZTENSOR_TRY(read(to.first(size)));
        return size;
    }

    /// Of zstd frames, as much as there is room for, unless the blob ends before.
    result<size_t> decode(span<byte> to) {
        size_t made = 0;
        while (made < to.size()) {
            ZTENSOR_TRY(read_input());
            const size_t held = rest_.size();
            const result<size_t> more = decoder_.decode(rest_, to.subspan(made));
            if (!more && more.error().code() == errc::limit_exceeded) {
                return decode_at_once(to);
            }
            if (!more) {
                return error(more.error()).at(component_.offset);
            }
            made += *more;
            if (*more == 0 && rest_.size() == held && left() == 0) {
                break;
            }
        }
        ZTENSOR_TRY(at_offset(check_size(position_ + made, made < to.size()), component_.offset));
        return made;
    }

    /// Where a window would take more memory than all that it is for. What was given before is not given again.
    result<size_t> decode_at_once(span<byte> to) {
        ZTENSOR_TRY_ASSIGN(const span<byte> whole, decode_whole(file_, component_, content_));
        is_whole_ = true;
        held_ = whole.subspan(smaller_size(position_, whole.size()));
        return take_held(to);
    }

    /// More stored bytes, where few are left of those before.
    result<void> read_input() {
        if (rest_.size() >= zstd_stream::least_stored_bytes || left() == 0) {
            return {};
        }
        const size_t kept = rest_.size();
        if (kept != 0) {
            std::memmove(input_.data(), rest_.data(), kept);
        }
        const auto size = smaller_size(input_.size() - kept, left());
        ZTENSOR_TRY(read(input_.writable_bytes().subspan(kept, size)));
        rest_ = input_.bytes().first(kept + size);
        return {};
    }

    result<void> check_size(uint64_t decoded_bytes, bool is_at_end) const {
        const optional<uint64_t> declared = component_.decoded_length();
        if (!declared && decoded_bytes > file_.options.max_decoded_bytes()) {
            return fail(errc::limit_exceeded,
                        "the zstd blob decodes to more than the {} bytes of read_options::max_decoded_bytes",
                        {file_.options.max_decoded_bytes()});
        }
        if (is_at_end && (!decoder_.is_between_frames() || !rest_.empty())) {
            return fail(errc::decode_failed, "the zstd blob is cut off");
        }
        if (declared && (decoded_bytes > *declared || (is_at_end && decoded_bytes != *declared))) {
            return fail(errc::decode_size, "the zstd blob decodes to {} bytes, but {} are declared",
                        {decoded_bytes, *declared});
        }
        return {};
    }

    /// Of what is decoded as a whole, or frame after frame: straight to where there is room for all of one.
    result<size_t> take_held(span<byte> to) {
        size_t made = 0;
        while (made < to.size()) {
            if (!held_.empty()) {
                const size_t count = (std::min)(to.size() - made, held_.size());
                std::memcpy(to.data() + made, held_.data(), count);
                held_ = held_.subspan(count);
                made += count;
                continue;
            }
            if (is_whole_ || next_frame_ == table_.frames()) {
                break;
            }
            const uint64_t size = table_.content_bytes(next_frame_);
            const bool fits_there = size <= to.size() - made;
            ZTENSOR_TRY(check_memory_limit(size, file_.options));
            if (!fits_there && content_.size() < size) {
                ZTENSOR_TRY(allocate(content_, size, "a zstd frame"));
            }
            const span<byte> place =
                (fits_there ? to.subspan(made) : content_.writable_bytes()).first(static_cast<size_t>(size));
            ZTENSOR_TRY(decode_frame(file_, component_, frame_of(table_, next_frame_++), place));
            if (check_.is_wanted()) {
                check_.take(place);
            }
            held_ = fits_there ? bytes_view() : bytes_view(place);
            made += fits_there ? place.size() : 0;
        }
        return made;
    }

    const opened_file& file_;
    const component_record& component_;
    digest_use use_;
    blob_check check_;
    read_ahead stored_{file_.options.threads()};
    uint64_t position_ = 0;
    uint64_t read_bytes_ = 0; ///< of the blob
    zstd_stream decoder_;
    byte_buffer input_; ///< of the decoder
    bytes_view rest_;   ///< what of the input is not decoded yet
    seek_table table_;
    size_t next_frame_ = 0;
    byte_buffer content_; ///< of the frame before that, or of all
    bytes_view held_;     ///< what of it was not given yet
    bool is_whole_ = false;
    vector<std::unique_ptr<decoded_stream>> planes_; ///< exponents and fractions
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
