// SPDX-License-Identifier: MIT
//
// What is seldom asked of small values: errors that change places, shapes that are none, paths and options in other
// words.
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/error.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/writer.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

TEST_CASE("errors that are expected of nobody are made in place, and change places") {
    using ztensor::errc;
    ztensor::unexpected first(errc::busy, "one is there"), second(errc::io_error, "a disk");
    first.swap(second);
    CHECK(first.error().code() == errc::io_error);
    swap(first, second);
    CHECK(first.error().code() == errc::busy);
    CHECK(second.error().code() == errc::io_error);
}

TEST_CASE("shapes that are none for other reasons are not equal") {
    const std::vector<std::int64_t> ones(65, 1);
    const ztensor::shape negative = {-1}, too_many = ones;
    CHECK(negative == negative);
    CHECK(negative != too_many);
    for (const ztensor::shape& right : {ztensor::shape(), ztensor::shape{0}, ztensor::shape{1}}) {
        CHECK(negative != right);
        CHECK(too_many != right);
    }
}

TEST_CASE("a path may be a view of text, and a file may be wanted on the disk by a yes") {
    const support::temp_dir directory;
    const std::string path = (directory / "f.zt").string();
    ztensor::writer to = ztensor::writer::create(std::string_view(path), ztensor::write_options().sync(true)).value();
    to.finish().value();
    CHECK(ztensor::reader::open(std::string_view(path)).value().empty());
}
