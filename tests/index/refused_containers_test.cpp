// SPDX-License-Identifier: MIT
//
// Rules of the container and of CBOR that a file can break. Beside each rule stands the nearest file that keeps it.
#include "index/rules.hpp"
#include "support/catch.hpp"
#include "support/faulty_os.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/io.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <sys/stat.h>
#endif

namespace {

using rules::accepted;
using rules::attribute_key;
using rules::attribute_value;
using rules::both;
using rules::check_files;
using rules::check_refusal;
using rules::check_rows;
using rules::component;
using rules::generations_in;
using rules::in_0_1;
using rules::in_1_0;
using rules::in_1_2;
using rules::in_all;
using rules::in_all_but_1_0;
using rules::named;
using rules::nested;
using rules::object;
using rules::pair_in_component;
using rules::pair_in_object;
using rules::pair_in_root;
using rules::root;
using rules::since_1_0;
using rules::since_1_1;
using rules::two_to_32;
using support::bytes;
using support::largest;
using support::opened;
using support::opening;
using support::sample;
using support::temp_dir;
using support::two_to_63;
using ztensor::errc;
using ztensor::read_options;
using ztensor::reader;
using ztensor::result;
using ztensor::version;
namespace cbor = support::cbor;
namespace zstd = support::zstd;

using namespace std::string_literals;

} // namespace

// ---- A. the container

TEST_CASE("a file that is not whole, or no .zt file, is refused by its ends") {
    const bytes magic(support::magic_1);
    const bytes magic_0_1(support::magic_0_1);
    const bytes good = sample().file();
    const bytes good_1_0 = sample(version::v1_0).file();
    const bytes good_0_1 = sample(version::v0_1).file();
    const auto with_size = [&](std::uint64_t size) {
        return good.substr(0, good.size() - 16) + support::little_endian(size, 8) + magic;
    };
    const auto with_size_0_1 = [&](std::uint64_t size) {
        return good_0_1.substr(0, good_0_1.size() - 8) + support::little_endian(size, 8);
    };
    const auto with_size_1_0 = [&](std::uint64_t size) {
        return good_1_0.substr(0, good_1_0.size() - 8) + support::little_endian(size, 8);
    };
    const bytes smallest_index = cbor::map{{"version", cbor::text("1.2.0")}, {"objects", cbor::map()}};
    check_files({
        {"A2: an empty file", "", errc::file_too_small},
        {"A2: the start of a magic", "ZTEN1", errc::truncated},
        {"A2: the start of the magic of 0.1", "ZTEN000", errc::truncated},
        {"A2: a magic and little else", magic + "\1\0\0\0"s, errc::truncated},
        {"A3: a magic that ends in another", magic + magic, errc::file_too_small},
        {"A3: magics that overlap the size of the manifest", magic + "\1\0\0\0"s + magic, errc::file_too_small},
        {"A3: magics around nothing but a size", magic + support::little_endian(1, 8) + magic, errc::file_too_small},
        {"A3: one byte of manifest is enough to look at", support::file_1("\xa0"), errc::schema_missing},
        {"A4: another magic", "XTEN1000" + good.substr(8), errc::bad_magic},
        {"A4: a magic in lower case", "zten1000" + good.substr(8), errc::bad_magic},
        {"A5: zTensor 2", "\x89ZT2\r\n\x1a\n" + good.substr(8), errc::truncated},
        {"A5: an unknown generation of zTensor", "ZTEN2000" + good.substr(8), errc::unsupported_container},
        {"A5: an unknown generation before 1.0", "ZTEN0002" + good_0_1.substr(8), errc::unsupported_container},
        {"A6: no magic at the end", good.substr(0, good.size() - 8), errc::truncated},
        {"A6: no footer", good.substr(0, good.size() - 16), errc::truncated},
        {"A6: one byte cut off", good.substr(0, good.size() - 1), errc::truncated},
        {"A6: one byte appended", good + "\0"s, errc::truncated},
        {"A6: another magic at the end", good.substr(0, good.size() - 8) + "ZTEN0001", errc::truncated},
        {"A6: 1.0 with one byte cut off", good_1_0.substr(0, good_1_0.size() - 1), errc::truncated},
        {"A6: 1.0 with one byte appended", good_1_0 + "\0"s, errc::truncated},
        {"A7: a manifest of 0 bytes", with_size(0), errc::manifest_empty},
        {"A7: 0.1 with data and a manifest of 0 bytes", with_size_0_1(0), errc::manifest_empty},
        {"A7: 1.0 with a manifest of 0 bytes", with_size_1_0(0), errc::truncated},
        {"A7: 0.1 with nothing at all", magic_0_1 + support::little_endian(0, 8), accepted},
        {"A7: 0.1 without tensors", support::file_0_1("\x80"), accepted},
        {"A9: the manifest fills all there is", support::file_1(smallest_index), accepted},
        {"A9: one byte more than the manifest can have", with_size(good.size() - 23), errc::manifest_out_of_bounds},
        {"A9: 0.1, one byte more", with_size_0_1(good_0_1.size() - 15), errc::manifest_out_of_bounds},
        {"A9: 1.0, one byte more", with_size_1_0(good_1_0.size() - 15), errc::truncated},
        {"A10: a manifest of 2^32 bytes", with_size(two_to_32), errc::manifest_out_of_bounds},
        {"A10: a manifest of 2^63 bytes", with_size(two_to_63), errc::manifest_out_of_bounds},
        {"A10: a manifest of 2^64 - 1 bytes", with_size(largest), errc::manifest_out_of_bounds},
        {"A10: 0.1, a manifest of 2^64 - 1 bytes", with_size_0_1(largest), errc::manifest_out_of_bounds},
        {"A10: 0.1, a manifest of 2^64 - 8 bytes", with_size_0_1(largest - 7), errc::manifest_out_of_bounds},
        {"the good files", good, accepted},
        {"the good files", good_1_0, accepted},
        {"the good files", good_0_1, accepted},
    });
}

