// SPDX-License-Identifier: MIT
//
// A picture of a file: where its blobs, gaps and index lie, to scale.
#ifndef ZTENSOR_EXAMPLES_ZT_LAYOUT_HPP
#define ZTENSOR_EXAMPLES_ZT_LAYOUT_HPP

#include <ztensor/ztensor.hpp>

#include <string>

namespace zt {

/// As SVG: the file from its first byte to its last, in as many rows of equal length as its blobs need.
std::string draw_layout(const ztensor::reader& file, const std::string& title);

} // namespace zt

#endif
