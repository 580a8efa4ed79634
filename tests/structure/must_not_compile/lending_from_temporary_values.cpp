// SPDX-License-Identifier: MIT
//
// Values that own what they lend don't lend it when they are about to die.
#include <ztensor/array.hpp>
#include <ztensor/attributes.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>

#include <cstdint>
#include <string>
#include <vector>

void use(const ztensor::object_view& object) {
#if !defined(MISUSE)
    const ztensor::shape dimensions = object.shape();
    (void)std::vector<std::uint64_t>(dimensions.begin(), dimensions.end());
    for (const std::uint64_t dimension : object.shape()) { // which keeps it
        (void)dimension;
    }
    const auto csr = ztensor::csr_view<float>::from(object).value();
    (void)csr.values();
    const std::string message = ztensor::csr_view<float>::from(object).error().what();
    const auto key = *object.attributes().find("k"); // borrowed from the reader, not from the iterator
    (void)key;
    const ztensor::object_draft draft("dense", {3});
    (void)draft.attributes();
    (void)draft.format();
#elif MISUSE == 1
    (void)std::vector<std::uint64_t>(object.shape().begin(), object.shape().end());
#elif MISUSE == 2
    (void)object.shape().data();
#elif MISUSE == 3
    (void)ztensor::csr_view<float>::from(object).value().values();
#elif MISUSE == 4
    (void)ztensor::csr_view<float>::from(object)->indptr();
#elif MISUSE == 5
    (void)ztensor::csr_view<float>::from(object).value().row(0);
#elif MISUSE == 6
    (void)ztensor::coo_view<float>::from(object).value().coords();
#elif MISUSE == 7
    (void)object.load<float>().value().data();
#elif MISUSE == 8
    (void)object.load<float>()->begin();
#elif MISUSE == 9
    for (const auto& each : ztensor::attributes(object.attributes()).values()) {
        (void)each;
    }
#elif MISUSE == 10
    std::string& message = ztensor::csr_view<float>::from(object).error().what();
    (void)message;
#elif MISUSE == 11
    const ztensor::attribute& each = object.attributes().find("k").operator->();
    (void)each;
#elif MISUSE == 12
    const auto& values = ztensor::object_draft("dense", {3}).attributes();
    (void)values;
#elif MISUSE == 13
    const std::string& format = ztensor::object_draft("dense", {3}).format();
    (void)format;
#elif MISUSE == 14
    (void)ztensor::object_draft("dense", {3}).shape();
#endif
}
