// SPDX-License-Identifier: MIT
//
// Sets of files: one namespace over shards, and everything that is wrong with them at once.
#include "import/foreign_files.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/far_folder.hpp"
#include "support/few_handles.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/import.hpp>
#include <ztensor/lint.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#if !defined(_WIN32)
#include <sys/stat.h>
#endif

using support::refusal;
using ztensor::errc;
using ztensor::reader;

namespace {

/// Two shards in safetensors, and one in .zt.
void write_shards(const support::temp_dir& folder) {
    support::write_file(folder / "1.safetensors", support::safetensors_file({{"a", {1, 2}}, {"b", {3}}}));
    support::write_file(folder / "2.safetensors", support::safetensors_file({{"c", {4}}}));
    auto out = ztensor::writer::create(folder / "3.zt").value();
    const std::vector<float> elements = {5, 6};
    out.add("d", {2}, elements).value();
    out.finish().value();
}

std::string index_of(const std::string& map) {
    return R"({"metadata": {"total_size": 24, "x": [1.5, {"y": null}]}, "weight_map": {)" + map + "}}";
}

const std::string right_map = R"("a": "1.safetensors", "b": "1.safetensors", "c": "2.safetensors", "d": "3.zt")";

std::string names_in(const reader& set) {
    std::string names;
    for (const ztensor::object_view& object : set) {
        names += object.name();
    }
    return names;
}

} // namespace

TEST_CASE("the shards of a directory, of an index and of a list are one namespace") {
    const support::temp_dir folder;
    write_shards(folder);
    support::write_file(folder / "notes.txt", "no tensors");
    const auto by_directory = ztensor::open_any(folder.path());
    const auto by_list = ztensor::open_any(
        std::vector<std::filesystem::path>{folder / "1.safetensors", folder / "2.safetensors", folder / "3.zt"});
    support::write_file(folder / "model.safetensors.index.json", index_of(right_map));
    const auto by_index = ztensor::open_any(folder / "model.safetensors.index.json");
    const auto by_directory_with_index = ztensor::open_any(folder.path());
    for (const auto* each : {&by_directory, &by_list, &by_index, &by_directory_with_index}) {
        REQUIRE(support::outcome(*each) == "ok");
        const reader& set = **each;
        CHECK(set.size() == 4);
        CHECK(set.files().size() == 3);
        CHECK(names_in(set) == "abcd");
        CHECK(set.find("c")->read<float>().value() == std::vector<float>{4});
        CHECK(set["c"].read<float>().value() == std::vector<float>{4});
        CHECK(set[3].name() == "d");
        CHECK(set.file_of("d").value() == 2);
        CHECK(set.contains("a"));
        CHECK_FALSE(set.contains("e"));
        CHECK(refusal(set.find("e")) == errc::object_not_found);
        CHECK(refusal(set.file_of("e")) == errc::object_not_found);
        CHECK(set.find("e").error().object() == "e");
        CHECK(set.files()[2].container() == ztensor::container_kind::zt);
        CHECK_FALSE(set.container().is_present());
        CHECK_FALSE(set.version().is_present());
        const auto verified = set.verify();
        REQUIRE(support::outcome(verified) == "ok");
        CHECK(verified->absent + verified->verified == 4);
        CHECK(verified->mismatches.empty());
        const reader& own = set.files()[2];
        CHECK(ztensor::lint(reader::join({own}).value()).value().size() == ztensor::lint(own).value().size());
    }
    const std::string first = (folder / "1.safetensors").string(), second = (folder / "2.safetensors").string();
    CHECK(ztensor::open_any({first, second}).value().size() == 3);
    const reader one = ztensor::open_any(first).value();
    CHECK(one.size() == 2);
    CHECK(one.file_of("a").value() == 0);
    CHECK(refusal(one.file_of("d")) == errc::object_not_found);
    CHECK(reader::join({ztensor::open_any(first).value()}).value().size() == 2);
    CHECK(reader::join({}).value().empty());
    reader held;
    CHECK(held.empty());
    CHECK(held.files().empty());
    CHECK_FALSE(held.contains("a"));
    CHECK(refusal(held.find("a")) == errc::object_not_found);
    held = *by_list;
    CHECK(held.size() == 4);
}

