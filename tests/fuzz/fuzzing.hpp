// SPDX-License-Identifier: MIT
//
// What every fuzz target is made of: one function on the bytes of an input, promises that end the process when they are
// broken, and a cap on every single allocation.
#ifndef ZTENSOR_TESTS_FUZZ_FUZZING_HPP
#define ZTENSOR_TESTS_FUZZ_FUZZING_HPP

#include <ztensor/options.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fuzzing {

/// No component is decoded to more than this, so that an input of a hundred bytes takes no second.
inline constexpr std::uint64_t max_decoded_bytes = 64 * 1024;

// Each target defines these two.

/// Tries one input. What it must not do is crash, hang, leak, or break a promise.
void try_input(ztensor::bytes_view input);
/// What a single allocation may take beyond eight times the input: buffers of a size of their own.
extern const std::size_t working_bytes;

/// Ends the process, saying why, if a promise is broken.
void require(bool holds, const char* promise) noexcept;
void require(bool holds, const char* promise, const std::string& detail) noexcept;

/// Small limits, one thread.
[[nodiscard]] ztensor::read_options small_limits();

[[nodiscard]] inline std::string_view as_text(ztensor::bytes_view bytes) noexcept {
    return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

/// A copy in which nothing lies behind the last byte. An address sanitizer sees what reads on.
class own_copy {
public:
    explicit own_copy(ztensor::bytes_view input);
    own_copy(const own_copy&) = delete;
    own_copy& operator=(const own_copy&) = delete;
    ~own_copy();

    [[nodiscard]] ztensor::bytes_view bytes() const noexcept { return {begin_, size_}; }

private:
    std::byte* begin_;
    std::size_t size_;
};

} // namespace fuzzing

#endif
