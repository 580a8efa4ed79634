// SPDX-License-Identifier: MIT
//
// A view would outlive the reader whose mapping it borrows.
#include <ztensor/reader.hpp>

void use() {
#ifdef MISUSE
    (void)ztensor::reader::open("model.zt").value().view<float>("weight");
#else
    auto model = ztensor::reader::open("model.zt").value();
    (void)model.view<float>("weight");
#endif
}
