// SPDX-License-Identifier: MIT
//
// The numbers that CBOR items stand for.
#ifndef ZTENSOR_DETAIL_CBOR_NUMBER_HPP
#define ZTENSOR_DETAIL_CBOR_NUMBER_HPP

#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/float_types.hpp>

#include <cstdint>
#include <cstring>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The value of a float or integer item; false for every other kind.
[[nodiscard]] inline bool to_number(const cbor_head& head, double& out) noexcept {
    if (head.major == cbor_major::unsigned_integer) {
        out = static_cast<double>(head.argument);
    } else if (head.major == cbor_major::negative_integer) {
        out = -1.0 - static_cast<double>(head.argument);
    } else if (head.major != cbor_major::simple) {
        return false;
    } else if (head.info == 25) {
        out = static_cast<double>(static_cast<float>(float16::from_bits(static_cast<std::uint16_t>(head.argument))));
    } else if (head.info == 26) {
        const auto bits = static_cast<std::uint32_t>(head.argument);
        float single;
        std::memcpy(&single, &bits, sizeof single);
        out = static_cast<double>(single);
    } else if (head.info == 27) {
        std::memcpy(&out, &head.argument, sizeof out);
    } else {
        return false;
    }
    return true;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
