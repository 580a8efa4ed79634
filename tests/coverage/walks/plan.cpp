// SPDX-License-Identifier: MIT
//
// A plan loads one tensor, converted, into the caller's memory. Argument: a .zt file with a dense tensor of floats.
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>

#include <string>
#include <vector>

int main(int, char** argv) {
    const ztensor::reader file = ztensor::reader::open(argv[1]).value();
    const ztensor::object_view object = file[std::size_t{0}];
    std::vector<double> elements(static_cast<std::size_t>(object.element_count()));
    ztensor::load_plan plan(file);
    plan.add_as(std::string(object.name()), elements);
    plan.run().value();
    return elements.empty() ? 1 : 0;
}
