// SPDX-License-Identifier: MIT
//
// Every valid file of version 2 in the corpus: copied, gone on with and taken to 1.2.
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace {

using support::outcome;
using ztensor::errc;
using ztensor::reader;
using ztensor::result;
using ztensor::write_options;
using ztensor::writer;

std::vector<std::filesystem::path> valid_files_of_2() {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator("tests/corpus/v2/valid")) {
        if (entry.path().extension() == ".zt") {
            found.push_back(entry.path());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

/// Every part, by the names of object and part: its words and what it decodes to, or why it does not.
std::map<std::string, std::string> words_and_content(const reader& file) {
    std::map<std::string, std::string> parts;
    for (const ztensor::object_view object : file) {
        for (const ztensor::component_view part : object) {
            const auto content = part.read<std::byte>();
            std::string said = std::string(object.format().text()) + ' ' + std::string(part.dtype().text()) + ' ' +
                               std::string(part.type().text()) + ' ' + outcome(content) + ' ';
            if (content) {
                for (const std::byte byte : *content) {
                    said += std::to_string(std::to_integer<int>(byte)) + ' ';
                }
            }
            parts[std::string(object.name()) + '/' + std::string(part.role())] = said;
        }
    }
    return parts;
}

std::optional<reader> copy_as(const reader& from, const write_options& options, std::string& said) {
    writer out = writer::to_memory(options).value();
    const result<void> done = ztensor::copy(from, out);
    said = outcome(done);
    if (!done) {
        return std::nullopt;
    }
    REQUIRE(out.finish());
    return reader::from_bytes(out.take_bytes()).value();
}

} // namespace

TEST_CASE("files of version 2 are copied without loss, and go on being the same model") {
    const write_options options = write_options().version(ztensor::format_version::v2);
    std::size_t copies = 0;
    for (const std::filesystem::path& path : valid_files_of_2()) {
        CAPTURE(path.string());
        const result<reader> file = reader::open(path);
        REQUIRE(file);
        std::string said;
        const std::optional<reader> copy = copy_as(*file, options, said);
        REQUIRE(said == "ok");
        ++copies;
        CHECK(words_and_content(*copy) == words_and_content(*file));
        if (const result<std::string> id = ztensor::content_digest(*file)) {
            CHECK(ztensor::content_digest(*copy).value() == *id);
        }
    }
    CHECK(copies > 50);
}

TEST_CASE("files of version 2 are gone on with, whatever fields and parts they have") {
    for (const std::filesystem::path& path : valid_files_of_2()) {
        CAPTURE(path.string());
        const support::temp_dir directory;
        std::filesystem::copy_file(path, directory / "m.zt");
        std::filesystem::permissions(directory / "m.zt", std::filesystem::perms::owner_write,
                                     std::filesystem::perm_options::add);
        const std::string before = support::read_file(directory / "m.zt");
        result<writer> out = writer::append(directory / "m.zt");
        if (!out) {
            CHECK(outcome(out) == "not_expressible");
            CHECK(reader::open(path).value().is_data_shard());
            continue;
        }
        REQUIRE(out->add("appended!", {2}, std::vector<float>{1, 2}));
        REQUIRE(out->finish());
        CHECK(support::read_file(directory / "m.zt").substr(0, before.size()) == before);
        const result<reader> after = reader::open(directory / "m.zt");
        if (!after) { // its shards are not here
            CHECK(outcome(after) == "shard_missing");
            continue;
        }
        auto parts = words_and_content(*after);
        CHECK(parts.erase("appended!/data") == 1);
        CHECK(parts == words_and_content(reader::open(path).value()));
    }
}

TEST_CASE("files of version 2 are taken to 1.2, or it is said what 1.2 has no place for") {
    std::size_t taken = 0;
    for (const std::filesystem::path& path : valid_files_of_2()) {
        CAPTURE(path.string());
        const reader file = reader::open(path).value();
        std::string said;
        const std::optional<reader> old = copy_as(file, write_options(), said);
        if (!old) {
            const bool is_odd_shape = path.filename() == "field-a-zero-before-what-would-overflow.zt";
            CHECK(said == (is_odd_shape ? "shape_overflow" : "not_expressible"));
            continue;
        }
        ++taken;
        CHECK(old->size() == file.size());
        const auto counts = old->verify();
        CHECK(outcome(counts) == "ok");
    }
    CHECK(taken > 20);
}
