// SPDX-License-Identifier: MIT
//
// Copies between version 2 and the versions before it: what becomes of types, indices, layouts, compression and
// digests, and what is refused because the other side can't say it.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/writing.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/quantized.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using support::refusal;
using support::reopened;
using ztensor::digest;
using ztensor::errc;
using ztensor::format_version;
using ztensor::reader;
using ztensor::store;
using ztensor::write_options;
using ztensor::writer;

const std::vector<float> three_values = {1.5F, -2.0F, 3.25F};

/// A file of `version` with what `fill` puts in, and its copy in version `to`.
struct crossed_files {
    crossed_files(format_version from, format_version to, const support::fill_function& fill,
                  const ztensor::copy_options& options = {})
        : before(reopened(write_options().version(from), fill)),
          after(reopened(write_options().version(to),
                         [&](writer& out) { REQUIRE(ztensor::copy(before, out, options)); })) {}

    reader before;
    reader after;
};

ztensor::component_view part_of(const reader& file, const char* object, const char* role) {
    return file.find(object).value().component(role).value();
}

/// What copying one object to `to` is refused with.
refusal refusal_to_cross(format_version from, format_version to, const support::fill_function& fill) {
    const reader before = reopened(write_options().version(from), fill);
    writer out = support::to_memory(to);
    return refusal(ztensor::copy(before, out));
}

} // namespace

TEST_CASE("a copy into version 2 is what a writer of new data makes of the same tensors") {
    for (const format_version from : {format_version::v0_1, format_version::v1_1, format_version::v1_2}) {
        CAPTURE(static_cast<int>(from));
        const auto fill = [](writer& out) {
            REQUIRE(out.add("w", {3}, three_values));
            REQUIRE(out.add("b", {2}, std::vector<bool>{true, false}));
            REQUIRE(out.add("again", {3, 1}, three_values, store().digest(digest::crc32c)));
        };
        const crossed_files copied(from, format_version::v2, fill);
        const reader fresh = reopened(write_options().version(format_version::v2).any_order(), [](writer& out) {
            REQUIRE(out.add("w", {3}, three_values));
            REQUIRE(out.add("b", {2}, std::vector<bool>{true, false}));
            REQUIRE(out.add("again", {3, 1}, three_values));
        });
        CHECK(copied.after.verify().value().verified == 3);
        CHECK(ztensor::content_digest(copied.after).value() == ztensor::content_digest(fresh).value());
        CHECK(part_of(copied.after, "w", "data").offset() == part_of(copied.after, "again", "data").offset());
        CHECK(copied.after.find("b").value().read<bool>().value() == std::vector<bool>{true, false});
    }
}

TEST_CASE("between version 2 and others raw blobs stay, and are digested anew as the other side does") {
    const struct {
        format_version from;
        format_version to;
        digest before;
        std::string_view after;
    } cases[] = {
        {format_version::v1_2, format_version::v2, digest::none, "xxh3:"},
        {format_version::v1_2, format_version::v2, digest::crc32c, "xxh3:"},
        {format_version::v1_2, format_version::v2, digest::sha256, "sha256:"},
        {format_version::v2, format_version::v1_2, digest::none, "crc32c:0x"},
        {format_version::v2, format_version::v1_2, digest::sha256, "sha256:"},
        {format_version::v2, format_version::v1_1, digest::none, "crc32c:0x"},
        {format_version::v2, format_version::v0_1, digest::none, "crc32c:0x"},
        {format_version::v2, format_version::v2, digest::none, "xxh3:"},
    };
    for (const auto& each : cases) {
        for (const bool is_zstd : {false, true}) {
            CAPTURE(static_cast<int>(each.from), static_cast<int>(each.to), each.after, is_zstd);
            const crossed_files copied(each.from, each.to, [&](writer& out) {
                store how = support::stored(is_zstd);
                REQUIRE(out.add("w", {3}, three_values, each.before == digest::none ? how : how.digest(each.before)));
            });
            CHECK(copied.after.find("w").value().read<float>().value() == three_values);
            CHECK(part_of(copied.after, "w", "data").digest().text().substr(0, each.after.size()) == each.after);
            CHECK(copied.after.verify().value().verified == 1);
            CHECK((part_of(copied.after, "w", "data").encoding() != ztensor::encoding::raw) == is_zstd);
        }
    }
}

