// SPDX-License-Identifier: MIT
//
// Codes that two shared libraries and the program make of one errc are equal, so the modules share their category.
#include <ztensor/error.hpp>

#include <cstdio>
#include <system_error>

std::error_code error_of_first();
std::error_code error_of_second();

int main() {
    const std::error_code own = ztensor::make_error_code(ztensor::errc::digest_mismatch);
    if (error_of_first() != error_of_second() || error_of_first() != own) {
        std::puts("each module has a category of its own");
        return 1;
    }
    return error_of_first() == ztensor::make_error_code(ztensor::errc::truncated) ? 2 : 0;
}
