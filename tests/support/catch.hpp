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

#endif
