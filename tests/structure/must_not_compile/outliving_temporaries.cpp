// SPDX-License-Identifier: MIT
//
// What borrows from a reader or an array does not outlive it.
#include <ztensor/array.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/span.hpp>

float sum(ztensor::span<const float> elements);

void use(const ztensor::reader& model) {
#if !defined(MISUSE)
    (void)ztensor::read_all(model);
    const ztensor::array<float> kept = model.load<float>("x").value();
    const ztensor::span<const float> elements = kept;
    (void)sum(elements);
#elif MISUSE == 1 // deleted
    (void)ztensor::read_all(ztensor::reader::open("model.zt").value());
#elif MISUSE == 2
    const ztensor::span<const float> elements = model.load<float>("x").value();
    (void)elements;
#elif MISUSE == 3
    (void)sum(model.load<float>("x").value());
#endif
}
