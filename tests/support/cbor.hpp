// SPDX-License-Identifier: MIT
//
// CBOR items (RFC 8949) in every form, right or wrong.
#ifndef ZTENSOR_TESTS_SUPPORT_CBOR_HPP
#define ZTENSOR_TESTS_SUPPORT_CBOR_HPP

#include "support/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace support::cbor {

enum class major : unsigned { unsigned_integer, negative_integer, byte_string, text, array, map, tag, simple };

/// A head with its argument in `size` bytes (1, 2, 4 or 8), or in the first byte itself (0).
[[nodiscard]] bytes head_of_size(major kind, std::uint64_t argument, std::size_t size);

/// The shortest head.
[[nodiscard]] bytes head(major kind, std::uint64_t argument);

/// The first byte of an item of indefinite length, and what ends it.
[[nodiscard]] bytes indefinite_head(major kind);
inline const bytes stop = "\xff";

[[nodiscard]] bytes number(std::uint64_t value);
/// -1 - `value`.
[[nodiscard]] bytes minus_one_minus(std::uint64_t value);
[[nodiscard]] bytes text(std::string_view value);
[[nodiscard]] bytes byte_string(std::string_view value);
[[nodiscard]] bytes tag(std::uint64_t number, std::string_view item);

inline const bytes no = "\xf4";
inline const bytes yes = "\xf5";
inline const bytes null = "\xf6";
inline const bytes undefined = "\xf7";
inline const bytes half_one = bytes("\xf9\x3c\x00", 3);               // 1.0 in 16 bits
inline const bytes single_one = bytes("\xfa\x3f\x80\x00\x00", 5);     // 1.0 in 32 bits
inline const bytes double_one = bytes("\xfb\x3f\xf0\0\0\0\0\0\0", 9); // 1.0 in 64 bits

[[nodiscard]] bytes joined(const std::vector<bytes>& items);

[[nodiscard]] bytes array(const std::vector<bytes>& items);
[[nodiscard]] bytes indefinite_array(const std::vector<bytes>& items);
[[nodiscard]] bytes numbers(const std::vector<std::uint64_t>& values);

/// Text of indefinite length.
[[nodiscard]] bytes chunked(const std::vector<std::string_view>& chunks);

/// A map in the making: encoded keys and values in their order. Keys may stand twice.
class map {
public:
    map() = default;
    map(std::initializer_list<std::pair<std::string_view, bytes>> pairs);

    /// Gives a text key another value where it stands, or appends both.
    map& set(std::string_view key, bytes value);
    /// Appends a pair, whatever its encoded key.
    map& add(bytes encoded_key, bytes value);
    map& remove(std::string_view key);
    /// Gives a text key another encoding where it stands.
    map& respell(std::string_view key, bytes encoded_key);

    [[nodiscard]] bytes encoded() const;
    [[nodiscard]] bytes indefinite() const;
    operator bytes() const { return encoded(); }

private:
    using pair_list = std::vector<std::pair<bytes, bytes>>;

    [[nodiscard]] pair_list::iterator find(std::string_view key);
    [[nodiscard]] bytes content() const;

    pair_list pairs_;
};

/// An item inside `levels` arrays.
[[nodiscard]] bytes nested(std::size_t levels, std::string_view innermost = "\x01");

} // namespace support::cbor

#endif
