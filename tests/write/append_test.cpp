// SPDX-License-Identifier: MIT
//
// Going on with files: what is there afterwards, in every generation and both ways, and what is refused.
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/temp_dir.hpp"
#include "write/gone_on_with.hpp"

#include <ztensor/edit.hpp>
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
using gone_on_with::leftovers;
using gone_on_with::write_old;
using support::read_file;
using support::temp_dir;
using support::write_file;
using ztensor::errc;
using ztensor::format_version;
using ztensor::publish_mode;
using ztensor::reader;
using ztensor::result;
using ztensor::write_options;
using ztensor::writer;

const std::vector<float> added_elements = {4, 5, 6, 7};

const std::pair<publish_mode, format_version> both_ways[] = {
    {publish_mode::replace, format_version::v1_2},
    {publish_mode::in_place, format_version::v1_2},
    {publish_mode::replace, format_version::v2},
    {publish_mode::in_place, format_version::v2},
};

result<void> append_one(const std::filesystem::path& path, const std::string& name, publish_mode mode) {
    result<writer> out = writer::append(path, write_options().publish(mode));
    if (!out) {
        return std::move(out).error();
    }
    const result<void> added = out->add(name, {4}, added_elements);
    return added ? out->finish() : added;
}

} // namespace

TEST_CASE("what is appended is there, and so is everything that was") {
    for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
        for (const format_version version :
             {format_version::v0_1, format_version::v1_1, format_version::v1_2, format_version::v2}) {
            CAPTURE(static_cast<int>(mode), static_cast<int>(version));
            const temp_dir directory;
            write_old(directory / "f", version);
            auto expected = content_of(directory / "f");
            REQUIRE(expected.size() == 3);
            REQUIRE(append_one(directory / "f", "m", mode));
            REQUIRE(append_one(directory / "f", "n", mode));
            expected["m"] = expected["n"] = gone_on_with::stored(added_elements);
            CHECK(content_of(directory / "f") == expected);
            CHECK(directory.names() == std::vector<std::string>{"f"});
            const reader file = reader::open(directory / "f").value();
            CHECK(file.has_attributes() == (version != format_version::v0_1));
            CHECK(file.verify().value().verified == (version == format_version::v2 ? 5 : 1));
        }
    }
}

TEST_CASE("an appended file is byte for byte the one that would have been written at once") {
    const temp_dir directory;
    write_old(directory / "f");
    REQUIRE(append_one(directory / "f", "m", publish_mode::replace));
    {
        writer out = writer::create(directory / "g").value();
        out.attributes(ztensor::attributes().set("source", "test")).value();
        out.add("a", {3}, std::vector<float>{1, 2, 3}, ztensor::store().digest(ztensor::digest::crc32c)).value();
        out.add("b", {5}, std::vector<std::uint8_t>{1, 2, 3, 4, 5}).value();
        out.add("z", {10, 100}, std::vector<std::int32_t>(1000, 7), ztensor::store().zstd(1)).value();
        out.add("m", {4}, added_elements).value();
        out.finish().value();
    }
    CHECK(read_file(directory / "f") == read_file(directory / "g"));
}

TEST_CASE("in place no old byte changes, not even while it is written") {
    for (const format_version version : {format_version::v1_2, format_version::v2}) {
        const temp_dir directory;
        write_old(directory / "f", version);
        const std::string old = read_file(directory / "f");
        {
            writer out = writer::append(directory / "f", write_options().publish(publish_mode::in_place)).value();
            const std::vector<std::uint8_t> large(5 << 20, 9);
            out.add("m", {large.size()}, large).value();
            CHECK(read_file(directory / "f").substr(0, old.size()) == old);
            CHECK(leftovers(directory.names()).size() == 1);
            out.finish().value();
        }
        CHECK(read_file(directory / "f").substr(0, old.size()) == old);
        CHECK(directory.names() == std::vector<std::string>{"f"});
        CHECK(content_of(directory / "f").size() == 4);
    }
}

