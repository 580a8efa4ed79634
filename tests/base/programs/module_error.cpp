// SPDX-License-Identifier: MIT
//
// A shared library that gives an error code of the library's, by a function that is called FUNCTION.
#include <ztensor/error.hpp>

#include <system_error>

std::error_code FUNCTION() {
    return ztensor::make_error_code(ztensor::errc::digest_mismatch);
}
