// SPDX-License-Identifier: MIT
//
// Changing files: names, attributes, single objects, in every generation; what stays byte for byte; what is refused.
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/golden.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"
#include "write/gone_on_with.hpp"

#include <ztensor/edit.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using gone_on_with::content_of;
using gone_on_with::write_old;
using support::read_file;
using support::temp_dir;
using ztensor::attributes;
using ztensor::edit;
using ztensor::editor;
using ztensor::errc;
using ztensor::format_version;
using ztensor::publish_mode;
using ztensor::reader;
using ztensor::result;
using ztensor::write_options;

const write_options edits_in_place = write_options().publish(publish_mode::in_place);
const write_options ways_to_edit[] = {write_options(), edits_in_place};
const std::vector<float> edited_elements = {-1, -2, -3};

/// The same tensor under the name "v".
std::string renamed_0_1(const support::sample& file) {
    std::string encoded = file.encoded_object();
    const std::string before = support::cbor::text("name") + support::cbor::text("w");
    encoded.replace(encoded.find(before), before.size(), support::cbor::text("name") + support::cbor::text("v"));
    return encoded;
}

} // namespace

TEST_CASE("objects are renamed, taken out, replaced and described anew, and the others stay as they are") {
    for (const format_version version : {format_version::v0_1, format_version::v1_1, format_version::v1_2}) {
        for (const write_options& how : ways_to_edit) {
            CAPTURE(static_cast<int>(version), static_cast<int>(how.publish()));
            const temp_dir directory;
            write_old(directory / "f", version);
            auto expected = content_of(directory / "f");
            const std::string old = read_file(directory / "f");
            editor change = edit(directory / "f", how).value();
            change.rename("z", "y").value();
            change.remove("b").value();
            change.replace("a", {3}, edited_elements, ztensor::store().digest(ztensor::digest::crc32c)).value();
            change.add("c", {3}, edited_elements).value();
            change.attributes("y", attributes().set("k", 1).set("l", "m")).value();
            CHECK(change.attributes("y").value().size() == 2);
            CHECK(content_of(directory / "f") == expected); // until it is finished
            change.finish().value();

            expected.erase("b");
            expected["y"] = expected["z"];
            expected.erase("z");
            expected["a"] = expected["c"] = gone_on_with::stored(edited_elements);
            CHECK(content_of(directory / "f") == expected);
            const reader file = reader::open(directory / "f").value();
            CHECK(file.find("y").value().attributes().integer("k").value() == 1);
            CHECK(!file.find("a").value().has_attributes());
            CHECK(file.verify().value().verified == 1);
            CHECK(directory.names() == std::vector<std::string>{"f"});
            const bool is_in_place = how.publish() == publish_mode::in_place;
            CHECK((read_file(directory / "f").substr(0, old.size()) == old) == is_in_place);
            CHECK((ztensor::dead_bytes(file).value() != 0) == is_in_place);
        }
    }
}

TEST_CASE("who has a file open that is edited in place reads what it held, in every mode") {
    const temp_dir directory;
    write_old(directory / "f");
    for (const ztensor::io_mode mode : {ztensor::io_mode::mapped, ztensor::io_mode::positional}) {
        const reader before = reader::open(directory / "f", ztensor::read_options().mode(mode)).value();
        const std::vector<float> old = before.read<float>("a").value();
        editor change = edit(directory / "f", edits_in_place).value();
        change.replace("a", {3}, std::vector<float>{old[0] + 1, 0, 0}).value();
        CHECK(before.read<float>("a").value() == old);
        change.finish().value();
        CHECK(before.read<float>("a").value() == old);
        CHECK(reader::open(directory / "f").value().read<float>("a").value()[0] == old[0] + 1);
    }
}

TEST_CASE("an edit that changes nothing gives the same file") {
    const temp_dir directory;
    for (const format_version version : {format_version::v0_1, format_version::v1_1, format_version::v1_2}) {
        write_old(directory / "f", version);
        const std::string old = read_file(directory / "f");
        edit(directory / "f").value().finish().value();
        CHECK(read_file(directory / "f") == old);
    }
}