TEST_CASE("tensors of several shards are loaded by one plan") {
    const support::temp_dir folder;
    write_shards(folder);
    const auto set = ztensor::open_any(folder.path()).value();
    std::vector<float> a(2), c(1), row(1);
    std::vector<double> d(2);
    ztensor::load_plan plan(set);
    plan.add("a", a).add("c", c).add_as("d", d).add("a", ztensor::rows(1, 2), row);
    CHECK(plan.size() == 4);
    std::uint64_t last = 0, total = 0, ends = 0;
    const auto progress = [&](const ztensor::load_progress& now) {
        CHECK(now.bytes_done >= last);
        last = now.bytes_done;
        total = now.bytes_total;
        ends += now.name.empty() ? 1 : 0;
        return true;
    };
    const auto report = plan.run(ztensor::load_options().progress(progress));
    REQUIRE(support::outcome(report) == "ok");
    CHECK(report->bytes_decoded == 24);
    CHECK((last == 24 && total == 24 && ends == 1));
    CHECK(
        (a == std::vector<float>{1, 2} && c == std::vector<float>{4} && d == std::vector<double>{5, 6} && row[0] == 2));
}

TEST_CASE("everything that a plan across files lacks is said at once, and nothing is read") {
    const support::temp_dir folder;
    write_shards(folder);
    const auto set = ztensor::open_any(folder.path()).value();
    std::vector<float> a(2), wrong(7);
    const auto done = ztensor::load_plan(set).add("a", a).add("x", a).add("c", wrong).add("d", wrong).add("y", a).run();
    REQUIRE(refusal(done) == errc::object_not_found);
    for (const char* each : {"\"x\"", "\"y\"", "2.safetensors", "3.zt"}) {
        CHECK(done.error().sentence().find(each) != std::string::npos);
    }
    CHECK(a == std::vector<float>(2));
}

TEST_CASE("names in two shards, and shards that don't open, are all named") {
    const support::temp_dir folder;
    write_shards(folder);
    support::write_file(folder / "4.safetensors", support::safetensors_file({{"a", {1}}, {"c", {1}}}));
    const auto twins = ztensor::open_any(folder.path());
    REQUIRE(refusal(twins) == errc::duplicate_key);
    CHECK(twins.error().sentence().find("\"a\"") != std::string::npos);
    CHECK(twins.error().sentence().find("\"c\"") != std::string::npos);
    support::write_file(folder / "1.safetensors", "cut");
    support::write_file(folder / "2.safetensors", "{}");
    const auto cut = ztensor::open_any(folder.path());
    REQUIRE(refusal(cut) == errc::file_too_small);
    CHECK(cut.error().sentence().find("1.safetensors") != std::string::npos);
    CHECK(cut.error().sentence().find("2.safetensors") != std::string::npos);
}

TEST_CASE("an index that says else than the shards is refused with all that is stale") {
    struct {
        const char* map;
        errc code;
        std::vector<const char*> said;
    } const cases[] = {
        {R"("a":"1.safetensors","b":"2.safetensors","c":"2.safetensors","d":"3.zt","e":"3.zt")",
         errc::stale_index,
         {"\"b\"", "\"e\"", "nowhere"}},
        {R"("a":"1.safetensors","c":"5.safetensors","d":"6.safetensors")",
         errc::file_not_found,
         {"5.safetensors", "6.safetensors"}},
    };
    const support::temp_dir folder;
    write_shards(folder);
    for (const auto& each : cases) {
        CAPTURE(each.map);
        support::write_file(folder / "index.json", index_of(each.map));
        const auto set = ztensor::open_any(folder / "index.json");
        REQUIRE(refusal(set) == each.code);
        for (const char* word : each.said) {
            CHECK(set.error().sentence().find(word) != std::string::npos);
        }
    }
}

