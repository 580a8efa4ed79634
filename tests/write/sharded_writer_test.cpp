// SPDX-License-Identifier: MIT
//
// Models in many files: what goes into which, what is refused, and what becomes of a model that was there before.
#include "support/catch.hpp"
#include "support/few_handles.hpp"
#include "support/model_names.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/import.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sharded_writer.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace sharded_models {

using support::outcome;
using support::temp_dir;
using ztensor::format_version;
using ztensor::reader;
using ztensor::result;
using ztensor::sharded_writer;
using ztensor::store;
using ztensor::write_options;

using tensor_bytes = std::vector<std::uint8_t>;

write_options bounded(std::uint64_t most_bytes, format_version version = format_version::v1_2) {
    return write_options().version(version).shard_bytes(most_bytes).sync(false);
}

std::string name_of(std::size_t number) {
    return "t" + std::to_string(number);
}

/// Whether there are so many objects in each of the files "m-<token>-00001-of-0000N.zt", and nothing else beside the
/// index.
void check_files(const temp_dir& folder, const std::vector<std::size_t>& objects) {
    std::vector<std::string> expected;
    for (std::size_t i = 1; i <= objects.size(); ++i) {
        expected.push_back("m-0000" + std::to_string(i) + "-of-0000" + std::to_string(objects.size()) + ".zt");
    }
    expected.emplace_back("m.zt.index.json");
    REQUIRE(support::names_without_tokens(folder) == expected);
    for (std::size_t i = 0; i < objects.size(); ++i) {
        CHECK(reader::open(support::path_without_token(folder, expected[i])).value().size() == objects[i]);
    }
}

struct files_case {
    const char* what;
    std::uint64_t most_bytes;
    std::vector<std::size_t> tensors; ///< bytes of each
    std::vector<std::size_t> objects; ///< in each file
};

} // namespace sharded_models

} // namespace

TEST_CASE("tensors go to files that hold no more than they may, and are read as one model") {
    using namespace sharded_models;
    const files_case cases[] = {
        {"nothing", 100, {}, {0}},
        {"one file is enough", 100, {40, 60}, {2}},
        {"one byte too many", 100, {40, 61}, {1, 1}},
        {"one after the other", 100, {40, 40, 40, 60, 1}, {2, 2, 1}},
        {"as large as a file may be", 100, {100, 100}, {1, 1}},
        {"larger than a file may be", 100, {1, 101, 1}, {1, 1, 1}},
        {"larger ones alone", 1, {50, 60}, {1, 1}},
        {"empty ones need no file", 100, {0, 100, 0, 0, 1}, {4, 1}},
    };
    for (const files_case& each : cases) {
        for (const auto version : {format_version::v0_1, format_version::v1_1, format_version::v1_2}) {
            CAPTURE(each.what, static_cast<int>(version));
            const temp_dir folder;
            auto out = sharded_writer::create(folder / "m.zt", bounded(each.most_bytes, version)).value();
            CHECK(out.version() == version);
            for (std::size_t i = 0; i < each.tensors.size(); ++i) {
                const tensor_bytes elements(each.tensors[i], static_cast<std::uint8_t>(i));
                out.add(name_of(i), {elements.size()}, elements).value();
                CHECK_FALSE(std::filesystem::exists(folder / "m.zt.index.json"));
            }
            out.finish().value();
            check_files(folder, each.objects);
            for (const auto& path : {folder / "m.zt.index.json", folder.path()}) {
                const reader model = ztensor::open_any(path).value();
                CHECK(model.size() == each.tensors.size());
                for (std::size_t i = 0; i < each.tensors.size(); ++i) {
                    CHECK(model.read<std::uint8_t>(name_of(i)).value() ==
                          tensor_bytes(each.tensors[i], static_cast<std::uint8_t>(i)));
                }
            }
        }
    }
}

