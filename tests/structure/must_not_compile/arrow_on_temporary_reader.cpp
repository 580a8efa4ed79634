// SPDX-License-Identifier: MIT
//
// What `->` gives of a temporary result borrows from a reader that is gone at the end of the line, or in a loop before
// its first turn.
#include <ztensor/reader.hpp>

void use() {
#if !defined(MISUSE)
    const auto model = ztensor::reader::open("model.zt");
    (void)model->find("weight");
    for (const auto& each : model->attributes()) {
        (void)each.key;
    }
    (void)model->find("weight")->data()->view<float>(); // handles: they borrow from the reader, not from each other
#elif MISUSE == 1
    (void)ztensor::reader::open("model.zt")->find("weight");
#elif MISUSE == 2
    for (const auto& each : ztensor::reader::open("model.zt")->attributes()) {
        (void)each.key;
    }
#elif MISUSE == 3
    (void)ztensor::reader::open("model.zt")->view<float>("weight");
#elif MISUSE == 4
    (void)ztensor::reader::open("model.zt")->begin();
#elif MISUSE == 5
    (void)ztensor::reader::open("model.zt")->version();
#elif MISUSE == 6
    (void)ztensor::reader::open("model.zt")->verify();
#elif MISUSE == 7
    (void)ztensor::reader::open("model.zt")->path();
#elif MISUSE == 8
    const ztensor::result<ztensor::reader> model = ztensor::reader::open("model.zt");
    (void)std::move(model)->find("weight");
#elif MISUSE == 9
    (void)(*ztensor::reader::open("model.zt")).find("weight");
#elif MISUSE == 10
    (void)ztensor::reader::open("model.zt").value().attributes();
#elif MISUSE == 11
    for (const auto& each : ztensor::reader::open("model.zt").value().verify()->mismatches) {
        (void)each;
    }
#endif
}