TEST_CASE("A1: what is no regular file is refused") {
    const temp_dir directory;
    CHECK(reader::open(directory / "nothing").error().code() == errc::file_not_found);
    CHECK(reader::open(directory.path()).error().code() == errc::not_regular_file);
#if !defined(_WIN32) // see os.file
    REQUIRE(::mkfifo((directory / "fifo").c_str(), 0600) == 0);
    CHECK(reader::open(directory / "fifo").error().code() == errc::not_regular_file);
    CHECK(reader::open("/dev/null").error().code() == errc::not_regular_file);
#endif
}

TEST_CASE("A8: a manifest above the limit is refused, one of exactly the limit is read") {
    for (const ztensor::version from : generations_in(in_all)) {
        CAPTURE(name(from));
        const sample file(from);
        const temp_dir directory;
        const std::uint64_t size = file.index().size();
        for (const opening& opened : open_every_way(file.file(), directory, read_options().max_manifest_bytes(size))) {
            CHECK(opened.file.has_value());
        }
        for (const opening& opened :
             open_every_way(file.file(), directory, read_options().max_manifest_bytes(size - 1))) {
            check_refusal(opened, errc::manifest_too_large, "", from, file.file().size());
        }
    }
}

TEST_CASE("A8, A11: a manifest of more than 1 GiB is refused before any of it is read, whatever the limit says") {
    const std::uint64_t too_large = (std::uint64_t{1} << 30) + 1;
    const bytes size = support::little_endian(too_large, 8);
    const bytes magic(support::magic_1);
    const std::pair<bytes, bytes> ends[] = {{magic, size + magic}, {magic, size}, {bytes(support::magic_0_1), size}};
    for (const auto& [head, tail] : ends) {
        CAPTURE(head, tail.size());
        const auto source = std::make_shared<support::source_with_holes>(two_to_63, head, tail);
        const result<reader> opened = reader::from_source(source, read_options().max_manifest_bytes(largest));
        REQUIRE(!opened);
        CHECK(opened.error().code() == errc::manifest_too_large);
        CHECK(source->largest_read() <= 64);
    }
}

TEST_CASE("A14: a file that became shorter after it was opened is an error, not a crash") {
    const temp_dir directory;
    sample raw;
    raw.component("digest", cbor::text("crc32c:00000000"));
    sample compressed = raw;
    compressed.zstd_blob(zstd::frame(zstd::raw_block(bytes(8, 'x'))), 8);
    for (const sample& file : {raw, compressed}) {
        std::vector<opening> all = open_every_way(file.file(), directory);
        if (!support::cuts_mapped_files) {
            all.erase(std::remove_if(all.begin(), all.end(),
                                     [](const opening& each) { return each.file.value().is_mapped(); }),
                      all.end());
        }
        for (const opening& opened : all) {
            if (!opened.is_path) {
                continue;
            }
            CAPTURE(opened.way);
            REQUIRE(opened.file);
            const std::uint64_t size = opened.file->file_bytes();
            std::filesystem::resize_file(directory / "file.zt", 64);
            CHECK(opened.file->read<float>("w").error().code() == errc::file_changed);
            CHECK(opened.file->verify().error().code() == errc::file_changed);
            std::filesystem::resize_file(directory / "file.zt", size); // for the next one
        }
    }
}

