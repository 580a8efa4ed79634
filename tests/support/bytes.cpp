// SPDX-License-Identifier: MIT
#include "support/bytes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace support {

bool host_is_little_endian() {
    const std::uint16_t one = 1;
    unsigned char first = 0;
    std::memcpy(&first, &one, 1);
    return first == 1;
}

ztensor::bytes_view bytes_of(std::string_view text) {
    return {static_cast<const std::byte*>(static_cast<const void*>(text.data())), text.size()};
}

byte_vector to_vector(std::string_view content) {
    const ztensor::bytes_view view = bytes_of(content);
    return {view.begin(), view.end()};
}

bytes as_string(ztensor::bytes_argument content) {
    bytes out;
    out.reserve(content.size());
    for (const std::byte byte : content) {
        out += static_cast<char>(byte);
    }
    return out;
}

byte_vector from_hex(std::string_view hex) {
    byte_vector out;
    unsigned digits = 0;
    unsigned value = 0;
    for (const char c : hex) {
        if (c == ' ') {
            continue;
        }
        value = value * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
        if (++digits % 2 == 0) {
            out.push_back(static_cast<std::byte>(value));
            value = 0;
        }
    }
    return out;
}

std::string to_hex(ztensor::bytes_argument content) {
    std::string hex;
    for (const std::byte byte : content) {
        hex += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
        hex += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
    }
    return hex;
}

bytes repeated(std::size_t count, std::string_view piece) {
    bytes out;
    out.reserve(count * piece.size());
    for (std::size_t i = 0; i < count; ++i) {
        out += piece;
    }
    return out;
}

bytes big_endian(std::uint64_t value, std::size_t size) {
    bytes out(size, '\0');
    for (std::size_t i = 0; i < size; ++i) {
        out[size - 1 - i] = static_cast<char>(value >> (8 * i) & 0xff);
    }
    return out;
}

bytes little_endian(std::uint64_t value, std::size_t size) {
    return swapped(big_endian(value, size), size);
}

bytes little_endian(const std::vector<std::uint64_t>& values, std::size_t size) {
    bytes out;
    for (const std::uint64_t value : values) {
        out += little_endian(value, size);
    }
    return out;
}

bytes swapped(bytes content, std::size_t width) {
    for (std::size_t at = 0; at + width <= content.size(); at += width) {
        std::reverse(&content[at], &content[at] + width);
    }
    return content;
}

bytes between_file_and_host(bytes content, std::size_t width) {
    return host_is_little_endian() ? content : swapped(std::move(content), width);
}

bytes counting(std::size_t size) {
    bytes out;
    for (std::size_t i = 0; i < size; ++i) {
        out += static_cast<char>(i * 11 + 3);
    }
    return out;
}

byte_vector noise(std::size_t count, std::uint32_t seed) {
    byte_vector out;
    for (std::uint32_t state = seed; out.size() < count;) {
        state = state * 1664525u + 1013904223u;
        out.push_back(static_cast<std::byte>(state >> 24));
    }
    return out;
}

std::uint32_t crc32_of(std::string_view content) {
    std::uint32_t crc = 0xffffffff;
    for (const char each : content) {
        crc ^= static_cast<unsigned char>(each);
        for (int bit = 0; bit < 8; ++bit) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320U : 0U);
        }
    }
    return ~crc;
}

} // namespace support
