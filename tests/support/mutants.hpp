// SPDX-License-Identifier: MIT
//
// Files that are changed a little, in the same way on every machine: bytes and items of their index, in places that
// only the file's own name decides. Sizes and checksums around a change are made right again, so that what is changed
// is reached. Shares no code with the library.
#ifndef ZTENSOR_TESTS_SUPPORT_MUTANTS_HPP
#define ZTENSOR_TESTS_SUPPORT_MUTANTS_HPP

#include "support/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace support {

/// Numbers that look random: splitmix64, for those of std:: differ from one library to another.
class dice {
public:
    explicit dice(std::uint64_t seed) : state_(seed) {}
    [[nodiscard]] std::uint64_t next();
    /// Less than `end`, which is not 0.
    [[nodiscard]] std::size_t below(std::size_t end) { return static_cast<std::size_t>(next() % end); }

private:
    std::uint64_t state_;
};

/// FNV-1a of 64 bits, of what came before and of a text.
constexpr std::uint64_t hash_start = 0xcbf29ce484222325;
[[nodiscard]] std::uint64_t hashed(std::string_view text, std::uint64_t before = hash_start);
[[nodiscard]] std::string hash_text(std::uint64_t hash);

/// The hash that stands in the footer of version 2.
using index_hash = std::function<std::uint64_t(std::string_view index)>;

/// The file with a change that follows from `seed`. Of .zt files mostly one in the index, whose size, and in version 2
/// whose hash, are right again; of ZIP archives without deflated entries the CRC-32 are. `content` is not empty.
[[nodiscard]] bytes mutant(const bytes& content, std::uint64_t seed, const index_hash& hash_of_2);

} // namespace support

#endif
