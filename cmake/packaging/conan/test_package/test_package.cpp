// SPDX-License-Identifier: MIT
//
// Writes a compressed tensor into memory and reads it back, so that zstd is linked and works.
#include <ztensor/ztensor.hpp>

#include <iostream>
#include <vector>

int main() {
    const std::vector<float> values(1000, 0.5F);
    auto out = ztensor::writer::to_memory().value();
    out.add("packed", {10, 100}, values, ztensor::store().zstd(3).digest(ztensor::digest::sha256)).value();
    out.finish().value();

    const auto model = ztensor::reader::from_bytes(out.take_bytes()).value();
    const bool same = model.read<float>("packed").value() == values;
    std::cout << (same ? "read back" : "read back differently") << '\n';
    return same ? 0 : 1;
}
