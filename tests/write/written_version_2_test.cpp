// SPDX-License-Identifier: MIT
//
// Writing version 2: canonical form, what departs from it when asked to, and what is refused. That the bytes are the
// reference's is for tests/interop/check_v2_written.py to say.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/model_names.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"

#include <ztensor/edit.hpp>
#include <ztensor/quantized.hpp>
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

using support::refusal;
using support::reopened;
using support::temp_dir;
using ztensor::attributes;
using ztensor::errc;
using ztensor::format_version;
using ztensor::reader;
using ztensor::result;
using ztensor::store;
using ztensor::write_options;
using ztensor::writer;

write_options as_version_2() {
    return write_options().version(format_version::v2);
}

const std::vector<float> three_floats = {1.5F, -2.0F, 3.25F};

/// Two tensors of the same bytes and one of others.
result<void> add_three_tensors(writer& to, const store& how = {}) {
    result<void> added = to.add("a", {3}, three_floats, how);
    added = added ? to.add("b", {3, 1}, three_floats, how) : std::move(added);
    return added ? to.add("c", {1}, std::vector<std::uint8_t>{7}, how) : added;
}

std::uint64_t data_offset(const reader& file, const char* name) {
    return file.find(name).value().component("data").value().offset();
}

} // namespace

TEST_CASE("version 2 is written in canonical form unless told otherwise") {
    const reader file = reopened(as_version_2(), [](writer& to) { REQUIRE(add_three_tensors(to)); });
    CHECK(file.version() == ztensor::version::v2);
    CHECK(data_offset(file, "a") == 65536);
    CHECK(data_offset(file, "b") == 65536); // of the same bytes
    CHECK(data_offset(file, "c") == 2 * 65536);
    CHECK(file.find("b").value().read<float>().value() == three_floats);
    const auto counts = file.verify().value();
    CHECK(counts.verified == 3);
}

TEST_CASE("version 2 has the same bytes in memory and in a file") {
    const temp_dir directory;
    writer to = writer::create(directory / "m.zt", as_version_2()).value();
    REQUIRE(add_three_tensors(to));
    REQUIRE(to.finish());
    const auto in_memory = support::written(as_version_2(), [](writer& file) { REQUIRE(add_three_tensors(file)); });
    const std::string in_file = support::read_file(directory / "m.zt");
    REQUIRE(in_file.size() == in_memory.size());
    CHECK(std::equal(in_memory.begin(), in_memory.end(), in_file.begin(),
                     [](std::byte a, char b) { return a == static_cast<std::byte>(b); }));
}

TEST_CASE("version 2 takes objects in the order of their names, or in any if it is told to") {
    writer to = support::to_memory(format_version::v2);
    REQUIRE(to.add("b", {3}, three_floats));
    CHECK(refusal(to.add("a", {3}, three_floats)) == errc::invalid_argument);
    REQUIRE(to.add("bb", {3}, three_floats));
    REQUIRE(to.finish());

    const reader file = reopened(as_version_2().any_order(), [](writer& any) {
        REQUIRE(any.add("b", {3}, three_floats));
        REQUIRE(any.add("a", {1}, std::vector<float>{1}));
    });
    CHECK(data_offset(file, "b") < data_offset(file, "a"));
}

TEST_CASE("version 2 keeps bools, packed and complex elements as bytes with a meaning") {
    const std::vector<std::uint8_t> packed = {0x21, 0x03};
    const reader file = reopened(as_version_2(), [&](writer& to) {
        REQUIRE(to.add("b", {2}, std::vector<bool>{true, false}));
        REQUIRE(to.add("f4", {3}, packed, store().type("f4_e2m1")));
    });
    const auto bools = file.find("b").value().component("data").value();
    CHECK(bools.dtype() == ztensor::dtype::u8);
    CHECK(bools.type().text() == "bool");
    CHECK(file.find("b").value().read<bool>().value() == std::vector<bool>{true, false});
    CHECK(file.find("f4").value().read_as<float>().value() == std::vector<float>{0.5F, 1.0F, 1.5F});

    writer to = support::to_memory(format_version::v2);
    const std::vector<std::uint8_t> two = {2};
    CHECK(refusal(to.add("x", {1}, two, store().type("bool"))) == errc::bad_bool);
    CHECK(refusal(to.add("x", {3}, std::vector<std::uint8_t>{0, 0x10}, store().type("f4_e2m1"))) == errc::bad_padding);
    CHECK(refusal(to.add("x", {3}, std::vector<std::uint8_t>{0}, store().type("f4_e2m1"))) == errc::size_mismatch);
    CHECK(refusal(to.add("x", {1}, three_floats, store().type("bool"))) == errc::type_mismatch);
}