TEST_CASE("the files that an index far away names are those that its source brings") {
    const support::temp_dir folder;
    write_shards(folder);
    const std::filesystem::path index = folder / "model.safetensors.index.json";
    support::write_file(index, index_of(right_map));
    const auto set = support::open_far(index);
    REQUIRE(set);
    CHECK(names_in(*set) == "abcd");
    CHECK(set->read<float>("d").value() == std::vector<float>{5, 6});
    CHECK(set->path() == "far://store/model.safetensors.index.json");
    CHECK(set->files()[2].path() == "far://store/3.zt");

    std::filesystem::remove(folder / "1.safetensors");
    std::filesystem::remove(folder / "3.zt");
    const auto without = support::open_far(index);
    CHECK(refusal(without) == errc::file_not_found);
    CHECK(without.error().sentence().find("far://store/3.zt") != std::string::npos);

    support::write_file(index, R"({"weight_map": {"a": "../1.safetensors"}})");
    CHECK(refusal(support::open_far(index)) == errc::name_invalid);
    support::write_file(index, R"({"weight_map": {"a": "model.safetensors.index.json"}})"); // itself
    CHECK(refusal(support::open_far(index)) == errc::foreign_file);
    CHECK(refusal(ztensor::open_any(index)) == errc::foreign_file);
}

TEST_CASE("a hostile index is refused with its exact code") {
    struct {
        const char* text;
        errc code;
    } const cases[] = {
        {"", errc::json_malformed},
        {"{", errc::json_malformed},
        {"[]", errc::schema_type},
        {"1", errc::schema_type},
        {"null", errc::schema_type},
        {"{}", errc::schema_missing},
        {R"({"weight_map": []})", errc::schema_type},
        {R"({"weight_map": "1.safetensors"})", errc::schema_type},
        {R"({"weight_map": {"a": 1}})", errc::schema_type},
        {R"({"weight_map": {"a": {}}})", errc::schema_type},
        {R"({"weight_map": {"a": ["1.safetensors"]}})", errc::schema_type},
        {R"({"weight_map": {}, "weight_map": {}})", errc::duplicate_key},
        {R"({"weight_map": {"a": "1.safetensors", "a": "1.safetensors"}})", errc::duplicate_key},
        {R"({"weight_map": {"a": "../1.safetensors"}})", errc::name_invalid},
        {R"({"weight_map": {"a": "folder/../../1.safetensors"}})", errc::name_invalid},
        {R"({"weight_map": {"a": "folder/"}})", errc::name_invalid},
        {R"({"weight_map": {"a": "folder\\1.safetensors"}})", errc::name_invalid},
        {R"({"weight_map": {"a": "/etc/passwd"}})", errc::name_invalid},
        {R"({"weight_map": {"a": "C:1.safetensors"}})", errc::name_invalid},
        {R"({"weight_map": {"a": "1.safetensors\u0000"}})", errc::name_invalid},
        {R"({"weight_map": {"a": ".."}})", errc::name_invalid},
        {R"({"weight_map": {"a": "."}})", errc::name_invalid},
        {R"({"weight_map": {"a": ""}})", errc::name_invalid},
    };
    const support::temp_dir folder;
    write_shards(folder);
    for (const auto& each : cases) {
        CAPTURE(each.text);
        support::write_file(folder / "model.index.json", each.text);
        const auto set = ztensor::open_any(folder / "model.index.json");
        CHECK(refusal(set) == each.code);
        CHECK((set || set.error().path() == (folder / "model.index.json").string()));
    }
    support::write_file(folder / "model.index.json", index_of(right_map));
    CHECK(refusal(ztensor::open_any(folder / "model.index.json", ztensor::read_options().max_manifest_bytes(10))) ==
          errc::manifest_too_large);
    support::write_file(folder / "model.index.json", std::string(5000, ' ') + index_of(right_map)); // beyond any shard
    const auto limited = [&](std::uint64_t most) {
        return ztensor::open_any(folder / "model.index.json", ztensor::read_options().max_manifest_bytes(most));
    };
    CHECK(refusal(limited(4000)) == errc::manifest_too_large);
    CHECK(support::outcome(limited(8000)) == "ok");
    const std::string map_first =
        std::string(R"({"weight_map": {)") + right_map +
        R"(}, "metadata": {"a": {"b": "text"}, "c": [1]}, "format": "pt", "n": 1, "none": null})";
    support::write_file(folder / "model.index.json", map_first); // what stands behind the map is not of it
    CHECK(support::outcome(ztensor::open_any(folder / "model.index.json")) == "ok");
    support::write_file(folder / "other.index.json", index_of(right_map));
    CHECK(refusal(ztensor::open_any(folder.path())) == errc::invalid_argument);
}

