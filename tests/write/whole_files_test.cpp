// SPDX-License-Identifier: MIT
//
// Whole files byte for byte, and what each version can say.
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/refusal.hpp"
#include "support/scripted_sink.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "write/write_samples.hpp"

#include <ztensor/digest.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

using support::byte_vector;
using support::outcome;
using support::reopened;
using support::scripted_sink;
using support::sink_log;
using support::some_elements;
using support::to_hex;
using support::to_memory;
using support::written;
using write_samples::four_floats;
using ztensor::attributes;
using ztensor::digest;
using ztensor::dtype;
using ztensor::format;
using ztensor::format_version;
using ztensor::object_draft;
using ztensor::reader;
using ztensor::result;
using ztensor::store;
using ztensor::tensor_stream;
using ztensor::write_options;
using ztensor::writer;

std::string without_spaces(std::string hex) {
    hex.erase(std::remove(hex.begin(), hex.end(), ' '), hex.end());
    return hex;
}

} // namespace

TEST_CASE("a 1.2 file is written byte for byte as the specification says") {
    const byte_vector content = written({}, [](writer& out) {
        out.attributes(attributes().set("n", 1.5).set("author", "me")).value();
        out.add_object("b", object_draft(format::dense, {2})
                                .component("data", std::vector<float>{1, -2}, store().digest(digest::crc32c))
                                .attributes({}))
            .value();
        out.add_object("a", object_draft(format::dense, {3})
                                .component("data", std::vector<std::uint16_t>{1, 2, 0x0304})
                                .attributes(attributes().set("k", true)))
            .value();
        out.add("c", {1}, std::vector<std::complex<float>>{{1, 2}}).value();
    });
    const std::string expected =
        "5a54454e31303030" // ZTEN1000
        "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
        "0000000000000000 0000000000000000 0000000000000000"
        "0000803f 000000c0" // 64: b
        "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
        "0000000000000000 0000000000000000 0000000000000000"
        "0100 0200 0403" // 128: a
        "0000 0000000000000000 0000000000000000 0000000000000000 0000000000000000"
        "0000000000000000 0000000000000000 0000000000000000"
        "0000803f 00000040" // 192: c
        "a3"
        "67 76657273696f6e 65 312e322e30"                                 // version: 1.2.0
        "6a 61747472696275746573 a2 66 617574686f72 62 6d65 61 6e f93e00" // attributes: author: me, n: 1.5
        "67 6f626a65637473 a3"                                            // objects
        "61 61 a4"                                                        // a
        "  65 7368617065 81 03"                                           //   shape: [3]
        "  66 666f726d6174 65 64656e7365"                                 //   format: dense
        "  6a 61747472696275746573 a1 61 6b f5"                           //   attributes: k: true
        "  6a 636f6d706f6e656e7473 a1 64 64617461 a3"                     //   components: data:
        "    65 6474797065 63 753136"                                     //     dtype: u16
        "    66 6f6666736574 1880"                                        //     offset: 128
        "    66 6c656e677468 06"                                          //     length: 6
        "61 62 a4"                                                        // b
        "  65 7368617065 81 02"
        "  66 666f726d6174 65 64656e7365"
        "  6a 61747472696275746573 a0" //   attributes: none
        "  6a 636f6d706f6e656e7473 a1 64 64617461 a4"
        "    65 6474797065 63 663332" //     dtype: f32
        "    66 6f6666736574 1840"
        "    66 6c656e677468 08"
        "    66 646967657374 71 6372633332633a3078 4141333646324339" //     digest: crc32c:0xAA36F2C9
        "61 63 a3"                                                   // c
        "  65 7368617065 81 01"
        "  66 666f726d6174 65 64656e7365"
        "  6a 636f6d706f6e656e7473 a1 64 64617461 a4"
        "    65 6474797065 63 663332"
        "    64 74797065 69 636f6d706c65783634" //     type: complex64
        "    66 6f6666736574 18c0"
        "    66 6c656e677468 08"
        "4501000000000000 5a54454e31303030";
    CHECK(to_hex(content) == without_spaces(expected));
}

