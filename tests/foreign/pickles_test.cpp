// SPDX-License-Identifier: MIT
//
// Opcodes of a pickle that small checkpoints do without: each by itself, on the machine that carries them out.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <ztensor/detail/foreign/pickle_machine.hpp>
#include <ztensor/detail/foreign/pt_content.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using support::bytes;
using support::little_endian;
using support::refusal;
using ztensor::errc;
using ztensor::detail::pickle_machine;

/// The integers of the list that the pickle is.
std::vector<std::int64_t> integers_in(const bytes& pickle) {
    const auto read = pickle_machine(support::bytes_of(pickle)).run();
    REQUIRE(support::outcome(read) == "ok");
    std::vector<std::int64_t> found;
    ztensor::detail::pickle_items items(*read, read->root);
    while (const ztensor::detail::pickle_value* const each = items.next(*read)) {
        found.push_back(read->integer_of(*each));
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

TEST_CASE("values of a checkpoint may stand in several places, but not in very many") {
    const auto walk = [](std::size_t items, char last_key) { // a list of so many, shared by the keys "a" to the last
        bytes pickle = protocol_2 + "}(";
        for (char key = 'a'; key <= last_key; ++key) {
            pickle += "X" + little_endian(1, 4) + key;
            pickle += key == 'a' ? "](" : bytes("h\0", 2);
            for (std::size_t i = 0; i < items && key == 'a'; ++i) {
                pickle += bytes("K\0", 2);
            }
            pickle += key == 'a' ? bytes("eq\0", 3) : "";
        }
        pickle += "u.";
        const auto content = pickle_machine(support::bytes_of(pickle)).run();
        REQUIRE(support::outcome(content) == "ok");
        std::size_t leaves = 0;
        const auto leaf = [&](const std::string&, const ztensor::detail::pickle_value&) {
            ++leaves;
            return ztensor::result<void>();
        };
        const std::string outcome = support::outcome(ztensor::detail::pt_walk(*content).run("", leaf, leaf));
        return outcome + " " + std::to_string(leaves);
    };
    // 4 for each of 1038 items, 8 keys and 8 values, and 4096 more: as many as 8 lists of that length with their keys.
    CHECK(walk(1038, 'h') == "ok 8304");
    CHECK(walk(1039, 'h').substr(0, 15) == "limit_exceeded ");
    CHECK(walk(100, 'z') == "ok 2600");
}
