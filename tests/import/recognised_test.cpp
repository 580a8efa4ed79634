// SPDX-License-Identifier: MIT
//
// How open_any() tells what a file is.
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/watched_source.hpp"

#include <ztensor/import.hpp>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>

TEST_CASE("an HDF5 file is known behind a block of its user's of 512 bytes or a power of two times that") {
    const auto outcome_of = [](std::size_t block) {
        const std::string content = std::string(block, 'u') + "\x89HDF\r\n\x1a\n" + std::string(100, '\0');
        const auto file = ztensor::open_any(std::make_shared<support::watched_source>(content), "x");
        REQUIRE_FALSE(file);
        const bool is_named = file.error().sentence().find("an HDF5 file") != std::string::npos;
        CHECK(is_named == (file.error().code() == ztensor::errc::foreign_file));
        return is_named;
    };
    for (const std::size_t block : std::initializer_list<std::size_t>{0, 512, 1024, 2048, 4096, 1 << 16}) {
        CAPTURE(block);
        CHECK(outcome_of(block));
    }
    for (const std::size_t block : std::initializer_list<std::size_t>{8, 256, 511, 514, 516, 1536, 3072}) {
        CAPTURE(block);
        CHECK_FALSE(outcome_of(block));
    }
}
