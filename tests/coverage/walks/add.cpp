// SPDX-License-Identifier: MIT
//
// One tensor is written to a disk. Argument: where.
#include <ztensor/writer.hpp>

#include <vector>

int main(int, char** argv) {
    const std::vector<float> elements(1000, 1.5F);
    ztensor::writer out = ztensor::writer::create(argv[1]).value();
    out.add("w", {10, 100}, elements).value();
    out.finish().value();
}
