// SPDX-License-Identifier: MIT
//
// Every header that is not the library's, for tests that compile the library's own under other conditions.
#ifndef ZTENSOR_TESTS_STRUCTURE_FOREIGN_HEADERS_HPP
#define ZTENSOR_TESTS_STRUCTURE_FOREIGN_HEADERS_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>
#if __has_include(<bit>)
#include <bit>
#endif
#if __has_include(<compare>)
#include <compare>
#endif
#if __has_include(<concepts>)
#include <concepts>
#endif
#if __has_include(<expected>)
#include <expected>
#endif
#if __has_include(<format>)
#include <format>
#endif
#if __has_include(<mdspan>)
#include <mdspan>
#endif
#if __has_include(<ranges>)
#include <ranges>
#endif
#if __has_include(<span>)
#include <span>
#endif
#if __has_include(<version>)
#include <version>
#endif

#include <nlohmann/json.hpp>
#if __has_include(<xxhash.h>)
#define XXH_INLINE_ALL
#include <xxhash.h>
#undef XXH_INLINE_ALL
#endif
#if __has_include(<zlib.h>)
#include <zlib.h>
#endif
#include <zstd.h>
#include <zstd_errors.h>

#endif
