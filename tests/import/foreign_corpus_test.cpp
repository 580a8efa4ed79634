// SPDX-License-Identifier: MIT
//
// Files that the packages of other formats wrote, in tests/corpus/foreign: what stands beside each of its content is
// what this library finds in it.
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <ztensor/digest.hpp>
#include <ztensor/import.hpp>
#include <ztensor/reader.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

const std::filesystem::path corpus = "tests/corpus/foreign";

/// Of the files that the packages wrote.
std::vector<std::filesystem::path> foreign_corpus_files() {
    std::vector<std::filesystem::path> found;
    for (const auto& folder : std::filesystem::directory_iterator(corpus)) {
        if (!folder.is_directory()) {
            continue;
        }
        for (const auto& each : std::filesystem::directory_iterator(folder)) {
            if (each.path().extension() == ".json" &&
                std::filesystem::exists(each.path().parent_path() / each.path().stem())) {
                found.push_back(each.path().parent_path() / each.path().stem());
            }
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

nlohmann::json content_of(const ztensor::reader& file) {
    nlohmann::json rows = nlohmann::json::array();
    for (const ztensor::object_view object : file) {
        const ztensor::component_view data = object.data().value();
        const ztensor::shape shape = object.shape();
        const std::vector<std::uint64_t> dimensions(shape.begin(), shape.end());
        const std::vector<std::byte> bytes = data.read_little_endian().value();
        rows.push_back(
            {object.name(), data.dtype().text(), dimensions,
             ztensor::digest_text(ztensor::digest::sha256, bytes).substr(std::string_view("sha256:").size())});
    }
    std::sort(rows.begin(), rows.end());
    nlohmann::json texts = nlohmann::json::object();
    for (const ztensor::attribute& each : file.attributes()) {
        if (const auto text = file.attributes().text(each.key)) {
            texts[std::string(each.key)] = *text;
        }
    }
    nlohmann::json content = {{"objects", rows}, {"attributes", texts}};
    for (const ztensor::skipped_item& each : file.skipped()) {
        CHECK_FALSE(each.why.empty());
        content["skipped"].push_back(each.name);
    }
    if (content.contains("skipped")) {
        std::sort(content["skipped"].begin(), content["skipped"].end());
    }
    return content;
}

} // namespace

TEST_CASE("every file that another package wrote holds what that package put there") {
    std::size_t count = 0;
    for (const std::filesystem::path& path : foreign_corpus_files()) {
        CAPTURE(path.string());
        std::filesystem::path description = path;
        std::ifstream beside(description += ".json", std::ios::binary);
        nlohmann::json expected = nlohmann::json::parse(beside);
        std::sort(expected["objects"].begin(), expected["objects"].end());
        for (const ztensor::io_mode mode : {ztensor::io_mode::automatic, ztensor::io_mode::positional}) {
            const auto file = ztensor::open_any(path, ztensor::read_options().mode(mode));
            REQUIRE(support::outcome(file) == "ok");
            CHECK(file->container().text() == path.parent_path().filename().string());
            CHECK(file->file_bytes() == std::filesystem::file_size(path));
            CHECK(file->version().original().empty());
            CHECK(content_of(*file) == expected);
            CHECK(file->verify().value().ok());
        }
        ++count;
    }
    CHECK(count >= 3);
}

TEST_CASE("every hostile file of another format is refused with its exact code") {
    std::size_t count = 0;
    for (const auto& folder : std::filesystem::directory_iterator(corpus)) {
        std::ifstream lines(folder.path() / "reject.tsv", std::ios::binary);
        for (std::string name, code, rule;
             std::getline(lines, name, '\t') && std::getline(lines, code, '\t') && std::getline(lines, rule);) {
            CAPTURE(folder.path().string(), name, rule);
            const auto file = ztensor::open_any(folder.path() / "reject" / name);
            CHECK(support::outcome(file) == code);
            CHECK((file || file.error().path() == (folder.path() / "reject" / name).string()));
            ++count;
        }
    }
    CHECK(count >= 20);
}
