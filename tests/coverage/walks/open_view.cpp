// SPDX-License-Identifier: MIT
//
// A file on a disk is opened, and one tensor viewed. Argument: a .zt file whose first dense tensor of floats is raw.
#include <ztensor/reader.hpp>

int main(int, char** argv) {
    const ztensor::reader file = ztensor::reader::open(argv[1]).value();
    for (const ztensor::object_view object : file) {
        if (const auto elements = object.view<float>()) {
            return elements->empty() ? 1 : 0;
        }
    }
    return 1;
}
