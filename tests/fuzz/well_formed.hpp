// SPDX-License-Identifier: MIT
//
// What is one CBOR item, by the words of RFC 8949 (sections 4.2.1 and 5.3.1, and appendix C) alone. Shares no code with
// the library, takes no memory of its own, and is asked for every input: it has to be quick.
#ifndef ZTENSOR_TESTS_FUZZ_WELL_FORMED_HPP
#define ZTENSOR_TESTS_FUZZ_WELL_FORMED_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace fuzzing {

/// Beyond the library's limit, so that it is met.
inline constexpr std::size_t most_levels = 80;

/// How many bytes the item at the front of `encoded` takes if no more than `levels` arrays, maps and tags enclose one
/// another in it. 0 if it is not well-formed, or deeper.
[[nodiscard]] std::size_t well_formed_bytes(std::string_view encoded, std::size_t levels = most_levels) noexcept;

/// The same where only the deterministic encoding of section 4.2.1 will do: and text is UTF-8, there is no tag, no
/// simple value but false, true and null, and no NaN but that of two bytes.
[[nodiscard]] std::size_t deterministic_bytes(std::string_view encoded, std::size_t levels) noexcept;

/// The content of the text or byte string (by its major type) at the front, its chunks joined. False if it is none, or
/// if a chunk of text is not UTF-8.
[[nodiscard]] bool join_string(std::string_view encoded, unsigned major, std::string& into);

} // namespace fuzzing

#endif
