// SPDX-License-Identifier: MIT
//
// Calls to a writer that are seldom made: empty and large tensors of the other byte order, half bytes, shapes without
// elements that no number counts, parts that are missing, words that are not UTF-8.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/scripted_sink.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/array.hpp>
#include <ztensor/copy.hpp>
#include <ztensor/quantized.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace odd_calls {

using support::outcome;
using support::refusal;
using support::to_memory;
using ztensor::digest;
using ztensor::dtype;
using ztensor::errc;
using ztensor::format_version;
using ztensor::object_draft;
using ztensor::reader;
using ztensor::store;
using ztensor::write_options;
using ztensor::writer;

constexpr std::uint64_t two_to_33 = std::uint64_t{1} << 33;

} // namespace odd_calls

} // namespace

TEST_CASE("digests that the version has none of are refused") {
    using namespace odd_calls;
    const std::vector<float> one = {1};
    for (const format_version version : {format_version::v1_2, format_version::v2}) {
        writer to = to_memory(version);
        CHECK(refusal(to.add("w", {1}, one, store().digest(digest::crc32))) == errc::not_expressible);
    }
}

TEST_CASE("big-endian tensors of no elements and of many are what they were") {
    using namespace odd_calls;
    std::vector<float> many(50'000);
    for (std::size_t i = 0; i < many.size(); ++i) {
        many[i] = static_cast<float>(i);
    }
    const reader file = support::reopened(write_options().version(format_version::v0_1), [&](writer& to) {
        REQUIRE(to.add("none", {0, 3}, std::vector<float>(), store().big_endian()));
        REQUIRE(to.add("many", {many.size()}, many, store().big_endian()));
    });
    CHECK(file.find("none").value().data().value().is_big_endian());
    CHECK(file.find("none").value().read<float>().value().empty());
    CHECK((file.find("many").value().read<float>().value() == many));
}

TEST_CASE("half bytes end with four bits of zero, also in pieces, and no more elements than 64 bits count") {
    using namespace odd_calls;
    const store half = store().type("f4_e2m1");
    writer to = to_memory(format_version::v2);
    CHECK(refusal(to.add_bytes("w", {two_to_33, two_to_33}, dtype::u8, {}, half)) == errc::shape_overflow);
    auto stream = to.stream("w", {3}, dtype::u8, half).value();
    CHECK(stream.missing_bytes() == 2);
    CHECK(refusal(stream.append_bytes(support::bytes_of("\x21\x43"))) == errc::bad_padding);
    REQUIRE(stream.append_bytes(support::bytes_of("\x21\x03")));
    REQUIRE(stream.append_bytes({})); // which ends in nothing
    REQUIRE(stream.finish());
    CHECK(support::finished(to).find("\x21\x03") != std::string::npos);
}

TEST_CASE("in version 2 a shape may have no elements, but not before its dimensions are too many to count") {
    using namespace odd_calls;
    writer to = to_memory(format_version::v2);
    const ztensor::shape too_late = {two_to_33, two_to_33, 0}, empty = {0, two_to_33, two_to_33};
    const std::vector<float> none;
    CHECK(refusal(to.add("w", too_late, none)) == errc::shape_overflow);
    CHECK(refusal(to.add("w", {two_to_33, two_to_33 / 8}, none)) == errc::shape_overflow); // in bytes
    CHECK(refusal(to.add("w", empty, std::vector<float>{1})) == errc::size_mismatch);
    REQUIRE(to.add("w", empty, none));
    REQUIRE(to.add_bytes("w1", empty, dtype::u8, {}, store().type("f4_e2m1")));
    REQUIRE(to.add("w2", {0, std::uint64_t{1} << 63}, none)); // of four bytes each
    CHECK(refusal(to.stream<float>("w3", too_late)) == errc::shape_overflow);
    REQUIRE(to.stream<float>("w3", empty).value().finish());
    CHECK(refusal(to_memory().add("w", empty, none)) == errc::shape_overflow);
    CHECK(refusal(to.add_object("x", object_draft("vendor.layout/1", too_late).component("data", none))) ==
          errc::shape_overflow);
    REQUIRE(to.add_object("x", object_draft("vendor.layout/1", empty).component("data", none)));
    REQUIRE(to.add_object("y", object_draft("dense", empty).component("data", none)));
    const reader file = support::opened(support::finished(to));
    for (const char* const name : {"w", "w3", "y"}) {
        CHECK(file.find(name).value().shape() == empty);
        CHECK(file.find(name).value().read<float>().value().empty());
    }
    const reader copied = support::reopened(write_options().version(format_version::v2),
                                            [&](writer& again) { REQUIRE(ztensor::copy(file, again)); });
    CHECK(copied.size() == 6);
}

TEST_CASE("a logical type stands over its own storage type, or nothing is written that no reader would open") {
    using namespace odd_calls;
    const support::bytes content(64, '\0');
    const struct {
        dtype storage;
        const char* type;
        std::size_t bytes;
    } cases[] = {
        {dtype::u8, "complex64", 16},
        {dtype::f32, "f8_e4m3fn", 32},
        {dtype::f32, "bool", 32},
        {dtype::f64, "bool", 64},
    };
    for (const auto& each : cases) {
        for (const format_version version : {format_version::v1_2, format_version::v2}) {
            for (const char* const layout : {"dense", "vendor.layout/1"}) {
                CAPTURE(each.type, layout, static_cast<int>(version));
                writer to = to_memory(version);
                const auto data = support::bytes_of(content).first(each.bytes);
                const auto added = to.add_object(
                    "w",
                    object_draft(layout, {8}).component_bytes("data", each.storage, data, store().type(each.type)));
                CHECK((added || added.error().code() == errc::type_mismatch));
                CHECK((version == format_version::v1_2 || !added));
                REQUIRE(to.finish());
                const support::byte_vector file = to.take_bytes();
                CHECK(outcome(reader::from_bytes(ztensor::bytes_view(file))) == "ok");
            }
        }
    }
}

TEST_CASE("an object of quantized weights needs all its parts, and a layout's name is UTF-8") {
    using namespace odd_calls;
    const std::vector<std::int32_t> packed = {1};
    const std::vector<float> scales = {1};
    writer to = to_memory();
    ztensor::attributes about;
    about.set("bits", 4).set("group_size", 8).set("packing", "8_per_i32");
    CHECK(refusal(to.add_object("q", object_draft(ztensor::format::quantized_group, {1, 8})
                                         .component("packed_weight", packed)
                                         .component("scales", scales)
                                         .attributes(about))) == errc::layout_components);
    for (const format_version version : {format_version::v1_1, format_version::v1_2}) {
        writer other = to_memory(version);
        CHECK(refusal(other.add_object("o", object_draft("\xff\xfe", {1}).component("data", scales))) ==
              errc::cbor_utf8);
        REQUIRE(other.finish());
    }
}

TEST_CASE("compressed tensors of version 2 come in pieces, or raw where that is smaller, and are found whole") {
    using namespace odd_calls;
    const std::vector<std::byte> noise = support::noise(100'000);
    std::vector<std::uint8_t> many(100'000, 3);
    const reader file = support::reopened(write_options().version(format_version::v2), [&](writer& to) {
        REQUIRE(to.add_bytes("a", {noise.size()}, dtype::u8, noise, store().zstd_if_smaller()));
        auto stream = to.stream<std::uint8_t>("b", {many.size()}, store().zstd()).value();
        for (std::size_t at = 0; at < many.size(); at += 10'000) {
            REQUIRE(stream.append(ztensor::span<const std::uint8_t>(many).subspan(at, 10'000)));
        }
        REQUIRE(stream.finish());
    });
    CHECK(file.find("a").value().data().value().encoding() == ztensor::encoding::raw);
    CHECK((file.find("a").value().read<std::byte>().value() == noise));
    CHECK((file.find("b").value().read<std::uint8_t>().value() == many));
    CHECK(file.verify());
}

TEST_CASE("a stream has the type that it is told, or that of its elements, and the attributes that it is left with") {
    using namespace odd_calls;
    const std::vector<float> two = {1, 2};
    for (const format_version version : {format_version::v1_2, format_version::v2}) {
        const reader file = support::reopened(write_options().version(version), [&](writer& to) {
            auto stream = to.stream<float>("w", {2}, store().type("vendor.type")).value();
            REQUIRE(stream.append(two));
            REQUIRE(stream.attributes(ztensor::attributes().set("k", 1)));
            REQUIRE(stream.attributes({}));
            REQUIRE(stream.finish());
        });
        CHECK(file.find("w").value().data().value().type().text() == "vendor.type");
        CHECK(file.find("w").value().attributes().empty());
        CHECK(file.find("w").value().has_attributes() == (version != format_version::v2));
    }
    writer to = to_memory(format_version::v0_1);
    CHECK(refusal(to.add_coo("c", {2}, std::vector<float>{1}, std::vector<std::uint64_t>{1},
                             store().type("vendor.type"))) == errc::not_expressible);
}

TEST_CASE("in canonical form a second name stands in the order of names, too") {
    using namespace odd_calls;
    writer to = to_memory(format_version::v2);
    REQUIRE(to.add("b", {1}, std::vector<float>{1}));
    CHECK(refusal(to.add_tied("a", "b")) == errc::invalid_argument);
    REQUIRE(to.add_tied("d", "b"));
    CHECK(refusal(to.add("c", {1}, std::vector<float>{2})) == errc::invalid_argument);
    REQUIRE(to.add("e", {1}, std::vector<float>{2}));
    const reader file = support::opened(support::finished(to));
    CHECK(file.size() == 3);
}

TEST_CASE("a component may be copied from several files of 0.1 into one object") {
    using namespace odd_calls;
    const support::bytes old = support::sample(ztensor::version::v0_1).file();
    const reader first = support::opened(old), second = support::opened(old);
    const reader file = support::reopened(write_options(), [&](writer& to) {
        REQUIRE(to.add_object("o", object_draft("mine", {2})
                                       .component_stored("x", first.find("w").value().data().value())
                                       .component_stored("y", second.find("w").value().data().value())));
    });
    CHECK(file.find("o").value().component("y").value().read<float>().value() == std::vector<float>{1, 2});
}

TEST_CASE("whichever write of a file of version 2 fails, nothing is published and the writer says so") {
    using namespace odd_calls;
    bool has_failed = true;
    for (std::size_t failing = 0; has_failed; ++failing) {
        CAPTURE(failing);
        support::sink_log log;
        const auto options = write_options().version(format_version::v2);
        ztensor::result<writer> to = writer::to_sink(std::make_unique<support::scripted_sink>(log, failing), options);
        ztensor::result<void> done = support::done(to);
        done = done ? to->attributes(ztensor::attributes().set("k", 1)) : std::move(done);
        done = done ? to->add("a", {2}, std::vector<float>{1, 2}, store().zstd()) : std::move(done);
        done = done ? to->add("b", {2}, std::vector<float>{1, 2}) : std::move(done);
        done = done ? to->finish() : std::move(done);
        has_failed = log.has_failed;
        CHECK(done.has_value() == !has_failed);
        CHECK(log.is_published == !has_failed);
        CHECK(log.calls_after_failure == 0);
        CHECK((!to || refusal(to->finish()) == errc::writer_closed));
    }
}

TEST_CASE("options of a tensor keep the type that they were given, whatever became of its text") {
    using namespace odd_calls;
    const auto kept = [] {
        const std::string text = "a.type.with.a.name.that.no.short.string.holds.by.itself";
        return store().type(text);
    }();
    const reader file = support::reopened(write_options(), [&](writer& to) {
        REQUIRE(to.add_object("o", object_draft("mine", {2}).component("x", std::vector<float>{1, 2}, kept)));
    });
    CHECK(file.find("o").value().component("x").value().type().text() ==
          "a.type.with.a.name.that.no.short.string.holds.by.itself");
}

TEST_CASE("a draft keeps elements that it is given as a temporary, in its copies too") {
    using namespace odd_calls;
    const reader source = support::reopened(write_options(), [](writer& to) {
        REQUIRE(to.add("w", {2}, std::vector<float>{7, 8}));
    });
    const object_draft kept = [&] {
        object_draft draft("mine", {64});
        draft.component("vector", std::vector<float>(64, 3.0f)).component("array", std::array<std::uint8_t, 2>{5, 6});
        draft.component("loaded", source.load<float>("w").value());
        draft.component_bytes("bytes", dtype::u8, std::vector<std::byte>(64, std::byte{9}));
        return object_draft(draft);
    }();
    const reader file = support::reopened(write_options(), [&](writer& to) { REQUIRE(to.add_object("o", kept)); });
    const ztensor::object_view object = file.find("o").value();
    CHECK(object["vector"].read<float>().value() == std::vector<float>(64, 3.0f));
    CHECK(object["array"].read<std::uint8_t>().value() == std::vector<std::uint8_t>{5, 6});
    CHECK(object["loaded"].read<float>().value() == std::vector<float>{7, 8});
    CHECK(object["bytes"].read<std::uint8_t>().value() == std::vector<std::uint8_t>(64, 9));
}
