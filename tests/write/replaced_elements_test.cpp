// SPDX-License-Identifier: MIT
//
// Elements replaced in place: what a failure or another process leaves, and attributes of files of 0.1, where they
// stand among the fields.
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/child_process.hpp"
#include "support/faulty_os.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"
#include "write/gone_on_with.hpp"

#include <ztensor/detail/write/editor.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

namespace replaced_elements {

using gone_on_with::leftovers;
using support::read_file;
using support::refusal;
using support::temp_dir;
using ztensor::edit;
using ztensor::editor;
using ztensor::errc;
using ztensor::format_version;
using ztensor::object_draft;
using ztensor::publish_mode;
using ztensor::reader;
using ztensor::store;
using ztensor::write_options;
using ztensor::writer;

const write_options in_place = write_options().publish(publish_mode::in_place).sync(false);
const std::vector<float> five_and_six = {5, 6};
const std::vector<float> new_three = {7, 8, 9};
const store summed = store().digest(ztensor::digest::crc32c);

/// An editor by these calls.
editor edit_by(const temp_dir& directory, support::faulty_os& os) {
    return ztensor::detail::editor_access::make(
        ztensor::detail::edit_by(directory / "f", in_place, os).value().release());
}

} // namespace replaced_elements

} // namespace

TEST_CASE("in place an object may become one of another type, shape, format and encoding") {
    using namespace replaced_elements;
    const temp_dir directory;
    writer to = writer::create(directory / "f", write_options().sync(false)).value();
    REQUIRE(to.add_coo("v", {2}, std::vector<float>{1}, std::vector<std::uint64_t>{1}));
    REQUIRE(to.add("w", {0, 3}, std::vector<float>()));
    REQUIRE(to.add("x", {2, 0}, std::vector<float>()));
    REQUIRE(to.add("y", {2}, five_and_six)); // all three begin at one place
    REQUIRE(to.finish());
    const std::string before = read_file(directory / "f");
    editor change = edit(directory / "f", in_place).value();
    CHECK(change.replace("v", {1}, std::vector<float>{3}));
    CHECK(change.replace("w", {2}, std::vector<std::int32_t>{4, 5}, store().zstd(1)));
    CHECK(change.replace("y", object_draft("mine", {1}).component("one", five_and_six).component("two", new_three)));
    CHECK(change.finish());
    CHECK(refusal(change.finish()) == errc::writer_closed);
    CHECK(read_file(directory / "f").substr(0, before.size()) == before);
    const reader after = reader::open(directory / "f").value();
    CHECK(after.read<float>("v").value() == std::vector<float>{3});
    CHECK(after.read<std::int32_t>("w").value() == std::vector<std::int32_t>{4, 5});
    CHECK(after.read<float>("x").value().empty());
    CHECK(after["y"].component("two").value().read<float>().value() == new_three);
}

TEST_CASE("in place a tensor of several MiB is replaced, or the old one stays where that fails, with its digest") {
    using namespace replaced_elements;
    const temp_dir directory;
    const std::vector<std::uint8_t> old((5 << 19) + 3, 1), other(old.size(), 2);
    writer to = writer::create(directory / "f", write_options().sync(false)).value();
    REQUIRE(to.add("w", {old.size()}, old, summed));
    REQUIRE(to.finish());
    const std::string before = read_file(directory / "f");
    {
        editor change = edit(directory / "f", in_place).value();
        REQUIRE(change.replace("w", {old.size()}, other, summed));
    }
    CHECK((read_file(directory / "f") == before));
    editor change = edit(directory / "f", in_place).value();
    REQUIRE(change.replace("w", {old.size()}, other, summed));
    REQUIRE(change.finish());
    const reader after = reader::open(directory / "f").value();
    CHECK((after.find("w").value().read<std::uint8_t>().value() == other));
    CHECK(after.verify().value().verified == 1);
}

