// SPDX-License-Identifier: MIT
#include <ztensor/ztensor.hpp>

#include <iostream>

int main() {
    const auto absent = ztensor::reader::open("absent.zt");
    std::cout << absent.error().what() << '\n';
    return absent.has_value() ? 1 : 0;
}
