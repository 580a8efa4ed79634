// SPDX-License-Identifier: MIT
//
// Every file of tests/corpus/foreign copied into a .zt file: each component holds the same elements there, every object
// its shape, format and attributes, and the file its own attributes.
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <ztensor/attributes.hpp>
#include <ztensor/copy.hpp>
#include <ztensor/import.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// The files that packages wrote: those in the folders of formats.
std::vector<std::filesystem::path> files_of_packages() {
    std::vector<std::filesystem::path> found;
    for (const auto& folder : std::filesystem::directory_iterator("tests/corpus/foreign")) {
        if (!folder.is_directory()) {
            continue;
        }
        for (const auto& each : std::filesystem::directory_iterator(folder)) {
            const std::string ending = each.path().extension().string();
            const std::string format = "." + folder.path().filename().string();
            if (each.is_regular_file() && ending == format) {
                found.push_back(each.path());
            }
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

void check_same_attributes(ztensor::attributes_view a, ztensor::attributes_view b) {
    REQUIRE(a.size() == b.size());
    for (const ztensor::attribute& each : a) {
        const auto there = b.cbor(each.key);
        CAPTURE(std::string(each.key));
        REQUIRE(there);
        CHECK(std::equal(each.cbor.begin(), each.cbor.end(), there->begin(), there->end()));
    }
}

} // namespace

TEST_CASE("whatever another package wrote is the same in a .zt file that it is copied to") {
    std::size_t count = 0;
    for (const std::filesystem::path& path : files_of_packages()) {
        CAPTURE(path.string());
        const auto from = ztensor::open_any(path);
        REQUIRE(support::outcome(from) == "ok");
        ztensor::writer to = ztensor::writer::to_memory().value();
        const auto name_in_copy = [](std::string_view name) { // .zt has no place for an empty one
            return name.empty() ? std::string("unnamed") : std::string(name);
        };
        REQUIRE(support::outcome(ztensor::copy(*from, to, ztensor::copy_options().rename(name_in_copy))) == "ok");
        REQUIRE(support::outcome(to.finish()) == "ok");
        const ztensor::reader copied = ztensor::reader::from_bytes(to.take_bytes()).value();
        CHECK(copied.verify().value().ok());
        REQUIRE(copied.size() == from->size());
        check_same_attributes(from->attributes(), copied.attributes());
        for (const ztensor::object_view object : *from) {
            CAPTURE(std::string(object.name()));
            const ztensor::object_view there = copied.find(name_in_copy(object.name())).value();
            CHECK(there.shape() == object.shape());
            CHECK(there.format() == object.format());
            check_same_attributes(object.attributes(), there.attributes());
            REQUIRE(there.size() == object.size());
            for (const ztensor::component_view component : object) {
                const ztensor::component_view same = there.component(component.role()).value();
                CHECK(same.dtype().text() == component.dtype().text());
                CHECK(same.type() == component.type());
                const auto expected = component.read_little_endian();
                CHECK(same.read_little_endian().value() == expected.value());
            }
        }
        ++count;
    }
    CHECK(count >= 20);
}