TEST_CASE("an index is refused for its size before it is read, and for the number of its objects") {
    const support::temp_dir folder;
    write_shards(folder);
    const std::filesystem::path path = folder / "model.index.json";
    support::write_file(path, index_of(right_map));
    constexpr std::uint64_t largest = std::uint64_t{128} << 20;
    std::filesystem::resize_file(path, largest + 1); // a hole, which no memory is taken for
    CHECK(refusal(ztensor::open_any(path)) == errc::manifest_too_large);
    CHECK(refusal(ztensor::open_any(path, ztensor::read_options().max_manifest_bytes(2 * largest))) ==
          errc::manifest_too_large);
    support::write_file(path, index_of(right_map));
    CHECK(refusal(ztensor::open_any(path, ztensor::read_options().max_objects(3))) == errc::limit_exceeded);
    CHECK(support::outcome(ztensor::open_any(path, ztensor::read_options().max_objects(4))) == "ok");
}

TEST_CASE("an index may name files in folders below it") {
    const support::temp_dir folder;
    std::filesystem::create_directory(folder / "unet");
    support::write_file(folder / "unet" / "1.safetensors", support::safetensors_file({{"a", {1, 2}}}));
    support::write_file(folder / "model.index.json", index_of(R"("a": "unet/1.safetensors")"));
    const auto set = ztensor::open_any(folder / "model.index.json");
    REQUIRE(support::outcome(set) == "ok");
    CHECK(set->find("a")->read<float>().value() == std::vector<float>{1, 2});
    CHECK(set->files()[0].path() == (folder / "unet" / "1.safetensors").string());
}

TEST_CASE("files of a folder and of an index are not followed through links that lead away") {
    const support::temp_dir root;
    const std::filesystem::path folder = root / "folder", elsewhere = root / "elsewhere";
    std::filesystem::create_directory(folder);
    std::filesystem::create_directory(elsewhere);
    support::write_file(elsewhere / "1.safetensors", support::safetensors_file({{"a", {1, 2}}}));
    support::write_file(elsewhere / "index", index_of(R"("a": "1.safetensors")"));
    std::error_code refused;
    std::filesystem::create_symlink("../elsewhere/1.safetensors", folder / "1.safetensors", refused);
    if (refused) {
        WARN("symbolic links can't be made here");
        return;
    }
    const auto trusted = ztensor::read_options().follow_links();
    const auto of_folder = ztensor::open_any(folder);
    REQUIRE(refusal(of_folder) == errc::name_invalid);
    CHECK(of_folder.error().sentence().find("follow_links()") != std::string::npos);
    CHECK(of_folder.error().path() == (folder / "1.safetensors").string());
    CHECK(support::outcome(ztensor::open_any(folder, trusted)) == "ok");
    CHECK(support::outcome(ztensor::open_any({folder / "1.safetensors"})) == "ok"); // which the caller named

    support::write_file(folder / "model.index.json", index_of(R"("a": "1.safetensors")"));
    CHECK(refusal(ztensor::open_any(folder / "model.index.json")) == errc::name_invalid);
    CHECK(refusal(ztensor::open_any(folder)) == errc::name_invalid);
    CHECK(support::outcome(ztensor::open_any(folder / "model.index.json", trusted)) == "ok");

    std::filesystem::remove(folder / "model.index.json"); // a link as well, which leads to where the shards lie
    std::filesystem::create_symlink("../elsewhere/index", folder / "model.index.json");
    CHECK(support::outcome(ztensor::open_any(folder / "model.index.json")) == "ok");
    CHECK(refusal(ztensor::open_any(folder)) == errc::name_invalid); // but the caller named the folder alone
    CHECK(support::outcome(ztensor::open_any(folder, trusted)) == "ok");
}