TEST_CASE("sparse tensors cross with indices of the width that the target takes") {
    const auto fill_wide = [](writer& out) {
        REQUIRE(out.add_coo("coo", {2, 3}, three_values, std::vector<std::uint64_t>{0, 1, 1, 2, 0, 1}));
        REQUIRE(out.add_csr("csr", {2, 3}, three_values, std::vector<std::uint64_t>{2, 0, 1},
                            std::vector<std::uint64_t>{0, 1, 3}));
    };
    const auto fill_narrow = [](writer& out) {
        REQUIRE(out.add_coo("coo", {2, 3}, three_values, std::vector<std::uint32_t>{0, 1, 1, 2, 0, 1}));
        REQUIRE(out.add_csr("csr", {2, 3}, three_values, std::vector<std::uint32_t>{2, 0, 1},
                            std::vector<std::uint32_t>{0, 1, 3}));
    };
    const auto fill_odd = [](writer& out) {
        REQUIRE(out.add_coo("coo", {2, 3}, three_values, std::vector<std::int16_t>{0, 1, 1, 2, 0, 1}));
        REQUIRE(out.add_csr("csr", {2, 3}, three_values, std::vector<std::int32_t>{2, 0, 1},
                            std::vector<std::int32_t>{0, 1, 3}));
    };
    const struct {
        format_version from;
        format_version to;
        support::fill_function fill;
        ztensor::dtype width;
    } cases[] = {
        {format_version::v1_2, format_version::v2, fill_wide, ztensor::dtype::u64},
        {format_version::v0_1, format_version::v2, fill_wide, ztensor::dtype::u64},
        {format_version::v1_1, format_version::v2, fill_narrow, ztensor::dtype::u32},
        {format_version::v1_1, format_version::v2, fill_odd, ztensor::dtype::u64},
        {format_version::v2, format_version::v1_2, fill_narrow, ztensor::dtype::u64},
        {format_version::v2, format_version::v1_1, fill_narrow, ztensor::dtype::u32},
    };
    for (const auto& each : cases) {
        CAPTURE(static_cast<int>(each.from), static_cast<int>(each.to), name(each.width));
        const crossed_files copied(each.from, each.to, each.fill);
        CHECK(part_of(copied.after, "coo", "coords").dtype() == each.width);
        CHECK(part_of(copied.after, "csr", "indptr").dtype() == each.width);
        CHECK(ztensor::csr_view<float>::read(copied.after.find("csr").value()).value().to_dense().value() ==
              std::vector<float>{0, 0, 1.5F, -2.0F, 3.25F, 0});
        CHECK(ztensor::coo_view<float>::read(copied.after.find("coo").value()).value().to_dense().value() ==
              ztensor::coo_view<float>::read(copied.before.find("coo").value()).value().to_dense().value());
        CHECK(copied.after.verify());
    }
}

TEST_CASE("quantized weights cross where their parameters can be said, both ways") {
    const auto fill = [](writer& out) {
        REQUIRE(out.add_quantized("q", {2, 8}, {4, 8, "8_per_i32"}, std::vector<std::int32_t>{0x76543210, 0x01234567},
                                  std::vector<float>{0.5F, 2}, std::vector<std::int8_t>{1, 0}));
    };
    const crossed_files there(format_version::v1_2, format_version::v2, fill);
    CHECK(there.after.find("q").value().format().original() == "zt.quant_group/1");
    CHECK(part_of(there.after, "q", "data").dtype() == ztensor::dtype::i32);
    const reader back = reopened(write_options(), [&](writer& out) { REQUIRE(ztensor::copy(there.after, out)); });
    const auto object = back.find("q").value();
    CHECK(object.format() == ztensor::format::quantized_group);
    CHECK(object.attributes().text("packing").value() == "8_per_i32");
    CHECK_FALSE(object.attributes().contains("scale_form"));
    CHECK(part_of(back, "q", "packed_weight").read<std::int32_t>().value() ==
          part_of(there.before, "q", "packed_weight").read<std::int32_t>().value());
}

