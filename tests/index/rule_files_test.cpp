// SPDX-License-Identifier: MIT
//
// The rules as files for other implementations, in tests/corpus/rules: what the table there says of each is what this
// library makes of it.
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/refusal.hpp"

#include <ztensor/reader.hpp>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

using ztensor::reader;

TEST_CASE("every file of the rules is refused with its exact code, or opens") {
    const std::filesystem::path folder = "tests/corpus/rules";
    std::ifstream lines(folder / "rules.tsv", std::ios::binary);
    std::size_t refused_files = 0;
    std::size_t opened_files = 0;
    for (std::string path, code, rule;
         std::getline(lines, path, '\t') && std::getline(lines, code, '\t') && std::getline(lines, rule);) {
        CAPTURE(path, rule);
        CHECK(support::outcome(reader::open(folder / path)) == code);
        ++(code == "ok" ? opened_files : refused_files);
    }
    CHECK(refused_files >= 200);
    CHECK(opened_files >= 100);
}