TEST_CASE("golden files are edited without a change of what they hold") {
    for (const std::filesystem::path& golden : support::golden_paths()) {
        CAPTURE(golden);
        const temp_dir directory;
        std::filesystem::copy_file(golden, directory / "f");
        const reader before = reader::open(golden).value();
        const auto content = content_of(golden);
        result<editor> change = edit(directory / "f");
        if (before.version() == ztensor::version::v1_0) {
            REQUIRE(!change);
            CHECK(change.error().code() == errc::not_expressible);
            continue;
        }
        REQUIRE(change);
        CHECK(change->finish().has_value());
        CHECK((content_of(directory / "f") == content));
        const reader after = reader::open(directory / "f").value();
        REQUIRE(after.size() == before.size());
        CHECK(after.version() == before.version());
        for (const ztensor::object_view object : before) {
            const ztensor::object_view same = after.find(object.name()).value();
            CHECK(same.format() == object.format());
            CHECK(same.attributes().size() == object.attributes().size());
            for (const ztensor::component_view part : object) {
                const ztensor::component_view copied = same.component(part.role()).value();
                CHECK(copied.digest() == part.digest());
                CHECK(copied.encoding().text() == part.encoding().text());
                CHECK(copied.stored_bytes() == part.stored_bytes());
            }
        }
    }
}

TEST_CASE("what nothing refers to any more is gone from the file") {
    const temp_dir directory;
    write_old(directory / "f");
    const std::uintmax_t old_size = std::filesystem::file_size(directory / "f");
    {
        ztensor::writer out = ztensor::writer::append(directory / "f", edits_in_place).value();
        out.add("large", {100000}, std::vector<std::uint8_t>(100000, 1)).value();
        out.finish().value();
    }
    editor change = edit(directory / "f").value();
    change.remove("large").value();
    change.finish().value();
    CHECK(std::filesystem::file_size(directory / "f") == old_size);
}

TEST_CASE("a blob that objects share stays one, and is there while one of them needs it") {
    for (const ztensor::version generation : {ztensor::version::v0_1, ztensor::version::v1_2}) {
        const temp_dir directory;
        support::sample file(generation);
        const std::string one = file.encoded_object();
        namespace cbor = support::cbor;
        file.objects(file.is_0_1() ? cbor::array({support::sample(file).encoded_object(), renamed_0_1(file)})
                                   : cbor::map{{"v", one}, {"w", one}}.encoded());
        support::write_file(directory / "f", file.file());
        const auto before = content_of(directory / "f");
        REQUIRE(before.size() == 2);
        {
            std::filesystem::copy_file(directory / "f", directory / "g");
            editor in_place = edit(directory / "g", edits_in_place).value();
            CHECK(in_place.replace("w", {2}, std::vector<float>{5, 6}).has_value());
            CHECK(in_place.finish().has_value());
            CHECK(content_of(directory / "g").at("v") == before.at("v"));
            CHECK(content_of(directory / "g").at("w") == gone_on_with::stored({5, 6}));
        }
        edit(directory / "f").value().finish().value();
        CHECK(content_of(directory / "f") == before);
        {
            const reader both = reader::open(directory / "f").value();
            CHECK(both.find("v").value().component("data").value().offset() ==
                  both.find("w").value().component("data").value().offset());
        }
        editor change = edit(directory / "f").value();
        change.remove("v").value();
        change.finish().value();
        CHECK(content_of(directory / "f").at("w") == before.at("w"));
    }
}

TEST_CASE("a name is free once its object has another one") {
    const temp_dir directory;
    write_old(directory / "g");
    editor change = edit(directory / "g").value();
    change.rename("a", "b2").value();
    change.rename("b", "a").value();
    CHECK(change.rename("a", "b2").error().code() == errc::duplicate_key);
    CHECK(change.rename("a", "a").has_value());
    change.finish().value();
    CHECK(content_of(directory / "g").count("b2") == 1);
}

TEST_CASE("fields that nobody knows stay, wherever they stand, and so does text in chunks") {
    const temp_dir directory;
    namespace cbor = support::cbor;
    support::sample file;
    file.root("unknown root", cbor::array({cbor::number(1), cbor::null}));
    file.object("unknown object", cbor::tag(7, cbor::yes));
    file.component("unknown component", cbor::chunked({"ab", "c"}));
    support::write_file(directory / "f", file.file());
    editor change = edit(directory / "f").value();
    change.rename("w", "a longer name").value();
    change.attributes("a longer name", attributes().set("k", 1)).value();
    change.finish().value();
    ztensor::writer out = ztensor::writer::append(directory / "f").value();
    out.add("x", {3}, edited_elements).value();
    out.finish().value();
    const std::string text = read_file(directory / "f");
    CHECK(text.find(cbor::text("unknown root") + cbor::array({cbor::number(1), cbor::null})) != std::string::npos);
    CHECK(text.find(cbor::text("unknown object") + cbor::tag(7, cbor::yes)) != std::string::npos);
    CHECK(text.find(cbor::text("unknown component") + cbor::chunked({"ab", "c"})) != std::string::npos);
    CHECK(content_of(directory / "f").size() == 2);
}