TEST_CASE("a 1.1 file is written byte for byte as the specification says") {
    const byte_vector content = written(write_options().version(format_version::v1_1), [](writer& out) {
        const std::vector<ztensor::float8_e4m3fn> eighths = {ztensor::float8_e4m3fn::from_bits(0x38),
                                                             ztensor::float8_e4m3fn::from_bits(0xc0)};
        out.add("z", {2}, eighths, store().digest(digest::crc32c)).value();
        out.add("y", {2}, std::vector<float>{1, 2}, store().digest(digest::sha256).type("f32")).value();
    });
    const std::string expected =
        "5a54454e31303030"
        "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
        "0000000000000000 0000000000000000 0000000000000000"
        "38c0" // 64: z
        "000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000"
        "0000000000000000 0000000000000000 0000000000000000"
        "0000803f 00000040" // 128: y
        "a2"
        "67 76657273696f6e 65 312e312e30" // version: 1.1.0
        "67 6f626a65637473 a2"            // objects
        "61 79 a3"                        // y
        "  65 7368617065 81 02"
        "  66 666f726d6174 65 64656e7365"
        "  6a 636f6d706f6e656e7473 a1 64 64617461 a4"
        "    65 6474797065 63 663332" //     dtype: f32, which its type repeats
        "    66 6f6666736574 1880"
        "    66 6c656e677468 08"
        "    66 646967657374 7847 7368613235363a" //     digest: sha256:b9c80b5a…
        "      62396338306235616465636134353037 35336131363935306333636336353564"
        "      32373166376265663761343835626338 33663131326237326665663231643337"
        "61 7a a3" // z
        "  65 7368617065 81 02"
        "  66 666f726d6174 65 64656e7365"
        "  6a 636f6d706f6e656e7473 a1 64 64617461 a4"
        "    65 6474797065 67 66385f65346d33" //     dtype: f8_e4m3
        "    66 6f6666736574 1840"
        "    66 6c656e677468 02"
        "    66 646967657374 71 6372633332633a3078 4546423638303244" //     digest: crc32c:0xEFB6802D
        "0f01000000000000 5a54454e31303030";
    CHECK(to_hex(content) == without_spaces(expected));
}

TEST_CASE("a 0.1 file is written byte for byte as the specification says") {
    const byte_vector content = written(write_options().version(format_version::v0_1), [](writer& out) {
        out.add("b", {2}, std::vector<float>{1, -2}, store().digest(digest::crc32c)).value();
        out.add_object("a", object_draft(format::dense, {1, 2})
                                .component("data", std::vector<std::uint8_t>{5, 6})
                                .attributes(attributes().set("note", "n").set("m", 1)))
            .value();
    });
    const std::string expected =
        "5a54454e30303031" // ZTEN0001
        "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
        "0000000000000000 0000000000000000 0000000000000000"
        "0000803f 000000c0" // 64: b
        "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
        "0000000000000000 0000000000000000 0000000000000000"
        "0506" // 128: a
        "82"
        "bf"
        "64 6e616d65 61 62"                                          // name: b
        "66 6f6666736574 1840"                                       // offset: 64
        "64 73697a65 08"                                             // size: 8
        "65 6474797065 67 666c6f61743332"                            // dtype: float32
        "66 6c61796f7574 65 64656e7365"                              // layout: dense
        "65 7368617065 81 02"                                        // shape: [2]
        "68 656e636f64696e67 63 726177"                              // encoding: raw
        "6f 646174615f656e6469616e6e657373 66 6c6974746c65"          // data_endianness: little
        "68 636865636b73756d 71 6372633332633a3078 4141333646324339" // checksum: crc32c:0xAA36F2C9
        "ff"
        "bf"
        "64 6e616d65 61 61"
        "66 6f6666736574 1880"
        "64 73697a65 02"
        "65 6474797065 65 75696e7438" // dtype: uint8
        "66 6c61796f7574 65 64656e7365"
        "65 7368617065 82 01 02"
        "68 656e636f64696e67 63 726177"
        "61 6d 01"          // m: 1
        "64 6e6f7465 61 6e" // note: n
        "ff"
        "cc00000000000000";
    CHECK(to_hex(content) == without_spaces(expected));
}

TEST_CASE("files without objects are as small as the specification says") {
    const auto nothing = [](writer&) {};
    CHECK(to_hex(written({}, nothing)) ==
          without_spaces("5a54454e31303030 a2 67 76657273696f6e 65 312e322e30 67 6f626a65637473 a0"
                         "1800000000000000 5a54454e31303030"));
    CHECK(to_hex(written(write_options().version(format_version::v1_1), nothing)) ==
          without_spaces("5a54454e31303030 a2 67 76657273696f6e 65 312e312e30 67 6f626a65637473 a0"
                         "1800000000000000 5a54454e31303030"));
    CHECK(to_hex(written(write_options().version(format_version::v0_1), nothing)) ==
          without_spaces("5a54454e30303031 80 0100000000000000"));
    CHECK(written(write_options().alignment_bytes(4096), nothing).size() == 48);
}

