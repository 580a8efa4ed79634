// SPDX-License-Identifier: MIT
//
// Elements that are stored in planes on their way into memory: exponents decoded by several threads, each joined with
// its fractions while it is in the cache. SPEC.md section 14.
#ifndef ZTENSOR_DETAIL_READ_JOINED_PLANES_HPP
#define ZTENSOR_DETAIL_READ_JOINED_PLANES_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/plane_kernels.hpp>
#include <ztensor/detail/index/planes.hpp>
#include <ztensor/detail/read/frames.hpp>

#include <algorithm>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Both planes are stored in ways that are known. Errors: unsupported_encoding.
inline result<void> check_encodings(const opened_file& file, const planes_tensor& planes) {
    for (const plane which : {plane::exponent, plane::fraction}) {
        ZTENSOR_TRY(in_component(check_encoding(file, planes.part(which)), role_of(which)));
    }
    return {};
}

/// Who takes elements that are joined: pieces of whole ones, in the file's byte order, of which `first` is the position
/// of the first in the tensor. Several threads call it at once; a piece may be changed.
struct elements_taker {
    void* owner;
    void (*take)(void* owner, span<byte> elements, size_t first) noexcept;
};

/// Takes them to memory that has room for all.
struct elements_in_memory {
    span<byte> all;
    size_t width;
    bool goes_past_cache;

    elements_in_memory(span<byte> memory, const planes_tensor& planes) noexcept
        : all(memory), width(planes.width()),
          goes_past_cache(memory.size() >= past_cache_bytes && !is_untouched(memory)) {}

    [[nodiscard]] elements_taker taker() noexcept { return {this, take}; }

private:
    static void take(void* owner, span<byte> elements, size_t first) noexcept {
        const auto& mine = *static_cast<const elements_in_memory*>(owner);
        copy_much(elements, mine.all.subspan(first * mine.width, elements.size()), mine.goes_past_cache);
    }
};

/// All elements of a tensor whose exponents are zstd frames and whose fractions are raw: threads take turns, as those
/// of a frame_stream do.
class planes_stream {
public:
    /// What a thread holds from turn to turn: exponents as they are stored and decoded, fractions, and a piece of
    /// elements.
    struct memory {
        thread_memory exponents;
        thread_memory stored;
        thread_memory fractions;
        thread_memory elements;
    };

    /// Other tensors, and what has no elements, are decoded part by part.
    [[nodiscard]] static bool can_read(const planes_tensor& planes) noexcept {
        return planes.exponents().encoding == encoding::zstd && planes.exponents().length != 0 &&
               planes.fractions().encoding == encoding::raw;
    }

    /// The blobs of exponents and fractions are given where they stay as they are, as a frame_stream takes them.
    planes_stream(const opened_file& file, const planes_tensor& planes, elements_taker to, uint64_t most_frame_bytes,
                  optional<bytes_view> stable_exponents, optional<bytes_view> stable_fractions)
        : file_(file), planes_(planes), to_(to),
          exponents_(file, planes.exponents(), element_count(planes), most_frame_bytes, stable_exponents),
          stable_(stable_fractions), check_(file, planes.fractions()) {}

    [[nodiscard]] size_t most_turns() const noexcept { return exponents_.most_turns(); }

    /// As frame_stream::take_turn().
    [[nodiscard]] ZTENSOR_COLD bool take_turn(memory& mine, size_t& decoded_bytes) {
        frame_stream::frames taken;
        bytes_view fractions;
        {
            const os_lock lock(mutex_);
            if (!failure_ || !exponents_.take_frames(mine.stored, taken)) {
                return false;
            }
            failure_ = look_at_fractions(mine, taken, fractions);
        }
        decoded_bytes = taken.size * planes_.width();
        if (result<void> done = decode(mine, taken, fractions); !done) {
            const os_lock lock(mutex_);
            failure_ = failure_ ? std::move(done) : std::move(failure_);
        }
        return true;
    }

