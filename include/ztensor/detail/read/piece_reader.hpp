// SPDX-License-Identifier: MIT
//
// Reading a component piece by piece.
#ifndef ZTENSOR_DETAIL_READ_PIECE_READER_HPP
#define ZTENSOR_DETAIL_READ_PIECE_READER_HPP

#include <ztensor/component_view.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/codec/ggml_blocks.hpp>
#include <ztensor/detail/codec/zstd.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/read/component_access.hpp>
#include <ztensor/detail/read/convert.hpp>
#include <ztensor/detail/read/decode.hpp>
#include <ztensor/detail/read/element_access.hpp>
#include <ztensor/detail/read/numbers.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/seekable.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- blob bytes
//
// A blob that is read once, from its first byte to its last, and verified on the way.

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

// -- seekable pieces
//
// Blobs of seekable zstd -> bytes, frame after frame, for what is larger than memory. SPEC.md section 13.7.

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

// -- piece reader
//
// The decoded bytes of one component, a piece at a time, and the same as other numbers. SPEC.md section 4.5 and
// section 6.

class piece_reader {
public:
    static constexpr std::size_t piece_bytes = std::size_t{1} << 20;              ///< of decoded elements
    static constexpr std::size_t piece_bytes_to_convert = std::size_t{256} << 10; ///< so that they stay in the cache
    static constexpr std::size_t narrow_piece_bytes = std::size_t{48} << 10; ///< of which three hold whole elements

    /// `floating` says what the elements are turned into on their way; null if they stay what they are. `blocks` says
    /// what the component holds, if it is blocks of weights.
    piece_reader(const component_view& component, const dtype* floating, const weight_blocks* blocks = nullptr)
        : view_(component), file_(component_access::file_of(component)),
          component_(component_access::record_of(component)), converts_(floating != nullptr),
          target_(floating != nullptr ? *floating : dtype::f64), stored_(file_, component_), frames_(file_, component_),
          type_(component_.logical_type == plain_type ? std::string_view() : type_name(file_.index, component_)),
          blocks_(blocks != nullptr ? blocks->type : nullptr), block_count_(blocks != nullptr ? blocks->count : 0),
          narrow_(converts_ && blocks == nullptr ? find_narrow_type(file_.index, component_) : nullptr) {}

    [[nodiscard]] const component_view& component() const noexcept { return view_; }

    /// Called once, before next().
    [[nodiscard]] result<void> start() {
        ZTENSOR_TRY(check());
        if (!decoded_.allocate(decoded_piece_bytes()) || (is_streamed() && !input_.allocate(cached_piece_bytes))) {
            return fail(errc::out_of_memory, "no memory for a piece of {} bytes", {piece_bytes});
        }
        return is_seekable() ? frames_.start() : is_streamed() ? decoder_.start(most_decoded_bytes()) : result<void>();
    }

