// SPDX-License-Identifier: MIT
//
// What borrows from a reader, an array or a slice does not outlive it.
#include <ztensor/array.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/slice.hpp>
#include <ztensor/span.hpp>

float sum(ztensor::span<const float> elements);

void use(const ztensor::reader& model) {
#if !defined(MISUSE)
    (void)ztensor::read_all(model);
    const ztensor::array<float> kept = model.load<float>("x").value();
    const ztensor::span<const float> elements = kept;
    (void)sum(elements);
    const ztensor::slice rows = {{0, 2}};
    const ztensor::span<const ztensor::index_range> ranges = rows.ranges();
    (void)ranges;
#elif MISUSE == 1 // deleted
    (void)ztensor::read_all(ztensor::reader::open("model.zt").value());
#elif MISUSE == 2
    const ztensor::span<const float> elements = model.load<float>("x").value();
    (void)elements;
#elif MISUSE == 3
    (void)sum(model.load<float>("x").value());
#elif MISUSE == 4 // deleted
    (void)ztensor::slice({{0, 2}}).ranges();
#endif
}
