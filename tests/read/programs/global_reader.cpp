// SPDX-License-Identifier: MIT
//
// A reader that is a global finds the shards of a model, whatever is initialised first.
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