TEST_CASE("A16: where the system fails, its error is passed on") {
    const temp_dir directory;
    support::write_file(directory / "file.zt", sample().file());
    support::faulty_os os;
    os.failing_name = "map";
    CHECK(
        ztensor::detail::open_source(directory / "file.zt", ztensor::read_options().mode(ztensor::io_mode::mapped), os)
            .error()
            .code() == errc::unmappable);
    os.failing_name = "read";
    const auto source = ztensor::detail::open_source(directory / "file.zt",
                                                     ztensor::read_options().mode(ztensor::io_mode::positional), os)
                            .value();
    const result<reader> opened = reader::from_source(source);
    REQUIRE(!opened);
    CHECK(opened.error().code() == errc::io_error);
    CHECK(opened.error().os_error() == std::errc::io_error);
}

// ---- B. CBOR

TEST_CASE("B1, B2, B19: 64 levels of arrays, maps and tags are read, 65 are refused") {
    struct nesting {
        const char* what;
        std::string_view start, end;
    };
    constexpr nesting all[] = {
        {"arrays", "\x81", ""},
        {"indefinite arrays", "\x9f", "\xff"},
        {"maps", "\xa1\x01", ""},
        {"indefinite maps", "\xbf\x01", "\xff"},
        {"tags", "\xc1", ""},
        {"long tags", "\xd9\xd9\xf7", ""},
        {"keys of maps", "\xa1", "\x01"},
    };
    for (const nesting& each : all) {
        const auto nest = [&](std::size_t levels) { return nested(levels, each.start, each.end); };
        const std::string what = each.what;
        check_rows({
            {what + " in an attribute, 64 in all", attribute_value(nest(62)), accepted},
            {what + " in an attribute, 65 in all", attribute_value(nest(63)), errc::cbor_depth, "", in_all_but_1_0},
            {what + " in an unknown field, 64 in all", root("x", nest(63)), accepted, "", since_1_0},
            {what + " in an unknown field, 65 in all", root("x", nest(64)), errc::cbor_depth, "", since_1_1},
            {what + " in a component, 64 in all", component("x", nest(59)), accepted, "", since_1_0},
            {what + " in a component, 65 in all", component("x", nest(60)), errc::cbor_depth, "w/data", since_1_1},
            {what + " in attributes of an object, 64 in all", object("attributes", cbor::map{{"k", nest(60)}}),
             accepted, "", since_1_0},
            {what + " in attributes of an object, 65 in all", object("attributes", cbor::map{{"k", nest(61)}}),
             errc::cbor_depth, "w", since_1_1},
        });
    }
    check_rows({
        {"tags, arrays and maps mixed, 64 in all", attribute_value(nested(20, "\x81\xc1\xa1\x01") + ""s), accepted},
        {"an empty array as the 65th level", attribute_value(nested(62, "\x81").substr(0, 62) + "\x80"),
         errc::cbor_depth, "", in_all_but_1_0},
    });
}

TEST_CASE("B3: strings inside strings are refused") {
    const bytes malformed[] = {
        support::repeated(100, "\x7f"),
        support::repeated(100, "\x5f"),
        "\x7f\x7f\xff\xff", // an indefinite chunk
        "\x5f\x5f\xff\xff",
        "\x7f\x41z\xff",     // bytes in text
        "\x5f\x61z\xff",     // text in bytes
        "\x7f\x01\xff",      // a number
        "\x7f\x81\x61z\xff", // an array
        "\x7f\xc1\x61z\xff", // a tag
    };
    check_rows({
        {"chunks of text", attribute_value(cbor::chunked({"a", "", "bc"})), accepted},
        {"text of no chunks", attribute_value("\x7f\xff"), accepted},
        {"chunks of bytes", attribute_value("\x5f\x41z\x40\x42zz\xff"), accepted},
    });
    for (const bytes& item : malformed) {
        check_rows({
            {"a string of other items", attribute_value(item), errc::cbor_malformed, "", in_all_but_1_0},
            {"1.0 without a well-formed index", attribute_value(item), errc::truncated, "", in_1_0},
            {"a string of other items, unknown", component("x", item), errc::cbor_malformed, "w/data", in_all_but_1_0},
        });
    }
}

