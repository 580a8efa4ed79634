// SPDX-License-Identifier: MIT
//
// Every rule of the format that a file can break, as tables: what is done to a good file, and the one error that must
// come of it, however the file is reached. Beside each rule stands the nearest file that keeps it.
#include "support/catch.hpp"
#include "support/faulty_os.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/attributes.hpp>
#include <ztensor/byte_source.hpp>
#include <ztensor/json.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <sys/stat.h>
#endif

namespace {

using support::bytes;
using support::opening;
using support::part;
using support::sample;
using support::temp_dir;
using ztensor::errc;
using ztensor::error;
using ztensor::generation;
using ztensor::read_options;
using ztensor::reader;
using ztensor::result;
namespace cbor = support::cbor;
namespace zstd = support::zstd;

using namespace std::string_literals;

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t two_to_32 = std::uint64_t{1} << 32;
constexpr std::uint64_t two_to_61 = std::uint64_t{1} << 61;
constexpr std::uint64_t two_to_63 = std::uint64_t{1} << 63;

// Generations that a row is about, as a set.
constexpr unsigned in_0_1 = 1, in_1_0 = 2, in_1_1 = 4, in_1_2 = 8;
constexpr unsigned since_1_1 = in_1_1 | in_1_2;
constexpr unsigned since_1_0 = in_1_0 | since_1_1;
constexpr unsigned before_1_2 = in_0_1 | in_1_0 | in_1_1;
constexpr unsigned in_all = in_0_1 | since_1_0;
/// A 1.0 file whose index is not well-formed can't be told from a later one that was cut off.
constexpr unsigned in_all_but_1_0 = in_0_1 | since_1_1;

constexpr std::nullopt_t accepted = std::nullopt;

/// Changes that one file is made with.
using change = std::function<void(sample&)>;

/// A rule, what is done to a good file, and what comes of it.
struct row {
    std::string rule;
    change make;
    std::optional<errc> refusal;
    std::string where = {}; ///< "", "object" or "object/component"
    unsigned generations = in_all;
    read_options options = {};
};

std::vector<generation> generations_in(unsigned set) {
    std::vector<generation> found;
    for (const generation each : {generation::v0_1, generation::v1_0, generation::v1_1, generation::v1_2}) {
        if ((set >> static_cast<unsigned>(each) & 1) != 0) {
            found.push_back(each);
        }
    }
    return found;
}

/// In 0.1 an object's map is checked before its name is looked for, and its one blob has no name of its own.
void check_where(const error& why, const std::string& where, generation from) {
    const std::size_t slash = where.find('/');
    const std::string object = where.substr(0, slash);
    const std::string component = slash == std::string::npos ? "" : where.substr(slash + 1);
    constexpr errc before_the_name[] = {errc::cbor_truncated, errc::cbor_malformed, errc::cbor_depth,  errc::cbor_utf8,
                                        errc::schema_key,     errc::duplicate_key,  errc::name_invalid};
    const bool may_lack_name =
        from == generation::v0_1 &&
        std::find(std::begin(before_the_name), std::end(before_the_name), why.code()) != std::end(before_the_name);
    if (!may_lack_name) {
        CHECK(why.object() == object);
    }
    if (from != generation::v0_1) {
        CHECK(why.component() == component);
    }
}

void check_refusal(const opening& opened, errc code, const std::string& where, generation from, std::size_t size) {
    CHECK_FALSE(opened.file.has_value());
    if (opened.file.has_value()) {
        return;
    }
    const error& why = opened.file.error();
    CAPTURE(why.what());
    CHECK(why.code() == code);
    check_where(why, where, from);
    CHECK(why.offset().value_or(0) <= size);
    CHECK(why.path().empty() != opened.is_path);
    CHECK(!why.sentence().empty());
}

void check_rows(const std::vector<row>& rows) {
    const temp_dir directory;
    for (const row& each : rows) {
        for (const generation from : generations_in(each.generations)) {
            sample changed(from);
            each.make(changed);
            const bytes content = changed.file();
            for (const opening& opened : open_every_way(content, directory, each.options)) {
                CAPTURE(each.rule, name(from), opened.way);
                if (each.refusal) {
                    check_refusal(opened, *each.refusal, each.where, from, content.size());
                } else {
                    CHECK((opened.file ? "accepted"s : opened.file.error().what()) == "accepted");
                }
            }
        }
    }
}

/// The same for whole files.
struct file_row {
    std::string rule;
    bytes content;
    std::optional<errc> refusal;
};

void check_files(const std::vector<file_row>& rows) {
    const temp_dir directory;
    for (const file_row& each : rows) {
        for (const opening& opened : open_every_way(each.content, directory)) {
            CAPTURE(each.rule, opened.way);
            if (each.refusal) {
                check_refusal(opened, *each.refusal, "", generation::v1_2, each.content.size());
            } else {
                CHECK((opened.file ? "accepted"s : opened.file.error().what()) == "accepted");
            }
        }
    }
}

// -- what rows do to a file

void set_attribute(sample& file, bytes encoded_key, bytes value) {
    if (file.is_0_1()) {
        file.object_map().add(std::move(encoded_key), std::move(value));
    } else {
        file.root("attributes", cbor::map().add(std::move(encoded_key), std::move(value)));
    }
}

change root(std::string key, bytes value) {
    return [=](sample& file) { file.root(key, value); };
}
change object(std::string key, bytes value) {
    return [=](sample& file) { file.object(key, value); };
}
change component(std::string key, bytes value) {
    return [=](sample& file) { file.component(key, value); };
}
change without(std::string key) {
    return [=](sample& file) { file.without(key); };
}
/// The value of an attribute of the file, in 0.1 of the tensor.
change attribute_value(bytes value) {
    return [=](sample& file) { set_attribute(file, cbor::text("k"), value); };
}
change attribute_key(bytes encoded_key) {
    return [=](sample& file) { set_attribute(file, encoded_key, cbor::null); };
}
/// Pairs appended to the maps of the sample.
change pair_in_root(bytes key, bytes value = cbor::null) {
    return [=](sample& file) { file.root_map().add(key, value); };
}
change pair_in_object(bytes key, bytes value = cbor::null) {
    return [=](sample& file) { file.object_map().add(key, value); };
}
change pair_in_component(bytes key, bytes value = cbor::null) {
    return [=](sample& file) { file.component_map().add(key, value); };
}
change both(change first, change second) {
    return [=](sample& file) {
        first(file);
        second(file);
    };
}

change shaped(std::vector<std::uint64_t> dimensions) {
    return [=](sample& file) { file.shape(dimensions); };
}
/// u8 of that shape, with its blob anywhere.
change placed(std::uint64_t offset, std::uint64_t length, std::vector<std::uint64_t> dimensions) {
    return [=](sample& file) { file.dtype("u8").shape(dimensions).place(offset, length); };
}

/// Objects of these encoded names, each like the sample's own.
change named(std::vector<bytes> encoded_names) {
    return [=](sample& file) {
        cbor::map map;
        std::vector<bytes> tensors;
        for (const bytes& name : encoded_names) {
            if (file.is_0_1()) {
                tensors.push_back(sample(file).root("name", name).encoded_object());
            } else {
                map.add(name, file.encoded_object());
            }
        }
        file.objects(file.is_0_1() ? cbor::array(tensors) : map.encoded());
    };
}

/// An item inside `levels` others.
bytes nested(std::size_t levels, std::string_view start, std::string_view end = {}) {
    return support::repeated(levels, start) + "\x01" + support::repeated(levels, end);
}

} // namespace

// ---- A. the container

TEST_CASE("a file that is not whole, or no .zt file, is refused by its ends") {
    const bytes magic(support::magic_1);
    const bytes magic_0_1(support::magic_0_1);
    const bytes good = sample().file();
    const bytes good_1_0 = sample(generation::v1_0).file();
    const bytes good_0_1 = sample(generation::v0_1).file();
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
        {"A5: zTensor 2", "\x89ZT2\r\n\x1a\n" + good.substr(8), errc::unsupported_container},
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
#if !defined(_WIN32)
    REQUIRE(::mkfifo((directory / "fifo").c_str(), 0600) == 0);
    CHECK(reader::open(directory / "fifo").error().code() == errc::not_regular_file);
    CHECK(reader::open("/dev/null").error().code() == errc::not_regular_file);
#endif
}