TEST_CASE("an object is added by a draft, and asked for its new attributes") {
    const support::temp_dir directory;
    gone_on_with::write_old(directory / "f");
    auto change = ztensor::edit(directory / "f").value();
    const std::vector<float> elements = {1, 2};
    ztensor::object_draft draft("mine", {2});
    draft.component("data", elements).attributes(ztensor::attributes().set("k", 7));
    REQUIRE(change.add("new", draft));
    CHECK(support::refusal(change.add("new", draft)) == ztensor::errc::duplicate_key);
    CHECK(change.attributes("new").value().size() == 1);
    REQUIRE(change.finish());
    const auto file = ztensor::reader::open(directory / "f").value();
    CHECK(file.find("new")->format().text() == "mine");
    CHECK(file.find("new")->attributes().integer("k").value() == 7);
    CHECK(file.find("new")->component("data")->read<float>().value() == elements);
}

TEST_CASE("attributes of objects and of the file are read, changed and taken away") {
    const write_options& how = GENERATE(ways_to_edit[0], ways_to_edit[1]);
    const temp_dir directory;
    write_old(directory / "f");
    {
        editor change = edit(directory / "f", how).value();
        CHECK(change.file_attributes().size() == 1);
        change.file_attributes(change.file_attributes().set("more", true)).value();
        change.attributes("a", attributes().set("unit", "m")).value();
        change.attributes("b", attributes()).value();
        change.finish().value();
    }
    {
        const reader file = reader::open(directory / "f").value();
        CHECK(file.attributes().size() == 2);
        CHECK(file.find("a").value().attributes().text("unit").value() == "m");
        CHECK(file.find("b").value().has_attributes());
        CHECK(!file.find("z").value().has_attributes());
    }
    {
        editor change = edit(directory / "f", how).value();
        CHECK(change.attributes("a").value().size() == 1);
        change.remove_attributes("a").value();
        change.remove_file_attributes().value();
        change.finish().value();
    }
    const reader file = reader::open(directory / "f").value();
    CHECK(!file.has_attributes());
    CHECK(!file.find("a").value().has_attributes());
}

TEST_CASE("a dense tensor that is replaced keeps its attributes, and an object by a draft has the draft's") {
    for (const format_version version : {format_version::v0_1, format_version::v1_1, format_version::v1_2}) {
        CAPTURE(static_cast<int>(version));
        const temp_dir directory;
        write_old(directory / "f", version);
        editor change = edit(directory / "f").value();
        change.attributes("a", attributes().set("unit", "m")).value();
        change.attributes("b", attributes().set("unit", "s")).value();
        change.finish().value();

        change = edit(directory / "f").value();
        change.replace("a", {3}, edited_elements).value();
        change.replace("a", {1}, std::vector<float>{9}).value(); // once more
        ztensor::object_draft draft(ztensor::format::dense, {3});
        draft.component("data", edited_elements);
        change.replace("b", draft).value();
        change.finish().value();

        const reader file = reader::open(directory / "f").value();
        CHECK(file.read<float>("a").value() == std::vector<float>{9});
        CHECK(file.find("a").value().attributes().text("unit").value() == "m");
        CHECK(!file.find("b").value().has_attributes());
    }
}

TEST_CASE("a tensor keeps its attributes on its way into planes and back") {
    const temp_dir directory;
    std::vector<ztensor::bfloat16> weights;
    for (std::uint32_t i = 0, random = 1; i < 65536; ++i) { // of which zstd alone would make little less
        random = random * 1664525 + 1013904223;
        weights.emplace_back(static_cast<float>(random >> 8) * 0x1p-24F - 0.5F);
    }
    {
        auto out = ztensor::writer::create(directory / "f").value();
        out.add("w", {65536}, weights, ztensor::store(), attributes().set("unit", "m")).value();
        out.finish().value();
    }
    for (const bool is_in_planes : {true, false}) {
        CAPTURE(is_in_planes);
        editor change = edit(directory / "f").value();
        change.replace("w", {65536}, weights, is_in_planes ? ztensor::store().planes() : ztensor::store()).value();
        change.finish().value();
        const reader file = reader::open(directory / "f").value();
        CHECK(file["w"].is_in_planes() == is_in_planes);
        CHECK(file["w"].attributes().text("unit").value() == "m");
        CHECK(file.read<ztensor::bfloat16>("w").value() == weights);
    }
}