TEST_CASE("B4 to B7: an item that claims more than there is left is refused") {
    for (const cbor::major kind : {cbor::major::byte_string, cbor::major::text, cbor::major::array, cbor::major::map}) {
        for (const std::uint64_t claim : {std::uint64_t{100'000}, two_to_32 + 1, two_to_63, two_to_63 + 1, largest}) {
            const bytes item = cbor::head_of_size(kind, claim, 8) + "\x01";
            const std::string rule = std::to_string(claim) + " of " + std::to_string(static_cast<unsigned>(kind));
            check_rows({
                {rule + " in an attribute", attribute_value(item), errc::cbor_truncated, "", in_all_but_1_0},
                {rule + " as shape", object("shape", item),
                 kind == cbor::major::array ? errc::cbor_truncated : errc::schema_type, "w", since_1_1},
                {rule + " as dtype", component("dtype", item),
                 kind == cbor::major::text ? errc::cbor_truncated : errc::schema_type, "w/data", since_1_1},
                {rule + " as components", [=](sample& file) { file.components(item); },
                 kind == cbor::major::map ? errc::cbor_truncated : errc::schema_type, "w", since_1_1},
                {rule + " as objects", [=](sample& file) { file.objects(item); },
                 kind == cbor::major::map ? errc::cbor_truncated : errc::schema_type, "", since_1_1},
            });
        }
    }
}

TEST_CASE("B4 to B7: an index that ends too early, at any byte, is refused") {
    for (const ztensor::version from : generations_in(in_all)) {
        CAPTURE(name(from));
        const sample file(from);
        const bytes index = file.index();
        for (std::size_t size = 1; size < index.size(); ++size) {
            CAPTURE(size);
            const result<reader> opened = support::open_bytes(file.file_of(index.substr(0, size)));
            REQUIRE(!opened);
            CHECK(opened.error().code() == (from == version::v1_0 ? errc::truncated : errc::cbor_truncated));
        }
    }
}

TEST_CASE("B8, B9: heads that CBOR does not have are refused") {
    std::vector<bytes> malformed = {
        "\x1f",         "\x3f",
        "\xdf\x01",                             // of indefinite length, where nothing has one
        "\xff",                                 // ends nothing
        "\xbf\x01\xff", "\xbf\x01\x02\x03\xff", // a key without its value
        "\x82\x01\xff",                         // a break in an array of two
    };
    for (unsigned kind = 0; kind < 8; ++kind) {
        for (unsigned info = 28; info <= 30; ++info) {
            malformed.emplace_back(1, static_cast<char>(kind << 5 | info));
        }
    }
    for (unsigned value = 0; value < 32; ++value) {
        malformed.push_back("\xf8" + bytes(1, static_cast<char>(value)));
    }
    for (const bytes& item : malformed) {
        const std::string rule = "the bytes " + ztensor::detail::quote(item);
        check_rows({
            {rule, attribute_value(item), errc::cbor_malformed, "", in_all_but_1_0},
            {rule, object("attributes", cbor::map{{"k", item}}), errc::cbor_malformed, "w", in_all_but_1_0},
            {rule, component("x", item), errc::cbor_malformed, "w/data", in_all_but_1_0},
        });
    }

    check_rows({
        {"the smallest simple value in two bytes", attribute_value("\xf8\x20"), accepted},
        {"the largest simple value", attribute_value("\xf8\xff"), accepted},
        {"a simple value in one byte", attribute_value("\xe0"), accepted},
        {"undefined", attribute_value(cbor::undefined), accepted},
        {"floats of each size", attribute_value(cbor::array({cbor::half_one, cbor::single_one, cbor::double_one})),
         accepted},
        {"an indefinite map of pairs", attribute_value("\xbf\x01\x02\x03\x04\xff"), accepted},
    });

    const bytes version = cbor::text("version");
    check_files({
        {"a root that ends after a key", support::file_1("\xbf" + version + "\xff"), errc::cbor_malformed},
        {"0.1, a tensor that ends after a key", support::file_0_1("\x81\xbf" + version + "\xff"), errc::cbor_malformed},
    });
}

TEST_CASE("B10: every well-formed way to write the same index is read") {
    for (const ztensor::version from : generations_in(in_all)) {
        CAPTURE(name(from));
        const sample plain(from);
        // All maps and arrays of indefinite length, all keys in chunks, all heads of eight bytes.
        const auto map = [](std::vector<std::pair<std::string_view, bytes>> pairs) {
            cbor::map out;
            for (const auto& [key, value] : pairs) {
                out.add(cbor::chunked({key.substr(0, 1), "", key.substr(1)}), value);
            }
            return out.indefinite();
        };
        const auto number = [](std::uint64_t value) {
            return cbor::head_of_size(cbor::major::unsigned_integer, value, 8);
        };
        const auto text = [](std::string_view value) {
            return cbor::head_of_size(cbor::major::text, value.size(), 8) + bytes(value);
        };
        const bytes shape = cbor::indefinite_array({number(1), number(2)});
        const bytes fields =
            map({{"digest", text("blake3:")}, {"length", number(8)}, {"offset", number(64)}, {"dtype", text("f32")}});
        const bytes object = map(
            {{"components",
              map({{"data", from == version::v1_0 ? map({{"length", number(8)}, {"offset", number(64)}}) : fields}})},
             {"unknown", cbor::tag(1, cbor::null)},
             {"dtype", from == version::v1_0 ? text("float32") : cbor::yes},
             {"format", cbor::chunked({"den", "se"})},
             {"shape", shape}});
        const bytes tensor_0_1 = map({{"encoding", cbor::chunked({"r", "aw"})},
                                      {"shape", shape},
                                      {"dtype", cbor::chunked({"float", "32"})},
                                      {"size", number(8)},
                                      {"offset", number(64)},
                                      {"custom", cbor::indefinite_array({})},
                                      {"name", cbor::chunked({"", "w"})}});
        const bytes version = from == version::v1_0 ? "1.0" : from == version::v1_1 ? "1.1.0" : "1.2.0";
        const bytes index = from == version::v0_1
                                ? cbor::indefinite_array({tensor_0_1})
                                : map({{from == version::v1_0 ? "tensors" : "objects", map({{"w", object}})},
                                       {"attributes", map({{"k", cbor::chunked({"v"})}})},
                                       {"version", cbor::chunked({version})}});
        const temp_dir directory;
        for (const opening& opened : open_every_way(plain.file_of(index), directory)) {
            CAPTURE(opened.way);
            REQUIRE((opened.file ? "" : opened.file.error().what()) == "");
            CHECK(opened.file->version() == from);
            CHECK(opened.file->find("w")->shape() == ztensor::shape{1, 2});
            CHECK(opened.file->read<float>("w").value() == std::vector<float>{1, 2});
            if (from == version::v0_1) {
                CHECK(opened.file->find("w")->attributes().contains("custom"));
            } else {
                CHECK(opened.file->attributes().text("k").value() == "v");
            }
        }
    }
}

TEST_CASE("B11: bytes after the root are refused") {
    for (const ztensor::version from : generations_in(in_all_but_1_0)) {
        const sample file(from);
        CAPTURE(name(from));
        for (const bytes& more : {"\0"s, cbor::null, cbor::stop, file.index()}) {
            const result<reader> opened = support::open_bytes(file.file_of(file.index() + more));
            REQUIRE(!opened);
            CHECK(opened.error().code() == errc::cbor_trailing);
        }
    }
    check_files({{"0.1 without tensors, and a byte more", support::file_0_1("\x80\x80"), errc::cbor_trailing}});
}

TEST_CASE("B12: a root of another type is refused") {
    const bytes index = sample().index();
    const bytes index_0_1 = sample(version::v0_1).index();
    check_files({
        {"a number", support::file_1(cbor::number(1)), errc::schema_type},
        {"text", support::file_1(cbor::text("version")), errc::schema_type},
        {"null", support::file_1(cbor::null), errc::schema_type},
        {"an array", support::file_1(cbor::array({index})), errc::schema_type},
        {"a map under the tag of CBOR itself", support::file_1(cbor::tag(55799, index)), errc::schema_type},
        {"1.0 in an array", support::file_1_0(cbor::array({sample(version::v1_0).index()})), errc::truncated},
        {"0.1 with a map", support::file_0_1(sample(version::v0_1).encoded_object()), errc::schema_type},
        {"0.1 with a number", support::file_0_1(cbor::number(1)), errc::schema_type},
        {"0.1 with an array of numbers", support::file_0_1(cbor::numbers({1})), errc::schema_type},
        {"0.1 under a tag", support::file_0_1(cbor::tag(55799, index_0_1)), errc::schema_type},
    });
}

TEST_CASE("B13: a key that is not text is refused in every map that has a meaning") {
    for (const bytes& key : {cbor::number(1), cbor::byte_string("x"), cbor::null, cbor::tag(1, cbor::text("x"))}) {
        check_rows({
            {"in the root", pair_in_root(key), errc::schema_key},
            {"in the map of objects",
             [=](sample& file) {
                 file.objects(cbor::map{{"w", file.encoded_object()}}.add(key, file.encoded_object()));
             },
             errc::schema_key, "", since_1_0},
            {"in an object", pair_in_object(key), errc::schema_key, "w"},
            {"in the map of components",
             [=](sample& file) {
                 file.components(cbor::map{{"data", file.component_map()}}.add(key, file.component_map()));
             },
             errc::schema_key, "w", since_1_0},
            {"in a component", pair_in_component(key), errc::schema_key, "w/data"},
            {"in the attributes of the file", attribute_key(key), errc::schema_key},
            {"in the attributes of an object", object("attributes", cbor::map().add(key, cbor::null)), errc::schema_key,
             "w", since_1_1},
            {"inside an attribute's value", attribute_value(cbor::map().add(key, cbor::null)), accepted},
            {"inside an unknown field", component("x", cbor::map().add(key, cbor::null)), accepted},
        });
    }
}

TEST_CASE("B14, B15: a key that stands twice is refused in every map that has a meaning") {
    const auto twice = [](bytes key) { return cbor::map().add(key, cbor::no).add(key, cbor::yes); };
    const auto apart = [](bytes key) { // not beside its twin, and after a key that sorts behind it
        return cbor::map().add(key, cbor::no).add(cbor::text("zz"), cbor::no).add(key, cbor::yes);
    };
    const bytes x = cbor::text("x");
    const bytes chunked_version = cbor::chunked({"ver", "sion"});
    const bytes long_offset = cbor::head_of_size(cbor::major::text, 6, 8) + "offset";
    check_rows({
        {"a known field of the root", pair_in_root(cbor::text("version"), cbor::text("1.2.0")), errc::duplicate_key, "",
         since_1_1},
        {"the same in chunks", pair_in_root(chunked_version, cbor::text("1.2.0")), errc::duplicate_key, "", since_1_1},
        {"version of 1.0", pair_in_root(cbor::text("version"), cbor::text("1.0")), errc::duplicate_key, "", in_1_0},
        {"the objects", pair_in_root(cbor::text("objects"), cbor::map()), errc::duplicate_key, "", since_1_1},
        {"the tensors of 1.0", pair_in_root(cbor::text("tensors"), cbor::map()), errc::duplicate_key, "", in_1_0},
        {"an unknown field of the root", both(pair_in_root(x), pair_in_root(x)), errc::duplicate_key},
        {"two objects", named({cbor::text("w"), cbor::text("w")}), errc::duplicate_key, "w"},
        {"two objects, one in chunks", named({cbor::text("w"), cbor::chunked({"w", ""})}), errc::duplicate_key, "w"},
        {"two objects among others", named({cbor::text("w"), cbor::text("b"), cbor::text("w")}), errc::duplicate_key,
         "w"},
        {"objects of other names", named({cbor::text("w"), cbor::text("b"), cbor::text("W")}), accepted},
        {"a field of an object", pair_in_object(cbor::text("shape"), cbor::numbers({2})), errc::duplicate_key, "w"},
        {"an unknown field of an object", both(pair_in_object(x), pair_in_object(x)), errc::duplicate_key, "w"},
        {"two components",
         [](sample& file) {
             file.components(cbor::map{{"data", file.component_map()}, {"data", file.component_map()}});
         },
         errc::duplicate_key, "w", since_1_0},
        {"a field of a component", pair_in_component(cbor::text("offset"), cbor::number(64)), errc::duplicate_key,
         "w/data"},
        {"the same with a longer head", pair_in_component(long_offset, cbor::number(64)), errc::duplicate_key,
         "w/data"},
        {"an unknown field of a component",
         [=](sample& file) { file.component_map().add(x, cbor::no).add(cbor::text("zz"), cbor::no).add(x, cbor::no); },
         errc::duplicate_key, "w/data"},
        {"an attribute of the file", root("attributes", twice(x)), errc::duplicate_key, "", since_1_0},
        {"an attribute of the file, apart", root("attributes", apart(x)), errc::duplicate_key, "", since_1_0},
        {"an attribute of an object", object("attributes", twice(x)), errc::duplicate_key, "w", since_1_1},
        {"a custom key of 0.1", both(pair_in_object(x), pair_in_object(cbor::chunked({"x"}))), errc::duplicate_key, "w",
         in_0_1},
        {"inside an attribute's value", attribute_value(twice(x)), accepted},
        {"inside an unknown field", component("x", twice(x)), accepted},
        {"the same key in maps of different objects", named({cbor::text("a"), cbor::text("b")}), accepted},
    });
}

TEST_CASE("B16: text that is not UTF-8 is refused where it is a key or a known field") {
    const std::string_view invalid[] = {
        "\x80", // the middle of a character
        "\xbf",
        "\xc3", // the start of one
        "z\xc3(",
        "\xc0\xaf", // overlong
        "\xc1\xbf",
        "\xe0\x80\xaf",
        "\xe0\x9f\xbf",
        "\xf0\x8f\xbf\xbf",
        "\xed\xa0\x80", // surrogates
        "\xed\xbf\xbf",
        "\xf4\x90\x80\x80", // above U+10FFFF
        "\xf5\x80\x80\x80",
        "\xf8\x88\x80\x80\x80", // nothing at all
        "\xfe",
        "\xff",
        "0123456789\xff",
        "\xffxyz0123456789",
    };
    for (const std::string_view text : invalid) {
        const bytes item = cbor::text(text);
        check_rows({
            {"an object's name", named({item}), errc::cbor_utf8, "", in_all_but_1_0},
            {"a role", [=](sample& file) { file.components(cbor::map().add(item, file.component_map())); },
             errc::cbor_utf8, "w", since_1_1},
            {"an attribute's key", attribute_key(item), errc::cbor_utf8, "", in_all_but_1_0},
            {"an unknown field", pair_in_object(item), errc::cbor_utf8, "w", in_all_but_1_0},
            {"the version", root("version", item), errc::cbor_utf8, "", since_1_1},
            {"a dtype", component("dtype", item), errc::cbor_utf8, "w/data", in_all_but_1_0},
            {"a format", object("format", item), errc::cbor_utf8, "w", in_all_but_1_0},
            {"an encoding", component("encoding", item), errc::cbor_utf8, "w/data", in_all_but_1_0},
            {"a digest", component("digest", item), errc::cbor_utf8, "w/data", in_all_but_1_0},
            {"a logical type", component("type", item), errc::cbor_utf8, "w/data", in_1_2},
        });
    }
    check_rows({
        {"a character that is cut between chunks", named({cbor::chunked({"\xc3", "\xa4"})}), errc::cbor_utf8, "",
         in_all_but_1_0},
    });
    for (const std::string_view text : {"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                                        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "0123456789\xc3\xa4"}) {
        check_rows({
            {"characters at the edges", named({cbor::text(text)}), accepted},
        });
    }
}

TEST_CASE("B20 to B22: a number field takes nothing but an unsigned integer") {
    const std::pair<bytes, errc> wrong[] = {
        {cbor::tag(2, cbor::byte_string("\x40")), errc::schema_type}, // bignums
        {cbor::tag(3, cbor::byte_string("\x40")), errc::schema_type},
        {cbor::tag(1, cbor::number(64)), errc::schema_type},
        {cbor::minus_one_minus(0), errc::schema_range},
        {cbor::minus_one_minus(largest - 64), errc::schema_range}, // -2^64 + 64, which some readers take for 64
        {cbor::minus_one_minus(largest), errc::schema_range},
        {cbor::half_one, errc::schema_type},
        {cbor::single_one, errc::schema_type},
        {cbor::double_one, errc::schema_type},
        {cbor::no, errc::schema_type},
        {cbor::yes, errc::schema_type},
        {cbor::undefined, errc::schema_type},
        {cbor::text("64"), errc::schema_type},
        {cbor::byte_string("\x40"), errc::schema_type},
        {cbor::numbers({64}), errc::schema_type},
        {cbor::map(), errc::schema_type},
    };
    for (const auto& [item, code] : wrong) {
        check_rows({
            {"offset", component("offset", item), code, "w/data"},
            {"length", component("length", item), code, "w/data"},
            {"uncompressed_length", component("uncompressed_length", item), code, "w/data", in_1_2},
            {"a dimension", object("shape", cbor::array({item})), code, "w"},
            {"the last dimension", object("shape", cbor::array({cbor::number(2), item})), code, "w"},
        });
    }
    check_rows({
        {"offset null", component("offset", cbor::null), errc::schema_type, "w/data"},
        {"length null", component("length", cbor::null), errc::schema_type, "w/data"},
        {"dimension null", object("shape", cbor::array({cbor::null})), errc::schema_type, "w"},
    });
    for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{8}}) {
        check_rows({
            {"a longer head", component("offset", cbor::head_of_size(cbor::major::unsigned_integer, 64, size)),
             accepted},
        });
    }
}

TEST_CASE("a field of another type is refused") {
    for (const bytes& item : {cbor::number(1), cbor::byte_string("raw"), cbor::yes, cbor::array({}),
                              cbor::map().encoded(), cbor::tag(32, cbor::text("raw"))}) {
        check_rows({
            {"version", root("version", item), errc::schema_type, "", since_1_1},
            {"format", object("format", item), errc::schema_type, "w"},
            {"dtype", component("dtype", item), errc::schema_type, "w/data", in_all_but_1_0},
            {"dtype of 1.0", object("dtype", item), errc::schema_type, "w", in_1_0},
            {"F1: encoding", component("encoding", item), errc::schema_type, "w/data"},
            {"digest", component("digest", item), errc::schema_type, "w/data"},
            {"type", component("type", item), errc::schema_type, "w/data", in_1_2},
            {"name", root("name", item), errc::schema_type, "", in_0_1},
        });
    }
    for (const bytes& item :
         {cbor::number(1), cbor::text("w"), cbor::array({}), cbor::tag(55799, cbor::map().encoded()), cbor::yes}) {
        check_rows({
            {"objects", [=](sample& file) { file.objects(item); }, errc::schema_type, "", since_1_1},
            {"an object",
             [=](sample& file) {
                 file.objects(cbor::map{{"w", item}});
             },
             errc::schema_type, "w", since_1_0},
            {"components", [=](sample& file) { file.components(item); }, errc::schema_type, "w", since_1_0},
            {"a component",
             [=](sample& file) {
                 file.components(cbor::map{{"data", item}});
             },
             errc::schema_type, "w/data", since_1_0},
            {"attributes of the file", root("attributes", item), errc::schema_type, "", since_1_0},
            {"attributes of an object", object("attributes", item), errc::schema_type, "w", since_1_1},
        });
    }
    for (const bytes& item :
         {cbor::number(1), cbor::text("2"), cbor::map().encoded(), cbor::null, cbor::tag(1, cbor::numbers({2}))}) {
        check_rows({
            {"D-1: shape", object("shape", item), errc::schema_type, "w"},
        });
    }
}

TEST_CASE("null stands for absence where that is the default") {
    check_rows({
        {"type", component("type", cbor::null), accepted, "", since_1_1},
        {"uncompressed_length", component("uncompressed_length", cbor::null), accepted, "", since_1_1},
        {"digest", component("digest", cbor::null), accepted, "", since_1_1},
        {"attributes of the file", root("attributes", cbor::null), accepted, "", since_1_0},
        {"attributes of an object", object("attributes", cbor::null), accepted, "", since_1_1},
        {"objects", [](sample& file) { file.objects(cbor::null); }, errc::schema_type, "", since_1_1},
        {"components", [](sample& file) { file.components(cbor::null); }, errc::schema_type, "w", since_1_0},
        {"version", root("version", cbor::null), errc::schema_type, "", since_1_1},
        {"format", object("format", cbor::null), errc::schema_type, "w", since_1_0},
        {"dtype", component("dtype", cbor::null), errc::schema_type, "w/data", since_1_1},
    });
}

TEST_CASE("C5: unknown fields, and tags in them and in attributes, are passed over") {
    const bytes anything =
        cbor::array({cbor::tag(2, cbor::byte_string("big")), cbor::minus_one_minus(largest), cbor::undefined,
                     cbor::double_one, cbor::map().add(cbor::yes, cbor::half_one), cbor::chunked({"a"}),
                     cbor::map{{"a", cbor::no}, {"a", cbor::yes}}, "\xf8\xff", cbor::indefinite_array({})});
    check_rows({
        {"in the root", root("x", anything), accepted},
        {"in an object", object("x", anything), accepted},
        {"in a component", component("x", anything), accepted},
        {"as an attribute", attribute_value(anything), accepted},
        {"as an attribute of an object", object("attributes", cbor::map{{"k", anything}}), accepted},
        {"the generator of 1.0", root("generator", cbor::text("x")), accepted, "", since_1_0},
        {"of the empty name", root("", anything), accepted, "", since_1_0},
        {"of a later version: dtype of a component", component("dtype", cbor::number(1)), accepted, "", in_1_0},
        {"of a later version: type", component("type", cbor::number(1)), accepted, "", in_1_0},
        {"of a later version: uncompressed_length", component("uncompressed_length", cbor::number(1)), accepted, "",
         in_1_0},
        {"of a later version: attributes", object("attributes", cbor::number(1)), accepted, "", in_1_0},
        {"of another layout of 0.1: sparse_format", object("sparse_format", cbor::number(1)), accepted, "", in_0_1},
        {"of another layout of 0.1: coords", object("coords", cbor::number(1)), accepted, "", in_0_1},
    });
}
