// SPDX-License-Identifier: MIT
//
// Version 2 as files, in tests/corpus/v2: those that break a rule are refused with its exact code, and of the others an
// independent decoder says what is in them.
#include "../examples/describe.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/ztensor.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace {

const std::filesystem::path corpus_2 = "tests/corpus/v2";

/// What reader::verify() answers: "ok", "mismatch", or the name of a code.
std::string verified(const ztensor::reader& file) {
    const ztensor::result<ztensor::verification> answer = file.verify(1);
    return !answer ? std::string(name(answer.error().code())) : answer->ok() ? "ok" : "mismatch";
}

/// What is made of the file: as a line of rules.tsv says it.
std::string made_of(const ztensor::result<ztensor::reader>& file) {
    if (!file) {
        return std::string(name(file.error().code()));
    }
    const std::string found = verified(*file);
    return found == "ok" ? found : "verify " + found;
}

/// What is in a file: a line for each part, as tests/interop/rust says it.
std::string lines_of(const ztensor::reader& file) {
    std::set<std::string> lines;
    for (const ztensor::object_view object : file) {
        std::string dimensions;
        for (const std::uint64_t each : object.shape()) {
            dimensions += (dimensions.empty() ? "" : ", ") + std::to_string(each);
        }
        for (const ztensor::component_view part : object) {
            lines.insert(std::string(object.name()) + ' ' + std::string(object.format().original()) + " [" +
                         dimensions + "] " + std::string(part.role()) + ' ' + std::string(part.dtype().text()) + ' ' +
                         (part.type().is_present() ? std::string(part.type().text()) : "-") + ' ' +
                         describe::sha256(ztensor::bytes_argument(part.read<std::byte>().value())) + '\n');
        }
    }
    std::string text;
    for (const std::string& each : lines) {
        text += each;
    }
    return text;
}

} // namespace

TEST_CASE("every file of version 2 that breaks a rule is refused with its exact code, and no other") {
    std::ifstream lines(corpus_2 / "rules.tsv", std::ios::binary);
    std::size_t files = 0;
    for (std::string path, code, rule;
         std::getline(lines, path, '\t') && std::getline(lines, code, '\t') && std::getline(lines, rule); ++files) {
        CAPTURE(path, rule);
        CHECK(made_of(ztensor::reader::open(corpus_2 / path)) == code);
        if (code == "shard_missing") { // which are only looked for beside a path
            continue;
        }
        CHECK(made_of(ztensor::reader::from_bytes(support::to_vector(support::read_file(corpus_2 / path)))) == code);
        CHECK(made_of(ztensor::reader::open(corpus_2 / path,
                                            ztensor::read_options().mode(ztensor::io_mode::positional))) == code);
    }
    CHECK(files >= 360);
}

TEST_CASE("every valid file of version 2 is described as an independent decoder describes it") {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(corpus_2 / "valid")) {
        if (entry.path().extension() != ".zt") {
            continue;
        }
        CAPTURE(entry.path());
        std::ifstream in(std::filesystem::path(entry.path()).replace_extension(".json"));
        const ztensor::reader file = ztensor::reader::open(entry.path()).value();
        CHECK(file.version() == ztensor::version::v2);
        CHECK(nlohmann::json::parse(describe::file(file).dump()) == nlohmann::json::parse(in));
        ++files;
    }
    CHECK(files >= 80);
}

TEST_CASE("files that the reference in Rust writes hold what it put into them") {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(corpus_2 / "reference")) {
        if (entry.path().extension() != ".expected") {
            continue;
        }
        CAPTURE(entry.path());
        const std::filesystem::path path = std::filesystem::path(entry.path()).replace_extension(".zt");
        const ztensor::reader file = ztensor::reader::open(path).value();
        CHECK(lines_of(file) == support::read_file(entry.path()));
        CHECK(verified(file) == "ok");
        ++files;
    }
    CHECK(files == 8);
}
