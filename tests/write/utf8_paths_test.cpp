// SPDX-License-Identifier: MIT
//
// Paths of any characters, in UTF-8 as text on every system: files written, found beside others and named in errors.
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/detail/os/system.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/import.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace utf8_paths {
namespace {

struct spelling {
    const char* utf8;
    const char16_t* utf16;
};

/// Of one, two, three and four bytes in UTF-8, the last of two units in UTF-16; and what code pages would make of them.
constexpr spelling spellings[] = {
    {"plain name", u"plain name"},
    {"mod\xc3\xa9l", u"mod\u00e9l"},
    {"\xc3\x83\xc2\xa9", u"\u00c3\u00a9"},
    {"\xe9\x87\x8d\xe3\x81\xbf", u"\u91cd\u307f"},
    {"\xf0\x9f\xa6\x9c.\xd0\xb2", u"\U0001f99c.\u0432"},
};

const std::vector<float> elements = {1, 2, 3};

std::string text_of(const support::temp_dir& directory) {
    return ztensor::detail::path_text(directory.path().native());
}

void write_one(const std::string& path, const char* object, const ztensor::write_options& options = {}) {
    ztensor::writer out = ztensor::writer::create(path, options).value();
    out.add(object, {3}, elements).value();
    out.finish().value();
}

} // namespace
} // namespace utf8_paths

TEST_CASE("a path is UTF-8 on every system, for whatever reads, writes, edits and refuses") {
    using namespace utf8_paths;
    for (const spelling& name : spellings) {
        CAPTURE(name.utf8);
        const support::temp_dir directory;
        const std::string path = text_of(directory) + "/" + name.utf8;
        const std::filesystem::path same = directory / std::filesystem::path(name.utf16);
        write_one(path, "w");
        CHECK(directory.names() == std::vector<std::string>{name.utf8});
        CHECK(std::filesystem::exists(same));
        ztensor::writer more = ztensor::writer::append(path).value();
        more.add("v", {3}, elements).value();
        more.finish().value();
        ztensor::editor change = ztensor::edit(path).value();
        change.rename("v", "u").value();
        change.finish().value();
        for (const ztensor::io_mode mode : {ztensor::io_mode::mapped, ztensor::io_mode::positional}) {
            const auto file = ztensor::reader::open(path, ztensor::read_options().mode(mode)).value();
            CHECK(file.path() == path);
            CHECK(file.read<float>("u").value() == elements);
            const auto error = file.read<float>("v").error();
            CHECK(error.path() == path);
        }
        CHECK(ztensor::reader::open(same).value().size() == 2);
        CHECK(ztensor::reader::open(std::filesystem::directory_entry(same)).value().size() == 2);
        CHECK(ztensor::recover(path).has_value());
        REQUIRE(ztensor::export_safetensors(ztensor::reader::open(path).value(), path + ".safetensors"));
        CHECK(ztensor::open_any(path + ".safetensors").value().size() == 2);
        CHECK(directory.names() == std::vector<std::string>{name.utf8, std::string(name.utf8) + ".safetensors"});
        const auto missing = ztensor::reader::open(path + ".not").error();
        CHECK(missing.code() == ztensor::errc::file_not_found);
        CHECK(missing.path() == path + ".not");
        CHECK(std::string(missing.what()).find(path + ".not") != std::string::npos);
    }
}

TEST_CASE("files beside a file are found by names in UTF-8: shards, and those that an index names") {
    using namespace utf8_paths;
    for (const spelling& name : spellings) {
        CAPTURE(name.utf8);
        const support::temp_dir directory;
        const std::string folder = text_of(directory) + "/" + name.utf8;
        std::filesystem::create_directory(directory / std::filesystem::path(name.utf16));
        const std::string root = folder + "/" + name.utf8 + ".zt";
        write_one(root, "w", ztensor::write_options().version(ztensor::format_version::v2).shard_bytes(1 << 20));
        CHECK(ztensor::reader::open(root).value().read<float>("w").value() == elements);
        write_one(folder + "/" + name.utf8 + "-beside.zt", "v");
        support::write_file(directory / std::filesystem::path(name.utf16) / "model.index.json",
                            std::string(R"({"weight_map": {"v": ")") + name.utf8 + R"(-beside.zt"}})");
        const auto set = ztensor::open_any(folder + "/model.index.json").value();
        CHECK(set.find("v")->read<float>().value() == elements);
    }
}