TEST_CASE("what an edit refuses changes nothing, and the editor goes on") {
    const temp_dir directory;
    write_old(directory / "f");
    const auto before = content_of(directory / "f");
    editor change = edit(directory / "f").value();
    CHECK(change.rename("nothing", "x").error().code() == errc::object_not_found);
    CHECK(change.rename("a", "").error().code() == errc::name_invalid);
    CHECK(change.rename("a", "b").error().code() == errc::duplicate_key);
    CHECK(change.remove("nothing").error().code() == errc::object_not_found);
    CHECK(change.replace("nothing", {3}, edited_elements).error().code() == errc::object_not_found);
    CHECK(change.replace("a", {4}, edited_elements).error().code() == errc::size_mismatch);
    CHECK(change.attributes("nothing").error().code() == errc::object_not_found);
    CHECK(change.attributes("a", attributes().set("", 1)).error().code() == errc::name_invalid);
    change.finish().value();
    CHECK(content_of(directory / "f") == before);
    CHECK(change.finish().error().code() == errc::writer_closed);
    CHECK(change.rename("a", "x").error().code() == errc::writer_closed);
    CHECK(change.replace("a", {3}, edited_elements).error().code() == errc::writer_closed);
    CHECK(change.file_attributes(attributes()).error().code() == errc::writer_closed);

    write_old(directory / "old", format_version::v0_1);
    editor of_0_1 = edit(directory / "old").value();
    CHECK(of_0_1.file_attributes(attributes().set("k", 1)).error().code() == errc::not_expressible);
    CHECK(of_0_1.attributes("a", attributes().set("dtype", 1)).error().code() == errc::not_expressible);
}

TEST_CASE("an editor in place that is dropped leaves the file as it was") {
    const std::vector<std::uint8_t> much(std::size_t{3} << 20, 7);
    const temp_dir directory;
    write_old(directory / "f");
    const std::string old = read_file(directory / "f");
    {
        editor change = edit(directory / "f", edits_in_place).value();
        change.replace("a", {3}, edited_elements, ztensor::store().digest(ztensor::digest::crc32c)).value();
        change.replace("b", {5}, std::vector<std::uint8_t>{9, 8, 7, 6, 5}).value();
        change.replace("b", {much.size()}, much).value();
        CHECK(read_file(directory / "f") != old);
    }
    CHECK(read_file(directory / "f") == old);
    CHECK(directory.names() == std::vector<std::string>{"f"});
}

TEST_CASE("an object of a file without any gets the place of a first one") {
    for (const write_options& how : ways_to_edit) {
        const temp_dir directory;
        ztensor::writer::create(directory / "f").value().finish().value();
        editor change = edit(directory / "f", how).value();
        change.add("a", {3}, edited_elements).value();
        change.finish().value();
        CHECK(content_of(directory / "f").at("a") == gone_on_with::stored(edited_elements));
        CHECK(std::filesystem::file_size(directory / "f") < 1000);
    }
}

TEST_CASE("dead bytes are counted, and compact drops them and nothing else") {
    for (const format_version version :
         {format_version::v0_1, format_version::v1_1, format_version::v1_2, format_version::v2}) {
        CAPTURE(static_cast<int>(version));
        const temp_dir directory;
        write_old(directory / "f", version);
        CHECK(ztensor::dead_bytes(reader::open(directory / "f").value()).value() == 0);
        for (const char* const name : {"m", "n"}) {
            ztensor::writer out = ztensor::writer::append(directory / "f", edits_in_place).value();
            out.add(name, {3}, edited_elements).value();
            out.finish().value();
        }
        if (version != format_version::v2) {
            editor change = edit(directory / "f", edits_in_place).value();
            change.remove("z").value();
            change.finish().value();
        }
        const auto before = content_of(directory / "f");
        const std::uintmax_t size = std::filesystem::file_size(directory / "f");
        const std::uint64_t dead = ztensor::dead_bytes(reader::open(directory / "f").value()).value();
        CHECK(dead > 100);
        CHECK(support::refusal(reader::open(directory / "f", ztensor::read_options().strict())) == errc::strict_gap);
        ztensor::compact(directory / "f").value();
        CHECK(content_of(directory / "f") == before);
        const reader after = reader::open(directory / "f").value();
        CHECK(ztensor::dead_bytes(after).value() == 0);
        CHECK(size - after.file_bytes() >= dead);
        CHECK(size - after.file_bytes() < dead + 100); // the index may be shorter, too
        CHECK(after.verify().has_value());
        CHECK(directory.names() == std::vector<std::string>{"f"});

        const auto written = std::filesystem::last_write_time(directory / "f");
        ztensor::compact(directory / "f").value(); // which has nothing to drop
        CHECK(std::filesystem::last_write_time(directory / "f") == written);
        CHECK(content_of(directory / "f") == before);
    }
}

