// SPDX-License-Identifier: MIT
//
// Arguments that no file could come of are refused before anything is touched.
#include "support/catch.hpp"
#include "support/temp_dir.hpp"
#include "write/gone_on_with.hpp"

#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using ztensor::errc;
using ztensor::publish_mode;
using ztensor::write_options;

} // namespace

TEST_CASE("a path with U+0000 in it is refused by all that opens files") {
    const support::temp_dir directory;
    gone_on_with::write_old(directory / "f");
    const std::string content = support::read_file(directory / "f");
    std::string path = (directory / "f").string();
    path += '\0';
    path += "g";
    for (const publish_mode publish : {publish_mode::replace, publish_mode::in_place}) {
        const write_options options = write_options().publish(publish);
        CHECK(ztensor::writer::create(path, options).error().code() == errc::invalid_argument);
        CHECK(ztensor::writer::append(path, options).error().code() == errc::invalid_argument);
        CHECK(ztensor::edit(path, options).error().code() == errc::invalid_argument);
    }
    CHECK(ztensor::recover(path).error().code() == errc::invalid_argument);
    CHECK(ztensor::remove_abandoned(path).error().code() == errc::invalid_argument);
    CHECK(ztensor::reader::open(path).error().code() == errc::invalid_argument);
    CHECK(directory.names() == std::vector<std::string>{"f"});
    CHECK(support::read_file(directory / "f") == content);
}

TEST_CASE("a writer to no sink is refused") {
    CHECK(ztensor::writer::to_sink(nullptr).error().code() == errc::invalid_argument);
    CHECK(ztensor::writer::to_sink(std::unique_ptr<ztensor::byte_sink>()).error().code() == errc::invalid_argument);
}

TEST_CASE("an editor that was moved from is closed") {
    const support::temp_dir directory;
    gone_on_with::write_old(directory / "f");
    ztensor::editor first = ztensor::edit(directory / "f").value();
    ztensor::editor second = std::move(first);
    CHECK(first.rename("a", "c").error().code() == errc::writer_closed); // NOLINT(bugprone-use-after-move)
    CHECK(first.remove("a").error().code() == errc::writer_closed);
    CHECK(first.replace("b", {1}, std::vector<float>{1}).error().code() == errc::writer_closed);
    CHECK(first.attributes("a").error().code() == errc::writer_closed);
    CHECK(first.attributes("a", {}).error().code() == errc::writer_closed);
    CHECK(first.remove_attributes("a").error().code() == errc::writer_closed);
    const ztensor::attributes none = first.file_attributes();
    CHECK(none.values().empty());
    CHECK(first.file_attributes({}).error().code() == errc::writer_closed);
    CHECK(first.remove_file_attributes().error().code() == errc::writer_closed);
    CHECK(first.finish().error().code() == errc::writer_closed);
    CHECK(second.rename("a", "c").has_value());
}
