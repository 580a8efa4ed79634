// SPDX-License-Identifier: MIT
//
// A model of GGUF is opened, and its tensors are read as floats. Argument: the file.
#include <ztensor/import.hpp>

int main(int, char** argv) {
    const ztensor::reader file = ztensor::open_any(argv[1]).value();
    const ztensor::object_view object = file[std::size_t{0}];
    return object.read_as<float>().value().empty() ? 1 : 0;
}