TEST_CASE("an appending writer that is dropped leaves the file as it was") {
    for (const auto& [mode, version] : both_ways) {
        const temp_dir directory;
        write_old(directory / "f", version);
        const std::string old = read_file(directory / "f");
        {
            writer out = writer::append(directory / "f", write_options().publish(mode)).value();
            const std::vector<std::uint8_t> large(5 << 20, 9);
            out.add("m", {large.size()}, large).value();
        }
        CHECK((read_file(directory / "f") == old));
        CHECK(directory.names() == std::vector<std::string>{"f"});
    }
}

TEST_CASE("nothing appended is a file with the same content") {
    for (const auto& [mode, version] : both_ways) {
        const temp_dir directory;
        write_old(directory / "f", version);
        const auto before = content_of(directory / "f");
        writer::append(directory / "f", write_options().publish(mode)).value().finish().value();
        CHECK(content_of(directory / "f") == before);
    }
}

TEST_CASE(
    "what is written past the system's cache is what is written through it, in a new file and behind an old one") {
    const temp_dir directory;
    const std::vector<std::uint8_t> many(9 << 20, 7), few = {1, 2, 3};
    std::string expected, expected_longer;
    for (const bool is_direct : {false, true}) {
        CAPTURE(is_direct);
        const auto options = write_options().direct(is_direct).sync(false);
        auto out = writer::create(directory / "f", options).value();
        REQUIRE(out.add("a", {few.size()}, few));
        REQUIRE(out.add("b", {many.size()}, many));
        REQUIRE(out.add("c", {few.size()}, few));
        REQUIRE(out.add("d", {many.size()}, many));
        REQUIRE(out.finish());
        const std::string whole = read_file(directory / "f");
        CHECK((expected.empty() || whole == expected));
        expected = whole;
        for (const publish_mode mode : {publish_mode::in_place, publish_mode::replace}) {
            write_file(directory / "g", whole);
            auto more = writer::append(directory / "g", write_options(options).publish(mode)).value();
            REQUIRE(more.add("e", {many.size()}, many));
            REQUIRE(more.finish());
            const reader file = reader::open(directory / "g").value();
            CHECK((file.read<std::uint8_t>("e").value() == many));
            CHECK((file.read<std::uint8_t>("d").value() == many));
            CHECK((file.read<std::uint8_t>("c").value() == few));
        }
    }
}

TEST_CASE("what waits in a buffer past the system's cache goes with what comes next, however much that is") {
    const temp_dir directory;
    const std::vector<std::uint8_t> first(8 << 20, 1), second(16 << 20, 2); // a buffer and 64 bytes, and two buffers
    for (const bool is_direct : {false, true}) {
        CAPTURE(is_direct);
        auto out = writer::create(directory / "f", write_options().direct(is_direct).sync(false)).value();
        REQUIRE(out.add("a", {first.size()}, first));
        REQUIRE(out.add("b", {second.size()}, second));
        REQUIRE(out.finish());
        const reader file = reader::open(directory / "f").value();
        CHECK((file.read<std::uint8_t>("a").value() == first));
        CHECK((file.read<std::uint8_t>("b").value() == second));
    }
}

TEST_CASE("a name that the file has is refused, and the writer goes on") {
    for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
        const temp_dir directory;
        write_old(directory / "f");
        writer out = writer::append(directory / "f", write_options().publish(mode)).value();
        CHECK(out.add("a", {4}, added_elements).error().code() == errc::duplicate_key);
        CHECK(out.add("c", {4}, added_elements).has_value());
        CHECK(out.finish().has_value());
        CHECK(content_of(directory / "f").size() == 4);
    }
}

TEST_CASE("attributes of the file are kept, and can be added to") {
    const temp_dir directory;
    write_old(directory / "f");
    {
        writer out = writer::append(directory / "f").value();
        out.attributes(ztensor::attributes().set("source", "other").set("k", 1)).value();
        out.finish().value();
    }
    const reader file = reader::open(directory / "f").value();
    CHECK(file.attributes().text("source").value() == "other");
    CHECK(file.attributes().integer("k").value() == 1);
}