TEST_CASE("a model in Hugging Face's cache, a folder of links, opens as folder and by its index") {
    const support::temp_dir root;
    const std::filesystem::path blobs = root / "models--a" / "blobs", snapshot = root / "models--a" / "snapshots" / "0";
    std::filesystem::create_directories(blobs);
    std::filesystem::create_directories(snapshot);
    support::write_file(blobs / "1", support::safetensors_file({{"a", {1, 2}}}));
    support::write_file(blobs / "2", support::safetensors_file({{"b", {3}}}));
    support::write_file(blobs / "3", index_of(R"("a": "1.safetensors", "b": "2.safetensors")"));
    std::error_code refused;
    std::filesystem::create_symlink("../../blobs/1", snapshot / "1.safetensors", refused);
    if (refused) {
        WARN("symbolic links can't be made here");
        return;
    }
    CHECK(support::outcome(ztensor::open_any(snapshot)) == "ok");
    std::filesystem::create_symlink("../../blobs/2", snapshot / "2.safetensors");
    std::filesystem::create_symlink("../../blobs/3", snapshot / "model.safetensors.index.json");
    const auto by_folder = ztensor::open_any(snapshot);
    REQUIRE(support::outcome(by_folder) == "ok");
    CHECK(by_folder->find("b")->read<float>().value() == std::vector<float>{3});
    CHECK(names_in(ztensor::open_any(snapshot / "model.safetensors.index.json").value()) == "ab");
}

TEST_CASE("sets of more files than a process may have open are opened and read, by index, folder and list") {
    constexpr int count = 300;
    const support::temp_dir folder;
    std::string map;
    std::vector<std::string> paths;
    for (int i = 0; i < count; ++i) {
        const std::string name = std::to_string(i);
        paths.push_back((folder / (name + ".safetensors")).string());
        support::write_file(paths.back(), support::safetensors_file({{name, {static_cast<float>(i)}}}));
        map += (i == 0 ? "" : ", ") + ("\"" + name + "\": \"" + name + ".safetensors\"");
    }
    const support::few_handles limit(64);
    const auto check = [&](const ztensor::result<reader>& set) {
        REQUIRE(support::outcome(set) == "ok");
        REQUIRE(set->size() == count);
        std::vector<std::vector<float>> loaded(count, std::vector<float>(1));
        ztensor::load_plan plan(*set);
        std::vector<ztensor::bytes_view> views;
        for (int i = 0; i < count; ++i) {
            const std::string name = std::to_string(i);
            CHECK(set->find(name)->read<float>().value() == std::vector<float>{static_cast<float>(i)});
            plan.add(name, loaded[static_cast<std::size_t>(i)]);
            views.push_back(set->find(name)->data()->bytes().value());
        }
        CHECK(support::outcome(plan.run(ztensor::load_options().threads(4))) == "ok");
        for (int i = 0; i < count; ++i) {
            CHECK(loaded[static_cast<std::size_t>(i)].front() == static_cast<float>(i));
            float viewed = -1;
            std::string bytes = support::as_string(views[static_cast<std::size_t>(i)]);
            REQUIRE(bytes.size() == sizeof viewed);
            if (!support::host_is_little_endian()) { // as the file has them
                std::reverse(bytes.begin(), bytes.end());
            }
            std::memcpy(&viewed, bytes.data(), sizeof viewed);
            CHECK(viewed == static_cast<float>(i));
        }
    };
    check(ztensor::open_any(folder.path()));
    check(ztensor::open_any(paths));
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    const auto relative = ztensor::open_any(".");
    std::filesystem::current_path(before);
    check(relative); // whatever becomes of the current directory
    support::write_file(folder / "model.index.json", index_of(map));
    check(ztensor::open_any(folder / "model.index.json"));
}

