// SPDX-License-Identifier: MIT
//
// A type that element_traits does not describe has no place in a file.
#include <ztensor/writer.hpp>

#include <vector>

struct opaque {};

void use(ztensor::writer& out) {
#ifdef MISUSE
    const std::vector<opaque> values(2);
#else
    const std::vector<float> values(2);
#endif
    (void)out.add("weight", {2}, values);
}
