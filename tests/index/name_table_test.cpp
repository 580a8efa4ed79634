// SPDX-License-Identifier: MIT
//
// The table of names.
#include "support/catch.hpp"

#include <ztensor/detail/index/names.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

using ztensor::detail::name_table;

} // namespace

TEST_CASE("a table of names finds what is in it and nothing else") {
    const std::size_t count = GENERATE(0u, 1u, 2u, 3u, 4u, 7u, 8u, 100u, 5000u);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
        // Common starts and ends, lengths around the eight bytes that are hashed at once, and a NUL.
        names.push_back("layers." + std::to_string(i / 3) + std::string(i % 3 * 7, '.') +
                        (i % 2 == 0 ? ".weight" : ""));
        if (i % 5 == 0) {
            names.back() += '\0';
        }
        names.back() += std::to_string(i);
    }
    const auto place_of = [](std::uint32_t position) { return 1000000 - 7 * position; };
    const auto name_of = [&](std::uint32_t place) { return std::string_view(names[(1000000 - place) / 7]); };
    name_table table(count);
    std::map<std::string, std::uint32_t> expected;
    for (std::uint32_t i = 0; i < count; ++i) {
        CHECK(table.insert(i, place_of(i), name_of) == expected.emplace(names[i], i).second);
    }
    REQUIRE(expected.size() == count);
    for (const auto& [name, position] : expected) {
        if (table.find(name, name_of) != position || table.find(name + "x", name_of) != name_table::absent ||
            table.find(name.substr(1), name_of) != name_table::absent) {
            FAIL(name);
        }
    }
    CHECK(table.find("", name_of) == name_table::absent);
    CHECK(table.find("layers.", name_of) == name_table::absent);
}

TEST_CASE("a table of names takes no name twice") {
    const std::vector<std::string> names = {"a", "", "a", std::string("a\0", 2), "", "aaaaaaaa", "aaaaaaaaa"};
    const auto name_of = [&](std::size_t position) { return std::string_view(names[position]); };
    name_table table(names.size());
    CHECK(table.insert(0, 0, name_of));
    CHECK(table.insert(1, 1, name_of));
    CHECK_FALSE(table.insert(2, 2, name_of));
    CHECK(table.insert(3, 3, name_of));
    CHECK_FALSE(table.insert(4, 4, name_of));
    CHECK(table.insert(5, 5, name_of));
    CHECK(table.insert(6, 6, name_of));
    CHECK(table.find("a", name_of) == std::uint32_t{0});
    CHECK(table.find("", name_of) == std::uint32_t{1});
    CHECK(table.find(std::string_view("a\0", 2), name_of) == std::uint32_t{3});
    CHECK(table.find("aaaaaaaaa", name_of) == std::uint32_t{6});
}

TEST_CASE("a table that grows finds what has come so far") {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < 300; ++i) {
        names.push_back(std::string(i % 40, 'x') + std::to_string(i));
    }
    const auto name_of = [&](std::size_t position) { return std::string_view(names[position]); };
    ztensor::detail::growing_name_table table;
    for (std::uint32_t i = 0; i < names.size(); ++i) {
        if (table.find(names[i], name_of) != name_table::absent) {
            FAIL("it has not come yet: " << names[i]);
        }
        table.add(name_of);
        if (table.find(names[i / 2], name_of) != i / 2 || table.find(names[i], name_of) != i) {
            FAIL("not found after " << names[i]);
        }
    }
    CHECK(table.find("no such name", name_of) == name_table::absent);
}

TEST_CASE("two names that look alike to a growing table are told apart") {
    ztensor::detail::growing_name_table table;
    std::string_view found = "name";
    const auto name_of = [&](std::uint32_t) { return found; };
    table.add(name_of);
    CHECK(table.find("name", name_of) == 0);
    found = "another"; // that happens to have the same tag
    CHECK(table.find("name", name_of) == name_table::absent);
    found = "name";
    CHECK(table.find("another", name_of) == name_table::absent);
}