TEST_CASE("version 2 keeps sparse tensors in its own layouts") {
    const std::vector<float> values = {1, 2};
    const reader file = reopened(as_version_2(), [&](writer& to) {
        REQUIRE(to.add_coo("coo", {4}, values, std::vector<std::uint32_t>{3, 1}));
        REQUIRE(
            to.add_csr("csr", {2, 3}, values, std::vector<std::uint64_t>{2, 0}, std::vector<std::uint64_t>{0, 1, 2}));
    });
    CHECK(file.find("coo").value().format().original() == "zt.sparse_coo/1");
    CHECK(file.find("csr").value().format().original() == "zt.sparse_csr/1");
    CHECK(ztensor::csr_view<float>::read(file.find("csr").value()).value().to_dense().value() ==
          std::vector<float>{0, 0, 1, 2, 0, 0});
    CHECK(file.verify());

    writer to = support::to_memory(format_version::v2);
    const std::vector<std::uint64_t> one_row = {0, 2};
    CHECK(refusal(to.add_csr("x", {1, 3}, values, std::vector<std::uint64_t>{2, 0}, one_row)) == errc::sparse_order);
    CHECK(refusal(to.add_coo("x", {3}, values, std::vector<std::uint64_t>{1, 1})) == errc::sparse_order);
    CHECK(refusal(to.add_coo("x", {3}, values, std::vector<std::uint16_t>{0, 1})) == errc::sparse_dtype);
}

TEST_CASE("version 2 keeps quantized weights in groups with all that a decoder needs") {
    const std::vector<std::int32_t> words = {0x76543210, 0x01234567};
    const std::vector<float> scales = {0.5F, 2};
    const std::vector<std::int8_t> zeros = {1, 0};
    const reader file = reopened(as_version_2(), [&](writer& to) {
        REQUIRE(to.add_quantized("q", {2, 8}, {4, 8, "8_per_i32"}, words, scales, zeros));
    });
    const auto object = file.find("q").value();
    CHECK(object.format().original() == "zt.quant_group/1");
    CHECK(object.attributes().unsigned_integer("axis").value() == 1);
    CHECK(object.component("data").value().dtype() == ztensor::dtype::i32);

    writer to = support::to_memory(format_version::v2);
    CHECK(refusal(to.add_quantized("x", {2, 8}, {3, 8, "8_per_i32"}, words, scales, zeros)) == errc::not_expressible);
}

TEST_CASE("version 2 gives attributes their one encoding, and refuses what it has no place for") {
    const auto cbor = support::from_hex("bf6261611b00000000000000016162fb3ff8000000000000ff"); // {"aa": 1, "b": 1.5}
    const reader file = reopened(as_version_2(), [&](writer& to) {
        attributes values;
        REQUIRE(values.set_cbor("map", cbor));
        REQUIRE(to.attributes(values));
        REQUIRE(to.add_object("o", ztensor::object_draft("dense", {3}).component("data", three_floats).attributes({})));
    });
    CHECK(support::to_hex(file.attributes().cbor("map").value()) == "a26162f93e0062616101");
    CHECK_FALSE(file.find("o").value().has_attributes());

    const std::pair<const char*, errc> refused[] = {
        {"c101", errc::not_expressible},         // a tag
        {"f7", errc::not_expressible},           // undefined
        {"a2616101616102", errc::duplicate_key}, // {"a": 1, "a": 2}
        {"7f61c3ff", errc::cbor_utf8},
    };
    writer to = support::to_memory(format_version::v2);
    for (const auto& [hex, code] : refused) {
        CAPTURE(hex);
        attributes values;
        REQUIRE(values.set_cbor("k", support::from_hex(hex)));
        CHECK(refusal(to.attributes(values)) == code);
    }
    attributes deep;
    std::string nested;
    for (int level = 0; level < 31; ++level) {
        nested += "81";
    }
    REQUIRE(deep.set_cbor("k", support::from_hex(nested + "00")));
    CHECK(refusal(to.attributes(deep)) == errc::cbor_depth);
}

TEST_CASE("version 2 refuses what it can't say before anything is written") {
    writer to = support::to_memory(format_version::v2);
    CHECK(refusal(to.add("x", {3}, three_floats, store().digest(ztensor::digest::crc32c))) == errc::not_expressible);
    CHECK(refusal(to.add("x", {3}, three_floats, store().big_endian())) == errc::not_expressible);
    CHECK(refusal(to.add(std::string(1025, 'x'), {3}, three_floats)) == errc::name_invalid);
    const ztensor::object_draft no_layout("my_layout", {3});
    CHECK(refusal(to.add_object("x", ztensor::object_draft(no_layout).component("data", three_floats))) ==
          errc::not_expressible);
    CHECK(refusal(to.add_object("x", ztensor::object_draft("dense", {3}).component("values", three_floats))) ==
          errc::layout_components);
    REQUIRE(to.add(std::string(1024, 'x'), {3}, three_floats));
    REQUIRE(to.finish());

    for (const std::uint64_t bytes : {0u, 64u, 2048u, 5000u}) {
        CHECK(refusal(writer::to_memory(as_version_2().alignment_bytes(bytes))) == errc::invalid_argument);
    }
    CHECK(refusal(writer::to_memory(as_version_2().shard_bytes(1))) == errc::invalid_argument);
    CHECK(refusal(writer::to_memory(write_options().shard_bytes(1))) == errc::not_expressible);
    CHECK(refusal(writer::to_memory().value().add("x", {3}, three_floats, store().digest(ztensor::digest::xxh3))) ==
          errc::not_expressible);
}

