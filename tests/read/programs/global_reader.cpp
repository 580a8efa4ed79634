// SPDX-License-Identifier: MIT
//
// A reader that is a global of a file that did not ask for shards finds them, whatever the linker puts first: another
// file of the program asked, or the library is compiled.
#include <ztensor/reader.hpp>

#include <cstdio>

namespace {

const ztensor::result<ztensor::reader> model = ztensor::reader::open("tests/corpus/v2/sharded/model.zt");

} // namespace

int main() {
    if (!model) {
        std::puts(model.error().what().c_str());
        return 1;
    }
    return 0;
}
