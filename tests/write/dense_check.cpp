// SPDX-License-Identifier: MIT
#include "write/dense_check.hpp"

#include "support/catch.hpp"

#include <ztensor/format.hpp>

#include <cstddef>

void check_dense(const ztensor::object_view& object, const ztensor::shape& dimensions,
                 const std::pair<std::string, std::string>& words, const support::bytes& elements,
                 const support::bytes& found) {
    CAPTURE(std::string(object.name()));
    CHECK(object.shape() == dimensions);
    CHECK(object.format() == ztensor::format::dense);
    CHECK(object.size() == 1);
    const ztensor::component_view data = object.data().value();
    CHECK(std::string(data.dtype().text()) == words.first);
    CHECK(std::string(data.type().text()) == words.second);
    CHECK(found == elements);
    if (data.encoding() == ztensor::encoding::raw) {
        support::byte_vector stored(static_cast<std::size_t>(data.stored_bytes()));
        data.read_stored_into(stored).value();
        CHECK(support::as_string(stored) ==
              support::between_file_and_host(elements, width_bytes(*data.dtype().known())));
    }
}
