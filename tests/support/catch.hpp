// SPDX-License-Identifier: MIT
//
// Catch2, whichever generation is installed: 2.13 has one header, 3 has many.
#ifndef ZTENSOR_TESTS_SUPPORT_CATCH_HPP
#define ZTENSOR_TESTS_SUPPORT_CATCH_HPP

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <string>

namespace support {

/// Matches text that has `part` in it.
inline auto contains_text(const std::string& part) {
#if __has_include(<catch2/catch_all.hpp>)
    return Catch::Matchers::ContainsSubstring(part);
#else
    return Catch::Matchers::Contains(part);
#endif
}

} // namespace support

#endif