TEST_CASE("names of every kind are sorted by their bytes") {
    const std::vector<std::string> names = {
        "b", "aa", "a", "B", "\xc3\xbc", "a.b", "a/b", std::string(300, 'a'), "\x7f", " ", "z", "\xf0\x9f\x98\x80"};
    const std::vector<std::uint8_t> one = {1};
    const auto fill = [&](writer& out) {
        attributes values;
        object_draft draft("own", {});
        for (const std::string& name : names) {
            values.set(name, 1);
            draft.component(name, one);
        }
        for (const std::string& name : names) {
            out.add_object(name, object_draft(draft).attributes(values)).value();
        }
        out.attributes(values).value();
    };
    const reader file = reopened({}, fill);
    std::vector<std::string> sorted = names;
    std::sort(sorted.begin(), sorted.end(), [](const std::string& a, const std::string& b) {
        return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
            return static_cast<unsigned char>(x) < static_cast<unsigned char>(y);
        });
    });
    std::vector<std::string> objects, roles, keys;
    for (const ztensor::object_view object : file) {
        objects.emplace_back(object.name());
    }
    const ztensor::object_view sparse = file.find("b").value();
    for (const ztensor::component_view component : sparse) {
        roles.emplace_back(component.role());
    }
    for (const ztensor::attribute& each : file.attributes()) {
        keys.emplace_back(each.key);
    }
    CHECK(objects == sorted);
    CHECK(roles == sorted);
    CHECK(keys == sorted);

    std::uint64_t last = 0; // blobs keep the order of the calls
    for (const std::string& name : names) {
        const std::uint64_t offset = file.find(name).value().component("b").value().offset();
        CHECK(offset > last);
        last = offset;
    }
}

TEST_CASE("names that start alike are sorted by what follows, of any length") {
    const std::string start = GENERATE("a", "model.layers.");
    const std::string eight = start + "12345678";
    std::vector<std::string> names = {start,       eight,       eight + "\x01",     start + "\x01",
                                      start + "1", eight + "b", start + "\xc3\xbc", eight + "a"};
    std::sort(names.begin(), names.end(), std::greater<>());
    const reader file = reopened({}, [&](writer& out) {
        for (const std::string& name : names) {
            out.add(name, {1}, std::vector<std::uint8_t>{1}).value();
        }
    });
    std::vector<std::string> found;
    for (const ztensor::object_view object : file) {
        found.emplace_back(object.name());
    }
    std::reverse(names.begin(), names.end());
    CHECK(found == names);
}

TEST_CASE("the same calls give the same bytes") {
    for (const format_version version : {format_version::v1_2, format_version::v1_1, format_version::v0_1}) {
        const auto fill = [&](writer& out) {
            out.add("zstd", {1000}, some_elements<std::int16_t>(1000), store().zstd(3).digest(digest::sha256)).value();
            out.add("raw", {100}, some_elements<float>(100)).value();
        };
        CHECK(written(write_options().version(version), fill) == written(write_options().version(version), fill));
    }
}

TEST_CASE("a finished file in memory is taken once") {
    writer out = to_memory();
    CHECK(out.take_bytes().empty());
    out.add("w", {4}, four_floats).value();
    CHECK(out.take_bytes().empty());
    out.finish().value();
    CHECK(reader::from_bytes(out.take_bytes()).value().read<float>("w").value() == four_floats);
    CHECK(out.take_bytes().empty());
}

TEST_CASE("what 1.1 can say is read back from it") {
    const reader file = reopened(write_options().version(format_version::v1_1), [](writer& out) {
        out.add("complex", {1}, std::vector<std::complex<double>>{{1, 2}}).value();
        out.add("eighths", {1}, std::vector<ztensor::float8_e5m2>{ztensor::float8_e5m2(1.5F)}).value();
        out.add("zstd", {4}, four_floats, store().zstd()).value();
        out.add_object("csr", object_draft(format::sparse_csr, {2, 3})
                                  .component("values", std::vector<float>{1, 2, 3})
                                  .component("indices", std::vector<std::int32_t>{1, 0, 2})
                                  .component("indptr", std::vector<std::uint16_t>{0, 1, 3}))
            .value();
        out.attributes(attributes().set("k", 1)).value();
    });
    CHECK(file.version().original() == "1.1.0");
    CHECK(file.version() == ztensor::version::v1_1);
    CHECK(file.read<std::complex<double>>("complex").value().front() == std::complex<double>(1, 2));
    CHECK(file.find("complex").value().data().value().dtype().original() == "complex128");
    CHECK(file.read_as<float>("eighths").value() == std::vector<float>{1.5F});
    CHECK(file.read<float>("zstd").value() == four_floats);
    CHECK_FALSE(file.find("zstd").value().data().value().uncompressed_length().has_value());
    CHECK(file.find("csr").value().component("indices").value().dtype() == dtype::i32);
    CHECK(file.attributes().integer("k").value() == 1);
}

