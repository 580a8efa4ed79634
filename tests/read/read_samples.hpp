// SPDX-License-Identifier: MIT
//
// Small files whose elements are read in many ways.
#ifndef ZTENSOR_TESTS_READ_READ_SAMPLES_HPP
#define ZTENSOR_TESTS_READ_READ_SAMPLES_HPP

#include "support/bytes.hpp"
#include "support/refusal.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/format.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace read_samples {

/// As a file holds them.
support::bytes floats(const std::vector<float>& values);
support::bytes shorts(const std::vector<int>& values);
/// 0, 1, 2, …
std::vector<float> first_numbers(std::size_t count);

/// "w", of shape [6, 2], with the numbers 0 to 11.
support::sample twelve_floats();
/// The same compressed; of generations before 1.2 the file does not state the decoded size.
support::sample twelve_compressed(ztensor::version each = ztensor::version::v1_2);
/// A 1.1 file with the object "w", sparse, whose compressed values are as many as decoding tells.
support::sample values_of_unknown_size();

// -- what comes of reading "w"

/// What becomes of views of little-endian elements of several bytes.
inline const std::string_view viewable = support::host_is_little_endian() ? "ok" : "needs_byteswap";

template <class T>
std::vector<T> elements_in(ztensor::span<const T> view) {
    return {view.begin(), view.end()};
}

template <class T>
std::string read(const ztensor::reader& file) {
    return support::outcome(file.read<T>("w"));
}

} // namespace read_samples

#endif
