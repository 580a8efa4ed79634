// SPDX-License-Identifier: MIT
//
// See foreign.hpp.
#include "fuzz/foreign.hpp"
#include "fuzz/fuzzing.hpp"

void fuzzing::try_input(ztensor::bytes_view input) {
    try_foreign(input, "x.pt");
}
