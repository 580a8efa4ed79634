// SPDX-License-Identifier: MIT
//
// All ways to get at elements, beside each other.
#ifndef ZTENSOR_TESTS_FUZZ_EVERY_WAY_HPP
#define ZTENSOR_TESTS_FUZZ_EVERY_WAY_HPP

#include <ztensor/reader.hpp>

namespace fuzzing {

/// Asks for the elements of the first objects whole, into memory, in parts, slices and plans, converted, as many types.
/// All ways give the same, or refuse with the same code; what only a part is asked of may hide what is wrong elsewhere.
void ask_every_way(const ztensor::reader& file);

} // namespace fuzzing

#endif
