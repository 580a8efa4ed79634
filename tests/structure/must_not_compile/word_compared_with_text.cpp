// SPDX-License-Identifier: MIT
//
// A word of a file is compared with the enumeration, not with text that may be spelled otherwise in another version.
#include <ztensor/reader.hpp>

bool use(const ztensor::object_view& object) {
#ifdef MISUSE
    return object.format() == "dense";
#else
    return object.format() == ztensor::format::dense;
#endif
}