TEST_CASE("of version 2 the files are a root and its data shards") {
    using namespace sharded_models;
    const temp_dir folder;
    auto out = sharded_writer::create(folder / "m.zt", bounded(1, format_version::v2)).value();
    out.attributes(ztensor::attributes().set("k", "v")).value();
    out.add("a", {3}, tensor_bytes{1, 2, 3}).value();
    out.add("b", {2}, tensor_bytes{4, 5}).value();
    CHECK(outcome(out.add("b", {2}, tensor_bytes{4, 5})) == "duplicate_key");
    out.finish().value();
    CHECK(outcome(out.finish()) == "writer_closed");
    CHECK(support::names_without_tokens(folder) == std::vector<std::string>{"m-00001.zt", "m-00002.zt", "m.zt"});
    CHECK(reader::open(folder / "m.zt").value().read<std::uint8_t>("b").value() == tensor_bytes{4, 5});
}

TEST_CASE("a model in many files takes paths and options that say what it needs") {
    using namespace sharded_models;
    const temp_dir folder;
    std::filesystem::create_directory(folder / "d.zt.index.json");
    const struct {
        const char* path;
        write_options options;
        const char* code;
    } cases[] = {
        {"m.zt", write_options(), "invalid_argument"},
        {"m.zt", bounded(1).publish(ztensor::publish_mode::in_place), "invalid_argument"},
        {"m.zt", bounded(1).alignment_bytes(3), "invalid_argument"},
        {"m.zt", bounded(1, format_version::v2).publish(ztensor::publish_mode::in_place), "invalid_argument"},
        {"m", bounded(1), "invalid_argument"},
        {".zt", bounded(1), "invalid_argument"},
        {"model.zip", bounded(1), "invalid_argument"},
        {"m.zt/", bounded(1), "invalid_argument"},
        {"a:b.zt", bounded(1), "invalid_argument"},
        {"none/m.zt", bounded(1), "io_error"},
        {"d.zt", bounded(1), "not_regular_file"},
    };
    for (const auto& each : cases) {
        CAPTURE(each.path);
        CHECK(outcome(sharded_writer::create(folder / each.path, each.options)) == each.code);
    }
    CHECK(folder.names().size() == 1);
}

TEST_CASE("a writer of many files goes on after calls that it refuses, and not after its end") {
    using namespace sharded_models;
    const temp_dir folder;
    auto out = sharded_writer::create(folder / "m.zt", bounded(4)).value();
    CHECK(outcome(out.attributes(ztensor::attributes().set("k", "v"))) == "ok");
    CHECK(outcome(out.attributes(ztensor::attributes().set("\xff", "v"))) == "name_invalid");
    const tensor_bytes four(4);
    const struct {
        const char* what;
        const char* code;
        std::function<result<void>()> call;
    } cases[] = {
        {"size", "size_mismatch", [&] { return out.add("a", {5}, four); }},
        {"good", "ok", [&] { return out.add("a", {4}, four); }},
        {"attributes", "invalid_argument", [&] { return out.attributes({}); }},
        {"twice in a file", "duplicate_key", [&] { return out.add("a", {4}, four); }},
        {"good", "ok", [&] { return out.add("b", {4}, four); }},
        {"twice in two files", "duplicate_key", [&] { return out.add("a", {4}, four); }},
        {"no components", "schema_missing",
         [&] {
             return out.add_object("c", {"mine", {4}});
         }},
        {"stream", "size_mismatch",
         [&] {
             auto stream = out.stream<std::uint8_t>("c", {4}).value();
             CHECK(outcome(out.finish()) == "writer_closed");
             CHECK(outcome(out.add("d", {4}, four)) == "writer_closed");
             const auto early = stream.finish();
             stream.append(four).value();
             stream.finish().value();
             return early;
         }},
        {"one that would begin a file", "name_invalid", [&] { return out.add("", {4}, four); }},
        {"finish", "ok", [&] { return out.finish(); }},
        {"finish twice", "writer_closed", [&] { return out.finish(); }},
        {"add after the end", "writer_closed", [&] { return out.add("e", {4}, four); }},
        {"attributes after the end", "writer_closed", [&] { return out.attributes({}); }},
    };
    for (const auto& each : cases) {
        CAPTURE(each.what);
        CHECK(outcome(each.call()) == each.code);
    }
    check_files(folder, {1, 1, 1});
    const reader model = ztensor::open_any(folder.path()).value();
    for (const reader& file : model.files()) {
        CHECK(file.attributes().text("k").value() == "v");
    }
    sharded_writer moved = std::move(out);
    CHECK(outcome(out.finish()) == "writer_closed"); // NOLINT(bugprone-use-after-move)
    CHECK(out.version() == format_version::v1_2);
    CHECK(outcome(ztensor::copy(model, out)) == "writer_closed");
}