TEST_CASE("A8: a manifest above the limit is refused, one of exactly the limit is read") {
    for (const generation from : generations_in(in_all)) {
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

#if !defined(_WIN32) // where a file that is open can't be cut
TEST_CASE("A14: a file that became shorter after it was opened is an error, not a crash") {
    const temp_dir directory;
    sample raw;
    raw.component("digest", cbor::text("crc32c:00000000"));
    sample compressed = raw;
    compressed.zstd_blob(zstd::frame(zstd::raw_block(bytes(8, 'x'))), 8);
    for (const sample& file : {raw, compressed}) {
        for (const opening& opened : open_every_way(file.file(), directory)) {
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
#endif

TEST_CASE("A16: where the system fails, its error is passed on") {
    const temp_dir directory;
    support::write_file(directory / "file.zt", sample().file());
    support::faulty_os os;
    os.failing_name = "map";
    CHECK(ztensor::detail::open_source(directory / "file.zt", ztensor::io_mode::mapped, os).error().code() ==
          errc::unmappable);
    os.failing_name = "read";
    const auto source = ztensor::detail::open_source(directory / "file.zt", ztensor::io_mode::positional, os).value();
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
    for (const generation from : generations_in(in_all)) {
        CAPTURE(name(from));
        const sample file(from);
        const bytes index = file.index();
        for (std::size_t size = 1; size < index.size(); ++size) {
            CAPTURE(size);
            const result<reader> opened = reader::from_bytes(support::to_vector(file.file_of(index.substr(0, size))));
            REQUIRE(!opened);
            CHECK(opened.error().code() == (from == generation::v1_0 ? errc::truncated : errc::cbor_truncated));
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
    for (const generation from : generations_in(in_all)) {
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
        const bytes object =
            map({{"components",
                  map({{"data",
                        from == generation::v1_0 ? map({{"length", number(8)}, {"offset", number(64)}}) : fields}})},
                 {"unknown", cbor::tag(1, cbor::null)},
                 {"dtype", from == generation::v1_0 ? text("float32") : cbor::yes},
                 {"format", cbor::chunked({"den", "se"})},
                 {"shape", shape}});
        const bytes tensor_0_1 = map({{"encoding", cbor::chunked({"r", "aw"})},
                                      {"shape", shape},
                                      {"dtype", cbor::chunked({"float", "32"})},
                                      {"size", number(8)},
                                      {"offset", number(64)},
                                      {"custom", cbor::indefinite_array({})},
                                      {"name", cbor::chunked({"", "w"})}});
        const bytes version = from == generation::v1_0 ? "1.0" : from == generation::v1_1 ? "1.1.0" : "1.2.0";
        const bytes index = from == generation::v0_1
                                ? cbor::indefinite_array({tensor_0_1})
                                : map({{from == generation::v1_0 ? "tensors" : "objects", map({{"w", object}})},
                                       {"attributes", map({{"k", cbor::chunked({"v"})}})},
                                       {"version", cbor::chunked({version})}});
        const temp_dir directory;
        for (const opening& opened : open_every_way(plain.file_of(index), directory)) {
            CAPTURE(opened.way);
            REQUIRE((opened.file ? "" : opened.file.error().what()) == "");
            CHECK(opened.file->generation() == from);
            CHECK(opened.file->find("w")->shape() == ztensor::shape{1, 2});
            CHECK(opened.file->read<float>("w").value() == std::vector<float>{1, 2});
            if (from == generation::v0_1) {
                CHECK(opened.file->find("w")->attributes().contains("custom"));
            } else {
                CHECK(opened.file->attributes().text("k").value() == "v");
            }
        }
    }
}

TEST_CASE("B11: bytes after the root are refused") {
    for (const generation from : generations_in(in_all_but_1_0)) {
        const sample file(from);
        CAPTURE(name(from));
        for (const bytes& more : {"\0"s, cbor::null, cbor::stop, file.index()}) {
            const result<reader> opened = reader::from_bytes(support::to_vector(file.file_of(file.index() + more)));
            REQUIRE(!opened);
            CHECK(opened.error().code() == errc::cbor_trailing);
        }
    }
    check_files({{"0.1 without tensors, and a byte more", support::file_0_1("\x80\x80"), errc::cbor_trailing}});
}

TEST_CASE("B12: a root of another type is refused") {
    const bytes index = sample().index();
    const bytes index_0_1 = sample(generation::v0_1).index();
    check_files({
        {"a number", support::file_1(cbor::number(1)), errc::schema_type},
        {"text", support::file_1(cbor::text("version")), errc::schema_type},
        {"null", support::file_1(cbor::null), errc::schema_type},
        {"an array", support::file_1(cbor::array({index})), errc::schema_type},
        {"a map under the tag of CBOR itself", support::file_1(cbor::tag(55799, index)), errc::schema_type},
        {"1.0 in an array", support::file_1_0(cbor::array({sample(generation::v1_0).index()})), errc::truncated},
        {"0.1 with a map", support::file_0_1(sample(generation::v0_1).encoded_object()), errc::schema_type},
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

// ---- C. the root and names

TEST_CASE("a required field that is missing is refused") {
    check_rows({
        {"C1: version", without("version"), errc::schema_missing, "", since_1_1},
        {"C1: version of 1.0", without("version"), errc::truncated, "", in_1_0},
        {"C2: objects", without("objects"), errc::schema_missing, "", since_1_1},
        {"C2: tensors of 1.0", without("objects"), errc::truncated, "", in_1_0},
        {"D-1: shape", without("shape"), errc::schema_missing, "w"},
        {"format", without("format"), errc::schema_missing, "w", since_1_0},
        {"layout, which may be missing", without("format"), accepted, "", in_0_1},
        {"D-9: components", without("components"), errc::schema_missing, "w", since_1_0},
        {"D-9: any component", [](sample& file) { file.components(cbor::map()); }, errc::schema_missing, "w",
         since_1_0},
        {"E1: dtype", without("dtype"), errc::schema_missing, "w/data", since_1_1},
        {"E1: dtype of 1.0", without("dtype"), errc::schema_missing, "w", in_1_0},
        {"dtype of 0.1", without("dtype"), errc::schema_missing, "w", in_0_1},
        {"offset", without("offset"), errc::schema_missing, "w/data"},
        {"length", without("length"), errc::schema_missing, "w/data"},
        {"encoding of 0.1", without("encoding"), errc::schema_missing, "w", in_0_1},
        {"encoding, which may be missing", without("encoding"), accepted, "", since_1_0},
        {"name", without("name"), errc::schema_missing, "", in_0_1},
        {"attributes, which may be missing", without("attributes"), accepted},
        {"sparse_format", object("format", cbor::text("sparse")), errc::schema_missing, "w", in_0_1},
        {"sparse_format that is no text",
         [](sample& file) { file.object("format", cbor::text("sparse")).object("sparse_format", cbor::number(1)); },
         errc::schema_type, "w", in_0_1},
        {"no object at all",
         [](sample& file) { file.objects(file.is_0_1() ? cbor::array({}) : cbor::map().encoded()); }, accepted},
    });
}

TEST_CASE("C1: only versions 1.x are read") {
    for (const std::string_view version : {"2.0", "2.0.0", "0.1", "0.1.0", "", "1", "1.", "1..0", "1.x", "1,2", "01.2",
                                           "10.2", " 1.2", "v1.2.0", "1.2x", "1.2 ", "1.02", "1.-2", "one"}) {
        check_rows({
            {"version " + std::string(version), root("version", cbor::text(version)), errc::unsupported_version, "",
             since_1_1},
        });
    }
    check_rows({
        {"a version of a megabyte", root("version", cbor::text("1.2." + bytes(1 << 20, '0'))),
         errc::unsupported_version, "", since_1_1},
    });
    for (const std::string_view version : {"1.0", "1.1", "1.2", "1.2.", "1.3.0", "1.10.7", "1.2.0-rc.1+x", "1.999"}) {
        check_rows({
            {"version " + std::string(version), root("version", cbor::text(version)), accepted, "", since_1_1},
        });
    }
    for (const std::string_view version : {"1.0.0", "1.0.2", "1.0."}) {
        check_rows({
            {"1.0 as " + std::string(version), root("version", cbor::text(version)), accepted, "", in_1_0},
        });
    }
    for (const std::string_view version : {"1.1", "1.1.0", "1.2.0", "2.0", "1.00", "1.0x", "1"}) {
        check_rows({
            {"a later version in the container of 1.0, " + std::string(version), root("version", cbor::text(version)),
             errc::truncated, "", in_1_0},
        });
    }
}

TEST_CASE("C3, D-9: more objects or components than the limits allow are refused") {
    const change two_objects = named({cbor::text("v"), cbor::text("w")});
    const change two_components = [](sample& file) {
        file.components(cbor::map{{"data", file.component_map()}, {"more", file.component_map()}});
    };
    check_rows({
        {"two objects of two", two_objects, accepted, "", in_all, read_options().max_objects(2)},
        {"two objects of one", two_objects, errc::limit_exceeded, "w", in_all, read_options().max_objects(1)},
        {"two components of two", two_components, accepted, "", since_1_0, read_options().max_components_per_object(2)},
        {"two components of one", two_components, errc::limit_exceeded, "w/more", since_1_0,
         read_options().max_components_per_object(1)},
    });
}

TEST_CASE("C6, C7: a name that is empty, of more than 4,096 bytes, or holds U+0000 is refused") {
    const bytes longest(4096, 'n');
    const auto half = std::string_view(longest).substr(0, 2048);
    const std::pair<bytes, std::optional<errc>> names[] = {
        {cbor::text(""), errc::name_invalid},
        {cbor::chunked({}), errc::name_invalid},
        {cbor::chunked({"", ""}), errc::name_invalid},
        {cbor::text("\0"s), errc::name_invalid},
        {cbor::text("a\0b"s), errc::name_invalid},
        {cbor::chunked({"a", std::string_view("\0", 1), "b"}), errc::name_invalid},
        {cbor::text(longest + "n"), errc::name_invalid},
        {cbor::chunked({longest, "n"}), errc::name_invalid},
        {cbor::text(bytes(100'000, 'n')), errc::name_invalid},
        {cbor::text(longest), accepted},
        {cbor::chunked({half, half}), accepted},
        {cbor::text("n"), accepted},
        {cbor::text("../../x"), accepted}, // C8: never a path
        {cbor::text("C:\\x\n\x1b[31m"), accepted},
    };
    for (const auto& [name, refusal] : names) {
        check_rows({
            {"of an object", named({name}), refusal},
            {"of a component",
             [name_ = name](sample& file) {
                 file.object("format", cbor::text("own")).components(cbor::map().add(name_, file.component_map()));
             },
             refusal, "w", since_1_0},
            {"of an attribute", attribute_key(name), refusal},
            {"of an object's attribute", object("attributes", cbor::map().add(name, cbor::null)), refusal, "w",
             since_1_1},
        });
    }
}

// ---- D. shapes and roles

TEST_CASE("D-2: 64 dimensions are read, 65 are refused") {
    std::vector<std::uint64_t> dimensions(64, 1);
    dimensions[20] = 2;
    std::vector<std::uint64_t> too_many = dimensions;
    too_many.push_back(1);
    check_rows({
        {"64", shaped(dimensions), accepted},
        {"65", shaped(too_many), errc::limit_exceeded, "w"},
        {"100,000", shaped(std::vector<std::uint64_t>(100'000, 1)), errc::limit_exceeded, "w"},
    });
}

TEST_CASE("D-3 to D-5: a shape whose size needs more than 64 bits is refused, and no zero hides it") {
    const auto of = [](std::string_view dtype, std::vector<std::uint64_t> dimensions) -> change {
        return [=](sample& file) { file.dtype(dtype).shape(dimensions).place(64, 0); };
    };
    const change as_complex = component("type", cbor::text("complex128"));
    check_rows({
        {"2^32 squared", of("u8", {two_to_32, two_to_32}), errc::shape_overflow, "w"},
        {"2^63 twice", of("u8", {two_to_63, 2}), errc::shape_overflow, "w"},
        {"the largest, squared", of("u8", {largest, largest}), errc::shape_overflow, "w"},
        {"a zero behind", of("u8", {two_to_63, 4, 0}), errc::shape_overflow, "w"},
        {"a zero before", of("u8", {0, two_to_63, 4}), errc::shape_overflow, "w"},
        {"a zero between", of("u8", {two_to_63, 0, 4}), errc::shape_overflow, "w"},
        {"of an unknown dtype", of("f128", {two_to_63, 2}), errc::shape_overflow, "w"},
        {"D-7: a zero beside as much as 64 bits hold", of("f64", {largest, 0}), accepted},
        {"D-7: a zero beside 2^63", of("f64", {0, two_to_63, 1}), accepted},
        {"D-7: zeros alone", of("f64", {0, 0}), accepted},
        {"2^64 bytes", of("f64", {two_to_61}), errc::shape_overflow, "w/data"},
        {"8 bytes less", of("f64", {two_to_61 - 1}), errc::size_mismatch, "w/data"},
        {"2^64 bytes of f32", of("f32", {two_to_61, 2}), errc::shape_overflow, "w/data"},
        {"2^64 bytes of complex numbers", both(of("f64", {two_to_61 / 2}), as_complex), errc::shape_overflow, "w/data",
         in_1_2},
        {"16 bytes less", both(of("f64", {two_to_61 / 2 - 1}), as_complex), errc::size_mismatch, "w/data", in_1_2},
    });
}

TEST_CASE("D-7: of an object without elements nothing is read, and nothing divides by its dimensions") {
    const std::vector<std::vector<std::uint64_t>> shapes = {{0}, {0, 2}, {2, 0}, {0, 0}, {largest, 0}};
    for (const generation from : generations_in(in_all)) {
        for (const std::vector<std::uint64_t>& dimensions : shapes) {
            sample file(from);
            file.shape(dimensions).place(64, 0);
            const temp_dir directory;
            for (const opening& opened : open_every_way(file.file(), directory)) {
                CAPTURE(name(from), dimensions, opened.way);
                CHECK(opened.file.value().read<float>("w").value().empty());
                CHECK(opened.file->read_as<double>("w").value().empty());
                CHECK(opened.file->read_rows<float>("w", 0, dimensions[0]).value().empty());
                CHECK(opened.file->read_rows<float>("w", dimensions[0], dimensions[0]).value().empty());
                if (opened.file->is_mapped() && ztensor::detail::host_is_little_endian) {
                    CHECK(opened.file->view<float>("w").value().empty());
                }
            }
        }
    }
}

TEST_CASE("E9: a dense blob of another size than its shape is refused") {
    const change roomy = [](sample& file) { file.blob(bytes(16, 'x')); };
    check_rows({
        {"a scalar takes one element", both(shaped({}), component("length", cbor::number(4))), accepted},
        {"a scalar that takes two", shaped({}), errc::size_mismatch, "w/data"},
        {"one byte less", component("length", cbor::number(7)), errc::size_mismatch, "w/data"},
        {"one byte more", both(roomy, component("length", cbor::number(9))), errc::size_mismatch, "w/data"},
        {"one element less", component("length", cbor::number(4)), errc::size_mismatch, "w/data"},
        {"no element where there are two", component("length", cbor::number(0)), errc::size_mismatch, "w/data"},
        {"elements where there are none", shaped({0, 2}), errc::size_mismatch, "w/data"},
        {"twice the width", [](sample& file) { file.dtype("f64"); }, errc::size_mismatch, "w/data"},
        {"half the width", [](sample& file) { file.dtype("f16"); }, errc::size_mismatch, "w/data"},
        {"an unknown width", [](sample& file) { file.dtype("f24"); }, accepted},
        {"complex numbers take two elements", both(shaped({1}), component("type", cbor::text("complex64"))), accepted,
         "", in_1_2},
        {"complex numbers of one", component("type", cbor::text("complex64")), errc::size_mismatch, "w/data", in_1_2},
        {"complex64 as the dtype of 1.1", both(shaped({1}), component("dtype", cbor::text("complex64"))), accepted, "",
         in_1_1},
        {"complex64 of another size", component("dtype", cbor::text("complex64")), errc::size_mismatch, "w/data",
         in_1_1},
        {"f8_e4m3 as the dtype of 1.1", both(shaped({8}), component("dtype", cbor::text("f8_e4m3"))), accepted, "",
         in_1_1},
        {"f8_e4m3 of another size", both(shaped({9}), component("dtype", cbor::text("f8_e4m3"))), errc::size_mismatch,
         "w/data", in_1_1},
        {"an unknown type says nothing of sizes", both(shaped({31}), component("type", cbor::text("f4x2"))), accepted,
         "", in_1_2},
        {"an unknown format says nothing of sizes", both(shaped({31}), object("format", cbor::text("own"))), accepted},
    });
}

namespace {

/// A matrix of 2 × 3 with two values, in the roles of CSR: change a part and see.
change csr(std::function<void(std::vector<part>&)> alter, std::vector<std::uint64_t> shape = {2, 3}) {
    return [=](sample& file) {
        std::vector<part> parts = {{"indices", "u64", 64, 16}, {"indptr", "u64", 128, 24}, {"values", "f32", 192, 8}};
        alter(parts);
        file.blobs({bytes(16, '\0'), bytes(24, '\0'), bytes(16, '\0')}).parts("sparse_csr", shape, parts);
    };
}
/// The same in the roles of COO.
change coo(std::function<void(std::vector<part>&)> alter, std::vector<std::uint64_t> shape = {2, 3}) {
    return [=](sample& file) {
        std::vector<part> parts = {{"coords", "u64", 64, 32}, {"values", "f32", 128, 8}};
        alter(parts);
        file.blobs({bytes(32, '\0'), bytes(16, '\0')}).parts("sparse_coo", shape, parts);
    };
}

void as_it_is(std::vector<part>&) {
}
std::function<void(std::vector<part>&)> with_dtype(std::size_t at, std::string dtype, std::uint64_t length) {
    return [=](std::vector<part>& parts) {
        parts[at].dtype = dtype;
        parts[at].length = length;
    };
}
std::function<void(std::vector<part>&)> with_length(std::size_t at, std::uint64_t length) {
    return [=](std::vector<part>& parts) { parts[at].length = length; };
}
std::function<void(std::vector<part>&)> lacking(std::size_t at) {
    return [=](std::vector<part>& parts) { parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at)); };
}

} // namespace

TEST_CASE("D-10: a format's roles must be there, others may be") {
    const auto with_roles = [](std::string format, std::vector<std::string> roles) -> change {
        return [=](sample& file) {
            std::vector<part> parts;
            for (const std::string& role : roles) {
                parts.push_back({role, "f32", 64, 8});
            }
            file.parts(format, {2}, parts);
        };
    };
    check_rows({
        {"dense", with_roles("dense", {"values"}), errc::layout_components, "w", since_1_0},
        {"dense of another case", with_roles("dense", {"Data"}), errc::layout_components, "w", since_1_0},
        {"dense with more", with_roles("dense", {"data", "more"}), accepted, "", since_1_0},
        {"csr without indices", csr(lacking(0)), errc::layout_components, "w", since_1_0},
        {"csr without indptr", csr(lacking(1)), errc::layout_components, "w", since_1_0},
        {"csr without values", csr(lacking(2)), errc::layout_components, "w", since_1_0},
        {"coo without coords", coo(lacking(0)), errc::layout_components, "w", since_1_0},
        {"coo without values", coo(lacking(1)), errc::layout_components, "w", since_1_0},
        {"quantized without packed_weight", with_roles("quantized_group", {"scales", "zeros"}), errc::layout_components,
         "w", since_1_0},
        {"quantized without scales", with_roles("quantized_group", {"packed_weight", "zeros"}), errc::layout_components,
         "w", since_1_0},
        {"quantized without zeros", with_roles("quantized_group", {"packed_weight", "scales"}), errc::layout_components,
         "w", since_1_0},
        {"quantized", with_roles("quantized_group", {"packed_weight", "scales", "zeros"}), accepted, "", since_1_0},
        {"D-8: an unknown format needs none", with_roles("own", {"anything"}), accepted, "", since_1_0},
        {"D-8: an unknown layout of 0.1", object("format", cbor::text("own")), accepted, "", in_0_1},
    });
}

TEST_CASE("E10: sparse parts that can't belong together are refused") {
    check_rows({
        {"csr", csr(as_it_is), accepted, "", since_1_0},
        {"csr of rank 1", csr(as_it_is, {2}), errc::sparse_shape, "w", since_1_0},
        {"csr of rank 3", csr(as_it_is, {2, 3, 1}), errc::sparse_shape, "w", since_1_0},
        {"csr of rank 0", csr(as_it_is, {}), errc::sparse_shape, "w", since_1_0},
        {"csr of one row less", csr(as_it_is, {1, 3}), errc::sparse_size, "w/indptr", since_1_0},
        {"csr of one row more", csr(as_it_is, {3, 3}), errc::sparse_size, "w/indptr", since_1_0},
        {"csr of 2^64 - 1 rows", csr(as_it_is, {largest, 1}), errc::shape_overflow, "w", since_1_0},
        {"csr without any row pointer", csr(with_length(1, 0)), errc::sparse_size, "w/indptr", since_1_0},
        {"csr with another number of values", csr(with_length(2, 12)), errc::sparse_size, "w/indices", since_1_0},
        {"csr with another number of indices", csr(with_length(0, 8)), errc::sparse_size, "w/indices", since_1_0},
        {"csr with part of a value", csr(with_length(2, 7)), errc::size_mismatch, "w/values", since_1_0},
        {"csr with part of an index", csr(with_length(0, 15)), errc::size_mismatch, "w/indices", since_1_0},
        {"u32 indices", csr(with_dtype(0, "u32", 8)), errc::sparse_dtype, "w/indices", in_1_2},
        {"i64 row pointers", csr(with_dtype(1, "i64", 24)), errc::sparse_dtype, "w/indptr", in_1_2},
        {"any integers in 1.1", csr(with_dtype(0, "i16", 4)), accepted, "", in_1_1},
        {"floats as indices", csr(with_dtype(0, "f64", 16)), errc::sparse_dtype, "w/indices", since_1_1},
        {"bools as row pointers", csr(with_dtype(1, "bool", 3)), errc::sparse_dtype, "w/indptr", since_1_1},
        {"8-bit floats of 1.1 as indices", csr(with_dtype(0, "f8_e5m2", 2)), errc::sparse_dtype, "w/indices", in_1_1},
        {"an unknown dtype of indices", csr(with_dtype(0, "u128", 15)), accepted, "", since_1_1},
        {"an unknown dtype of values", csr(with_dtype(2, "f24", 6)), accepted, "", since_1_1},
        {"coo", coo(as_it_is), accepted, "", since_1_0},
        {"coo of rank 0", coo(as_it_is, {}), errc::sparse_shape, "w", since_1_0},
        {"coo of another rank", coo(as_it_is, {2, 3, 1}), errc::sparse_size, "w/coords", since_1_0},
        {"coo with another number of coordinates", coo(with_length(0, 24)), errc::sparse_size, "w/coords", since_1_0},
        {"coo with another number of values", coo(with_length(1, 12)), errc::sparse_size, "w/coords", since_1_0},
        {"coo with part of a coordinate", coo(with_length(0, 31)), errc::size_mismatch, "w/coords", since_1_0},
        {"coo with i32 coordinates", coo(with_dtype(0, "i32", 16)), errc::sparse_dtype, "w/coords", in_1_2},
        {"coo of 1.1 with i32 coordinates", coo(with_dtype(0, "i32", 16)), accepted, "", in_1_1},
        {"coo without values", [](sample& file) { coo(with_length(0, 0))(file); }, errc::sparse_size, "w/coords",
         since_1_0},
    });
}

// ---- E. where blobs lie

TEST_CASE("E4 to E8, E11: a blob lies at a multiple of 64, between the magic and the manifest") {
    const auto room = [](std::size_t size, change then) -> change { // the manifest starts at 64 + size
        return [=](sample& file) {
            file.blobs({bytes(size, 'x')});
            then(file);
        };
    };
    check_rows({
        {"at 64", room(64, placed(64, 64, {64})), accepted},
        {"E4: at 65", room(64, placed(65, 8, {8})), errc::misaligned_offset, "w/data"},
        {"E4: at 96", room(64, placed(96, 8, {8})), errc::misaligned_offset, "w/data"},
        {"E4: at 8", room(64, placed(8, 8, {8})), errc::misaligned_offset, "w/data"},
        {"E4: at 2^64 - 1", room(64, placed(largest, 8, {8})), errc::misaligned_offset, "w/data"},
        {"E5: at 0", room(64, placed(0, 8, {8})), errc::out_of_bounds, "w/data"},
        {"E5: nothing at 0", room(64, placed(0, 0, {0})), errc::out_of_bounds, "w/data"},
        {"E6: 64 bytes before 2^64", room(64, placed(largest - 63, 64, {64})), errc::out_of_bounds, "w/data"},
        {"E6: 2^64 - 64 bytes", room(64, placed(64, largest - 63, {largest - 63})), errc::out_of_bounds, "w/data"},
        {"E6: 2^64 - 1 bytes", room(64, placed(64, largest, {largest})), errc::out_of_bounds, "w/data"},
        {"E6: an offset of 2^32 + 64", room(64, placed(two_to_32 + 64, 8, {8})), errc::out_of_bounds, "w/data"},
        {"E6: an offset of 2^63", room(64, placed(two_to_63, 8, {8})), errc::out_of_bounds, "w/data"},
        {"E7: up to the manifest", room(100, placed(128, 36, {36})), accepted},
        {"E7: into the manifest", room(100, placed(128, 37, {37})), errc::out_of_bounds, "w/data"},
        {"E7: the manifest itself", room(64, placed(128, 64, {64})), errc::out_of_bounds, "w/data"},
        {"E8: behind the file", room(64, placed(64 * 100, 8, {8})), errc::out_of_bounds, "w/data"},
        {"E8: past the end of the file", room(64, placed(64, 100'000, {100'000})), errc::out_of_bounds, "w/data"},
        {"E11: nothing, where the manifest starts", room(64, placed(128, 0, {0})), accepted},
        {"E11: nothing, behind the start of the manifest", room(64, placed(192, 0, {0})), errc::out_of_bounds,
         "w/data"},
        {"E11: nothing, at an odd place", room(64, placed(65, 0, {0})), errc::misaligned_offset, "w/data"},
        {"E11: nothing, far behind", room(64, placed(largest - 63, 0, {0})), errc::out_of_bounds, "w/data"},
    });
}

TEST_CASE("E12, E13: blobs are the same or share nothing") {
    struct blob {
        std::uint64_t offset, length;
    };
    const auto blobs = [](std::vector<blob> all) -> change {
        return [=](sample& file) {
            file.blobs({bytes(256, 'x')});
            cbor::map map;
            std::vector<bytes> tensors;
            for (std::size_t i = 0; i < all.size(); ++i) {
                sample each = file;
                each.dtype("u8").shape({all[i].length}).place(all[i].offset, all[i].length);
                const std::string name(1, static_cast<char>('a' + i));
                map.set(name, each.encoded_object());
                tensors.push_back(each.root("name", cbor::text(name)).encoded_object());
            }
            file.objects(file.is_0_1() ? cbor::array(tensors) : map.encoded());
        };
    };
    check_rows({
        {"one after the other", blobs({{64, 64}, {128, 64}}), accepted},
        {"the same twice", blobs({{64, 100}, {64, 100}}), accepted},
        {"the same three times, among others", blobs({{64, 64}, {192, 10}, {64, 64}, {128, 64}, {64, 64}}), accepted},
        {"one byte shared", blobs({{64, 65}, {128, 64}}), errc::blob_overlap, "b/data"},
        {"the same start", blobs({{64, 63}, {64, 64}}), errc::blob_overlap, "b/data"},
        {"the same end", blobs({{64, 128}, {128, 64}}), errc::blob_overlap, "b/data"},
        {"one inside the other", blobs({{64, 256}, {192, 1}}), errc::blob_overlap, "b/data"},
        {"in the other order", blobs({{192, 1}, {64, 256}}), errc::blob_overlap, "a/data"},
        {"one that overlaps a pair of twins", blobs({{128, 64}, {128, 64}, {64, 65}}), errc::blob_overlap, "a/data"},
        {"not neighbours in the index", blobs({{64, 200}, {64 + 256, 0}, {256, 1}}), errc::blob_overlap, "c/data"},
        {"nothing, inside another", blobs({{64, 256}, {128, 0}}), accepted},
        {"nothing, at the start of another", blobs({{64, 0}, {64, 256}, {64, 0}}), accepted},
    });
}

TEST_CASE("E3: a logical type over another storage type is refused") {
    const auto typed = [](std::string type, std::string dtype, std::vector<std::uint64_t> dimensions) -> change {
        return [=](sample& file) { file.dtype(dtype).shape(dimensions).component("type", cbor::text(type)); };
    };
    check_rows({
        {"complex64 over u8", typed("complex64", "u8", {4}), errc::type_mismatch, "w/data", in_1_2},
        {"complex64 over f64", typed("complex64", "f64", {1}), errc::type_mismatch, "w/data", in_1_2},
        {"complex128 over f32", typed("complex128", "f32", {1}), errc::type_mismatch, "w/data", in_1_2},
        {"f8_e4m3fn over i8", typed("f8_e4m3fn", "i8", {8}), errc::type_mismatch, "w/data", in_1_2},
        {"f8_e5m2 over u8", typed("f8_e5m2", "u8", {8}), accepted, "", in_1_2},
        {"complex64 over an unknown dtype", typed("complex64", "f24", {8}), accepted, "", in_1_2},
        {"the storage type itself", typed("f32", "f32", {2}), accepted, "", in_1_2},
        {"E2: an unknown type", typed("q8.8_fixed", "i16", {4}), accepted, "", in_1_2},
        {"E2: the empty type", typed("", "f32", {2}), accepted, "", in_1_2},
    });
}

// ---- F. encodings, G. digests: what is refused when the file is opened

TEST_CASE("F1 to F5: lengths that an encoding can't have are refused") {
    const auto zstd_bytes = [](std::uint64_t decoded) -> change { // a blob of four bytes, of which nothing is read
        return [=](sample& file) { file.dtype("u8").shape({decoded}).zstd_blob("zzzz", decoded); };
    };
    const auto raw_with = [](std::uint64_t length) { return component("uncompressed_length", cbor::number(length)); };
    const auto zstd_with = [=](std::uint64_t length) -> change {
        return both(zstd_bytes(8), component("uncompressed_length", cbor::number(length)));
    };
    const change not_dense = object("format", cbor::text("own"));
    check_rows({
        {"F1: an unknown encoding", component("encoding", cbor::text("lz4")), accepted},
        {"F1: of another case", component("encoding", cbor::text("RAW")), accepted},
        {"F1: with any uncompressed length", both(component("encoding", cbor::text("lz4")), raw_with(largest)),
         accepted, "", in_1_2},
        {"F2: zstd", zstd_bytes(8), accepted},
        {"F2: zstd without uncompressed length", both(zstd_bytes(8), without("uncompressed_length")),
         errc::schema_missing, "w/data", in_1_2},
        {"F2: with null for one", both(zstd_bytes(8), component("uncompressed_length", cbor::null)),
         errc::schema_missing, "w/data", in_1_2},
        {"F3: raw and the same length", raw_with(8), accepted, "", in_1_2},
        {"F3: raw and another length", raw_with(9), errc::size_mismatch, "w/data", in_1_2},
        {"F3: raw and a length of 0", raw_with(0), errc::size_mismatch, "w/data", in_1_2},
        {"F3: raw, named so, and another length", both(component("encoding", cbor::text("raw")), raw_with(16)),
         errc::size_mismatch, "w/data", in_1_2},
        {"F3: raw of another format", both(not_dense, raw_with(12)), errc::size_mismatch, "w/data", in_1_2},
        {"F4: zstd that decodes to more than the shape", zstd_with(9), errc::size_mismatch, "w/data", in_1_2},
        {"F4: zstd that decodes to less", zstd_with(7), errc::size_mismatch, "w/data", in_1_2},
        {"F5: 32,768 times its length", zstd_bytes(4 * 32768), accepted},
        {"F5: one byte more", zstd_bytes(4 * 32768 + 1), errc::decode_limit, "w/data"},
        {"F5: 2^64 - 1 bytes", zstd_bytes(largest), errc::decode_limit, "w/data"},
        {"F5: of another format",
         both(both(zstd_bytes(8), not_dense), component("uncompressed_length", cbor::number(4 * 32768 + 1))),
         errc::decode_limit, "w/data", in_1_2},
        {"F5: of an unknown dtype", both(zstd_with(4 * 32768 + 1), [](sample& file) { file.dtype("f24"); }),
         errc::decode_limit, "w/data", in_1_2},
        {"F5: nothing decodes to nothing", [](sample& file) { file.dtype("u8").shape({0}).zstd_blob("", 0); },
         accepted},
        {"F5: nothing decodes to one byte", [](sample& file) { file.dtype("u8").shape({1}).zstd_blob("", 1); },
         errc::decode_limit, "w/data"},
    });
}

TEST_CASE("G1, G2: a digest of a known algorithm has its grammar, others may say anything") {
    const bytes hex64 = support::repeated(8, "0123abCD");
    const bytes malformed[] = {
        "crc32c:",
        "crc32c:0x",
        "crc32c:0x1234567",
        "crc32c:0x123456789",
        "crc32c:1234567",
        "crc32c:12345678 ",
        "crc32c:0x1234567g",
        "crc32c:x12345678",
        "crc32c:0x 1234567",
        "crc32c:0x0x12345678",
        "sha256:",
        "sha256:" + hex64.substr(1),
        "sha256:" + hex64 + "0",
        "sha256:0x" + hex64,
        "sha256:" + hex64.substr(1) + "g",
    };
    const bytes fine[] = {
        "crc32c:0x12345678", "crc32c:0xabcdef01", "crc32c:0xABCDEF01", "crc32c:0XAbCdEf01",
        "crc32c:abcdef01",   "sha256:" + hex64,   "blake3:no hex",     "md5:",
        "SHA256:1",          "CRC32C:0x1",        "sha512:" + hex64,
    };
    for (const bytes& text : malformed) {
        check_rows({
            {"G2: " + text, component("digest", cbor::text(text)), errc::digest_format, "w/data"},
        });
    }
    for (const bytes& text : fine) {
        check_rows({
            {"G1: " + text, component("digest", cbor::text(text)), accepted},
        });
    }
}

// ---- what is refused only when it is used

namespace {

template <class T>
result<void> outcome(const result<T>& of) {
    return of ? result<void>() : result<void>(of.error());
}

using use = result<void> (*)(const reader&);

template <class T>
result<void> reads(const reader& file) {
    return outcome(file.read<T>("w"));
}
template <class T>
result<void> reads_two_into(const reader& file) {
    std::array<T, 2> destination{};
    return file.read_into("w", destination);
}
template <class T>
result<void> reads_first_row(const reader& file) {
    return outcome(file.read_rows<T>("w", 0, 1));
}
template <class T>
result<void> views(const reader& file) {
    return outcome(file.view<T>("w"));
}
template <class To>
result<void> converts(const reader& file) {
    return outcome(file.read_as<To>("w"));
}
template <class T>
result<void> reads_component(const reader& file) {
    return file.find("w")
        .and_then([](const ztensor::object_view& object) { return object.component("data"); })
        .and_then([](const ztensor::component_view& component) { return outcome(component.read<T>()); });
}

/// A rule that does not keep a file from opening, and the calls that it stops.
struct use_row {
    std::string rule;
    change make;
    std::vector<use> uses;
    std::optional<errc> refusal;
    unsigned generations = in_all;
    read_options options = {};
    std::string where = "w/data";
};

void check_use(const reader& file, use call, const use_row& expected) {
    const result<void> done = call(file);
    if (!expected.refusal) {
        CHECK((done ? "accepted"s : done.error().what()) == "accepted");
        return;
    }
    CHECK_FALSE(done.has_value());
    if (!done) {
        CAPTURE(done.error().what());
        CHECK(done.error().code() == *expected.refusal);
        CHECK(done.error().object() + "/" + done.error().component() == expected.where);
        CHECK(done.error().path() == file.path());
    }
}

void check_uses(const std::vector<use_row>& rows) {
    const temp_dir directory;
    for (const use_row& each : rows) {
        for (const generation from : generations_in(each.generations)) {
            sample changed(from);
            each.make(changed);
            for (const opening& opened : open_every_way(changed.file(), directory, each.options)) {
                CAPTURE(each.rule, name(from), opened.way);
                REQUIRE((opened.file ? "opens" : opened.file.error().what()) == "opens");
                for (std::size_t i = 0; i < each.uses.size(); ++i) {
                    CAPTURE(i);
                    check_use(*opened.file, each.uses[i], each);
                }
            }
        }
    }
}

void as_good_as_ever(sample&) {
}

} // namespace

TEST_CASE("E1, E2: unknown words are refused by the calls that need them") {
    const change unknown_dtype = [](sample& file) { file.dtype("f128"); };
    const change other_case = [](sample& file) { file.dtype("F32"); };
    const change type = component("type", cbor::text("q8.8_fixed"));
    const change complex_numbers = both(shaped({1}), component("type", cbor::text("complex64")));
    check_uses({
        {"E1: an unknown dtype",
         unknown_dtype,
         {reads<float>, reads_two_into<float>, reads_first_row<float>, views<float>, converts<float>,
          reads<std::uint8_t>},
         errc::unknown_dtype},
        {"E1: a dtype of another case", other_case, {reads<float>, views<float>}, errc::unknown_dtype},
        {"E1: the bytes of an unknown dtype", unknown_dtype, {reads<std::byte>}, accepted},
        {"E1: a name of 1.2 in an earlier file",
         component("dtype", cbor::text("f32")),
         {reads<float>},
         errc::unknown_dtype,
         in_0_1},
        {"E1: a name of 1.0 in a later file",
         component("dtype", cbor::text("float32")),
         {reads<float>},
         errc::unknown_dtype,
         since_1_1},
        {"E1: a word of 1.1 in a later file",
         both(shaped({1}), component("dtype", cbor::text("complex64"))),
         {reads<std::complex<float>>},
         errc::unknown_dtype,
         in_1_2},
        {"the type that it is",
         as_good_as_ever,
         {reads<float>, reads_two_into<float>, reads_first_row<float>, converts<double>},
         accepted},
        {"another type",
         as_good_as_ever,
         {reads<double>, reads<std::int32_t>, reads<std::uint8_t>, views<std::uint32_t>,
          reads_two_into<ztensor::float16>, reads<std::complex<float>>, reads<bool>},
         errc::type_mismatch},
        {"E2: an unknown type, as numbers", type, {converts<float>}, errc::unsupported_type, in_1_2},
        {"E2: an unknown type, as a known one", type, {reads<std::complex<float>>}, errc::type_mismatch, in_1_2},
        {"E2: an unknown type, as it is stored", type, {reads<float>, reads<std::byte>}, accepted, in_1_2},
        {"complex numbers, as numbers", complex_numbers, {converts<float>}, errc::unsupported_type, in_1_2},
        {"complex numbers", complex_numbers, {reads<std::complex<float>>, reads<float>}, accepted, in_1_2},
    });
    check_uses({
        {"D-8: an unknown format",
         object("format", cbor::text("own")),
         {reads<float>, views<float>, converts<float>, reads_first_row<float>, reads_two_into<float>, reads<std::byte>},
         errc::unsupported_format,
         in_all,
         {},
         "w/"},
        {"D-8: its components", object("format", cbor::text("own")), {reads_component<float>}, accepted},
    });
}

TEST_CASE("F1: an unknown encoding is refused by the calls that decode") {
    const change lz4 = component("encoding", cbor::text("lz4"));
    check_uses({{"lz4",
                 lz4,
                 {reads<float>, reads<std::byte>, reads_two_into<float>, reads_first_row<float>, views<float>,
                  converts<float>},
                 errc::unsupported_encoding}});
    const temp_dir directory;
    sample file;
    lz4(file);
    for (const opening& opened : open_every_way(file.file(), directory)) {
        std::array<std::byte, 8> stored{};
        const auto data = opened.file.value().find("w")->data().value();
        CHECK(data.read_stored_into(stored).has_value());
        CHECK(stored[3] == std::byte{0x3f});
        CHECK(data.encoding_name() == "lz4");
    }
}

TEST_CASE("a view is refused where there is nothing to borrow") {
    const change compressed = [](sample& file) { file.zstd_blob(zstd::frame(zstd::raw_block(bytes(8, '\0'))), 8); };
    check_uses({
        {"compressed data", compressed, {views<float>, views<std::byte>}, errc::not_viewable},
        {"compressed data, read", compressed, {reads<float>}, accepted},
    });
    const temp_dir directory;
    for (const opening& opened : open_every_way(sample().file(), directory)) {
        CAPTURE(opened.way);
        const result<ztensor::span<const float>> view = opened.file.value().view<float>("w");
        if (opened.file->is_mapped() && ztensor::detail::host_is_little_endian) {
            CHECK(view.has_value());
        } else {
            REQUIRE(!view);
            CHECK(view.error().code() == (opened.file->is_mapped() ? errc::needs_byteswap : errc::not_viewable));
            CHECK(view.error().component() == "data");
        }
    }
}

TEST_CASE("E15: memory at an odd address is read, not viewed") {
    const std::vector<std::byte> content = support::to_vector("x" + sample().file());
    const reader file = reader::from_bytes(ztensor::bytes_view(content).subspan(1)).value();
    const result<ztensor::span<const float>> view = file.view<float>("w");
    REQUIRE(!view);
    CHECK(view.error().code() ==
          (ztensor::detail::host_is_little_endian ? errc::misaligned_memory : errc::needs_byteswap));
    CHECK(view.error().object() == "w");
    CHECK(view.error().component() == "data");
    CHECK(file.view<std::byte>("w").value().size() == 8);
    CHECK(file.read<float>("w").value() == std::vector<float>{1, 2});
}

TEST_CASE("E17: elements in the other byte order are read, not viewed") {
    sample foreign(ztensor::detail::host_is_little_endian ? generation::v0_1 : generation::v1_2);
    if (foreign.is_0_1()) {
        foreign.blob(support::big_endian(0x3f800000, 4) + support::big_endian(0x40000000, 4))
            .object("data_endianness", cbor::text("big"));
    }
    const reader file = reader::from_bytes(support::to_vector(foreign.file())).value();
    const result<ztensor::span<const float>> view = file.view<float>("w");
    REQUIRE(!view);
    CHECK(view.error().code() == errc::needs_byteswap);
    CHECK(view.error().object() == "w");
    CHECK(file.view<std::byte>("w").value().size() == 8);
    CHECK(file.read<float>("w").value() == std::vector<float>{1, 2});
    CHECK(file.read_as<double>("w").value() == std::vector<double>{1, 2});
    CHECK(file.read_rows<float>("w", 1, 2).value() == std::vector<float>{2});
}

TEST_CASE("E16: a bool that is neither 0 nor 1 is refused, but stands for true in 0.1") {
    const auto bools = [](bytes content) -> change {
        return [=](sample& file) { file.dtype("bool").shape({content.size()}).blob(content); };
    };
    const change good = bools("\0\1"s);
    check_uses({
        {"0 and 1",
         good,
         {reads<bool>, reads_two_into<bool>, reads_first_row<bool>, converts<float>, reads<std::uint8_t>},
         accepted},
    });
    for (const char wrong : {'\2', '\x7f', '\x80', '\xff'}) {
        const change bad = bools(bytes(1, wrong) + '\1');
        check_uses({
            {"another byte",
             bad,
             {reads<bool>, reads_two_into<bool>, converts<float>, reads_first_row<bool>},
             errc::bad_bool,
             since_1_0},
            {"its bytes", bad, {reads<std::uint8_t>, reads<std::byte>}, accepted, since_1_0},
            {"true in 0.1",
             bad,
             {reads<bool>, reads_two_into<bool>, reads_first_row<bool>, converts<float>},
             accepted,
             in_0_1},
        });
    }

    sample odd(generation::v0_1);
    bools("\0\x80\1\xff"s)(odd);
    const reader file = reader::from_bytes(support::to_vector(odd.file())).value();
    CHECK(file.read<bool>("w").value() == std::vector<bool>{false, true, true, true});
    CHECK(file.read_as<float>("w").value() == std::vector<float>{0, 1, 1, 1});
}

TEST_CASE("E14, F6: more decoded bytes than the limit are refused before they are made") {
    const change run = [](sample& file) { // 1 KiB from a handful of bytes
        file.dtype("u8").shape({1024}).zstd_blob(zstd::frame(zstd::run_block(1024, 'x')), 1024);
    };
    const change incompressible = [](sample& file) { // 17 bytes for 8
        file.zstd_blob(zstd::frame(zstd::raw_block(bytes(8, 'x'))), 8);
    };
    const change unsized = both(run, object("format", cbor::text("own"))); // before 1.2, only decoding tells
    const auto at_most = [](std::uint64_t bytes) { return read_options().max_decoded_bytes(bytes); };
    check_uses({
        {"raw",
         as_good_as_ever,
         {reads<float>, reads<std::byte>, reads_two_into<float>, converts<float>},
         errc::limit_exceeded,
         in_all,
         at_most(7)},
        {"raw, exactly",
         as_good_as_ever,
         {reads<float>, reads<std::byte>, reads_two_into<float>, converts<float>},
         accepted,
         in_all,
         at_most(8)},
        {"zstd",
         run,
         {reads<std::uint8_t>, reads<std::byte>, converts<float>},
         errc::limit_exceeded,
         in_all,
         at_most(1023)},
        {"zstd, exactly",
         run,
         {reads<std::uint8_t>, reads<std::byte>, converts<float>},
         accepted,
         in_all,
         at_most(1024)},
        {"zstd that takes more than it decodes to",
         incompressible,
         {reads<float>, converts<float>},
         accepted,
         in_all,
         at_most(8)},
        {"zstd of unknown size", unsized, {reads_component<std::byte>}, errc::limit_exceeded, in_all, at_most(1023)},
        {"zstd of unknown size, exactly", unsized, {reads_component<std::byte>}, accepted, in_all, at_most(1024)},
    });
}

TEST_CASE("A11, E14, D-6: a file of holes opens, and what no memory holds is refused when it is read") {
    const auto with_blob = [](std::uint64_t length) { // u8, from 64 on
        sample file;
        file.dtype("u8").shape({length}).place(64, length);
        const bytes index = file.index();
        const bytes tail = index + support::little_endian(index.size(), 8) + bytes(support::magic_1);
        return std::make_shared<support::source_with_holes>(64 + length + tail.size(), bytes(support::magic_1), tail);
    };
    const auto source = with_blob(std::uint64_t{1} << 62);
    const reader file = reader::from_source(source).value();
    CHECK(file.find("w")->element_count() == std::uint64_t{1} << 62);
    CHECK(file.read<std::uint8_t>("w").error().code() == errc::limit_exceeded);
    CHECK(file.read_as<float>("w").error().code() == errc::limit_exceeded);
    CHECK(file.read_rows<std::uint8_t>("w", 0, std::uint64_t{1} << 40).error().code() == errc::limit_exceeded);
    CHECK(source->largest_read() <= 1024); // the manifest
    CHECK(file.read_rows<std::uint8_t>("w", 3, 5).value() == std::vector<std::uint8_t>(2));

    const reader unlimited =
        reader::from_source(with_blob(two_to_63), read_options().max_decoded_bytes(largest)).value();
    CHECK(unlimited.read<std::uint8_t>("w").error().code() == errc::too_large_for_host);
    CHECK(unlimited.read_as<float>("w").error().code() == errc::too_large_for_host);
}

TEST_CASE("E10: a length of no whole elements is refused where the format gives the component a meaning, else when it is read") {
    const auto opens = [](sample file) { return reader::from_bytes(support::to_vector(file.file())); };
    const auto with_part = [](const char* format, const char* role, const char* dtype) {
        sample file;
        file.blobs({bytes(8, 'x'), bytes(7, 'y')});
        file.parts(format, {2}, {{"data", "f32", 64, 8}, {role, dtype, 128, 7}});
        return file;
    };
    for (const auto& file : {with_part("dense", "more", "f32"), with_part("own", "role", "f64")}) {
        const result<reader> from = opens(file);
        REQUIRE(from.has_value());
        for (const auto component : from->find("w").value()) {
            if (component.stored_bytes() == 7) {
                CHECK(component.read<std::byte>().has_value());
                CHECK(component.read_as<float>().has_value() == false);
                CHECK(component.read<double>().has_value() == false);
            }
        }
    }
    sample typed;
    typed.shape({std::uint64_t{1} << 62}).dtype("f64").component("type", cbor::text("of our own"));
    CHECK(opens(typed).has_value()); // what such an element takes is not ours to know
    sample quantized;
    quantized.blobs({bytes(8, 'x'), bytes(7, 'y')});
    quantized.parts("quantized_group", {2}, {{"packed_weight", "u8", 64, 8}, {"scales", "f32", 128, 7}, {"zeros", "u8", 64, 8}});
    CHECK(opens(quantized).error().code() == errc::size_mismatch);
}

TEST_CASE("numbers of a logical type that is unknown are refused, also of one without letters") {
    for (const char* const type : {"x", ""}) {
        sample file;
        file.component("type", cbor::text(type));
        const reader from = reader::from_bytes(support::to_vector(file.file())).value();
        CHECK(from.read_as<float>("w").error().code() == errc::unsupported_type);
        CHECK(from.read<float>("w").has_value()); // asked for as the storage type
    }
}

TEST_CASE("E10: values times dimensions that need more than 64 bits are refused") {
    sample file;
    file.parts("sparse_coo", {2, 2, 2}, {{"coords", "u64", 64, 0}, {"values", "u8", 64, two_to_63}});
    const bytes index = file.index();
    const bytes tail = index + support::little_endian(index.size(), 8) + bytes(support::magic_1);
    const auto source =
        std::make_shared<support::source_with_holes>(64 + two_to_63 + tail.size(), bytes(support::magic_1), tail);
    const result<reader> opened = reader::from_source(source);
    REQUIRE(!opened);
    CHECK(opened.error().code() == errc::shape_overflow);
    CHECK(opened.error().object() == "w");
}

TEST_CASE("F7 to F16: a zstd blob that is not what was declared is refused when it is read") {
    const bytes abc = "abc";
    const bytes with_checksum = zstd::magic + "\x04\x38" + zstd::raw_block(abc);
    const bytes checksum = "\x99\x09\x77\xad"; // the low half of XXH64("abc"), 44bc2cf5ad770999
    const bytes one = zstd::frame(zstd::raw_block(abc));
    const bytes skippable = zstd::skippable_frame("anything");
    const auto blob = [](bytes frames, std::uint64_t decoded) -> change {
        return [=](sample& file) { file.dtype("u8").shape({decoded}).zstd_blob(frames, decoded); };
    };
    const std::vector<use> all = {reads<std::uint8_t>, reads<std::byte>, converts<float>,
                                  reads_first_row<std::uint8_t>};
    const auto legacy = [](char first) { return bytes(1, first) + "\xb5\x2f\xfd" + bytes(20, '\0'); };
    check_uses({
        {"one frame", blob(one, 3), all, accepted},
        {"F7: more bytes than declared", blob(one, 2), all, errc::decode_size},
        {"F7: fewer bytes than declared", blob(one, 4), all, errc::decode_size},
        {"F7: a frame that states its size", blob(zstd::sized_frame(abc, 3), 3), all, accepted},
        {"F7: a frame that states more", blob(zstd::sized_frame(abc, 4), 4), all, errc::decode_failed},
        {"F7: a frame that states less", blob(zstd::sized_frame(abc, 2), 3), all, errc::decode_failed},
        {"F8: a window of 2^30 bytes", blob(zstd::frame(zstd::raw_block(abc), 30), 3), all, accepted},
        {"F8: a window of 2^41 bytes", blob(zstd::frame(zstd::raw_block(abc), 41), 3), all, errc::decode_failed},
        {"F9: two frames", blob(one + one, 6), all, accepted},
        {"F9: two frames, of which one is declared", blob(one + one, 3), all, errc::decode_size},
        {"F9: two frames, where three are declared", blob(one + one, 9), all, errc::decode_size},
        {"F10: frames to be skipped", blob(skippable + one + skippable, 3), all, accepted},
        {"F10: nothing but a frame to be skipped", blob(skippable, 8), all, errc::decode_size},
        {"F10: a byte behind", blob(one + "x", 3), all, errc::decode_failed},
        {"F10: four bytes behind", blob(one + "junk", 3), all, errc::decode_failed},
        {"F10: zeros behind", blob(one + bytes(64, '\0'), 3), all, errc::decode_failed},
        {"F10: a frame to be skipped that is cut off", blob(one + skippable.substr(0, 12), 3), all,
         errc::decode_failed},
        {"F10: a frame to be skipped of 2^32 - 1 bytes", blob(one + "\x50\x2a\x4d\x18\xff\xff\xff\xff", 3), all,
         errc::decode_failed},
        {"F11: a frame of zstd 0.5", blob(legacy('\x25'), 3), all, errc::decode_failed},
        {"F11: a frame of zstd 0.6", blob(legacy('\x26'), 3), all, errc::decode_failed},
        {"F11: a frame of zstd 0.7", blob(legacy('\x27'), 3), all, errc::decode_failed},
        {"F11: a legacy frame behind a current one", blob(one + legacy('\x27'), 3), all, errc::decode_failed},
        {"F12: a frame that wants a dictionary", blob(zstd::magic + "\x01\x38\x2a" + zstd::raw_block(abc), 3), all,
         errc::decode_failed},
        {"F13: a checksum", blob(with_checksum + checksum, 3), all, accepted},
        {"F13: another checksum", blob(with_checksum + "\x98\x09\x77\xad", 3), all, errc::decode_failed},
        {"F13: a checksum that is cut off", blob(with_checksum + checksum.substr(0, 3), 3), all, errc::decode_failed},
        {"F14: cut off", blob(one.substr(0, one.size() - 1), 3), all, errc::decode_failed},
        {"F14: no last block", blob(zstd::frame(zstd::raw_block(abc, false)), 3), all, errc::decode_failed},
        {"F14: a reserved kind of block", blob(zstd::frame(zstd::block(3, 3, abc, true)), 3), all, errc::decode_failed},
        {"F14: no frame at all", blob("no frame", 3), all, errc::decode_failed},
        {"F14: a blob of no bytes", blob("", 0), {reads<std::uint8_t>, reads<std::byte>, converts<float>}, accepted},
        {"of complex numbers",
         both(blob(zstd::frame(zstd::run_block(8, '\0')), 8),
              [](sample& file) {
                  file.shape({1}).dtype(file.generation() == generation::v1_1 ? "complex64" : "f32");
                  if (file.generation() == generation::v1_2) {
                      file.component("type", cbor::text("complex64"));
                  }
              }),
         {reads<std::complex<float>>, reads<float>},
         accepted,
         since_1_1},
        {"F16: empty blocks",
         blob(zstd::frame(support::repeated(10'000, zstd::raw_block("", false)) + zstd::raw_block(abc)), 3), all,
         accepted},
        {"F6: as much as a block can hold", blob(zstd::frame(zstd::run_block(1 << 17, 'x')), 1 << 17), all, accepted},
    });
    // Where no size is declared, the number of whole elements is what is left to check.
    const change part_of_element = [=](sample& file) { file.object("format", cbor::text("own")).zstd_blob(one, 4); };
    check_uses({
        {"F7: part of an element", part_of_element, {reads_component<float>}, errc::size_mismatch, in_1_0 | in_1_1},
        {"F7: its bytes", part_of_element, {reads_component<std::byte>}, accepted, before_1_2},
    });
}

TEST_CASE("G1 to G3: a digest that does not match is refused when all of the blob is read") {
    // Computed outside of this project: CRC-32C and SHA-256 of the eight bytes 00 00 80 3f 00 00 00 40.
    const bytes crc = "crc32c:0x28C0C9B1";
    const bytes sha = "sha256:b9c80b5adeca450753a16950c3cc655d271f7bef7a485bc83f112b72fef21d37";
    const auto with_digest = [](bytes text) { return component("digest", cbor::text(text)); };
    const std::vector<use> whole = {reads<float>, reads<std::byte>, reads_two_into<float>, converts<float>};
    const read_options trusting = read_options().verify_digests(false);
    const bytes frame = zstd::frame(zstd::raw_block(bytes(8, 'x')));
    const change compressed = [=](sample& file) { file.zstd_blob(frame, 8); };
    check_uses({
        {"crc32c", with_digest(crc), whole, accepted},
        {"crc32c of other bytes", with_digest("crc32c:0x00000000"), whole, errc::digest_mismatch},
        {"crc32c of other bytes, unchecked", with_digest("crc32c:0x00000000"), whole, accepted, in_all, trusting},
        {"crc32c of other bytes, and rows alone", with_digest("crc32c:0x00000000"), {reads_first_row<float>}, accepted},
        {"sha256", with_digest(sha), whole, accepted},
        {"sha256 of other bytes", with_digest("sha256:" + bytes(64, '0')), whole, errc::digest_mismatch},
        {"G1: an unknown algorithm", with_digest("blake3:00"), whole, accepted},
        {"over the stored bytes of zstd", both(compressed, with_digest("crc32c:0x00000000")), whole,
         errc::digest_mismatch},
        {"compressed rows",
         both(compressed, with_digest("crc32c:0x00000000")),
         {reads_first_row<float>},
         errc::digest_mismatch},
    });

    const std::pair<bytes, std::array<std::uint64_t, 4>> counts[] = {
        // match, mismatch, absent, unsupported
        {crc, {1, 0, 0, 0}},         {sha, {1, 0, 0, 0}}, {"crc32c:00000000", {0, 1, 0, 0}},
        {"blake3:00", {0, 0, 0, 1}}, {"", {0, 0, 1, 0}},
    };
    const temp_dir directory;
    for (const auto& [text, expected] : counts) {
        sample file;
        if (!text.empty()) {
            with_digest(text)(file);
        }
        for (const opening& opened : open_every_way(file.file(), directory)) {
            CAPTURE(text, opened.way);
            const ztensor::verification found = opened.file.value().verify().value();
            CHECK(found.verified == expected[0]);
            CHECK(found.mismatches.size() == expected[1]);
            CHECK(found.absent == expected[2]);
            CHECK(found.unsupported == expected[3]);
            CHECK(found.ok() == (expected[1] == 0));
            CHECK(found.complete() == (expected[0] == 1));
        }
    }
}

TEST_CASE("rows of data whose size only decoding tells are decoded") {
    sample file(generation::v1_1);
    const bytes content = support::little_endian(0x3f800000, 4) + support::little_endian(0x40000000, 4);
    file.zstd_blob(zstd::frame(zstd::raw_block(content)), 8).component("type", cbor::text("q8.24_fixed"));
    const reader opened = reader::from_bytes(support::to_vector(file.file())).value();
    CHECK(opened.read<float>("w").value() == std::vector<float>{1, 2});
    CHECK(opened.read_rows<float>("w", 1, 2).value() == std::vector<float>{2});
}

TEST_CASE("what is asked for must be there, and fit") {
    const auto without_row = [](const reader& file) { return outcome(file.read_rows<float>("w", 1, 3)); };
    const auto backwards = [](const reader& file) { return outcome(file.read_rows<float>("w", 2, 1)); };
    const auto three = [](const reader& file) {
        std::array<float, 3> destination{};
        return file.read_into("w", destination);
    };
    const auto another_object = [](const reader& file) { return outcome(file.read<float>("v")); };
    const auto another_role = [](const reader& file) { return outcome(file.find("w")->component("values")); };
    check_uses({
        {"rows behind the last", as_good_as_ever, {without_row, backwards}, errc::out_of_bounds, in_all, {}, "w/"},
        {"rows of a scalar",
         [](sample& file) { file.dtype("f64").shape({}); },
         {reads_first_row<double>},
         errc::out_of_bounds,
         in_all,
         {},
         "w/"},
        {"another number of elements", as_good_as_ever, {three}, errc::size_mismatch},
        {"an object that is not there", as_good_as_ever, {another_object}, errc::object_not_found, in_all, {}, "/"},
        {"a component that is not there", as_good_as_ever, {another_role}, errc::component_not_found, in_all, {}, "w/"},
    });

    sample file;
    attribute_value(cbor::text("v"))(file);
    const reader opened = reader::from_bytes(support::to_vector(file.file())).value();
    CHECK(opened.attributes().integer("nothing").error().code() == errc::attribute_not_found);
    CHECK(opened.attributes().integer("k").error().code() == errc::attribute_type);
    CHECK(opened.attributes().text("k").value() == "v");
}

TEST_CASE("B15, B23, C4: attributes that JSON can't hold are refused when they become JSON") {
    const std::pair<bytes, std::optional<errc>> values[] = {
        {cbor::map{{"a", cbor::no}, {"b", cbor::map{{"a", cbor::yes}}}}, accepted},
        {cbor::map{{"a", cbor::no}, {"a", cbor::yes}}, errc::duplicate_key},
        {cbor::array({cbor::map().add(cbor::text("a"), cbor::no).add(cbor::chunked({"a"}), cbor::no)}),
         errc::duplicate_key},
        {cbor::tag(1, cbor::number(1)), errc::attribute_type},
        {cbor::map().add(cbor::number(1), cbor::no), errc::attribute_type},
        {cbor::undefined, errc::attribute_type},
        {"\xe0", errc::attribute_type},
        {cbor::minus_one_minus(two_to_63 - 1), accepted},
        {cbor::minus_one_minus(two_to_63), errc::attribute_type},
        {cbor::minus_one_minus(largest - 64), errc::attribute_type},
        {cbor::byte_string(bytes((16 << 20) - 5, 'x')), accepted},
        {cbor::byte_string(bytes((16 << 20) - 4, 'x')), errc::limit_exceeded},
    };
    for (const auto& [value, refusal] : values) {
        sample file;
        attribute_value(value)(file);
        const reader opened = reader::from_bytes(support::to_vector(file.file())).value();
        CHECK(opened.attributes().cbor("k").value().size() == value.size());
        const auto json = ztensor::to_json(opened.attributes());
        CAPTURE(value.size(), ztensor::detail::quote(value));
        CHECK(json.has_value() == !refusal);
        if (refusal && !json) {
            CHECK(json.error().code() == *refusal);
        }
    }
}
