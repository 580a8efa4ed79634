// SPDX-License-Identifier: MIT
//
// Elements in memory, converted as read_as() converts them.
#ifndef ZTENSOR_TESTS_READ_CONVERSIONS_HPP
#define ZTENSOR_TESTS_READ_CONVERSIONS_HPP

#include <ztensor/detail/read/convert.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <string_view>

namespace support {

/// The source has as many elements as the destination.
template <class To>
ztensor::result<void> convert_elements(ztensor::bytes_view source, ztensor::dtype storage,
                                       std::string_view logical_type, ztensor::span<To> destination,
                                       ztensor::detail::number_store store = ztensor::detail::number_store::cached) {
    ZTENSOR_TRY(ztensor::detail::check_convertible(storage, logical_type));
    ztensor::detail::convert_all(source, storage, ztensor::detail::find_float8(logical_type), destination, store);
    return {};
}

} // namespace support

#endif
