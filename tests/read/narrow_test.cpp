// SPDX-License-Identifier: MIT
//
// Numbers of fewer than eight bits, and powers of two: their values, whole and in pieces, in every version and from one
// into another.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/writing.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cmath>
#include <string>
#include <vector>

using support::refusal;
using ztensor::dtype;
using ztensor::errc;
using ztensor::format_version;
using ztensor::reader;
using ztensor::store;
using ztensor::write_options;
using ztensor::writer;

namespace {

/// Every bit pattern of a type in its order, and what each is worth.
struct all_patterns {
    std::string type;
    std::vector<std::uint8_t> packed;
    std::vector<double> values;
};

std::vector<std::uint8_t> packed_patterns(unsigned bits, unsigned count) {
    std::vector<std::uint8_t> packed((count * bits + 7) / 8);
    for (unsigned i = 0; i < count * bits; ++i) {
        const unsigned pattern = i / bits % (1U << bits);
        packed[i / 8] = static_cast<std::uint8_t>(packed[i / 8] | (pattern >> i % bits & 1) << i % 8);
    }
    return packed;
}

std::vector<double> with_negatives(std::vector<double> values) {
    const std::size_t half = values.size();
    for (std::size_t i = 0; i < half; ++i) {
        values.push_back(-values[i]);
    }
    return values;
}

const std::vector<all_patterns>& every_type() {
    static const std::vector<double> four = with_negatives({0, 0.5, 1, 1.5, 2, 3, 4, 6});
    static const std::vector<double> e2m3 =
        with_negatives({0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1, 1.125, 1.25, 1.375, 1.5, 1.625, 1.75, 1.875,
                        2, 2.25,  2.5,  2.75,  3,   3.25,  3.5,  3.75,  4, 4.5,   5,    5.5,   6,   6.5,   7,    7.5});
    static const std::vector<double> e3m2 = with_negatives(
        {0, 0.0625, 0.125, 0.1875, 0.25, 0.3125, 0.375, 0.4375, 0.5, 0.625, 0.75, 0.875, 1,  1.25, 1.5, 1.75,
         2, 2.5,    3,     3.5,    4,    5,      6,     7,      8,   10,    12,   14,    16, 20,   24,  28});
    static const std::vector<all_patterns> all = {
        {"f4_e2m1", packed_patterns(4, 16), four},
        {"f4", packed_patterns(4, 16), four},
        {"f6_e2m3", packed_patterns(6, 64), e2m3},
        {"f6_e3m2", packed_patterns(6, 64), e3m2},
        {"i2", packed_patterns(2, 4), {0, 1, -2, -1}},
        {"u2", packed_patterns(2, 4), {0, 1, 2, 3}},
        {"i4", packed_patterns(4, 16), {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1}},
        {"u4", packed_patterns(4, 16), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
    };
    return all;
}

/// One object, whose type is a word that need not be of its version.
reader narrow_file(const std::string& type, std::uint64_t count, const std::vector<std::uint8_t>& packed,
                   format_version version, bool is_zstd) {
    return support::reopened(write_options().version(version), [&](writer& to) {
        const bool is_2 = version == format_version::v2;
        ztensor::object_draft draft(is_2 ? ztensor::facts(ztensor::format::dense).layout : "dense", {count});
        draft.component_bytes(
            "data", dtype::u8,
            ztensor::span<const std::byte>(reinterpret_cast<const std::byte*>(packed.data()), packed.size()),
            support::stored(is_zstd).type(type));
        REQUIRE(support::outcome(to.add_object("x", draft)) == "ok");
    });
}

std::vector<double> numbers_in_pieces(const reader& file, const char* name) {
    auto pieces = ztensor::component_pieces::open_as(file.find(name).value(), dtype::f64).value();
    std::vector<double> all;
    for (;;) {
        const auto piece = pieces.next().value();
        if (piece.empty()) {
            return all;
        }
        const auto more = support::elements_from<double>(support::as_string(piece));
        all.insert(all.end(), more.begin(), more.end());
    }
}

} // namespace

TEST_CASE("every pattern of every type narrower than a byte has its value, in every version") {
    for (const all_patterns& each : every_type()) {
        for (const format_version version : {format_version::v1_2, format_version::v2}) {
            for (const bool is_zstd : {false, true}) {
                CAPTURE(each.type, version == format_version::v2, is_zstd);
                const reader file = narrow_file(each.type, each.values.size(), each.packed, version, is_zstd);
                CHECK(file.read_as<double>("x").value() == each.values);
                CHECK(file.read_as<float>("x").value() == std::vector<float>(each.values.begin(), each.values.end()));
                CHECK(numbers_in_pieces(file, "x") == each.values);
                std::vector<double> loaded(each.values.size());
                CHECK(support::outcome(ztensor::load_plan(file).add_as("x", loaded).run()) == "ok");
                CHECK(loaded == each.values);
            }
        }
    }
}

TEST_CASE("elements end anywhere within a byte, and bytes too few or too many are refused") {
    for (const all_patterns& each : every_type()) {
        const unsigned bits = ztensor::find_narrow_type(each.type)->bits;
        for (std::size_t count = 0; count <= 9 && count <= each.values.size(); ++count) {
            CAPTURE(each.type, count);
            std::vector<std::uint8_t> bytes(each.packed.begin(),
                                            each.packed.begin() + static_cast<std::ptrdiff_t>((count * bits + 7) / 8));
            if (count * bits % 8 != 0) {
                bytes.back() = static_cast<std::uint8_t>(bytes.back() & ((1U << count * bits % 8) - 1));
            }
            const std::vector<double> expected(each.values.begin(),
                                               each.values.begin() + static_cast<std::ptrdiff_t>(count));
            const reader file = narrow_file(each.type, count, bytes, format_version::v1_2, false);
            CHECK(file.read_as<double>("x").value() == expected);
            CHECK(numbers_in_pieces(file, "x") == expected);
            bytes.push_back(0);
            const auto refused = [&](const std::vector<std::uint8_t>& other) {
                const reader wrong = narrow_file(each.type, count, other, format_version::v1_2, false);
                CHECK(refusal(wrong.read_as<float>("x")) == errc::size_mismatch);
                CHECK(refusal(ztensor::component_pieces::open_as(wrong.find("x").value(), dtype::f32)) ==
                      errc::size_mismatch);
            };
            if (each.type != "f4_e2m1" || count % 2 != 0) { // which the writer itself checks
                refused(bytes);
            }
            bytes.resize(bytes.size() - 1);
            if (!bytes.empty()) {
                bytes.pop_back();
                refused(bytes);
            }
        }
    }
}

TEST_CASE("many narrow elements come in several pieces") {
    constexpr std::size_t count = 500'001;
    for (const char* const type : {"i2", "u4", "f6_e2m3"}) {
        CAPTURE(type);
        const unsigned bits = ztensor::find_narrow_type(type)->bits;
        for (const format_version version : {format_version::v1_2, format_version::v2}) {
            const reader file = narrow_file(type, count, packed_patterns(bits, count), version, true);
            const std::vector<double> whole = file.read_as<double>("x").value();
            CHECK(whole.size() == count);
            CHECK(numbers_in_pieces(file, "x") == whole);
        }
    }
}

TEST_CASE("powers of two are numbers in every version") {
    for (const format_version version : {format_version::v1_2, format_version::v2}) {
        const reader file = narrow_file("f8_e8m0", 3, {0, 127, 254}, version, false);
        const std::vector<double> expected = {std::ldexp(1.0, -127), 1.0, std::ldexp(1.0, 127)};
        CHECK(file.read_as<double>("x").value() == expected);
        CHECK(numbers_in_pieces(file, "x") == expected);
    }
    const reader other = narrow_file("f8_e8m1", 1, {0}, format_version::v1_2, false);
    CHECK(refusal(other.read_as<double>("x")) == errc::unsupported_type);
}

TEST_CASE("types of version 2 alone go to 1.2 and back without loss, and nowhere before it") {
    const std::pair<const char*, std::vector<std::uint8_t>> rows[] = {{"f8_e8m0", {1, 2, 255}},
                                                                      {"f4_e2m1", {0x21, 0x03}}};
    for (const auto& row : rows) {
        for (const bool is_zstd : {false, true}) {
            CAPTURE(row.first, is_zstd);
            const auto copied = [](const reader& from, format_version to) {
                return support::reopened(write_options().version(to), [&](writer& out) {
                    REQUIRE(support::outcome(ztensor::copy(from, out)) == "ok");
                });
            };
            const reader before = narrow_file(row.first, 3, row.second, format_version::v2, is_zstd);
            const reader between = copied(before, format_version::v1_2);
            CHECK(between.find("x")->data()->type().text() == row.first);
            CHECK(between.find("x")->data()->dtype() == dtype::u8);
            const reader after = copied(between, format_version::v2);
            for (const reader& each : {between, after}) {
                CHECK(each.find("x")->shape() == before.find("x")->shape());
                CHECK(each.find("x")->data()->type().text() == row.first);
                CHECK(each.read<std::byte>("x").value() == before.read<std::byte>("x").value());
                CHECK(numbers_in_pieces(each, "x").size() == 3);
            }
            for (const format_version version : {format_version::v1_1, format_version::v0_1}) {
                writer out = support::to_memory(version);
                CHECK(refusal(ztensor::copy(before, out)) == errc::not_expressible);
            }
        }
    }
}
