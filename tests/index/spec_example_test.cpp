// SPDX-License-Identifier: MIT
//
// The worked example of SPEC.md, §11, as it stands there: it opens, it says what its text says, and the writer makes
// exactly these bytes.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using support::byte_vector;

/// What stands between two marks; empty if they are not there.
std::string between(const std::string& text, std::string_view start, std::string_view end) {
    const std::size_t from = text.find(start);
    if (from == std::string::npos) {
        return {};
    }
    const std::size_t to = text.find(end, from + start.size());
    return to == std::string::npos ? std::string() : text.substr(from + start.size(), to - from - start.size());
}

/// The section of the worked example. Tests run in the top folder.
std::string section_11() {
    const std::string specification = support::read_file("SPEC.md");
    return specification.substr(std::min(specification.find("\n## 11 "), specification.size()));
}

/// The bytes of lines like "00000010: 5a 54"; a line that does not start where the last one ended fails the test.
byte_vector bytes_of_dump(const std::string& dump) {
    byte_vector content;
    std::istringstream lines(dump);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string word;
        if (!(words >> word)) {
            continue;
        }
        REQUIRE(word.back() == ':');
        REQUIRE(std::stoul(word, nullptr, 16) == content.size());
        while (words >> word) {
            REQUIRE(word.size() == 2);
            content.push_back(static_cast<std::byte>(std::stoul(word, nullptr, 16)));
        }
    }
    return content;
}

byte_vector worked_example() {
    const byte_vector content = bytes_of_dump(between(section_11(), "```hexdump\n", "```"));
    REQUIRE(content.size() == 215);
    return content;
}

} // namespace

TEST_CASE("the worked example of the specification opens and says what its text says") {
    const byte_vector content = worked_example();
    const ztensor::reader file = ztensor::reader::from_bytes(ztensor::bytes_view(content)).value();
    CHECK(file.version().original() == "1.2.0");
    CHECK(file.version() == ztensor::version::v1_2);
    CHECK(file.file_bytes() == 215);
    CHECK(file.manifest_bytes() == 119);
    CHECK_FALSE(file.has_attributes());
    REQUIRE(file.size() == 1);

    const ztensor::object_view object = *file.begin();
    CHECK(object.name() == "w");
    CHECK(object.shape() == ztensor::shape{2, 2});
    CHECK(object.format().text() == "dense");
    CHECK_FALSE(object.has_attributes());
    REQUIRE(object.size() == 1);

    const ztensor::component_view data = object.data().value();
    CHECK(data.role() == "data");
    CHECK(data.dtype() == ztensor::dtype::f32);
    CHECK(data.dtype().original() == "f32");
    CHECK(data.type().text().empty());
    CHECK(data.offset() == 64);
    CHECK(data.stored_bytes() == 16);
    CHECK_FALSE(data.uncompressed_length().has_value());
    CHECK(data.encoding() == ztensor::encoding::raw);
    CHECK(data.digest().text() == "crc32c:0x9EBA690A");
    CHECK(data.verify().value() == ztensor::digest_state::match);
    CHECK(file.read<float>("w").value() == std::vector<float>{1, 2, 3, 4});
    CHECK(file.verify().value().complete());
}

TEST_CASE("the writer makes exactly the worked example of the specification") {
    ztensor::writer out = ztensor::writer::to_memory().value();
    out.add("w", {2, 2}, std::vector<float>{1, 2, 3, 4}, ztensor::store().digest(ztensor::digest::crc32c)).value();
    out.finish().value();
    CHECK(out.take_bytes() == worked_example());
}

TEST_CASE("the table of the worked example covers its bytes one after the other") {
    const byte_vector content = worked_example();
    std::istringstream lines(between(section_11() + "\n\n", "| offset | bytes | hex | meaning |\n", "\n\n"));
    std::size_t next = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.substr(0, 4) != "| 0x") {
            continue;
        }
        CAPTURE(line);
        REQUIRE(std::stoul(line.substr(4), nullptr, 16) == next);
        const std::size_t second_column = line.find('|', 1) + 1;
        const std::size_t count = std::stoul(line.substr(second_column));
        std::istringstream hex(between(line.substr(second_column), "`", "`"));
        std::size_t at = next;
        for (std::string word; hex >> word && word.size() == 2; ++at) {
            CHECK(std::to_integer<unsigned long>(content.at(at)) == std::stoul(word, nullptr, 16));
        }
        next += count;
    }
    CHECK(next == content.size());
}
