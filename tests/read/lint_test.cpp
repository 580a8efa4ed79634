// SPDX-License-Identifier: MIT
//
// What is odd about valid files: found by lint, refused by strict reading, and by neither in what the library writes.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/lint.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace linting {

using support::bytes;
using support::sample;
using ztensor::lint_finding;
using ztensor::lint_kind;
using ztensor::read_options;
namespace cbor = support::cbor;

/// The kinds found, but missing digests, which most samples lack.
std::vector<std::string> kinds_in(const bytes& file) {
    std::vector<std::string> kinds;
    for (const lint_finding& each : ztensor::lint(support::opened(file)).value()) {
        if (each.kind != lint_kind::missing_digest) {
            kinds.emplace_back(name(each.kind));
        }
    }
    return kinds;
}

std::string strictly(const bytes& file) {
    REQUIRE(support::outcome(support::open_bytes(file)) == "ok"); // which is valid
    return support::outcome(support::open_bytes(file, read_options().strict()));
}

using kinds = std::vector<std::string>;

/// A 1.2 file of dense u8 objects, one for each (name, blob).
bytes file_of(const std::vector<std::pair<std::string, bytes>>& objects, const bytes& first_padding = bytes(56, '\0')) {
    cbor::map all;
    bytes out = bytes(support::magic_1) + first_padding;
    for (const auto& [name, blob] : objects) {
        out.resize((out.size() + 63) / 64 * 64);
        all.set(name, cbor::map{{"shape", cbor::numbers({blob.size()})},
                                {"format", cbor::text("dense")},
                                {"components", cbor::map{{"data", cbor::map{{"dtype", cbor::text("u8")},
                                                                            {"offset", cbor::number(out.size())},
                                                                            {"length", cbor::number(blob.size())}}}}}});
        out += blob;
    }
    const bytes index = cbor::map{{"version", cbor::text("1.2.0")}, {"objects", all}};
    return out + index + support::little_endian(index.size(), 8) + bytes(support::magic_1);
}

} // namespace linting

} // namespace

TEST_CASE("what the library writes passes strict reading, in every version") {
    using ztensor::format_version;
    for (const format_version version : {format_version::v0_1, format_version::v1_1, format_version::v1_2}) {
        for (const std::uint64_t alignment : {64U, 4096U}) {
            const auto options = ztensor::write_options().version(version).alignment_bytes(alignment);
            const auto content = support::written(options, [&](ztensor::writer& to) {
                const std::vector<float> floats(100, 1.5F);
                const ztensor::store checked = ztensor::store().digest(ztensor::digest::crc32c);
                to.add("b", {100}, floats, checked).value();
                to.add("a", {10, 10}, floats, ztensor::store(checked).zstd()).value();
                const std::vector<float> two = {5, 7};
                const std::vector<std::uint64_t> columns = {0, 2}, pointers = {0, 1, 2};
                to.add_csr("c", {2, 3}, two, columns, pointers, checked).value();
                if (version != format_version::v0_1) {
                    to.attributes(ztensor::attributes().set("z", 1).set("a", 0.1)).value();
                }
            });
            const bool is_0_1 = version == format_version::v0_1;
            CAPTURE(is_0_1, alignment);
            const auto file =
                ztensor::reader::from_bytes(ztensor::bytes_view(content), ztensor::read_options().strict());
            REQUIRE(support::outcome(file) == "ok");
            CHECK(ztensor::lint(*file).value().empty());
            CHECK(support::outcome(ztensor::csr_view<float>::from(*file->find("c"))) == "ok");
        }
    }
}

TEST_CASE("an index in another form than writers give it is found and refused") {
    using namespace linting;
    const bytes as_usual = file_of({{"w", bytes(64, 'x')}});
    CHECK(strictly(as_usual) == "ok");
    CHECK(kinds_in(as_usual).empty());
    sample long_number, indefinite, chunked, in_attribute;
    long_number.component("length", cbor::head_of_size(cbor::major::unsigned_integer, 8, 4));
    indefinite.object("shape", cbor::indefinite_array({cbor::number(2)}));
    chunked.object("format", cbor::chunked({"den", "se"}));
    in_attribute.root("attributes", cbor::map{{"k", cbor::head_of_size(cbor::major::text, 1, 1) + "x"}});
    for (const sample& each : {long_number, indefinite, chunked, in_attribute}) {
        CHECK(kinds_in(each.file()) == kinds{"non_canonical_cbor"});
        CHECK(strictly(each.file()) == "strict_encoding");
    }
    // A float is no integer: whoever wrote it in 64 bits may have meant to.
    sample wide_float;
    wide_float.root("attributes", cbor::map{{"k", cbor::double_one}});
    CHECK(strictly(wide_float.file()) == "ok");
    sample narrow_float, byte_string; // a float of whose 64 bits none of the first 32 is set, and bytes like heads
    narrow_float.root("attributes", cbor::map{{"k", bytes("\xfb\0\0\0\0\0\0\0\1", 9)}});
    CHECK(strictly(narrow_float.file()) == "ok");
    byte_string.root("attributes", cbor::map{{"k", cbor::byte_string(bytes("\x18\x01\x9f", 3))}});
    CHECK(strictly(byte_string.file()) == "ok");
    // Tensors of 0.1 are maps of indefinite length, what is in them is not.
    sample first(ztensor::version::v0_1);
    CHECK(strictly(first.file()) == "ok");
    sample all(ztensor::version::v0_1);
    CHECK(strictly(all.objects(cbor::indefinite_array({first.encoded_object()})).file()) == "strict_encoding");
    first.object_map().add(cbor::text("custom"), cbor::indefinite_array({}));
    CHECK(strictly(first.file()) == "strict_encoding");
}