TEST_CASE("files that are called as parts of one model are one set, and a missing one is named") {
    struct {
        std::vector<const char*> files;
        errc code;                     ///< of what is refused
        std::vector<const char*> said; ///< none: it opens
    } const cases[] = {
        {{"m-00001-of-00003.safetensors", "m-00002-of-00003.safetensors", "m-00003-of-00003.safetensors"}, {}, {}},
        {{"m-00001-of-00001.safetensors"}, {}, {}},
        {{"m-1-of-2.safetensors", "m-2-of-2.safetensors"}, {}, {}},
        {{"m_1_of_2.safetensors", "m_2_of_2.safetensors"}, {}, {}},
        {{"m-00000-of-00002.safetensors", "m-00001-of-00002.safetensors"}, {}, {}},
        {{"m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors", "other.safetensors"}, {}, {}},
        {{"one-of-00003.safetensors", "m-00001-of-.safetensors", "1-of-b.safetensors", "x1-of-2.safetensors"}, {}, {}},
        {{"m-00001-of-00003.safetensors", "m-00003-of-00003.safetensors"},
         errc::shard_missing,
         {"part 2 of 3, \"m-00002-of-00003.safetensors\": it is missing"}},
        {{"m-00002-of-00002.safetensors"}, errc::shard_missing, {"\"m-00001-of-00002.safetensors\""}},
        {{"m-00002-of-00002.fp16.safetensors"}, errc::shard_missing, {"\"m-00001-of-00002.fp16.safetensors\""}},
        {{"00001-of-00004.safetensors", "00003-of-00004.safetensors"},
         errc::shard_missing,
         {"part 2 of 4, \"00002-of-00004.safetensors\": it is missing; part 4 of 4, \"00004-of-00004.safetensors\": it "
          "is missing"}},
        {{"m-9-of-999999999.safetensors"},
         errc::shard_missing,
         {"\"m-21-of-999999999.safetensors\": it is missing; and 999999978 more"}},
        {{"m-00000-of-00002.safetensors"}, errc::shard_missing, {"\"m-00001-of-00002.safetensors\""}},
        {{"m-00003-of-00002.safetensors"}, errc::invalid_argument, {"\"m-00003-of-00002.safetensors\"", "one of 2"}},
        {{"m-2-of-99999999999999999999.safetensors"}, {}, {}}, // of more than can be counted
        {{"m-00001-of-00001.safetensors", "n-00001-of-00001.safetensors"},
         errc::invalid_argument,
         {"2 models", "\"m-*-of-00001.safetensors\", \"n-*-of-00001.safetensors\""}},
        {{"m-00001-of-00002.safetensors", "m-00001-of-00003.safetensors"}, errc::invalid_argument, {"2 models"}},
    };
    for (const auto& each : cases) {
        const support::temp_dir folder;
        for (const char* const file : each.files) {
            support::write_file(folder / file, support::safetensors_file({{file, {1}}}));
        }
        CAPTURE(each.files.front());
        const auto set = ztensor::open_any(folder.path());
        if (each.said.empty()) {
            REQUIRE(support::outcome(set) == "ok");
            CHECK(set->size() == each.files.size());
            continue;
        }
        REQUIRE(refusal(set) == each.code);
        CHECK(set.error().path() == folder.path().string());
        for (const char* const words : each.said) {
            CAPTURE(words, set.error().sentence());
            CHECK(set.error().sentence().find(words) != std::string::npos);
        }
        CHECK(support::outcome(ztensor::open_any({folder / each.files.front()})) == "ok"); // which the caller named
    }
}

TEST_CASE("what macOS keeps beside the files of a folder is none of them") {
    const support::temp_dir folder;
    support::write_file(folder / "m-00001-of-00001.safetensors", support::safetensors_file({{"a", {1}}}));
    support::write_file(folder / "._m-00001-of-00001.safetensors", "\x00\x05\x16\x07");
    support::write_file(folder / "._m.index.json", "\x00\x05\x16\x07");
    CHECK(support::outcome(ztensor::open_any(folder.path())) == "ok");
}