    [[nodiscard]] result<bytes_view> next() {
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
    [[nodiscard]] bool is_seekable() const noexcept { return component_.encoding == encoding::zstd_seekable; }
    [[nodiscard]] bool is_streamed() const noexcept { return component_.encoding == encoding::zstd; }
    /// Of a zstd blob, whatever it claims.
    [[nodiscard]] std::uint64_t most_decoded_bytes() const noexcept {
        const std::uint64_t claimed = component_.decoded_length().value_or(file_.options.max_decoded_bytes_);
        return (std::min)(claimed, checked_multiply(component_.length, max_zstd_ratio).value_or(claimed));
    }
    /// Else bytes are given as they are, of which a blob need not hold whole elements: in 0.1 it may hold indices, too.
    [[nodiscard]] bool takes_elements() const noexcept { return converts_ || component_.is_big_endian; }
    /// Of an element, a block of weights, or a byte that elements share.
    [[nodiscard]] std::size_t width() const noexcept {
        return blocks_ != nullptr ? blocks_->bytes : takes_elements() ? width_bytes(*component_.dtype) : 1;
    }
    /// That so many decoded bytes, whole elements or a multiple of three, give at most.
    [[nodiscard]] std::size_t numbers_in(std::size_t bytes) const noexcept {
        return narrow_ != nullptr   ? static_cast<std::size_t>(narrow_in_bytes(*narrow_, bytes))
               : blocks_ != nullptr ? bytes / width() * blocks_->elements
                                    : bytes / width();
    }
    /// Whole elements; of blocks as many as give a piece of doubles.
    [[nodiscard]] std::size_t decoded_piece_bytes() const noexcept {
        return narrow_ != nullptr   ? narrow_piece_bytes
               : blocks_ != nullptr ? piece_bytes / (blocks_->elements * sizeof(double)) * blocks_->bytes
               : converts_          ? piece_bytes_to_convert
                                    : piece_bytes;
    }

    [[nodiscard]] result<void> check() const {
        ZTENSOR_TRY(check_encoding(file_, component_));
        if (!takes_elements()) {
            return {};
        }
        if (!component_.dtype) {
            return unknown_dtype(file_, component_);
        }
        const element_request elements{*component_.dtype, {}, width(), 1, false};
        ZTENSOR_TRY_ASSIGN(const std::optional<std::uint64_t> count, count_elements(file_, component_, elements));
        ZTENSOR_TRY(count ? check_count(*count) : result<void>());
        return converts_ ? check_conversion() : result<void>();
    }

    /// Of blocks, or of bytes that elements share.
    [[nodiscard]] result<void> check_count(std::uint64_t found) const {
        return narrow_ != nullptr ? check_packed_size(*narrow_, found, narrow_count(found)) : check_block_count(found);
    }
    [[nodiscard]] std::uint64_t narrow_count(std::uint64_t bytes) const noexcept {
        return count_packed(file_.index, component_access::object_record_of(view_), component_, *narrow_, bytes);
    }

    [[nodiscard]] result<void> check_block_count(std::uint64_t found) const {
        return blocks_ == nullptr || found == block_count_
                   ? result<void>()
                   : fail(errc::size_mismatch, "there are {} blocks, but the shape needs {}", {found, block_count_});
    }

    [[nodiscard]] result<void> check_conversion() const {
        if (facts(target_).category != dtype_class::floating) {
            return fail(errc::invalid_argument, "elements can be converted to f64, f32, f16 or bf16, not to {}",
                        {name(target_)});
        }
        if (!has_known_numbers(file_.index, component_)) {
            return fail(errc::unsupported_type, "numbers of the logical type {} are unknown to this library",
                        {in_quotes(type_name(file_.index, component_))});
        }
        return narrow_ != nullptr ? result<void>() : check_convertible(*component_.dtype, type_);
    }

    [[nodiscard]] result<bytes_view> make_next() {
        const result<std::size_t> made = next_stored_elements();
        if (!made) {
            return failed(made.error());
        }
        if (*made == 0) {
            is_over_ = true;
            result<void> intact = is_seekable() ? frames_.finish() : stored_.finish(decoded_.writable_bytes());
            intact = intact ? check_count(decoded_bytes_ / width()) : std::move(intact);
            return intact ? result<bytes_view>(bytes_view()) : std::move(intact).error();
        }
        const span<std::byte> piece = decoded_.writable_bytes().first(*made);
        if (holds_bools(component_) && !component_.holds_indices) {
            ZTENSOR_TRY(normalise_bools(component_, piece, decoded_bytes_ - *made));
        }
        return converts_ ? convert(piece) : little_endian(piece);
    }

    /// That the blob is damaged says more than what follows from it.
    [[nodiscard]] error failed(error why) {
        const bool says_enough = why.kind() == error_kind::io || is_seekable();
        result<void> intact = says_enough ? result<void>() : stored_.finish(decoded_.writable_bytes());
        return !intact && intact.error().code() == errc::digest_mismatch ? std::move(intact).error() : why;
    }

    [[nodiscard]] result<std::size_t> next_stored_elements() {
        if (is_seekable()) {
            const result<std::size_t> made = frames_.fill(decoded_.writable_bytes());
            decoded_bytes_ += made.value_or(0);
            return made;
        }
        return !is_streamed() ? read_piece() : is_whole_ ? take_piece() : decode_piece();
    }

    [[nodiscard]] result<std::size_t> read_piece() {
        const auto size = static_cast<std::size_t>((std::min<std::uint64_t>)(decoded_.size(), stored_.left()));
        ZTENSOR_TRY(stored_.read(decoded_.writable_bytes().first(size)));
        decoded_bytes_ += size;
        return size;
    }

    /// A whole piece, unless the blob ends before.
    [[nodiscard]] result<std::size_t> decode_piece() {
        std::size_t made = 0;
        while (made < decoded_.size()) {
            ZTENSOR_TRY(read_stored());
            const std::size_t held = rest_.size();
            const result<std::size_t> more = decoder_.decode(rest_, decoded_.writable_bytes().subspan(made));
            if (!more && more.error().code() == errc::limit_exceeded) {
                return decode_at_once();
            }
            if (!more) {
                return error(more.error()).at(component_.offset);
            }
            made += *more;
            if (*more == 0 && rest_.size() == held && stored_.left() == 0) {
                break;
            }
        }
        decoded_bytes_ += made;
        result<void> fits = check_size(made < decoded_.size());
        return fits ? result<std::size_t>(made) : std::move(fits).error().at(component_.offset);
    }

    /// Where a window would take more memory than all that it is for. What was given before is not given again.
    [[nodiscard]] result<std::size_t> decode_at_once() {
        ZTENSOR_TRY_ASSIGN(const span<std::byte> whole, decode_whole(file_, component_, whole_));
        ZTENSOR_TRY(check_whole_elements(whole.size(), width()));
        is_whole_ = true;
        whole_bytes_ = whole.size();
        return take_piece();
    }

    [[nodiscard]] result<std::size_t> take_piece() {
        const std::uint64_t left = whole_bytes_ - (std::min<std::uint64_t>)(decoded_bytes_, whole_bytes_);
        const auto size = static_cast<std::size_t>((std::min<std::uint64_t>)(left, decoded_.size()));
        if (size != 0) {
            std::memcpy(decoded_.data(), whole_.data() + decoded_bytes_, size);
        }
        decoded_bytes_ += size;
        return size;
    }

    /// More stored bytes, where few are left of those before.
    [[nodiscard]] result<void> read_stored() {
        if (rest_.size() >= zstd_stream::least_stored_bytes || stored_.left() == 0) {
            return {};
        }
        const std::size_t kept = rest_.size();
        if (kept != 0) {
            std::memmove(input_.data(), rest_.data(), kept);
        }
        const auto size = static_cast<std::size_t>((std::min<std::uint64_t>)(input_.size() - kept, stored_.left()));
        ZTENSOR_TRY(stored_.read(input_.writable_bytes().subspan(kept, size)));
        rest_ = input_.bytes().first(kept + size);
        return {};
    }

    [[nodiscard]] result<void> check_size(bool is_at_end) const {
        const std::optional<std::uint64_t> declared = component_.decoded_length();
        if (!declared && decoded_bytes_ > file_.options.max_decoded_bytes_) {
            return fail(errc::limit_exceeded,
                        "the zstd blob decodes to more than the {} bytes of read_options::max_decoded_bytes",
                        {file_.options.max_decoded_bytes_});
        }
        if (is_at_end && (!decoder_.is_between_frames() || !rest_.empty())) {
            return fail(errc::decode_failed, "the zstd blob is cut off");
        }
        if (declared && (decoded_bytes_ > *declared || (is_at_end && decoded_bytes_ != *declared))) {
            return fail(errc::decode_size, "the zstd blob decodes to {} bytes, but {} are declared",
                        {decoded_bytes_, *declared});
        }
        return is_at_end ? check_whole_elements(decoded_bytes_, width()) : result<void>();
    }

    [[nodiscard]] bytes_view little_endian(span<std::byte> piece) const noexcept {
        if (component_.is_big_endian) {
            swap_elements(piece, width());
        }
        return piece;
    }

    /// By way of floats, where these hold every element exactly, else of doubles.
    [[nodiscard]] result<bytes_view> convert(span<std::byte> piece) {
        if (blocks_ != nullptr || narrow_ != nullptr) {
            return target_ == dtype::f64 ? convert_by<double>(piece) : convert_by<float>(piece);
        }
        if (is_foreign_order(component_)) {
            swap_elements(piece, width());
        }
        const dtype_facts& storage = facts(*component_.dtype);
        const bool is_integer = storage.category != dtype_class::floating;
        if (is_integer && storage.width_bytes == sizeof(std::uint64_t) && target_ != dtype::f64) {
            shorten_for_double(piece, storage.category == dtype_class::signed_integer);
        }
        const bool by_floats = storage.width_bytes <= (is_integer ? 2U : 4U);
        return by_floats && target_ != dtype::f64 ? convert_by<float>(piece) : convert_by<double>(piece);
    }

    template <class Number>
    [[nodiscard]] result<bytes_view> convert_by(bytes_view piece) {
        const std::size_t most = numbers_in(decoded_.size());
        std::size_t count = numbers_in(piece.size());
        if (narrow_ != nullptr) { // the last bytes have room for more
            count = static_cast<std::size_t>((std::min<std::uint64_t>)(count, narrow_count(decoded_bytes_) - given_));
            if (count == 0) {
                return check_count(decoded_bytes_).error();
            }
            given_ += count;
        }
        if (!numbers_.is_allocated() && !numbers_.allocate(most * sizeof(Number))) {
            return fail(errc::out_of_memory, "no memory for a piece of {} numbers", {count});
        }
        const span<std::byte> memory = numbers_.writable_bytes().first(count * sizeof(Number));
        const span<Number> numbers = as_writable_elements<Number>(memory);
        if (blocks_ != nullptr) {
            dequantize(blocks_->id, piece, numbers);
        } else if (narrow_ != nullptr) {
            expand_narrow(*narrow_, piece, numbers);
        } else if (result<void> done = convert_elements(piece, *component_.dtype, type_, numbers); !done) {
            return std::move(done).error();
        }
        // Each takes at most the place of the number that it is made of.
        switch (target_) {
        case dtype::f16:
            return narrowed<float16>(numbers);
        case dtype::bf16:
            return narrowed<bfloat16>(numbers);
        case dtype::f32:
            return narrowed<float>(numbers);
        default:
            return narrowed<double>(numbers);
        }
    }

    template <class To, class Number>
    [[nodiscard]] bytes_view narrowed(span<Number> numbers) noexcept {
        static_assert(sizeof(To) <= sizeof(double));
        std::byte* const bytes = numbers_.data();
        if constexpr (!std::is_same_v<To, Number> && sizeof(To) <= sizeof(Number)) {
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                const To each = static_cast<To>(numbers[i]);
                std::memcpy(bytes + i * sizeof(To), &each, sizeof(To));
            }
        }
        const span<std::byte> all(bytes, numbers.size() * sizeof(To));
        if (!host_is_little_endian) {
            swap_elements(all, sizeof(To));
        }
        return all;
    }

    component_view view_;
    const opened_file& file_;
    const component_record& component_;
    bool converts_;
    dtype target_; ///< where they are
    blob_bytes stored_;
    seekable_pieces frames_;
    std::string_view type_;           ///< logical, if it is more than the storage type
    const ggml_block_type* blocks_;   ///< null: single elements
    std::uint64_t block_count_;       ///< that the shape needs
    const narrow_type_facts* narrow_; ///< null: elements share no bytes
    std::uint64_t given_ = 0;         ///< of those
    zstd_stream decoder_;
    byte_buffer input_; ///< of the decoder
    bytes_view rest_;   ///< what of the input is not decoded yet
    byte_buffer decoded_;
    byte_buffer numbers_;
    byte_buffer whole_; ///< decoded at once
    std::size_t whole_bytes_ = 0;
    bool is_whole_ = false;
    std::uint64_t decoded_bytes_ = 0;
    bool is_over_ = false;
    result<void> failure_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
