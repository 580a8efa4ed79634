// SPDX-License-Identifier: MIT
//
// Messages of protobuf, such as ONNX's, field by field.
#ifndef ZTENSOR_TESTS_SUPPORT_PROTOBUF_HPP
#define ZTENSOR_TESTS_SUPPORT_PROTOBUF_HPP

#include "support/bytes.hpp"

#include <cstdint>

namespace support {
namespace protobuf {

inline bytes varint(std::uint64_t value) {
    bytes all;
    for (; value >= 0x80; value >>= 7) {
        all += static_cast<char>(value | 0x80);
    }
    return all + static_cast<char>(value);
}
/// Bytes, a text or a message.
inline bytes field(unsigned which, const bytes& content) {
    return varint(which << 3 | 2) + varint(content.size()) + content;
}
inline bytes field(unsigned which, std::uint64_t value) {
    return varint(which << 3) + varint(value);
}

} // namespace protobuf
} // namespace support

#endif
