// SPDX-License-Identifier: MIT
//
// The decoded bytes of one component, a piece at a time, and the same as other numbers. Defines what pieces.hpp
// declares. SPEC.md section 4.5 and section 6.
#ifndef ZTENSOR_DETAIL_READ_PIECES_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_PIECES_DEFINITIONS_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/decoded_stream.hpp>
#include <ztensor/detail/read/numbers.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/pieces.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class piece_reader {
public:
    static constexpr size_t piece_bytes = size_t{1} << 20;              ///< of decoded elements
    static constexpr size_t piece_bytes_to_convert = size_t{256} << 10; ///< so that they stay in the cache
    static constexpr size_t narrow_piece_bytes = size_t{48} << 10;      ///< of which three hold whole elements

    /// `floating` says what the elements are turned into on their way; null if they stay what they are.
    piece_reader(const component_view& component, const dtype* floating)
        : view_(component), file_(component_access::file_of(component)),
          component_(component_access::record_of(component)), converts_(floating != nullptr),
          target_(floating != nullptr ? *floating : dtype::f64), stream_(file_, component_) {}

    [[nodiscard]] const component_view& component() const noexcept { return view_; }

    /// Called once, before next(). `are_blocks` says that the component holds blocks of weights.
    result<void> start(bool are_blocks) {
        ZTENSOR_TRY(converts_ ? start_converting(are_blocks) : check_bytes());
        const size_t size = !numbers_                ? piece_bytes
                            : numbers_->are_packed() ? narrow_piece_bytes
                            : numbers_->are_blocks() // as many as give a piece of doubles
                                ? piece_bytes / (numbers_->numbers_per_element() * sizeof(double)) * width_
                                : piece_bytes_to_convert;
        ZTENSOR_TRY(allocate(decoded_, size, "a piece"));
        return stream_.start();
    }

    result<bytes_view> next() {
        if (!failure_) {
            return failure_.error();
        }
        result<bytes_view> piece = is_over_ ? bytes_view() : make_next();
        if (!piece) {
            failure_ = piece.error();
        }
        return piece;
    }