TEST_CASE("a writer of many files that is dropped, or whose stream is, leaves the old model as it was") {
    using namespace sharded_models;
    const temp_dir folder;
    const auto write = [&](std::uint8_t number, bool is_finished, bool drops_stream) {
        auto out = sharded_writer::create(folder / "m.zt", bounded(4)).value();
        for (std::size_t i = 0; i < 3; ++i) {
            out.add(name_of(i), {4}, tensor_bytes(4, number)).value();
        }
        if (drops_stream) {
            static_cast<void>(out.stream<std::uint8_t>("s", {4}).value());
            CHECK(outcome(out.add("t", {4}, tensor_bytes(4))) == "writer_closed");
            CHECK(outcome(out.finish()) == "writer_closed");
        }
        CHECK((!is_finished || out.finish().has_value()));
    };
    write(1, false, false);
    CHECK(folder.names().empty());
    write(1, true, false);
    write(2, false, false);
    write(2, false, true);
    check_files(folder, {1, 1, 1});
    CHECK(ztensor::open_any(folder.path()).value().read<std::uint8_t>("t2").value() == tensor_bytes(4, 1));
    write(3, true, false);
    check_files(folder, {1, 1, 1});
    CHECK(ztensor::open_any(folder.path()).value().read<std::uint8_t>("t0").value() == tensor_bytes(4, 3));
}

TEST_CASE("objects of several components, drafted or from another file, count as all that they hold") {
    using namespace sharded_models;
    const temp_dir folder;
    ztensor::writer other = ztensor::writer::create(folder / "other.zt").value();
    other.add("w", {6}, tensor_bytes(6, 7)).value();
    other.finish().value();
    const reader from = reader::open(folder / "other.zt").value();
    auto out = sharded_writer::create(folder / "m.zt", bounded(9)).value();
    ztensor::object_draft drafted("mine", {3});
    drafted.component("a", tensor_bytes{1, 2, 3}).component("b", tensor_bytes{4, 5, 6});
    out.add_object("drafted", drafted).value();
    out.add_object("stored", ztensor::object_draft("mine", {6}).component_stored("w", from["w"].data().value()))
        .value();
    out.add("last", {3}, tensor_bytes{7, 8, 9}).value();
    out.finish().value();
    std::filesystem::remove(folder / "other.zt");
    check_files(folder, {1, 2});
    const reader model = ztensor::open_any(folder.path()).value();
    CHECK(model["drafted"]["b"].read<std::uint8_t>().value() == tensor_bytes{4, 5, 6});
    CHECK(model["stored"]["w"].read<std::uint8_t>().value() == tensor_bytes(6, 7));
}

