// SPDX-License-Identifier: MIT
//
// A tensor owns or borrows; its elements are gone with it.
#include <ztensor/reader.hpp>

const float* use(const ztensor::reader& model) {
#ifdef MISUSE
    return model.acquire<float>("w").value().data();
#else
    static const ztensor::tensor<float> kept = model.acquire<float>("w").value();
    return kept.data();
#endif
}