TEST_CASE("what 0.1 can say is read back from it") {
    const reader file = reopened(write_options().version(format_version::v0_1), [](writer& out) {
        out.add("floats", {2, 2}, four_floats).value();
        out.add("bools", {2}, std::vector<bool>{true, false}).value();
        out.add("zstd", {4}, four_floats, store().zstd().digest(digest::sha256)).value();
        out.add_object("noted", object_draft(format::dense, {4})
                                    .component("data", four_floats)
                                    .attributes(attributes().set("note", "n").set("sparse_format", "own")))
            .value();
    });
    CHECK(file.version().original().empty());
    CHECK(file.version() == ztensor::version::v0_1);
    CHECK(file.read<float>("floats").value() == four_floats);
    CHECK(file.read<bool>("bools").value() == std::vector<bool>{true, false});
    CHECK(file.read<float>("zstd").value() == four_floats);
    CHECK(file.find("zstd").value().data().value().verify().value() == ztensor::digest_state::match);
    CHECK(file.find("noted").value().attributes().size() == 2);
    CHECK(file.find("noted").value().attributes().text("note").value() == "n");
    CHECK((*file.begin()).name() == "floats");
}

TEST_CASE("what a version can't say is refused by name, and nothing of it written") {
    const std::vector<std::uint8_t> byte = {1};
    const std::vector<std::complex<float>> complex = {{1, 2}};
    const std::vector<ztensor::float8_e4m3fnuz> eighth(1);
    struct attempt {
        const char* what;
        format_version version;
        std::function<result<void>(writer&)> call;
    };
    const auto draft = [&] { return object_draft(format::dense, {1}).component("data", byte); };
    const attempt attempts[] = {
        {"f8_e4m3fnuz in 1.1", format_version::v1_1, [&](writer& out) { return out.add("x", {1}, eighth); }},
        {"f8_e5m2fnuz in 1.1", format_version::v1_1,
         [&](writer& out) { return out.add("x", {1}, byte, store().type("f8_e5m2fnuz")); }},
        {"an unknown type in 1.1", format_version::v1_1,
         [&](writer& out) { return out.add("x", {1}, byte, store().type("own")); }},
        {"a type in a stream of 1.1", format_version::v1_1,
         [&](writer& out) {
             return out.stream("x", {1}, dtype::u8, store().type("own")).and_then([](const tensor_stream&) {
                 return result<void>();
             });
         }},
        {"complex in 0.1", format_version::v0_1, [&](writer& out) { return out.add("x", {1}, complex); }},
        {"f8_e4m3fn in 0.1", format_version::v0_1,
         [&](writer& out) { return out.add("x", {1}, byte, store().type("f8_e4m3fn")); }},
        {"an unknown type in 0.1", format_version::v0_1,
         [&](writer& out) { return out.add("x", {1}, byte, store().type("own")); }},
        {"attributes of the file in 0.1", format_version::v0_1,
         [&](writer& out) { return out.attributes(attributes().set("k", 1)); }},
        {"two components in 0.1", format_version::v0_1,
         [&](writer& out) { return out.add_object("x", draft().component("more", byte)); }},
        {"another role in 0.1", format_version::v0_1,
         [&](writer& out) { return out.add_object("x", object_draft("own", {1}).component("payload", byte)); }},
        {"an unknown format in 0.1", format_version::v0_1,
         [&](writer& out) { return out.add_object("x", object_draft("own", {1}).component("data", byte)); }},
        {"quantized weights in 0.1", format_version::v0_1,
         [&](writer& out) {
             return out.add_object("x", object_draft(format::quantized_group, {1})
                                            .component("packed_weight", byte)
                                            .component("scales", byte)
                                            .component("zeros", byte));
         }},
        {"an attribute named like a field in 0.1", format_version::v0_1,
         [&](writer& out) { return out.add_object("x", draft().attributes(attributes().set("size", 1))); }},
        {"another attribute named like a field in 0.1", format_version::v0_1,
         [&](writer& out) { return out.add_object("x", draft().attributes(attributes().set("checksum", 1))); }},
    };
    for (const attempt& each : attempts) {
        CAPTURE(each.what);
        const write_options options = write_options().version(each.version);
        sink_log log;
        writer out = writer::to_sink(std::make_unique<scripted_sink>(log), options).value();
        const std::size_t writes = log.writes;
        const result<void> refused = each.call(out);
        CHECK(outcome(refused) == "not_expressible");
        CHECK(log.writes == writes);
        out.add("w", {4}, four_floats).value();
        out.finish().value();
        CHECK(log.content == written(options, [](writer& plain) { plain.add("w", {4}, four_floats).value(); }));
    }
}