TEST_CASE("version 2 compresses into frames that can be looked for, with digests of what they decode to") {
    std::vector<float> many(700'000, 1.0F);
    many[600'000] = 2.0F;
    const reader raw = reopened(as_version_2(), [&](writer& to) { REQUIRE(to.add("m", {700'000}, many)); });
    const reader packed =
        reopened(as_version_2(), [&](writer& to) { REQUIRE(to.add("m", {700'000}, many, store().zstd())); });
    const auto part = packed.find("m").value().component("data").value();
    CHECK(part.encoding() == ztensor::encoding::zstd_seekable);
    CHECK(part.stored_bytes() < 10'000);
    CHECK(part.digest() == raw.find("m").value().component("data").value().digest());
    CHECK(part.read<float>().value() == many);
    CHECK(packed.verify().value().verified == 1);
    const reader empty =
        reopened(as_version_2(), [](writer& to) { REQUIRE(to.add("e", {0}, std::vector<float>(), store().zstd())); });
    CHECK(empty.find("e").value().component("data").value().stored_bytes() == 17);
    CHECK(empty.verify());
}

TEST_CASE("version 2 takes tensors in pieces") {
    const reader file = reopened(as_version_2(), [](writer& to) {
        auto stream = to.stream<float>("s", {3}).value();
        REQUIRE(stream.attributes(attributes().set("k", 1)));
        REQUIRE(stream.append(std::vector<float>{1.5F}));
        REQUIRE(stream.append(std::vector<float>{-2.0F, 3.25F}));
        REQUIRE(stream.finish());
        REQUIRE(to.add("t", {3}, three_floats));
    });
    CHECK(file.find("s").value().read<float>().value() == three_floats);
    CHECK(file.find("s").value().component("data").value().digest() ==
          file.find("t").value().component("data").value().digest());
    CHECK(file.verify().value().verified == 2);
}

TEST_CASE("shards lie beside their root, and nothing is there before all is") {
    const temp_dir directory;
    for (const ztensor::digest algorithm : {ztensor::digest::xxh3, ztensor::digest::sha256}) {
        writer to = writer::create(directory / "m.zt", as_version_2().shard_bytes(70'000, algorithm)).value();
        REQUIRE(add_three_tensors(to));
        REQUIRE(to.finish());
        CHECK(support::names_without_tokens(directory) == std::vector<std::string>{"m-00001.zt", "m-00002.zt", "m.zt"});
        const reader file = reader::open(directory / "m.zt").value();
        CHECK(file.find("b").value().read<float>().value() == three_floats);
        CHECK(file.find("c").value().read<std::uint8_t>().value() == std::vector<std::uint8_t>{7});
        CHECK(file.verify().value().verified == 3);
    }
    const temp_dir empty;
    {
        writer dropped = writer::create(empty / "m.zt", as_version_2().shard_bytes(1)).value();
        REQUIRE(add_three_tensors(dropped));
    }
    CHECK(empty.names().empty());
    CHECK(refusal(writer::create(empty / "m.bin", as_version_2().shard_bytes(1))) == errc::invalid_argument);
}

TEST_CASE("a file of version 2 grows by generations, and is not edited") {
    for (const ztensor::publish_mode mode : {ztensor::publish_mode::replace, ztensor::publish_mode::in_place}) {
        const temp_dir directory;
        writer to = writer::create(directory / "m.zt", as_version_2().alignment_bytes(4096)).value();
        REQUIRE(to.attributes(attributes().set("k", 1)));
        REQUIRE(to.add("m", {3}, three_floats));
        REQUIRE(to.finish());
        const std::string before = support::read_file(directory / "m.zt");

        writer more = writer::append(directory / "m.zt", write_options().publish(mode)).value();
        CHECK(more.version() == format_version::v2);
        CHECK(refusal(more.add("m", {3}, three_floats)) == errc::duplicate_key);
        REQUIRE(more.add("a", {2}, std::vector<std::int32_t>{4, 5}));
        REQUIRE(more.finish());

        const std::string after = support::read_file(directory / "m.zt");
        CHECK(after.substr(0, before.size()) == before);
        const reader file = reader::open(directory / "m.zt").value();
        CHECK(file.size() == 2);
        CHECK(file.attributes().integer("k").value() == 1);
        CHECK(data_offset(file, "a") % 4096 == 0);
        CHECK(data_offset(file, "a") < before.size() + 4096);
        CHECK(file.find("m").value().read<float>().value() == three_floats);
        CHECK(file.verify().value().verified == 2);
        CHECK(directory.names() == std::vector<std::string>{"m.zt"});
        CHECK(refusal(ztensor::edit(directory / "m.zt")) == errc::not_expressible);
    }
}

TEST_CASE("a crash while a file of version 2 is appended to in place leads back to the old file") {
    const temp_dir directory, after_crash;
    writer to = writer::create(directory / "m.zt", as_version_2()).value();
    REQUIRE(add_three_tensors(to));
    REQUIRE(to.finish());
    const std::string before = support::read_file(directory / "m.zt");
    writer more = writer::append(directory / "m.zt", write_options().publish(ztensor::publish_mode::in_place)).value();
    const std::vector<std::uint8_t> large(3 << 20, 9);
    REQUIRE(more.add("m", {large.size()}, large));
    for (const std::string& name : directory.names()) { // the file as far as it came, and its undo record
        support::write_file(after_crash / name, support::read_file(directory / name));
    }
    CHECK(refusal(reader::open(after_crash / "m.zt")) == errc::truncated);
    CHECK(refusal(writer::append(after_crash / "m.zt")) == errc::recovery_needed);
    CHECK(ztensor::recover(after_crash / "m.zt").value() == ztensor::recovery::undone);
    CHECK(support::read_file(after_crash / "m.zt") == before);
    CHECK(after_crash.names() == std::vector<std::string>{"m.zt"});
}

TEST_CASE("a model has one content digest, however it is laid out") {
    const temp_dir directory;
    const auto add = [](const store& how) { return [&how](writer& to) { REQUIRE(add_three_tensors(to, how)); }; };
    const store plain, compressed = store().zstd();
    const reader canonical = reopened(as_version_2(), add(plain));
    const std::string expected = ztensor::content_digest(canonical).value();
    CHECK(expected.size() == std::string("xxh3:").size() + 16);
    CHECK(ztensor::content_digest(canonical, ztensor::digest::sha256).value().size() == 7 + 64);
    CHECK(ztensor::content_digest(reopened(as_version_2().alignment_bytes(4096), add(plain))).value() == expected);
    CHECK(ztensor::content_digest(reopened(as_version_2(), add(compressed))).value() == expected);
    CHECK(ztensor::content_digest(reopened(as_version_2().any_order(), [](writer& to) {
              REQUIRE(to.add("c", {1}, std::vector<std::uint8_t>{7}));
              REQUIRE(to.add("b", {3, 1}, three_floats));
              REQUIRE(to.add("a", {3}, three_floats));
          })).value() == expected);
    writer to = writer::create(directory / "m.zt", as_version_2().shard_bytes(1)).value();
    REQUIRE(add_three_tensors(to));
    REQUIRE(to.finish());
    CHECK(ztensor::content_digest(reader::open(directory / "m.zt").value()).value() == expected);

    const reader other = reopened(as_version_2(), [](writer& file) { REQUIRE(file.add("a", {3}, three_floats)); });
    CHECK(ztensor::content_digest(other).value() != expected);
    CHECK(refusal(ztensor::content_digest(canonical, ztensor::digest::crc32c)) == errc::invalid_argument);
    CHECK(refusal(ztensor::content_digest(reopened(write_options(), add(plain)))) == errc::not_expressible);
}

TEST_CASE("names in canonical form are in Unicode's Normalization Form C") {
    const std::string composed = "caf\xc3\xa9", apart = "cafe\xcc\x81";
    const auto add_tensor = [](writer& to, const std::string& name) { return to.add(name, {3}, three_floats); };
    const auto add_part = [](writer& to, const std::string& role) {
        return to.add_object("w", ztensor::object_draft("vendor.layout/1", {3}).component(role, three_floats));
    };
    const auto in_memory = [](const write_options& options) { return writer::to_memory(options).value(); };

    for (const write_options& options : {as_version_2(), as_version_2().alignment_bytes(4096)}) {
        writer canonical = in_memory(options);
        CHECK(refusal(add_tensor(canonical, apart)) == errc::name_invalid);
        CHECK(add_tensor(canonical, composed));
        CHECK(refusal(add_part(canonical, apart)) == errc::name_invalid);
        CHECK(add_part(canonical, composed));
        CHECK(canonical.finish());
    }
    writer any = in_memory(as_version_2().any_order());
    CHECK(add_tensor(any, apart));
    CHECK(add_part(any, apart));
    writer before = in_memory(write_options());
    CHECK(add_tensor(before, apart));
}
