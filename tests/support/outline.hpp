// SPDX-License-Identifier: MIT
//
// All that a caller can read of an open file without its blobs, as text: names, shapes, attributes, parts, places and
// digests. Asks the public interface alone.
#ifndef ZTENSOR_TESTS_SUPPORT_OUTLINE_HPP
#define ZTENSOR_TESTS_SUPPORT_OUTLINE_HPP

#include <ztensor/error.hpp>
#include <ztensor/reader.hpp>

#include <string>

namespace support {

[[nodiscard]] std::string outline(const ztensor::reader& file);

/// An error's code and place, in one line: "schema_range @71 w data". What could not stand there as it is, or is long,
/// is a hash.
[[nodiscard]] std::string place_of(const ztensor::error& why);

} // namespace support

#endif
