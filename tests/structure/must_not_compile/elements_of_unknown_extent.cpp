// SPDX-License-Identifier: MIT
//
// Common mistakes, each of which one assertion meets with its cure.
#include <ztensor/import.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <array>
#include <cstdint>
#include <vector>

void use(ztensor::writer& out, const ztensor::reader& model, float* pointer, std::size_t count) {
    const std::vector<float> constant(2);
    std::vector<bool> bools(2);
    ztensor::load_plan plan(model);
#if !defined(MISUSE)
    (void)out.add("w", {2}, ztensor::span(pointer, count));
    (void)out.add("w", {2}, {1, 0});
    (void)model.read_into("w", ztensor::span(pointer, count));
    (void)model.view<float>("w");
    plan.add("w", ztensor::span(pointer, count));
    (void)bools;
#elif MISUSE == 1  // a pointer does not say how many elements there are: give ztensor::span(pointer, count)
    (void)out.add("w", {2}, pointer);
#elif MISUSE == 2  // a pointer does not say how much memory there is: give ztensor::span(pointer, count)
    (void)model.read_into("w", pointer);
#elif MISUSE == 3  // the destination is const: nothing can be read into it
    (void)model.read_into("w", constant);
#elif MISUSE == 4  // the destination is const: nothing can be read into it
    (void)model.read_into("w", ztensor::span(constant));
#elif MISUSE == 5  // read<bool>() makes one, or read into a
    (void)model.read_into("w", bools);
#elif MISUSE == 6  // leave `const` out: view<float>() gives a span<const float>
    (void)model.view<const float>("w");
#elif MISUSE == 7  // has no bools in memory that could be
    (void)ztensor::object_draft("dense", {2}).component("data", bools);
#elif MISUSE == 8  // a pointer does not say how much memory there is: give ztensor::span(pointer, count)
    plan.add("w", pointer);
#elif MISUSE == 9  // the destination is a temporary, and gone before the plan runs: keep it in a variable
    plan.add("w", std::vector<float>(2));
#elif MISUSE == 10 // as a span, vector or array, or as something else with data() and size()
    (void)out.add("w", {2}, 5);
#elif MISUSE == 11 // specialise ztensor::element_traits for this type
    (void)out.add("w", {2}, std::vector<void*>(2));
#elif MISUSE == 12 // elements are converted in place to float, double, float16 or bfloat16
    plan.add_as("w", ztensor::span(&count, 1));
#elif MISUSE == 13 // the destination is const: nothing can be read into it
    static const float fixed[2] = {};
    (void)model.read_into("w", fixed);
#elif MISUSE == 14 // the destination is a temporary, and gone before the plan runs: keep it in a variable
    ztensor::load_plan(ztensor::reader::join({model}).value()).add("w", std::vector<float>(2));
#endif
}
