// SPDX-License-Identifier: MIT
//
// Text in chunks is one text, however long: at the lengths where a definite head grows.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/openings.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/reader.hpp>

#include <cstddef>
#include <string>
#include <string_view>

TEST_CASE("a word in chunks is the word, however long it is") {
    namespace cbor = support::cbor;
    for (const std::size_t length : {1u, 2u, 23u, 24u, 255u, 256u, 65535u, 65536u, 70000u}) {
        const std::string word = std::string(length - 1, 'x') + "y";
        for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, length / 2, length}) {
            CAPTURE(length, cut);
            const std::string_view whole = word;
            const support::bytes chunks = cbor::chunked({whole.substr(0, cut), whole.substr(cut)});
            support::sample file;
            file.component("dtype", chunks).component("note", cbor::text("behind it"));
            file.object(word, cbor::null).root_map().add(chunks, cbor::number(1));
            const ztensor::reader opened = support::opened(file.file());
            CHECK(support::data_of(opened).dtype().text() == word);
            CHECK(support::data_of(opened).stored_bytes() == 8);
        }
    }
}

TEST_CASE("a key that stands twice is found in whatever chunks, however long it is") {
    namespace cbor = support::cbor;
    for (const std::size_t length : {1u, 24u, 256u, 65536u}) {
        CAPTURE(length);
        const std::string word(length, 'x');
        support::sample file;
        file.root_map().add(cbor::chunked({std::string_view(word).substr(1), "x"}), cbor::number(1));
        file.root_map().add(cbor::text(word), cbor::number(1));
        const auto opened = support::open_bytes(file.file());
        REQUIRE(!opened);
        CHECK(opened.error().code() == ztensor::errc::duplicate_key);
    }
}
