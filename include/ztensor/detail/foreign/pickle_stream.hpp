// SPDX-License-Identifier: MIT
//
// Pickles that stand in a file one behind the other, with other bytes between them: where each ends, found without
// carrying it out.
#ifndef ZTENSOR_DETAIL_FOREIGN_PICKLE_STREAM_HPP
#define ZTENSOR_DETAIL_FOREIGN_PICKLE_STREAM_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/foreign/importer.hpp>
#include <ztensor/detail/foreign/pickle_bytes.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Goes over an opcode's argument. False where the bytes have no more.
[[nodiscard]] inline bool skip_argument(char opcode, pickle_bytes& from) noexcept {
    constexpr std::string_view of_one = "\x80Kqh\x82", of_two = "M\x83", of_four = "Jrj\x84", of_eight = "G\x95";
    constexpr std::string_view counted_by_one = "\x8c"
                                                "CU\x8a",
                               counted_by_four = "XBT\x8b", counted_by_eight = "\x8d\x8e\x96";
    constexpr std::string_view lines = "ILFSVpgP", pairs_of_lines = "ci";
    const auto is_in = [&](std::string_view set) { return set.find(opcode) != std::string_view::npos; };
    bytes_view skipped;
    std::string_view line;
    if (is_in(lines) || is_in(pairs_of_lines)) {
        return from.take_line(line) && (is_in(lines) || from.take_line(line));
    }
    std::uint64_t size = is_in(of_one) ? 1 : is_in(of_two) ? 2 : is_in(of_four) ? 4 : is_in(of_eight) ? 8 : 0;
    const std::size_t count_bytes = is_in(counted_by_one)     ? 1
                                    : is_in(counted_by_four)  ? 4
                                    : is_in(counted_by_eight) ? 8
                                                              : 0;
    if (count_bytes != 0 && !from.take_unsigned(count_bytes, size)) {
        return false;
    }
    return from.take(size, skipped);
}

/// The bytes of the pickle that they start with; 0 if it does not end in them.
[[nodiscard]] inline std::size_t pickle_length(bytes_view bytes) noexcept {
    pickle_bytes from(bytes);
    std::uint64_t opcode = 0;
    while (from.take_unsigned(1, opcode)) {
        if (opcode == '.') {
            return from.position();
        }
        if (!skip_argument(static_cast<char>(static_cast<unsigned char>(opcode)), from)) {
            break;
        }
    }
    return 0;
}

class pickle_stream {
public:
    /// The part of `source` up to `end`.
    pickle_stream(const byte_source& source, std::uint64_t position, std::uint64_t end, std::uint64_t most_bytes)
        : source_(source), position_(position), end_(end), most_bytes_(most_bytes) {}

    [[nodiscard]] std::uint64_t position() const noexcept { return position_; }

    /// The next pickle. It is looked for in ever more bytes, twice as many each time, so that reading it takes time in
    /// proportion to it. Errors: truncated; limit_exceeded; what the source says.
    [[nodiscard]] result<byte_buffer> next_pickle(std::uint64_t first_bytes = 512) {
        const std::uint64_t there = end_ - position_;
        for (std::uint64_t size = first_bytes;; size *= 2) {
            const std::uint64_t window = (std::min)({size, there, most_bytes_});
            result<byte_buffer> bytes = read_header(source_, position_, window);
            if (!bytes) {
                return bytes;
            }
            if (const std::size_t length = pickle_length(bytes->bytes()); length != 0) {
                const std::uint64_t begin = position_;
                position_ += length;
                return length == window ? std::move(bytes) : read_header(source_, begin, length);
            }
            if (window == there) {
                return fail(errc::truncated, "the pickle at byte {} is cut off", {position_});
            }
            if (window == most_bytes_) {
                return fail(errc::limit_exceeded, "the pickle at byte {} takes more than the {} bytes allowed",
                            {position_, most_bytes_});
            }
        }
    }

    /// A number between pickles. Errors: truncated; what the source says.
    [[nodiscard]] result<std::uint64_t> next_number(std::size_t size) {
        std::byte bytes[8];
        if (end_ - position_ < size) {
            return fail(errc::truncated, "the file ends at byte {}, where a number should be", {end_});
        }
        ZTENSOR_TRY(source_.read_at(position_, {bytes, size}));
        position_ += size;
        return load_little(bytes, size);
    }

    /// Goes over so many bytes. Errors: truncated.
    [[nodiscard]] result<void> skip(std::uint64_t size) {
        if (size > end_ - position_) {
            return fail(errc::truncated, "{} bytes from byte {} on are not all there", {size, position_});
        }
        position_ += size;
        return {};
    }

private:
    const byte_source& source_;
    std::uint64_t position_;
    std::uint64_t end_;
    std::uint64_t most_bytes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
