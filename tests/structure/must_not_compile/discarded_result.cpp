// SPDX-License-Identifier: MIT
//
// An error that nobody looks at.
#include <ztensor/writer.hpp>

#include <vector>

void use(ztensor::writer& out, const std::vector<float>& values) {
#ifdef MISUSE
    out.add("weight", {2}, values);
#else
    out.add("weight", {2}, values).value();
#endif
}
