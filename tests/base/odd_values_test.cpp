// SPDX-License-Identifier: MIT
//
// What is seldom asked of small values: errors that change places, shapes that are none, paths and options in other
// words.
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/detail/base/text.hpp>
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

TEST_CASE("paths become UTF-16 as Windows has it, with U+FFFD for each byte that is no UTF-8") {
    using ztensor::detail::utf16_of;
    struct known {
        std::string_view utf8;
        std::u16string_view utf16;
    };
    for (const known& each : {
             known{"", u""}, known{"model.zt", u"model.zt"}, known{"\xc3\xa4\xe2\x82\xac", u"\u00e4\u20ac"},
             known{"\xef\xbf\xbf\xf0\x90\x80\x80", u"\uffff\xd800\xdc00"}, known{"\xf0\x9f\x98\x80!", u"\U0001f600!"},
             known{"\xf4\x8f\xbf\xbf", u"\U0010ffff"}, known{"a\x80z", u"a\ufffdz"},
             known{"\xed\xa0\x80", u"\ufffd\ufffd\ufffd"}, // a surrogate
             known{"\xe2\x82", u"\ufffd\ufffd"},           // cut off
             known{"\xc0\xaf", u"\ufffd\ufffd"},           // overlong
         }) {
        CHECK((utf16_of<std::u16string>(each.utf8) == each.utf16));
    }
}
