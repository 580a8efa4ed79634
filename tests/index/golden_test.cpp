// SPDX-License-Identifier: MIT
//
// The golden files: real files of every generation, and what an independent decoder says is in each.
#include "../examples/describe.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/ztensor.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using support::golden_path;
using support::golden_paths;
using support::read_file;
using support::to_vector;

nlohmann::json expectation(std::filesystem::path path) {
    std::ifstream in(path.replace_extension(".json"));
    return nlohmann::json::parse(in);
}

/// Without what only the file's author can know. Order of keys does not count.
nlohmann::json comparable(nlohmann::json description) {
    for (const char* key : {"file", "file_sha256", "written_by", "rewrite", "copy"}) {
        description.erase(key);
    }
    return description;
}

nlohmann::json describe_file(const ztensor::reader& file) {
    return nlohmann::json::parse(describe::file(file).dump());
}

ztensor::format_version own_version(const ztensor::reader& file) {
    switch (file.version().known().value()) {
    case ztensor::version::v0_1:
        return ztensor::format_version::v0_1;
    case ztensor::version::v1_1:
        return ztensor::format_version::v1_1;
    default:
        return ztensor::format_version::v1_2;
    }
}

std::vector<std::byte> copied_golden(const ztensor::reader& from, const ztensor::copy_options& options) {
    auto to = ztensor::writer::to_memory(ztensor::write_options().version(own_version(from))).value();
    ztensor::copy(from, to, options).value();
    to.finish().value();
    return to.take_bytes();
}

} // namespace

TEST_CASE("every golden file is what its description says, however it is opened") {
    const std::vector<std::filesystem::path> files = golden_paths();
    REQUIRE(files.size() >= 25);
    for (const std::filesystem::path& path : files) {
        INFO(path.string());
        const nlohmann::json expected = comparable(expectation(path));
        const auto mapped = ztensor::reader::open(path, ztensor::read_options().mode(ztensor::io_mode::mapped)).value();
        CHECK(mapped.is_mapped());
        CHECK(describe_file(mapped) == expected);
        const auto positional =
            ztensor::reader::open(path, ztensor::read_options().mode(ztensor::io_mode::positional)).value();
        CHECK(!positional.is_mapped());
        CHECK(describe_file(positional) == expected);
        const std::vector<std::byte> bytes = to_vector(read_file(path));
        CHECK(describe_file(ztensor::reader::from_bytes(bytes).value()) == expected);
        CHECK(describe_file(ztensor::reader::from_bytes(to_vector(read_file(path))).value()) == expected);
    }
}

TEST_CASE("golden files marked so are written byte for byte as the reference did") {
    int identical = 0;
    for (const std::filesystem::path& path : golden_paths()) {
        INFO(path.string());
        const auto file = ztensor::reader::open(path).value();
        const nlohmann::json marks = expectation(path);
        if (marks.value("rewrite", "") == "identical") {
            CHECK(copied_golden(file, ztensor::copy_options().reencode()) == to_vector(read_file(path)));
            ++identical;
        }
        if (marks.value("copy", "") == "identical") {
            CHECK(copied_golden(file, {}) == to_vector(read_file(path)));
            ++identical;
        }
    }
    CHECK(identical >= 23);
}

TEST_CASE("golden files marked so keep every value when they are written anew") {
    for (const std::filesystem::path& path : golden_paths()) {
        if (expectation(path).value("rewrite", "") != "values") {
            continue;
        }
        INFO(path.string());
        const auto file = ztensor::reader::open(path).value();
        const auto again = ztensor::reader::from_bytes(copied_golden(file, ztensor::copy_options().reencode())).value();
        REQUIRE(again.size() == file.size());
        CHECK(again.verify().value().ok());
        for (const ztensor::object_view object : file) {
            INFO(std::string(object.name()));
            const ztensor::object_view other = again.find(object.name()).value();
            CHECK(other.shape() == object.shape());
            CHECK(other.format() == object.format());
            CHECK(describe::attributes(other.attributes()) == describe::attributes(object.attributes()));
            for (const ztensor::component_view component : object) {
                const ztensor::component_view twin = other.component(component.role()).value();
                CHECK(twin.dtype() == component.dtype());
                CHECK(twin.type() == component.type());
                CHECK(twin.encoding() == component.encoding());
                CHECK(twin.digest().text().empty() == component.digest().text().empty());
                CHECK(twin.read<std::byte>().value() == component.read<std::byte>().value());
            }
        }
    }
}

TEST_CASE("the real model opens, its raw weights are viewed in place and its compressed ones decoded") {
    const auto model = ztensor::reader::open(golden_path("silero-vad-16k.zt")).value();
    std::size_t raw = 0, compressed = 0;
    for (const ztensor::object_view object : model) {
        const std::vector<float> values = object.read<float>().value();
        CHECK(values.size() == object.element_count());
        const auto view = object.view<float>();
        if (object.data()->encoding() == ztensor::encoding::zstd) {
            CHECK(view.error().code() == ztensor::errc::not_viewable);
            ++compressed;
            continue;
        }
        ++raw;
        if (ztensor::detail::host_is_little_endian) {
            CHECK(std::equal(view->begin(), view->end(), values.begin(), values.end()));
        } else {
            CHECK(view.error().code() == ztensor::errc::needs_byteswap);
        }
    }
    CHECK(raw > 0);
    CHECK(compressed > 0);
    CHECK(model.verify().value().verified == 10);
}