TEST_CASE("names that are not sorted are found and refused") {
    using namespace linting;
    const bytes objects = file_of({{"b", bytes(64, 'x')}, {"a", bytes(64, 'y')}});
    CHECK(kinds_in(objects) == kinds{"unsorted_names"});
    CHECK(strictly(objects) == "strict_order");
    sample attributes;
    attributes.root("attributes", cbor::map{{"b", cbor::null}, {"a", cbor::null}});
    CHECK(kinds_in(attributes.file()) == kinds{"unsorted_names"});
    CHECK(strictly(attributes.file()) == "strict_order");
    sample of_object;
    of_object.object("attributes", cbor::map{{"a", cbor::null}, {"b", cbor::null}});
    CHECK(strictly(of_object.file()) == "ok");
    of_object.object("attributes", cbor::map{{"b", cbor::null}, {"a", cbor::null}});
    CHECK(kinds_in(of_object.file()) == kinds{"unsorted_names"});
    CHECK(strictly(of_object.file()) == "strict_order");
    const bytes parts =
        sample().stored_parts("own", {2}, {{"b", "u8", bytes(64, 'x')}, {"a", "u8", bytes(64, 'y')}}, false).file();
    CHECK(kinds_in(parts) == kinds{"unsorted_names"});
    CHECK(strictly(parts) == "strict_order");
}

TEST_CASE("bytes that belong to no blob are found and refused, and so is padding that is not zero") {
    using namespace linting;
    const bytes hidden = file_of({{"w", bytes(64, 'x')}}, bytes(56 + 64, '\0')); // an offset of 128 aligns to 128
    CHECK(strictly(hidden) == "ok");
    const bytes more_hidden = file_of({{"w", bytes(64, 'x')}}, bytes(56 + 128, '\0'));
    CHECK(kinds_in(more_hidden) == kinds{"unreferenced_bytes"});
    CHECK(strictly(more_hidden) == "strict_gap");
    for (const std::size_t position : {std::size_t{8}, std::size_t{63}, std::size_t{64 + 10}, std::size_t{127}}) {
        bytes dirty = file_of({{"v", bytes(10, 'x')}, {"w", bytes(64, 'x')}});
        dirty[position] = '\1';
        CAPTURE(position);
        CHECK(kinds_in(dirty) == kinds{"nonzero_padding"});
        CHECK(strictly(dirty) == "strict_gap");
        const auto found = ztensor::lint(support::opened(dirty)).value();
        CHECK(found.front().sentence.find("byte " + std::to_string(position) + " ") != std::string::npos);
    }
    // Two containers glued together: all of the first is unreferenced.
    const bytes first = file_of({{"a", bytes(4096, 'x')}});
    bytes glued = file_of({{"w", bytes(64, 'x')}}, bytes(56, '\0') + bytes(64 * 67, 'A'));
    CHECK(strictly(glued) == "strict_gap");
}

