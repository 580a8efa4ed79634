// SPDX-License-Identifier: MIT
//
// What borrows from a reader, an array or other memory does not outlive it.
#include <ztensor/array.hpp>
#include <ztensor/attributes.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <string>
#include <vector>

float sum(ztensor::span<const float> elements);

void use(const ztensor::reader& model) {
#if !defined(MISUSE)
    (void)ztensor::read_all(model);
    const ztensor::array<float> kept = model.load<float>("x").value();
    const ztensor::span<const float> elements = kept;
    (void)sum(elements);
    const float first = model.load<float>("x").value()[0]; // a copy
    (void)first;
    const std::vector<std::byte> map(1);
    (void)ztensor::attributes_view(map);
    (void)ztensor::attribute_value(map);
    (void)ztensor::attributes_view(ztensor::bytes_view(map));
    ztensor::component_pieces pieces = ztensor::component_pieces::open(model["x"]["data"]).value();
    (void)pieces.next();
    const std::string& what = ztensor::exception(pieces.next().error()).error().what(); // lives as long as its name
    (void)what;
#elif MISUSE == 1 // deleted
    (void)ztensor::read_all(ztensor::reader::open("model.zt").value());
#elif MISUSE == 2
    const ztensor::span<const float> elements = model.load<float>("x").value();
    (void)elements;
#elif MISUSE == 3
    (void)sum(model.load<float>("x").value());
#elif MISUSE == 4
    float* const place = &model.load<float>("x").value()[0];
    (void)place;
#elif MISUSE == 5
    (void)ztensor::attributes_view(std::vector<std::byte>(1));
#elif MISUSE == 6
    (void)ztensor::attribute_value(std::vector<std::byte>(1));
#elif MISUSE == 7
    (void)ztensor::component_pieces::open(model["x"]["data"]).value().next();
#elif MISUSE == 8
    const ztensor::error* const why = &ztensor::exception(model.find("x").error()).error();
    (void)why;
#endif
}
