// SPDX-License-Identifier: MIT
//
// Everything that an open file offers, asked for; on little stack if a test wants that.
#ifndef ZTENSOR_TESTS_MANIFEST_WALKING_HPP
#define ZTENSOR_TESTS_MANIFEST_WALKING_HPP

#include <ztensor/span.hpp>

#include <cstddef>
#include <functional>

namespace walking {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Runs `work`, which makes no assertion, on a thread of its own with a stack of 64 KiB, or the least that the system
/// gives; in sanitizer builds, whose frames are many times larger, of 1 MiB; on Windows of what it gives by itself.
void on_little_stack(std::function<void()> work);

enum class outcome { refused, walked, unsound };

/// Decodes no more than 64 KiB at once: a length that was changed must not make the tests slow.
outcome open_and_walk(ztensor::bytes_view content);

} // namespace walking

#endif
