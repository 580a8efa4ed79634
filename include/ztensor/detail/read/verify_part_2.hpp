// SPDX-License-Identifier: MIT
//
// All that only its data shows of one part of version 2: the digest of what it decodes to, and the rules of its
// encoding and type. SPEC.md section 13.8.
#ifndef ZTENSOR_DETAIL_READ_VERIFY_PART_2_HPP
#define ZTENSOR_DETAIL_READ_VERIFY_PART_2_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/read/elements.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/packed.hpp>
#include <ztensor/detail/read/seekable.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/detail/read/thread_memory.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Gives all that a part decodes to to `take(piece) -> result<void>`, in order; its encoding is known.
template <class Take>
[[nodiscard]] result<void> for_each_decoded_piece(const opened_file& file, const component_record& part, Take&& take) {
    thread_memory memory;
    if (part.encoding == encoding::raw) {
        for (std::uint64_t at = 0; at < part.length; at += cached_piece_bytes) {
            const auto size = static_cast<std::size_t>((std::min<std::uint64_t>)(part.length - at, cached_piece_bytes));
            if (!memory.reserve(cached_piece_bytes)) {
                return fail(errc::out_of_memory, "no memory for a piece of {} bytes", {cached_piece_bytes});
            }
            result<void> done = file.source->read_at(part.offset + at, memory.first(size));
            if (done) {
                done = take(memory.first(size), at);
            }
            if (!done) {
                return done;
            }
        }
        return {};
    }
    seek_table table;
    ZTENSOR_TRY(load_seek_table(file, part, table));
    for (std::size_t frame = 0; frame < table.frames(); ++frame) {
        const auto size = static_cast<std::size_t>(table.content_bytes(frame));
        if (!memory.reserve(size)) {
            return fail(errc::out_of_memory, "no memory for a zstd frame of {} bytes", {size});
        }
        result<void> done = decode_seekable_frame(file, part, table, frame, memory.first(size));
        if (done) {
            done = take(memory.first(size), table.content_begin(frame));
        }
        if (!done) {
            return done;
        }
    }
    return {};
}

/// What a logical type demands of bytes that follow `begin` others, the part's last being number `end`.
[[nodiscard]] inline result<void> check_type_rules(const opened_file& file, const object_record& object,
                                                   const component_record& part, span<std::byte> piece,
                                                   std::uint64_t begin) {
    if (has_logical_type(part, "bool")) {
        return normalise_bools(part, piece, begin); // which changes none, and refuses all but 0 and 1
    }
    const std::uint64_t bytes = part.decoded_length().value_or(0);
    const narrow_type_facts* const type = has_checked_padding(part) ? find_narrow_type(file.index, part) : nullptr;
    if (type == nullptr || begin + piece.size() != bytes) {
        return {};
    }
    const std::uint64_t count = count_packed(file.index, object, part, *type, bytes);
    return count % 2 == 0 ? result<void>() : check_packed(part, *type, piece.last(1), 1);
}

/// Decodes the part: its digest, and every rule of its encoding and its type. What is encoded in an unknown way can't
/// be checked. Errors: decode_failed, decode_size, bad_bool, bad_padding, limit_exceeded, and what the source says.
[[nodiscard]] ZTENSOR_COLD inline result<digest_state>
verify_part_2(const opened_file& file, const object_record& object, const component_record& part) {
    const digest_parts expected = part.digest_text.is_present() ? known_digest(file, part) : digest_parts();
    const digest_state unchecked = part.digest_text.is_present() ? digest_state::unsupported : digest_state::absent;
    if (!part.encoding) {
        return unchecked;
    }
    digester hash(expected.algorithm);
    result<void> broken_rule;
    result<void> decoded = for_each_decoded_piece(file, part, [&](span<std::byte> piece, std::uint64_t begin) {
        hash.update(piece);
        if (broken_rule) {
            broken_rule = check_type_rules(file, object, part, piece, begin);
        }
        return result<void>();
    });
    if (!decoded) {
        return std::move(decoded).error();
    }
    if (expected.algorithm != digest::none && compare_digest(expected, hash) == digest_state::mismatch) {
        return digest_state::mismatch; // which says more than what follows from it
    }
    if (!broken_rule) {
        return std::move(broken_rule).error();
    }
    return expected.algorithm != digest::none ? digest_state::match : unchecked;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
