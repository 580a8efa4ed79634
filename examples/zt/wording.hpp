// SPDX-License-Identifier: MIT
//
// What the library says, in the words of the program: commands and options instead of functions of C++.
#ifndef ZTENSOR_EXAMPLES_ZT_WORDING_HPP
#define ZTENSOR_EXAMPLES_ZT_WORDING_HPP

#include <string>

namespace zt {

/// A sentence of the library as the program says it.
std::string in_words_of_zt(std::string sentence);

} // namespace zt

#endif
