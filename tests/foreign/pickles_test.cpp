// SPDX-License-Identifier: MIT
//
// Opcodes of a pickle that small checkpoints do without: each by itself, on the machine that carries them out.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <ztensor/detail/foreign/pickle_machine.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using support::bytes;
using support::little_endian;
using support::refusal;
using ztensor::errc;
using ztensor::detail::pickle_machine;
using ztensor::detail::pickled;

/// The integers of the list that the pickle is.
std::vector<std::int64_t> integers_in(const bytes& pickle) {
    const auto read = pickle_machine(support::bytes_of(pickle)).run();
    REQUIRE(support::outcome(read) == "ok");
    std::vector<std::int64_t> found;
    for (const auto& each : read->items_of(read->root)) {
        found.push_back(pickled::integer_of(each));
    }
    return found;
}

const bytes protocol_2("\x80\x02", 2);

} // namespace

TEST_CASE("values are remembered and recalled under numbers of one and of four bytes") {
    using numbers = std::vector<std::int64_t>;
    const bytes seven = "K\7", put_0("q\0", 2), get_0("h\0", 2);
    const bytes long_put_0 = "r" + little_endian(0, 4), long_get_0 = "j" + little_endian(0, 4);
    for (const bytes& put : {put_0, long_put_0}) {
        for (const bytes& get : {get_0, long_get_0}) {
            CHECK(integers_in(protocol_2 + "](" + seven + put + get + "e.") == numbers{7, 7});
        }
    }
    // So many that one byte does not count them: the last is recalled, and the first.
    bytes many = protocol_2 + "](";
    for (std::uint64_t i = 0; i < 300; ++i) {
        many += "M" + little_endian(i, 2) + (i < 256 ? "q" + little_endian(i, 1) : "r" + little_endian(i, 4));
    }
    const numbers found = integers_in(many + "j" + little_endian(299, 4) + get_0 + "e.");
    CHECK(found.size() == 302);
    CHECK(found[300] == 299);
    CHECK(found[301] == 0);
    CHECK(refusal(
              pickle_machine(support::bytes_of(protocol_2 + "](" + seven + "r" + little_endian(1, 4) + "e.")).run()) ==
          errc::pickle_malformed);
    CHECK(refusal(
              pickle_machine(support::bytes_of(protocol_2 + "](" + seven + "j" + little_endian(0, 4) + "e.")).run()) ==
          errc::pickle_malformed);
}
