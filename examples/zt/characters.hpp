// SPDX-License-Identifier: MIT
//
// Characters of UTF-8 as terminals show them.
#ifndef ZTENSOR_EXAMPLES_ZT_CHARACTERS_HPP
#define ZTENSOR_EXAMPLES_ZT_CHARACTERS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace zt {

struct character {
    std::size_t bytes = 1;
    std::size_t columns = 1; ///< 0 of what stands above the character before it, 2 of a wide one
    char32_t point = 0;
    bool is_utf8 = false;  ///< or a byte that is none
    bool is_shown = false; ///< no control character, and none that can't be seen or changes the direction of text
};

/// The text is not empty.
character first_character(std::string_view text);

/// As JSON escapes it, or \xNN where it is not UTF-8.
std::string escaped(std::string_view text, const character& first);

} // namespace zt

#endif
