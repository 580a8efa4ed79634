// SPDX-License-Identifier: MIT
//
// Braces behind a name are a shape, never ranges.
#include <ztensor/load_plan.hpp>

#include <vector>

void use(ztensor::load_plan& plan, std::vector<float>& into) {
#ifdef MISUSE
    plan.add("w", {{0, 4}, {8, 16}}, into);
#else
    plan.add("w", {4, 8}, into);
#endif
}
