// SPDX-License-Identifier: MIT
//
// A stored byte may be 2, and a bool that holds 2 is undefined behaviour.
#include <ztensor/reader.hpp>

void use(const ztensor::reader& model) {
#ifdef MISUSE
    (void)model.view<bool>("mask");
#else
    (void)model.view<unsigned char>("mask");
#endif
}