TEST_CASE("bools and compressed tensors come back from version 2 as they were") {
    const crossed_files back(format_version::v2, format_version::v1_2, [](writer& out) {
        REQUIRE(out.add("b", {2}, std::vector<bool>{true, false}));
        REQUIRE(out.add("e", {0}, std::vector<float>(), store().zstd()));
        REQUIRE(out.add("z", {3}, three_values, store().zstd()));
    });
    CHECK(part_of(back.after, "b", "data").dtype() == ztensor::dtype::boolean);
    CHECK_FALSE(part_of(back.after, "b", "data").type().is_present());
    CHECK(part_of(back.after, "z", "data").encoding() == ztensor::encoding::zstd);
    CHECK(part_of(back.after, "z", "data").stored_bytes() == part_of(back.before, "z", "data").stored_bytes());
    CHECK(back.after.find("z").value().read<float>().value() == three_values);
    CHECK(back.after.find("e").value().read<float>().value().empty());
    CHECK(back.after.verify());
}

TEST_CASE("a copy from version 2 to version 2 keeps every word and digest") {
    const crossed_files same(format_version::v2, format_version::v2, [](writer& out) {
        REQUIRE(out.add_object("o", ztensor::object_draft("vendor.layout/1", {3})
                                        .component("x", three_values, store().type("vendor.type"))
                                        .attributes(ztensor::attributes().set("k", 1))));
        REQUIRE(out.add("z", {3}, three_values, store().zstd()));
    });
    CHECK(ztensor::content_digest(same.after).value() == ztensor::content_digest(same.before).value());
    CHECK(part_of(same.after, "z", "data").encoding() == ztensor::encoding::zstd_seekable);
    CHECK(part_of(same.after, "z", "data").stored_bytes() == part_of(same.before, "z", "data").stored_bytes());
}

TEST_CASE("what the other side can't say is refused by name") {
    const std::vector<std::uint8_t> bytes = {0, 0};
    const auto object = [&](const char* layout, const char* role, const store& how = {}) {
        return [=](writer& out) {
            REQUIRE(out.add_object("o", ztensor::object_draft(layout, {2}).component(role, bytes, how)));
        };
    };
    const auto dense = [&](const store& how, std::uint64_t count) {
        return [=](writer& out) { REQUIRE(out.add("o", {count}, bytes, how)); };
    };
    const auto old = format_version::v1_2, two = format_version::v2;
    CHECK(refusal_to_cross(old, two, object("my_layout", "x")) == errc::not_expressible);
    CHECK(refusal_to_cross(old, two, object("zt.mx/1", "x")) == errc::not_expressible);
    CHECK(refusal_to_cross(two, format_version::v1_1, dense(store().type("f8_e8m0"), 2)) == errc::not_expressible);
    CHECK(refusal_to_cross(two, format_version::v0_1, dense(store().type("f4_e2m1"), 4)) == errc::not_expressible);
    CHECK(refusal_to_cross(two, format_version::v1_1, dense(store().type("vendor.type"), 2)) == errc::not_expressible);
    CHECK(refusal_to_cross(old, two, [](writer& out) {
              REQUIRE(out.add_csr("o", {1, 3}, std::vector<float>{1, 2}, std::vector<std::uint64_t>{2, 0},
                                  std::vector<std::uint64_t>{0, 2}));
          }) == errc::not_expressible);
    CHECK(refusal_to_cross(old, two, [](writer& out) {
              REQUIRE(out.add_quantized("o", {1, 8}, {3, 8, "8_per_i32"}, std::vector<std::int32_t>{1},
                                        std::vector<float>{1}, std::vector<float>{1}));
          }) == errc::not_expressible);
    CHECK(refusal_to_cross(old, two, [](writer& out) {
              ztensor::attributes tagged;
              REQUIRE(tagged.set_cbor("k", support::from_hex("c101")));
              REQUIRE(out.add_object(
                  "o", ztensor::object_draft("dense", {3}).component("data", three_values).attributes(tagged)));
          }) == errc::not_expressible);
}