TEST_CASE("a file that an index names and that is not there is missing, whether links are followed or not") {
    const support::temp_dir folder;
    support::write_file(folder / "model.index.json", index_of(R"("a": "absent.safetensors")"));
    for (const bool follows : {false, true}) {
        const auto set = ztensor::open_any(folder / "model.index.json", ztensor::read_options().follow_links(follows));
        REQUIRE(refusal(set) == errc::file_not_found);
        CHECK(std::string(set.error().what()).find("absent.safetensors") != std::string::npos);
    }
}

TEST_CASE("a part may be missing from a folder whose index does not name it") {
    const support::temp_dir folder;
    support::write_file(folder / "m-00001-of-00003.safetensors", support::safetensors_file({{"a", {1}}}));
    support::write_file(folder / "m.safetensors.index.json", index_of(R"("a": "m-00001-of-00003.safetensors")"));
    CHECK(support::outcome(ztensor::open_any(folder.path())) == "ok");
}

TEST_CASE("several models in one folder are named") {
    const support::temp_dir folder;
    const auto said = [&](const char* words) {
        const auto set = ztensor::open_any(folder.path());
        CAPTURE(words, support::outcome(set), set ? "" : set.error().what());
        CHECK((!set && set.error().sentence().find(words) != std::string::npos));
        return refusal(set);
    };
    std::filesystem::create_directories(folder / "unet");
    std::filesystem::create_directories(folder / "vae");
    std::filesystem::create_directories(folder / "text");
    CHECK(said("the directory has no file that holds tensors") == errc::file_not_found);
    support::write_file(folder / "unet" / "a.safetensors", support::safetensors_file({{"a", {1}}}));
    support::write_file(folder / "vae" / "vae.index.json", index_of(R"("a": "x.safetensors")"));
    support::write_file(folder / "text" / "notes.txt", "none");
    CHECK(said("folders in it have some, \"unet\", \"vae\": open one of these") == errc::file_not_found);
    support::write_file(folder / "q4.safetensors", support::safetensors_file({{"a", {1}}, {"b", {1}}}));
    support::write_file(folder / "q8.safetensors", support::safetensors_file({{"a", {1}}, {"b", {1}}}));
    CHECK(said("the folder holds several models, or one in several files, \"q4.safetensors\", \"q8.safetensors\"") ==
          errc::duplicate_key);
    CHECK(said("\"b\"") == errc::duplicate_key);
    support::write_file(folder / "q4.index.json", index_of(R"("a": "q4.safetensors")"));
    support::write_file(folder / "q8.index.json", index_of(R"("a": "q8.safetensors")"));
    CHECK(said("by the indices \"q4.index.json\", \"q8.index.json\": open one of these") == errc::invalid_argument);
}

TEST_CASE("a file may be called by an ending alone") {
    const support::temp_dir folder;
    support::write_file(folder / ".safetensors", support::safetensors_file({{"a", {1}}}));
    const auto set = ztensor::open_any(folder.path());
    REQUIRE(support::outcome(set) == "ok");
    CHECK(names_in(*set) == "a");
}

TEST_CASE("of very many files that are several models not all are named") {
    const support::temp_dir folder;
    for (int i = 10; i < 40; ++i) {
        support::write_file(folder / ("q" + std::to_string(i) + ".safetensors"),
                            support::safetensors_file({{"a", {1}}}));
    }
    const auto set = ztensor::open_any(folder.path());
    REQUIRE(refusal(set) == errc::duplicate_key);
    CHECK(set.error().sentence().find("\"q29.safetensors\", ...") != std::string::npos);
    CHECK(set.error().sentence().find("\"q30.safetensors\", ") == std::string::npos);
    CHECK(set.error().sentence().find("; and 26 more") != std::string::npos); // of 29 names that are there twice
}

