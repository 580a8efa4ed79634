// SPDX-License-Identifier: MIT
//
// What options hold is set by their functions alone.
#include <ztensor/options.hpp>

void use(ztensor::read_options& options) {
#ifdef MISUSE
    options.threads_ = 4;
#else
    options.threads(4);
#endif
}
