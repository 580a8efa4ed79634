// SPDX-License-Identifier: MIT
//
// An object would outlive the reader whose index it borrows.
#include <ztensor/reader.hpp>

void use() {
#ifdef MISUSE
    (void)ztensor::reader::open("model.zt").value().find("weight");
#else
    auto model = ztensor::reader::open("model.zt").value();
    (void)model.find("weight");
#endif
}