TEST_CASE("compact makes of a file of version 2 that has grown the one that would have been written at once") {
    const temp_dir directory;
    const auto v2 = write_options().version(format_version::v2);
    const std::vector<double> others = {1.5};
    const auto two_parts = ztensor::object_draft("test.pair/1", {3})
                               .component("other", others)
                               .component("data", std::vector<float>{1, 2, 3}, ztensor::store().zstd(1))
                               .attributes(attributes().set("k", 1));
    {
        ztensor::writer out = ztensor::writer::create(directory / "f", v2).value();
        out.add("a", {3}, edited_elements).value();
        out.finish().value();
        ztensor::writer more = ztensor::writer::append(directory / "f", edits_in_place).value();
        more.add("b", {5}, std::vector<std::uint8_t>{1, 2, 3, 4, 5}).value();
        more.add_object("c", two_parts).value();
        more.finish().value();
        ztensor::writer whole = ztensor::writer::create(directory / "g", v2).value();
        whole.add("a", {3}, edited_elements).value();
        whole.add("b", {5}, std::vector<std::uint8_t>{1, 2, 3, 4, 5}).value();
        whole.add_object("c", two_parts).value();
        whole.finish().value();
    }
    ztensor::compact(directory / "f").value();
    CHECK((read_file(directory / "f") == read_file(directory / "g")));
}

TEST_CASE("compact keeps the shards of a model, and refuses what is in use, cut off or of another kind") {
    const temp_dir directory;
    const std::filesystem::path root = directory / "m.zt";
    {
        ztensor::writer out =
            ztensor::writer::create(root, write_options().version(format_version::v2).shard_bytes(1)).value();
        out.add("a", {3}, edited_elements).value();
        out.finish().value();
        ztensor::writer more = ztensor::writer::append(root, edits_in_place).value();
        more.add("b", {3}, edited_elements).value();
        more.finish().value();
    }
    const auto names = directory.names();
    const auto before = content_of(root);
    REQUIRE(before.size() == 2);
    REQUIRE(ztensor::dead_bytes(reader::open(root).value()).value() != 0);
    {
        const ztensor::writer busy = ztensor::writer::append(root).value();
        CHECK(support::refusal(ztensor::compact(root)) == errc::busy);
    }
    ztensor::compact(root).value();
    CHECK(ztensor::dead_bytes(reader::open(root).value()).value() == 0);
    CHECK(content_of(root) == before);
    CHECK(directory.names() == names);

    support::write_file(directory / "f", read_file(root).substr(0, 5000));
    CHECK(support::refusal(ztensor::compact(directory / "f")) == errc::truncated);
    support::write_file(directory / "f", support::sample(ztensor::version::v1_0).file());
    CHECK(support::refusal(ztensor::compact(directory / "f")) == errc::not_expressible);
    CHECK(support::refusal(ztensor::compact(directory / "nothing")) == errc::file_not_found);
}

TEST_CASE("golden files are compacted without a change of what they hold") {
    for (const std::filesystem::path& golden : support::golden_paths()) {
        CAPTURE(golden);
        const temp_dir directory;
        std::filesystem::copy_file(golden, directory / "f");
        const auto before = content_of(golden);
        const bool is_1_0 = reader::open(golden).value().version() == ztensor::version::v1_0;
        const result<void> done = ztensor::compact(directory / "f");
        CHECK(support::outcome(done) == (is_1_0 ? "not_expressible" : "ok"));
        CHECK((content_of(directory / "f") == before));
    }
}

TEST_CASE("a second editor or writer is refused while one lives") {
    for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
        const temp_dir directory;
        write_old(directory / "f");
        const editor first = edit(directory / "f", write_options().publish(mode)).value();
        CHECK(edit(directory / "f").error().code() == errc::busy);
        CHECK(edit(directory / "f", edits_in_place).error().code() == errc::busy);
        CHECK(ztensor::writer::append(directory / "f").error().code() == errc::busy);
    }
}
