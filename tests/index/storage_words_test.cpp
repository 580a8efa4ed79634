// SPDX-License-Identifier: MIT
//
// Words of storage types are found by the number that their characters make: no other text makes that number.
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/detail/index/words.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace {

namespace detail = ztensor::detail;

/// What is nearly the word, and is not.
void check_neighbours_of(std::string_view word, const detail::storage_words& words) {
    const std::string exact(word);
    std::string swapped = exact;
    std::swap(swapped.front(), swapped.back());
    for (const std::string& other : {exact + '\0', exact + std::string(2, '\0'), '\0' + exact, exact + ' ',
                                     exact.substr(0, exact.size() - 1), swapped}) {
        CAPTURE(other);
        CHECK(!detail::find_storage(other, words));
    }
}

} // namespace

TEST_CASE("each storage type is found by its words, and by nothing else") {
    for (const ztensor::dtype_facts& row : ztensor::dtypes) {
        CAPTURE(row.name);
        CHECK(detail::find_storage(row.name, detail::storage_names) == row.id);
        CHECK(detail::find_storage(row.long_name, detail::long_storage_names) == row.id);
        check_neighbours_of(row.name, detail::storage_names);
        check_neighbours_of(row.long_name, detail::long_storage_names);
    }
    CHECK(!detail::find_storage("", detail::storage_names));
    CHECK(!detail::find_storage("f32f32f32", detail::storage_names));
    CHECK(!detail::find_storage(std::string(8, '\0'), detail::storage_names));
}

namespace {

namespace written_words {

using support::sample;
using ztensor::format_version;

/// What becomes of the one object of a file in another version: the type and storage type, or the error.
std::string words_in(format_version version, const sample& file) {
    const ztensor::reader from = support::opened(file.file());
    ztensor::writer to = support::to_memory(version);
    const auto copied = ztensor::copy(from, to);
    if (!copied) {
        return support::outcome(copied);
    }
    const ztensor::reader made = support::opened(support::finished(to));
    const ztensor::component_view data = support::data_of(made);
    return std::string(data.dtype().text()) + " " + std::string(data.type().text());
}

} // namespace written_words

} // namespace

TEST_CASE("words for types are those of the version that is written, or it has none") {
    using namespace written_words;
    sample flags, unknown, unknown_of_0_1(ztensor::version::v0_1);
    flags.dtype("bool").shape({2}).blob(support::bytes("\1\0", 2)).component("type", support::cbor::text("flag"));
    CHECK(words_in(format_version::v1_2, flags) == "bool flag");
    if (ztensor::can_compute(ztensor::digest::xxh3)) { // else nothing is written in version 2
        CHECK(words_in(format_version::v2, flags) == "u8 flag");
        CHECK(words_in(format_version::v2, unknown.dtype("fixed32")) == "not_expressible");
    }
    CHECK(words_in(format_version::v1_2, unknown.dtype("fixed32")) == "fixed32 ");
    CHECK(words_in(format_version::v0_1, unknown_of_0_1.dtype("fixed32")) == "fixed32 ");
}

TEST_CASE("shards are numbered with five digits, and with more where five don't suffice") {
    using ztensor::detail::shard_name;
    CHECK(shard_name(1) == "00001");
    CHECK(shard_name(99999) == "99999");
    CHECK(shard_name(100000) == "100000");
}
