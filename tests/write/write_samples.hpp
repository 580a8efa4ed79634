// SPDX-License-Identifier: MIT
//
// What tests of the writer write when it does not matter what.
#ifndef ZTENSOR_TESTS_WRITE_WRITE_SAMPLES_HPP
#define ZTENSOR_TESTS_WRITE_WRITE_SAMPLES_HPP

#include <cstdint>
#include <vector>

namespace write_samples {

inline const std::vector<float> four_floats = {1, 2, 3, 4};
inline const std::vector<std::uint64_t> indptr_of_two_rows = {0, 1, 3};
inline const std::vector<std::uint64_t> three_indices = {1, 0, 2};

} // namespace write_samples

#endif
