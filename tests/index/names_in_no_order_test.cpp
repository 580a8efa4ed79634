// SPDX-License-Identifier: MIT
//
// Names that come in no order are looked at for twins in time that grows with them as that of sorted ones does.
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

namespace {

namespace no_order {

namespace cbor = support::cbor;
using support::bytes;

/// A file with an attribute of each name.
bytes file_with_attributes(const std::vector<std::string>& names) {
    bytes attributes = cbor::head(cbor::major::map, names.size());
    for (const std::string& name : names) {
        attributes += cbor::text(name) + cbor::number(1);
    }
    return support::sample().root("attributes", attributes).file();
}

std::vector<std::string> long_names(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string number = std::to_string(1'000'000 + i);
        names.push_back("a beginning that all of them share, " + number);
    }
    return names;
}

/// Of the processor, the least of several tries.
std::clock_t time_to_open(const bytes& file) {
    std::clock_t least = std::numeric_limits<std::clock_t>::max();
    for (int tries = 0; tries < 5; ++tries) {
        const std::clock_t start = std::clock();
        const auto opened = support::open_bytes(file);
        least = std::min(least, std::clock() - start);
        REQUIRE(support::outcome(opened) == "ok");
    }
    return least;
}

} // namespace no_order

} // namespace

TEST_CASE("names in no order take little longer than sorted ones") {
    using namespace no_order;
    constexpr std::size_t count = 60000;
    const std::vector<std::string> sorted = long_names(count);
    std::vector<std::string> scattered(count);
    for (std::size_t i = 0; i < count; ++i) {
        scattered[i] = sorted[i * 7919 % count]; // a prime that does not divide it
    }
    const bytes in_order = file_with_attributes(sorted), in_no_order = file_with_attributes(scattered);
    REQUIRE(in_order.size() == in_no_order.size());
    const std::clock_t quick = time_to_open(in_order), slow = time_to_open(in_no_order);
    CAPTURE(quick, slow);
    CHECK(slow < 5 * quick + CLOCKS_PER_SEC / 100); // each comparison of a sort would parse two of them
}