TEST_CASE("what is compressed counts as it is stored") {
    using namespace sharded_models;
    const temp_dir folder;
    auto out = sharded_writer::create(folder / "m.zt", bounded(6000)).value();
    const tensor_bytes zeros(4096);
    for (std::size_t i = 0; i < 10; ++i) {
        if (i % 2 == 0) {
            out.add(name_of(i), {zeros.size()}, zeros, store().zstd()).value();
        } else {
            auto stream = out.stream<std::uint8_t>(name_of(i), {zeros.size()}, store().zstd()).value();
            stream.append(zeros).value();
            stream.finish().value();
        }
    }
    CHECK(outcome(out.add_bytes("raw", {zeros.size()}, ztensor::dtype::u8, {})) == "size_mismatch");
    out.add("raw", {zeros.size()}, zeros).value();
    out.add("more", {zeros.size()}, zeros).value();
    out.finish().value();
    check_files(folder, {11, 1});
}

TEST_CASE("files of the old model hand on their permissions, and go") {
    using namespace sharded_models;
    const temp_dir folder;
    const auto write = [&](std::uint64_t most_bytes) {
        auto out = sharded_writer::create(folder / "m.zt", bounded(most_bytes)).value();
        out.add("a", {4}, tensor_bytes(4)).value();
        out.add("b", {4}, tensor_bytes(4)).value();
        return out.finish();
    };
    write(4).value();
    using std::filesystem::perms;
    const auto secret = perms::owner_read | perms::owner_write;
    for (const std::string& name : folder.names()) {
        std::filesystem::permissions(folder / name, secret);
    }
    write(4).value();
    for (const std::string& name : folder.names()) {
        CHECK((support::is_windows || std::filesystem::status(folder / name).permissions() == secret));
    }
    check_files(folder, {1, 1});
    write(8).value();
    check_files(folder, {2});
    for (const std::string& name : folder.names()) {
        CHECK((support::is_windows || std::filesystem::status(folder / name).permissions() == secret));
    }
}

TEST_CASE("only files of a model that nothing leads to any more go") {
    using namespace sharded_models;
    const temp_dir folder;
    for (const auto version : {format_version::v1_2, format_version::v2}) {
        const auto write = [&](std::uint8_t number, const char* path) {
            auto out = sharded_writer::create(folder / path, bounded(1, version)).value();
            out.add("a", {4}, tensor_bytes(4, number)).value();
            out.finish().value();
        };
        write(1, "m.zt");
        write(1, "m-2.zt");
        const std::string token = "0123456789abcdef";
        for (const char* const name :
             {"m-00001-of-00001.zt", "m-00001.zt", "m-0123456789abcde-00001.zt", "m-0123456789abcdeg-00001.zt",
              "m-0123456789abcdef-0001.zt", "m-0123456789abcdef-00001-of-1.zt", "m-0123456789abcdef-00001.npy",
              "m-0123456789abcdef.zt", "n-0123456789abcdef-00001.zt", "m-0123456789abcdef-of-00001.zt"}) {
            support::write_file(folder / name, "of somebody else");
        }
        const std::size_t names = folder.names().size();
        const std::string orphan = "m-" + token + (version == format_version::v2 ? "-00007.zt" : "-00007-of-00009.zt");
        support::write_file(folder / orphan, "of a writer that was killed");
        write(2, "m.zt");
        CHECK(folder.names().size() == names);
        CHECK_FALSE(std::filesystem::exists(folder / orphan));
    }
    std::filesystem::copy_file(folder / "m.zt.index.json", folder / "copy.index.json");
    auto out = sharded_writer::create(folder / "m.zt", bounded(1)).value();
    out.add("a", {4}, tensor_bytes(4, 3)).value();
    out.finish().value();
    CHECK(ztensor::open_any(folder / "copy.index.json").value().read<std::uint8_t>("a").value() == tensor_bytes(4, 2));
    CHECK(ztensor::open_any(folder / "m.zt.index.json").value().read<std::uint8_t>("a").value() == tensor_bytes(4, 3));
}

