// SPDX-License-Identifier: MIT
//
// A plan's destinations are there when it runs, and of types that it writes.
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

std::vector<float> made();

void use(ztensor::load_plan& plan, const ztensor::reader& model) {
#if !defined(MISUSE)
    std::vector<float> all(6), rows(3), apart(8);
    std::vector<std::byte> bytes(24);
    (void)plan.add("x", all).add("x", {2, 3}, all).add_as("x", ztensor::rows(0, 1), rows);
    (void)plan.add("x", ztensor::into(apart.data(), 4 * sizeof(float)));
    (void)plan.add_as("x", ztensor::into(ztensor::dtype::f16, ztensor::span<std::byte>(bytes).first(12)));
    (void)plan.add_as("x", {2, 3}, ztensor::into(ztensor::dtype::f32, bytes));
    (void)plan.add(model["x"].rows(0, 1), ztensor::span<float>(rows));
    (void)plan.add_optional_as("y", {6}, all);
    (void)plan.unused();
#elif MISUSE == 1 // the destination is a temporary, and gone before the plan runs: keep it in a variable
    (void)plan.add("x", made());
#elif MISUSE == 2 // the destination is a temporary, and gone before the plan runs: keep it in a variable
    (void)plan.add("x", {2, 3}, std::vector<float>(6));
#elif MISUSE == 3 // the destination is a temporary, and gone before the plan runs: keep it in a variable
    (void)plan.add_as(model["x"].rows(0, 1), made());
#elif MISUSE == 4
    (void)plan.add("x", ztensor::into(ztensor::dtype::f32, std::vector<std::byte>(24)));
#elif MISUSE == 5
    const std::vector<float> constant(6);
    (void)plan.add("x", constant);
#elif MISUSE == 6
    (void)ztensor::load_plan(model).unused();
#elif MISUSE == 7
    std::vector<std::int32_t> integers(6);
    (void)plan.add_as("x", integers);
#endif
}