TEST_CASE("of version 2 what lies between blobs behind the index is looked at, too") {
    using namespace linting;
    const auto options = ztensor::write_options().version(ztensor::format_version::v2).alignment_bytes(8192);
    const bytes file = support::as_string(support::written(options, [](ztensor::writer& to) {
        for (const char* const name : {"a", "b", "c"}) {
            to.add(name, {1}, std::vector<float>{static_cast<float>(*name)}).value();
        }
    }));
    const ztensor::reader was = support::opened(file);
    const auto place = [&](const char* name) {
        return static_cast<std::size_t>(was.find(name).value().data().value().offset());
    };
    constexpr std::size_t footer_bytes = 40;
    const bytes index = file.substr(file.size() - footer_bytes - was.manifest_bytes(), was.manifest_bytes());
    const std::size_t moved_to = place("a") + 4096;
    REQUIRE(moved_to + index.size() <= place("b"));
    for (const std::size_t odd : {std::size_t{0}, place("b") + 100, place("c") - 1}) {
        bytes moved = file.substr(0, place("c") + sizeof(float));
        moved.replace(moved_to, index.size(), index);
        moved[odd] = odd == 0 ? moved[odd] : '\1';
        moved += support::little_endian(moved_to, 8) + file.substr(file.size() - footer_bytes + 8);
        CAPTURE(odd);
        CHECK(kinds_in(moved).size() == (odd == 0 ? 1U : 2U)); // the index is one
        CHECK(strictly(moved) == "strict_gap");
    }
}

TEST_CASE("components with the same bytes are found and refused") {
    using namespace linting;
    sample twice;
    twice.blobs({bytes(8, 'x')});
    twice.parts("own", {2}, {{"a", "u8", 64, 8}, {"b", "u8", 64, 8}});
    CHECK(kinds_in(twice.file()) == kinds{"shared_blob"});
    CHECK(strictly(twice.file()) == "strict_alias");
    const auto found = ztensor::lint(support::opened(twice.file())).value();
    CHECK(found.front().object == "w");
    CHECK(found.front().component == "b");
    sample empty; // two of nothing are at one place
    empty.blobs({bytes()});
    empty.parts("own", {0}, {{"a", "u8", 64, 0}, {"b", "u8", 64, 0}});
    CHECK(strictly(empty.file()) == "ok");
}

TEST_CASE("names that look alike are found") {
    using namespace linting;
    const auto found_in = [](const std::vector<std::string>& names) {
        std::vector<std::string> sorted = names;
        std::sort(sorted.begin(), sorted.end());
        std::vector<std::pair<std::string, bytes>> objects;
        for (const std::string& each : sorted) {
            objects.emplace_back(each, bytes(64, 'x'));
        }
        return kinds_in(file_of(objects)).size();
    };
    CHECK(found_in({"weight", "weight.1", "bias", "\xe9\x87\x8d", "\xc3\xbc"}) == 0);
    CHECK(found_in({"weight", "Weight"}) == 1);
    CHECK(found_in({"weight", "weight "}) == 2); // by itself, and with the other
    CHECK(found_in({" weight"}) == 1);
    CHECK(found_in({"weight", "w\xd0\xb5ight"}) == 1); // a Cyrillic e
    CHECK(found_in({"we\xe2\x80\x8bight"}) == 1);      // a space of no width
    CHECK(found_in({"weight", "we\xe2\x80\x8bight"}) == 2);
    CHECK(found_in({"u\xcc\x88"}) == 1); // u and a diaeresis
    CHECK(found_in({"a\nb"}) == 1);
    CHECK(found_in({" a\nb\n"}) == 1);
    CHECK(found_in({"weight", "\xef\xbd\x97\xef\xbd\x85ight"}) == 1); // of full width
}

TEST_CASE("every character that no eye sees, and every space at an end, makes a name odd") {
    using namespace linting;
    const auto is_odd = [](const std::string& name) {
        return kinds_in(file_of({{name, "1"}})) == kinds{"lookalike_names"};
    };
    for (const char* const name :
         {"a\x1f",    "a\x7f",        "\xe2\x80\x8b",  "a\xe2\x80\x8f", "\xef\xbb\xbf", "\xe2\x80\xaa", "\xe2\x80\xae",
          "\xc2\xad", "\xe2\x81\xa0", "\xe2\x81\xa9",  "e\xcc\x80",     "e\xcd\xaf",    " a",           "a ",
          " ",        "\xc2\xa0",     "a\xe3\x80\x80", "a\xe2\x80\x80", "\xe2\x80\x8a", "a\xe2\x80\xaf"}) {
        CAPTURE(name);
        CHECK(is_odd(name));
    }
    for (const char* const name :
         {"a b", "a\xc2\xa0z", "a\xe3\x80\x80z", "a\xe2\x80\xafz", "~", "\xe2\x80\x90", "\xe2\x80\xa9", "\xe2\x80\xb0",
          "\xe2\x81\x9f", "\xe2\x81\xaa", "\xcb\xbf", "\xcd\xb0", "\xc2\xae", "\xef\xbb\xbe", "\xef\xbd\x9f"}) {
        CAPTURE(name);
        CHECK_FALSE(is_odd(name));
    }
    CHECK(kinds_in(file_of({{"~", "1"}, {"\xef\xbd\x9e", "2"}})) == kinds{"lookalike_names"}); // full width
    CHECK(kinds_in(file_of({{"\x7f", "1"}, {"\xef\xbd\x9f", "2"}})) == kinds{"lookalike_names"});
}

