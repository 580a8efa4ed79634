// SPDX-License-Identifier: MIT
//
// Bytes as tests put them together and look at them. Shares no code with the library but for the types of its views.
#ifndef ZTENSOR_TESTS_SUPPORT_BYTES_HPP
#define ZTENSOR_TESTS_SUPPORT_BYTES_HPP

#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace support {

/// Encoded bytes; a string, because that is so easily put together.
using bytes = std::string;
using byte_vector = std::vector<std::byte>;
using integers = std::vector<std::uint64_t>;

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t two_to_63 = std::uint64_t{1} << 63;

[[nodiscard]] bool host_is_little_endian();

/// The text's bytes where they lie.
[[nodiscard]] ztensor::bytes_view bytes_of(std::string_view text);
/// In memory of exactly their size, so that a sanitizer sees the first byte read beyond.
[[nodiscard]] byte_vector to_vector(std::string_view content);
[[nodiscard]] bytes as_string(ztensor::bytes_argument content);

/// Bytes from hexadecimal digits; spaces count for nothing.
[[nodiscard]] byte_vector from_hex(std::string_view hex);
/// For comparisons whose failures can be read.
[[nodiscard]] std::string to_hex(ztensor::bytes_argument content);

[[nodiscard]] bytes repeated(std::size_t count, std::string_view piece);
[[nodiscard]] bytes big_endian(std::uint64_t value, std::size_t size);
[[nodiscard]] bytes little_endian(std::uint64_t value, std::size_t size);
/// All of them, `size` bytes each.
[[nodiscard]] bytes little_endian(const std::vector<std::uint64_t>& values, std::size_t size);
/// Every `width` bytes in the other order; what is left over stays.
[[nodiscard]] bytes swapped(bytes content, std::size_t width);
/// Elements of `width` bytes between the order of a file and that of this host, either way.
[[nodiscard]] bytes between_file_and_host(bytes content, std::size_t width);
/// 3, 14, 25, …
[[nodiscard]] bytes counting(std::size_t size);
/// Bytes that look random and are the same every time.
[[nodiscard]] byte_vector noise(std::size_t count, std::uint32_t seed = 1);

/// The CRC-32 of ZIP archives, bit by bit, from its definition.
[[nodiscard]] std::uint32_t crc32_of(std::string_view content);

/// The bytes of elements as they lie in memory; they compare as elements with NaN do not.
template <class Elements>
[[nodiscard]] bytes memory_of(const Elements& elements) {
    const auto* const data = static_cast<const char*>(static_cast<const void*>(elements.data()));
    return elements.size() == 0 ? bytes() : bytes(data, elements.size() * sizeof(*elements.data()));
}

} // namespace support

#endif
