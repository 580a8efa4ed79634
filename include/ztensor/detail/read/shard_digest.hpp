// SPDX-License-Identifier: MIT
//
// The digests of whole shards. SPEC.md section 13.9.
#ifndef ZTENSOR_DETAIL_READ_SHARD_DIGEST_HPP
#define ZTENSOR_DETAIL_READ_SHARD_DIGEST_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/codec/digest_2.hpp>
#include <ztensor/detail/codec/digest_text.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/digest_memory.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The digest of bytes [begin, begin + length) of a source, as text. Errors: out_of_memory, and what the source says.
[[nodiscard]] ZTENSOR_COLD inline result<std::string> digest_of_range(const byte_source& source, std::uint64_t begin,
                                                                      std::uint64_t length, digest algorithm) {
    constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;
    byte_buffer piece;
    if (!piece.allocate(static_cast<std::size_t>((std::min)(length, piece_bytes)))) {
        return fail(errc::out_of_memory, "no memory for a piece of 1 MiB");
    }
    digest_memory hash;
    start_digest_2(algorithm, hash);
    for (std::uint64_t done = 0; done < length; done += piece_bytes) {
        const auto size = static_cast<std::size_t>((std::min)(length - done, piece_bytes));
        ZTENSOR_TRY(source.read_at(begin + done, piece.writable_bytes().first(size)));
        update_digest_2(algorithm, hash, piece.bytes().first(size));
    }
    return text_of_digest_2(algorithm, hash);
}

/// Every shard, byte by byte, is the file that the root means, as far as its digest can be computed. Errors:
/// shard_mismatch, and what the source says.
[[nodiscard]] ZTENSOR_COLD inline result<void> verify_shards(const opened_file& file) {
    for (const shard_record& shard : file.index.shards) {
        const digest_parts expected = parse_digest_2(file.index.text(shard.digest_text));
        if (expected.algorithm == digest::none) {
            continue;
        }
        ZTENSOR_TRY_ASSIGN(const std::string found,
                           digest_of_range(*file.source, shard.base, shard.size_bytes, expected.algorithm));
        if (!same_digest(parse_digest_2(found), expected)) {
            return fail(errc::shard_mismatch, "the shard {} has the digest {}, but the root says {}",
                        {in_quotes(file.index.text(shard.name)), found, in_quotes(file.index.text(shard.digest_text))});
        }
    }
    return {};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