    /// When no thread takes a turn any more. Errors: those of frame_stream::finish(); what the source says.
    ZTENSOR_COLD result<void> finish() {
        if (!failure_) {
            return std::move(failure_).error().in_component(role_of(plane::fraction));
        }
        ZTENSOR_TRY(in_component(exponents_.finish(), role_of(plane::exponent)));
        return in_component(check_.finish(), role_of(plane::fraction));
    }

private:
    static constexpr size_t piece_elements = size_t{64} << 10; ///< that are joined at once

    [[nodiscard]] static size_t element_count(const planes_tensor& planes) noexcept {
        return static_cast<size_t>(planes.exponents().decoded_length().value_or(0));
    }

    /// Where the fractions of a turn lie, if they are to be had in the order of the file: because they are digested, or
    /// because they stay where they are.
    result<void> look_at_fractions(memory& mine, const frame_stream::frames& taken, bytes_view& fractions) {
        const size_t each = planes_.width() - 1;
        if (stable_) {
            fractions = stable_->subspan(taken.begin * each, taken.size * each);
        } else if (check_.is_wanted()) {
            ZTENSOR_TRY_ASSIGN(const span<byte> room, mine.fractions.reserve(taken.size * each, "fractions"));
            ZTENSOR_TRY(file_.source->read_at(planes_.fractions().offset + taken.begin * each, room));
            fractions = room;
        }
        if (check_.is_wanted()) {
            check_.take(fractions);
        }
        return {};
    }

    result<void> decode(memory& mine, const frame_stream::frames& taken, bytes_view fractions) {
        ZTENSOR_TRY_ASSIGN(const span<byte> exponents, mine.exponents.reserve(taken.size, "exponents"));
        if (!exponents_.decode(taken, exponents)) {
            return {}; // which its finish() tells
        }
        const size_t width = planes_.width();
        const size_t most = (std::min)(piece_elements, taken.size);
        ZTENSOR_TRY_ASSIGN(const span<byte> elements, mine.elements.reserve(most * width, "elements"));
        for (size_t at = 0; at < taken.size; at += piece_elements) {
            const size_t count = (std::min)(piece_elements, taken.size - at);
            bytes_view piece;
            if (!fractions.empty()) {
                piece = fractions.subspan(at * (width - 1), count * (width - 1));
            } else {
                ZTENSOR_TRY_ASSIGN(const span<byte> room, mine.fractions.reserve(count * (width - 1), "fractions"));
                ZTENSOR_TRY(file_.source->read_at(planes_.fractions().offset + (taken.begin + at) * (width - 1), room));
                piece = room;
            }
            join_planes(exponents.data() + at, piece.data(), width, elements.first(count * width));
            to_.take(to_.owner, elements.first(count * width), taken.begin + at);
        }
        return {};
    }

    const opened_file& file_;
    const planes_tensor& planes_;
    elements_taker to_;
    frame_stream exponents_;
    optional<bytes_view> stable_;

    os_mutex mutex_; ///< of all that follows
    blob_check check_;
    result<void> failure_;
};

/// Gives all elements of a tensor of which can_read() holds, on as many threads as the caller allows.
ZTENSOR_COLD inline result<void> decode_planes(const opened_file& file, const planes_tensor& planes,
                                               elements_taker to) {
    const component_record& exponents = planes.exponents();
    const component_record& fractions = planes.fractions();
    ZTENSOR_TRY(check_blob_limit(exponents.length, file.options));
    ZTENSOR_TRY_ASSIGN(const optional<bytes_view> stable_exponents,
                       source_access::find_stable_range(*file.source, exponents.offset, exponents.length));
    ZTENSOR_TRY_ASSIGN(const optional<bytes_view> stable_fractions,
                       source_access::find_stable_range(*file.source, fractions.offset, fractions.length));
    planes_stream stream(file, planes, to, ~uint64_t{0}, stable_exponents, stable_fractions);
    const unsigned threads = exponents.length < frame_stream::smallest_blob_bytes ? 1 : file.options.threads();
    read_ahead stored(threads);
    stored.add(*file.source, exponents.offset, exponents.length);
    stored.add(*file.source, fractions.offset, fractions.length);
    stored.begin();
    run_in_parallel(threads, stream.most_turns(), [&] {
        planes_stream::memory mine;
        for (size_t decoded = 0; stream.take_turn(mine, decoded);) {
        }
    });
    return stream.finish();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
