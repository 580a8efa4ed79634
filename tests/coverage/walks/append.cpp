// SPDX-License-Identifier: MIT
//
// One tensor is appended to a file, in place. Argument: the file.
#include <ztensor/edit.hpp>

#include <vector>

int main(int, char** argv) {
    const std::vector<float> elements(1000, 1.5F);
    ztensor::writer out =
        ztensor::writer::append(argv[1], ztensor::write_options().publish(ztensor::publish_mode::in_place)).value();
    out.add("added", {10, 100}, elements).value();
    out.finish().value();
}