TEST_CASE("a second writer of the file is refused while the first lives") {
    for (const publish_mode first : {publish_mode::replace, publish_mode::in_place}) {
        for (const publish_mode second : {publish_mode::replace, publish_mode::in_place}) {
            CAPTURE(static_cast<int>(first), static_cast<int>(second));
            const temp_dir directory;
            write_old(directory / "f");
            {
                writer out = writer::append(directory / "f", write_options().publish(first)).value();
                const result<writer> other = writer::append(directory / "f", write_options().publish(second));
                REQUIRE(!other);
                CHECK(other.error().code() == errc::busy);
                CHECK(other.error().path() == (directory / "f").string());
                if (first == publish_mode::in_place) {
                    CHECK(ztensor::recover(directory / "f").error().code() == errc::busy);
                    const auto over = writer::create(directory / "f", write_options().publish(publish_mode::in_place));
                    REQUIRE(!over);
                    CHECK(over.error().code() == errc::busy);
                }
                out.finish().value();
            }
            CHECK(append_one(directory / "f", "m", second).has_value());
            CHECK(content_of(directory / "f").size() == 4);
        }
    }
}

TEST_CASE("golden files are gone on with, but for those of version 1.0") {
    for (const std::filesystem::path& golden : support::golden_paths()) {
        for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
            CAPTURE(golden, static_cast<int>(mode));
            const temp_dir directory;
            std::filesystem::copy_file(golden, directory / "f");
            std::filesystem::permissions(directory / "f", std::filesystem::perms::owner_write,
                                         std::filesystem::perm_options::add);
            const std::string old = read_file(directory / "f");
            const auto before = content_of(directory / "f");
            const bool is_1_0 = reader::open(golden).value().version() == ztensor::version::v1_0;
            const result<void> done = append_one(directory / "f", "appended!", mode);
            if (is_1_0) {
                REQUIRE(!done);
                CHECK(done.error().code() == errc::not_expressible);
                CHECK((read_file(directory / "f") == old));
                continue;
            }
            REQUIRE(done);
            auto after = content_of(directory / "f");
            CHECK(after.erase("appended!") == 1);
            CHECK((after == before));
        }
    }
}

TEST_CASE("what can't be gone on with is refused and left alone") {
    const temp_dir directory;
    write_file(directory / "f", "no tensors here, only text that is long enough");
    for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
        const write_options options = write_options().publish(mode);
        CHECK(writer::append(directory / "nothing", options).error().code() == errc::file_not_found);
        CHECK(writer::append(directory.path(), options).error().code() == errc::not_regular_file);
        CHECK(writer::append(directory / "f", options).error().code() == errc::bad_magic);
        CHECK(writer::append(directory / "f", write_options(options).alignment_bytes(3)).error().code() ==
              errc::invalid_argument);
    }
    CHECK(read_file(directory / "f") == "no tensors here, only text that is long enough");
    CHECK(directory.names() == std::vector<std::string>{"f"});
}

TEST_CASE("a tensor that is itself a whole file does not pass for the end of an append that was broken off") {
    const temp_dir directory;
    write_old(directory / "f");
    const std::string whole = read_file(directory / "f");
    REQUIRE(append_one(directory / "f", "m", publish_mode::in_place));
    const std::string longer = read_file(directory / "f");
    // As a crash would leave it: the record, and behind the old end a blob that ends with a footer.
    writer out = writer::append(directory / "f", write_options().publish(publish_mode::in_place)).value();
    const std::string record = leftovers(directory.names()).at(0);
    const std::string undo = read_file(directory / record);
    out.finish().value();
    write_file(directory / "f", longer + longer);
    write_file(directory / record, undo);
    REQUIRE(reader::open(directory / "f").has_value());
    // The record is of the file as it was when it was made.
    CHECK(ztensor::recover(directory / "f").value() == ztensor::recovery::undone);
    CHECK((read_file(directory / "f") == longer));
    CHECK(directory.names() == std::vector<std::string>{"f"});
}