TEST_CASE("a part that the caller names, too, is opened once, with its model or alone") {
    const support::temp_dir folder;
    const auto gguf = [](int number, const char* tensor) {
        const auto text = [](const std::string& content) {
            return support::little_endian(content.size(), 8) + content;
        };
        const auto u16 = [&](const char* key, std::uint64_t value) {
            return text(key) + support::little_endian(2, 4) + support::little_endian(value, 2);
        };
        support::bytes head = "GGUF" + support::little_endian(3, 4) + support::little_endian(1, 8) +
                              support::little_endian(2, 8) + u16("split.no", static_cast<std::uint64_t>(number)) +
                              u16("split.count", 2);
        head += text(tensor) + support::little_endian(1, 4) + support::little_endian(1, 8) +
                support::little_endian(24, 4) + support::little_endian(0, 8);
        head.resize((head.size() + 31) / 32 * 32);
        return head + support::bytes(32, '\7');
    };
    const std::filesystem::path first = folder / "m-00001-of-00002.gguf", second = folder / "m-00002-of-00002.gguf";
    support::write_file(first, gguf(0, "a"));
    support::write_file(second, gguf(1, "b"));
    const auto both = ztensor::open_any({first, second}); // neither says how many tensors there are
    REQUIRE(support::outcome(both) == "ok");
    CHECK(names_in(*both) == "ab");
    // Another file before it, or one of another format under the first part's name, has not opened it.
    support::write_file(folder / "x.safetensors", support::safetensors_file({{"x", {1}}}));
    CHECK(support::outcome(ztensor::open_any({folder / "x.safetensors", second})) == "shard_mismatch");
    support::write_file(first, support::safetensors_file({{"y", {1}}}));
    CHECK(support::outcome(ztensor::open_any({first, second})) == "shard_mismatch");
}

#if !defined(_WIN32)

TEST_CASE("a folder without a model tells the folders in it that have one, and nothing else") {
    const support::temp_dir folder, elsewhere;
    const auto sentence = [&] {
        const auto set = ztensor::open_any(folder.path());
        REQUIRE(refusal(set) == errc::file_not_found);
        return set.error().sentence();
    };
    support::write_file(elsewhere / "a.safetensors", support::safetensors_file({{"a", {1}}}));
    support::write_file(folder / "notes.txt", "none");
    std::filesystem::create_directory_symlink(elsewhere.path(), folder / "link");
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    support::write_file(folder / "weights.h5", "no tensors for a reader without HDF5");
    CHECK(sentence().find("folders in it have some") == std::string::npos);
    std::filesystem::create_directories(folder / "below");
    support::write_file(folder / "below" / "a.safetensors", support::safetensors_file({{"a", {1}}}));
    CHECK(sentence().find("folders in it have some, \"below\": open one of these") != std::string::npos);
    CHECK(refusal(ztensor::open_any("/dev/null")) == errc::not_regular_file);
}

#endif

#if defined(__linux__)

TEST_CASE("an index that can't be read to its end says so") {
    const std::filesystem::path cut = "/sys/devices/system/cpu/online"; // says that it has 4096 bytes, and gives a few
    std::error_code absent;
    if (std::filesystem::file_size(cut, absent) != 4096) {
        WARN("skipped: there is no /sys here, whose files are shorter than they say");
        return;
    }
    const support::temp_dir folder;
    std::filesystem::create_symlink(cut, folder / "model.index.json");
    CHECK(refusal(ztensor::open_any(folder / "model.index.json")) == errc::file_changed);
}

#endif

TEST_CASE("what is no set of files is refused") {
    const support::temp_dir folder;
    CHECK(refusal(ztensor::open_any(folder.path())) == errc::file_not_found);
    CHECK(refusal(ztensor::open_any(folder / "absent")) == errc::file_not_found);
    CHECK(refusal(ztensor::open_any(folder / "absent.json")) == errc::file_not_found);
    CHECK(refusal(ztensor::open_any({folder / "absent", folder / "absent too"})) == errc::file_not_found);
}