private:
    /// Bytes are given as they are, of which a blob need not hold whole elements, as in 0.1 it may hold indices, too;
    /// unless they have to be swapped.
    result<void> check_bytes() {
        ZTENSOR_TRY(check_encoding(file_, component_));
        if (!component_.is_big_endian) {
            return {};
        }
        if (!component_.dtype) {
            return unknown_dtype(file_, component_);
        }
        width_ = width_bytes(*component_.dtype);
        ZTENSOR_TRY(count_elements(file_, component_, {*component_.dtype, {}, width_, 1, false}));
        return {};
    }

    result<void> start_converting(bool are_blocks) {
        ZTENSOR_TRY(check_encoding(file_, component_));
        if (!component_.dtype) {
            return unknown_dtype(file_, component_);
        }
        const object_record& object = component_access::object_record_of(view_);
        ZTENSOR_TRY_ASSIGN(const number_source numbers,
                           are_blocks ? number_source::of_blocks(file_, object, target_)
                                      : number_source::of_elements(file_, object, component_, target_));
        if (facts(target_).category != dtype_class::floating) {
            return fail(errc::invalid_argument, "elements can be converted to f64, f32, f16 or bf16, not to {}",
                        {name(target_)});
        }
        numbers_.emplace(numbers);
        width_ = numbers.element_bytes();
        return {};
    }

    result<bytes_view> make_next() {
        const span<byte> memory = decoded_.writable_bytes();
        const uint64_t begin = stream_.position();
        const result<size_t> made = next_elements(memory);
        if (!made) {
            return stream_.explain(made.error(), memory);
        }
        if (*made == 0) {
            is_over_ = true;
            ZTENSOR_TRY(stream_.finish(memory));
            ZTENSOR_TRY(numbers_ ? numbers_->check_stored_bytes(begin) : result<void>());
            return bytes_view();
        }
        const span<byte> piece = memory.first(*made);
        if (numbers_) {
            ZTENSOR_TRY(numbers_->to_host(piece, begin / width_));
            return convert(piece);
        }
        if (holds_bools(component_) && !component_.holds_indices) {
            ZTENSOR_TRY(normalise_bools(component_, piece, begin));
        }
        if (component_.is_big_endian) {
            swap_elements(piece, width_);
        }
        return piece;
    }

    result<size_t> next_elements(span<byte> memory) {
        ZTENSOR_TRY_ASSIGN(const size_t made, stream_.fill(memory));
        if (made < memory.size()) {
            ZTENSOR_TRY(at_offset(check_whole_elements(stream_.position(), width_), component_.offset));
        }
        return made;
    }

    result<bytes_view> convert(bytes_view piece) {
        uint64_t count = numbers_->most_in(piece.size());
        if (numbers_->are_packed()) { // the last bytes have room for more
            count = (std::min)(count, numbers_->count_in(stream_.position()) - given_);
            if (count == 0) {
                return numbers_->check_stored_bytes(stream_.position()).error();
            }
            given_ += count;
        }
        const size_t number_bytes = numbers_->number_bytes();
        if (!converted_.is_allocated()) {
            const auto most = static_cast<size_t>(numbers_->most_in(decoded_.size()));
            ZTENSOR_TRY(allocate(converted_, most * number_bytes, "a piece of numbers"));
        }
        const span<byte> made = converted_.writable_bytes().first(static_cast<size_t>(count) * number_bytes);
        numbers_->convert(piece, made, number_store::cached);
        if (!host_is_little_endian) {
            swap_elements(made, number_bytes);
        }
        return made;
    }

    component_view view_;
    const opened_file& file_;
    const component_record& component_;
    bool converts_;
    dtype target_; ///< where they are
    decoded_stream stream_;
    optional<number_source> numbers_; ///< what converts them
    size_t width_ = 1;                ///< of an element, a block of weights, or a byte that is given as it is
    uint64_t given_ = 0;              ///< of elements that share bytes
    byte_buffer decoded_;
    byte_buffer converted_;
    bool is_over_ = false;
    result<void> failure_;
};

ZTENSOR_INLINE void piece_deleter::operator()(piece_reader* pieces) const noexcept {
    delete pieces;
}

} // namespace detail

ZTENSOR_INLINE result<component_pieces> component_pieces::start(const component_view& from, const dtype* floating) {
    return detail::component_access::guard(from, [&]() -> result<component_pieces> {
        component_pieces pieces(new detail::piece_reader(from, floating));
        ZTENSOR_TRY(pieces.pieces_->start(false));
        return pieces;
    });
}

ZTENSOR_INLINE result<component_pieces> component_pieces::open(const component_view& from) {
    return start(from, nullptr);
}

ZTENSOR_INLINE result<component_pieces> component_pieces::open_as(const component_view& from, dtype floating) {
    return start(from, &floating);
}

ZTENSOR_INLINE result<component_pieces> component_pieces::open_as(const object_view& from, dtype floating) {
    if (from.format() == format::dense) {
        ZTENSOR_TRY_ASSIGN(const component_view elements, from.data());
        return open_as(elements, floating);
    }
    return detail::object_access::guard(from, [&]() -> result<component_pieces> {
        ZTENSOR_TRY(detail::find_weight_blocks(detail::object_access::file_of(from).index,
                                               detail::object_access::record_of(from)));
        component_pieces pieces(new detail::piece_reader(from.component("data").value(), &floating));
        ZTENSOR_TRY(pieces.pieces_->start(true));
        return pieces;
    });
}

ZTENSOR_INLINE result<bytes_view> component_pieces::next() & {
    if (pieces_ == nullptr) {
        return detail::fail(errc::invalid_argument, "the pieces were moved from").by_caller();
    }
    return detail::component_access::guard(pieces_->component(), [&] { return pieces_->next(); });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
