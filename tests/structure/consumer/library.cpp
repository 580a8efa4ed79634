// SPDX-License-Identifier: MIT
//
// A library that uses ztensor inside.
#include <ztensor/version.hpp>

int consumer_major_version() {
    return ZTENSOR_VERSION_MAJOR;
}
