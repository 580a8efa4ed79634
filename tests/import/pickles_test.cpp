// SPDX-License-Identifier: MIT
//
// Opcodes of a pickle that small checkpoints do without: each by itself, on the machine that carries them out.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <ztensor/detail/import/pickle_machine.hpp>
#include <ztensor/detail/import/pt_content.hpp>

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
    while (const ztensor::detail::pickle_value* const each = items.next()) {
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
    CHECK(refusal(pickle_machine(support::bytes_of(protocol_2 + "](" + seven + "r" + little_endian(1000, 4) + "e."))
                      .run()) == errc::pickle_malformed);
    CHECK(refusal(
              pickle_machine(support::bytes_of(protocol_2 + "](" + seven + "j" + little_endian(0, 4) + "e.")).run()) ==
          errc::pickle_malformed);
}

TEST_CASE("values of a checkpoint may stand in several places, but tensors not in very many") {
    struct counter {
        std::size_t found = 0;
        std::size_t skipped = 0;
        [[nodiscard]] ztensor::result<void> tensor(const std::string&, const ztensor::detail::pickle_value&) {
            ++found;
            return {};
        }
        [[nodiscard]] ztensor::result<void> attribute(const std::string&, const ztensor::detail::pickle_value&) {
            ++found;
            return {};
        }
        [[nodiscard]] ztensor::result<void> skip(const std::string&, std::string) {
            ++skipped;
            return {};
        }
    };
    const auto text = [](const bytes& content) { return "X" + little_endian(content.size(), 4) + content; };
    const bytes storage = "(" + text("storage") + "ctorch\nFloatStorage\n" + text("0") + text("cpu") + "K\1tQ";
    // A list of so many items, shared by the keys "a" to the last.
    const auto walk = [&](std::size_t items, char last_key, const bytes& first_item) {
        bytes pickle = protocol_2 + "}(";
        for (char key = 'a'; key <= last_key; ++key) {
            pickle += text(bytes(1, key));
            pickle += key == 'a' ? "](" + first_item : bytes("h\0", 2);
            for (std::size_t i = 1; i < items && key == 'a'; ++i) {
                pickle += bytes("K\0", 2);
            }
            pickle += key == 'a' ? bytes("eq\0", 3) : "";
        }
        pickle += "u.";
        const auto content = pickle_machine(support::bytes_of(pickle)).run();
        REQUIRE(support::outcome(content) == "ok");
        counter visitor;
        const std::string outcome = support::outcome(ztensor::detail::pt_walk<counter>(*content, visitor).run({}));
        return outcome + " " + std::to_string(visitor.found) + " " + std::to_string(visitor.skipped);
    };
    // 4 steps for each of 1043 items, 8 keys and values and 5 parts of the storage's id, and 4096 more: as many as 8
    // lists of that length with their keys.
    CHECK(walk(1043, 'h', storage) == "ok 8344 0");
    CHECK(walk(1044, 'h', storage).substr(0, 15) == "limit_exceeded ");
    CHECK(walk(100, 'z', storage) == "ok 2600 0");
    // Without a tensor it is gone through once.
    CHECK(walk(5000, 'z', bytes("K\0", 2)) == "ok 5000 25");
}
