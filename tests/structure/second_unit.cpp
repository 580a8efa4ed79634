// SPDX-License-Identifier: MIT
//
// The other half of two_units_test.cpp.
#include <ztensor/ztensor.hpp>

const void* address_in_second_unit();

const void* address_in_second_unit() {
    return ztensor::dtypes.data();
}