TEST_CASE("a file that is not as long as the index says is another model's") {
    using namespace sharded_models;
    const temp_dir folder;
    const auto write = [&](std::size_t elements) {
        auto out = sharded_writer::create(folder / "m.zt", bounded(1)).value();
        out.add("a", {elements}, tensor_bytes(elements)).value();
        out.finish().value();
        return support::path_without_token(folder, "m-00001-of-00001.zt");
    };
    const std::string other = support::read_file(write(100));
    const std::filesystem::path file = write(200);
    CHECK(ztensor::open_any(folder.path()).has_value());
    support::write_file(file, other);
    for (const auto& path : {folder.path(), folder / "m.zt.index.json"}) {
        const auto opened = ztensor::open_any(path);
        REQUIRE(!opened);
        CHECK(opened.error().code() == ztensor::errc::stale_index);
        CHECK(opened.error().what().find(file.filename().string()) != std::string::npos);
    }
    // In "metadata" others may say anything.
    const std::string name = file.filename().string();
    for (const std::string& metadata :
         {"{\"file_sizes\": {\"" + name + "\": -1}}", "{\"file_sizes\": {\"" + name + "\": [1]}}",
          "{\"file_sizes\": {\"" + name + "\": {\"" + name + "\": 1}}}", "{\"file_sizes\": [{\"" + name + "\": 1}]}",
          "{\"file_sizes\": 5, \"other\": {\"" + name + "\": 1}}", "[[{\"" + name + "\": 1}]]",
          std::string("{\"file_sizes\": {\"others.zt\": 1}}")}) {
        CAPTURE(metadata);
        support::write_file(folder / "m.zt.index.json",
                            "{\"metadata\": " + metadata + ", \"weight_map\": {\"a\": \"" + name + "\"}}");
        CHECK(outcome(ztensor::open_any(folder / "m.zt.index.json")) == "ok");
    }
}

TEST_CASE("hundreds of files take a few handles") {
    using namespace sharded_models;
    const temp_dir folder;
    const support::few_handles few(32);
    for (const auto version : {format_version::v1_2, format_version::v2}) {
        auto out = sharded_writer::create(folder / "m.zt", bounded(1, version).any_order()).value();
        for (std::size_t i = 0; i < 300; ++i) {
            const std::vector<std::uint16_t> other(1, static_cast<std::uint16_t>(i)); // else version 2 shares it
            out.add(name_of(i), {1}, other).value();
        }
        out.finish().value();
        CHECK(folder.names().size() == 301);
        for (const std::string& name : folder.names()) {
            std::filesystem::remove(folder / name);
        }
    }
}

TEST_CASE("objects are copied into many files, where those of one file share what they shared") {
    using namespace sharded_models;
    const temp_dir folder;
    auto source = ztensor::writer::create(folder / "source.zt").value();
    source.attributes(ztensor::attributes().set("k", "v")).value();
    source.add("a", {4}, tensor_bytes(4, 1)).value();
    source.add_tied("b", "a").value();
    source.add("c", {4}, tensor_bytes(4, 2)).value();
    source.add("d", {4}, tensor_bytes(4, 3)).value();
    source.finish().value();
    const reader from = reader::open(folder / "source.zt").value();
    auto out = sharded_writer::create(folder / "m.zt", bounded(8)).value();
    const auto how = ztensor::copy_options()
                         .select([](const ztensor::object_view& object) { return object.name() != "d"; })
                         .rename([](std::string_view name) { return "x." + std::string(name); });
    ztensor::copy(from, out, how).value();
    out.add(from["d"]).value();
    out.add("e", from["d"]).value();
    CHECK(outcome(ztensor::copy(from, out)) == "invalid_argument"); // attributes, too late
    out.finish().value();
    const reader model = ztensor::open_any(folder / "m.zt.index.json").value();
    REQUIRE(model.files().size() == 2);
    CHECK(model.read<std::uint8_t>("x.c").value() == tensor_bytes(4, 2));
    CHECK(model.read<std::uint8_t>("e").value() == tensor_bytes(4, 3));
    CHECK(model["x.a"].same_storage_as(model["x.b"]));
    for (const reader& file : model.files()) {
        CHECK(file.attributes().text("k").value() == "v");
    }
}