TEST_CASE("missing digests are counted") {
    using namespace linting;
    const auto found = ztensor::lint(support::opened(file_of({{"a", bytes(64, 'x')}, {"b", bytes(64, 'y')}}))).value();
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == lint_kind::missing_digest);
    CHECK(found[0].object == "a");
    CHECK(found[0].component == "data");
    CHECK(found[0].sentence.find("2 of 2") == 0);
}

TEST_CASE("the end record of a ZIP archive is found wherever its comment may hide the rest") {
    using namespace linting;
    const bytes record("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
    const auto with_comment = [&](std::size_t behind) {
        bytes blob = record + support::little_endian(0, 2) + bytes(behind, 'x');
        const std::size_t rest = file_of({{"w", blob}}).size() - 64 - 22;
        if (rest <= 0xffff) {
            blob.replace(20, 2, support::little_endian(rest, 2));
        }
        return file_of({{"w", blob}});
    };
    CHECK(kinds_in(with_comment(0)) == kinds{"zip_end_record"});
    CHECK(kinds_in(with_comment(65000)) == kinds{"zip_end_record"});
    const bytes says_too_much = record + support::little_endian(0xffff, 2); // of which so much does not follow
    CHECK(kinds_in(file_of({{"w", says_too_much}})).empty());
    CHECK(kinds_in(with_comment(70000)).empty()); // farther from the end than any comment reaches
}

TEST_CASE("indices that do not rise are refused by strict reading when they are read") {
    const auto strictly = ztensor::read_options().strict();
    const auto csr = [&](const std::vector<std::uint64_t>& columns) {
        const auto content = support::written(ztensor::write_options(), [&](ztensor::writer& to) {
            const std::vector<float> values(3, 1.0F);
            const std::vector<std::uint64_t> pointers = {0, 2, 3};
            to.add_csr("w", {2, 3}, values, columns, pointers).value();
        });
        const auto file = ztensor::reader::from_bytes(ztensor::bytes_view(content), strictly).value();
        CHECK(support::outcome(ztensor::csr_view<float>::from_rows(*file.find("w"), 1, 2)) == "ok");
        return support::outcome(ztensor::csr_view<float>::from(*file.find("w")));
    };
    CHECK(csr({0, 2, 1}) == "ok");
    CHECK(csr({2, 0, 1}) == "strict_order");
    CHECK(csr({1, 1, 1}) == "strict_order");
    const auto coo = [&](const std::vector<std::uint64_t>& coords) {
        const auto content = support::written(ztensor::write_options(), [&](ztensor::writer& to) {
            const std::vector<float> values(2, 1.0F);
            to.add_coo("w", {2, 3}, values, coords).value();
        });
        const auto file = ztensor::reader::from_bytes(ztensor::bytes_view(content), strictly).value();
        return support::outcome(ztensor::coo_view<float, std::int32_t>::from(*file.find("w")));
    };
    CHECK(coo({0, 1, 2, 0}) == "ok");
    CHECK(coo({0, 0, 1, 2}) == "ok");
    CHECK(coo({1, 0, 0, 2}) == "strict_order");
    CHECK(coo({0, 0, 1, 1}) == "strict_order");
}

TEST_CASE("strict reading can be switched off again, and golden files can be linted") {
    CHECK(support::outcome(support::open_bytes(linting::file_of({{"b", "x"}, {"a", "y"}}),
                                               ztensor::read_options().strict().strict(false))) == "ok");
    for (const char* const name : {"v0.1-dense.zt", "v1.0-dense.zt", "v1.1-digests.zt", "s1.2-cbor-forms.zt",
                                   "v1.2-no-objects.zt", "v0.1-no-tensors.zt", "v1.2-zstd.zt", "s0.1-no-index.zt"}) {
        CAPTURE(name);
        CHECK(support::outcome(ztensor::lint(ztensor::reader::open(support::golden_path(name)).value())) == "ok");
        CHECK(support::outcome(ztensor::reader::open(support::golden_path(name), ztensor::read_options().strict())) ==
              (std::string(name) == "s1.2-cbor-forms.zt" ? "strict_encoding" : "ok"));
    }
}

TEST_CASE("of a data shard nothing is linted: its root says what is in it") {
    const auto path = "tests/corpus/v2/valid/container-a-data-shard.zt";
    const auto file = ztensor::reader::open(path, ztensor::read_options().strict()).value();
    CHECK(file.is_data_shard());
    CHECK(ztensor::lint(file).value().empty());
}
