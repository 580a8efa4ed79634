// SPDX-License-Identifier: MIT
//
// The parameters of weights that are quantized in groups. SPEC.md section 5.4.
#ifndef ZTENSOR_QUANTIZATION_HPP
#define ZTENSOR_QUANTIZATION_HPP

#include <ztensor/dtype.hpp>

#include <cstdint>
#include <string>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// How integers of a few bits share words: "8_per_i32" is eight to each i32, the first in the lowest bits.
struct packing {
    std::uint64_t per_word = 1;
    dtype word = dtype::u8;
};

/// The attributes of a quantized_group object.
struct quantization {
    unsigned bits = 0;            ///< of one quantized weight, 1 to 64
    std::uint64_t group_size = 0; ///< weights that share a scale and a zero point, at least 1
    std::string packing_name;     ///< as the file spells it
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