TEST_CASE("an undo record that comes from nowhere keeps an editor in place from the file") {
    using namespace replaced_elements;
    const temp_dir directory;
    gone_on_with::write_old(directory / "f");
    const std::string before = read_file(directory / "f");
    std::string record;
    {
        editor first = edit(directory / "f", in_place).value();
        REQUIRE(first.replace("a", {3}, new_three, summed));
        record = leftovers(directory.names()).at(0);
    }
    REQUIRE(directory.names() == std::vector<std::string>{"f"});
    support::write_file(directory / record, "of another program");
    CHECK(refusal(edit(directory / "f", in_place)) == errc::recovery_needed);
    CHECK(read_file(directory / "f") == before);
    CHECK(read_file(directory / record) == "of another program");
}

TEST_CASE("where the undo record can't be removed, the old file is back all the same") {
    using namespace replaced_elements;
    const temp_dir directory;
    gone_on_with::write_old(directory / "f");
    const std::string before = read_file(directory / "f");
    support::faulty_os os;
    os.syncs = false;
    {
        editor change = edit_by(directory, os);
        REQUIRE(change.replace("a", {3}, new_three, summed));
        os.failing_name = "remove_in";
    }
    CHECK(read_file(directory / "f") == before);
    CHECK(leftovers(directory.names()).size() == 1);
    CHECK(ztensor::recover(directory / "f"));
    CHECK(directory.names() == std::vector<std::string>{"f"});

    os.failing_name = {};
    {
        writer dropped = ztensor::detail::append_to(directory / "f", in_place, os).value();
        REQUIRE(dropped.add("n", {3}, new_three));
        os.failing_name = "remove_in";
    }
    CHECK(read_file(directory / "f") == before);
    CHECK(leftovers(directory.names()).size() == 1);
    CHECK(ztensor::recover(directory / "f"));
    CHECK(directory.names() == std::vector<std::string>{"f"});
}

#if !defined(_WIN32)

TEST_CASE("in a child process a change in place is the parent's, who goes on with it") {
    using namespace replaced_elements;
    const temp_dir directory;
    gone_on_with::write_old(directory / "f");
    const std::vector<std::uint8_t> many(std::size_t{3} << 20, 7); // which wait in no buffer
    editor change = edit(directory / "f", in_place).value();
    REQUIRE(change.replace("a", {3}, new_three, summed));
    const int code = support::exit_code_of([&] {
        const bool is_refused =
            refusal(change.replace("b", {many.size()}, many)) == errc::writer_closed &&
            refusal(change.finish()) == errc::writer_closed;
        const editor dropped = std::move(change);
        return is_refused ? 0 : 1;
    });
    CHECK(code == 0);
    CHECK(leftovers(directory.names()).size() == 1);
    CHECK(change.replace("b", {5}, std::vector<std::uint8_t>{5, 4, 3, 2, 1}));
    CHECK(change.finish());
    CHECK(gone_on_with::content_of(directory / "f").at("a") == gone_on_with::stored(new_three));
    CHECK(directory.names() == std::vector<std::string>{"f"});
}

#endif

TEST_CASE("attributes of a tensor of 0.1 are replaced as a whole, and its fields and a new name stay beside them") {
    using namespace replaced_elements;
    namespace cbor = support::cbor;
    const temp_dir directory;
    support::sample file(ztensor::version::v0_1);
    file.object("unit", cbor::text("m"));
    support::write_file(directory / "f", file.file());
    editor renamed = edit(directory / "f").value();
    REQUIRE(renamed.rename("w", "v"));
    REQUIRE(renamed.finish());
    const reader before = reader::open(directory / "f").value();
    CHECK(before.find("v").value().attributes().text("unit").value() == "m");

    editor change = edit(directory / "f").value();
    REQUIRE(change.attributes("v", ztensor::attributes().set("k", 1)));
    REQUIRE(change.finish());
    const reader after = reader::open(directory / "f").value();
    CHECK(after.find("v").value().attributes().size() == 1);
    CHECK(after.find("v").value().attributes().integer("k").value() == 1);
    CHECK(after.find("v").value().read<float>().value() == std::vector<float>{1, 2});
}
