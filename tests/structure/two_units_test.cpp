// SPDX-License-Identifier: MIT
//
// Two translation units that include everything link, and share every inline variable.
#include <ztensor/ztensor.hpp>

#include "support/catch.hpp"

const void* address_in_second_unit();

TEST_CASE("two translation units include everything and link to one library") {
    const void* address_in_first_unit = ztensor::dtypes.data();
    CHECK(address_in_first_unit == address_in_second_unit());
}
