// SPDX-License-Identifier: MIT
//
// Quantized weights made by hand: parameters or parts that contradict each other are refused. I1 to I6 are the rows of
// the threat model. SPEC.md §5.4.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/detail/base/text.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/quantized.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::as_string;
using support::bytes;
using support::check_refused;
using support::finished;
using support::integers;
using support::largest;
using support::little_endian;
using support::open_bytes;
using support::opened;
using support::opening;
using support::part;
using support::refusal;
using support::sample;
using support::temp_dir;
using support::to_memory;
using ztensor::attributes;
using ztensor::errc;
using ztensor::format;
using ztensor::format_version;
using ztensor::object_draft;
using ztensor::quantized_view;
using ztensor::reader;
using ztensor::result;
using ztensor::shape;
using ztensor::version;
using ztensor::writer;
namespace cbor = support::cbor;

bytes ones(std::size_t count) {
    return support::repeated(count, bytes("\0\0\x80\x3f", 4));
} // ones

/// Two rows of eight weights of 4 bits in one i32 each, in groups of four.
struct content {
    ztensor::version from = version::v1_2;
    bool is_zstd = false;
    integers dimensions = {2, 8};
    cbor::map attributes = {
        {"bits", cbor::number(4)}, {"group_size", cbor::number(4)}, {"packing", cbor::text("8_per_i32")}};
    std::string word = "i32";
    std::string scale = "f32";
    bytes packed = "\x10\x32\x54\x76\x98\xba\xdc\xfe";
    bytes scales = ones(4);
    bytes zeros = ones(4);

    [[nodiscard]] bytes file() const {
        return sample(from)
            .stored_parts("quantized_group", dimensions,
                          {{"packed_weight", word, packed}, {"scales", scale, scales}, {"zeros", "f32", zeros}},
                          is_zstd)
            .object("attributes", attributes)
            .file();
    }
};

/// Nothing if the view can be had, and the error's place is right if not.
std::optional<errc> refusal_of_weights(const content& from) {
    const reader file = opened(from.file());
    const result<quantized_view> view = quantized_view::from(*file.find("w"));
    if (!view) {
        CHECK(view.error().object() == "w");
    }
    return view ? std::nullopt : std::optional(view.error().code());
}

struct row {
    std::string rule;
    std::function<void(content&)> change;
    std::optional<errc> refusal;
};

std::function<void(content&)> attribute(std::string_view key, bytes value) {
    return [key = std::string(key), value](content& of) { of.attributes.set(key, value); };
}

std::function<void(content&)> without_key(std::string_view key) {
    return [key = std::string(key)](content& of) { of.attributes.remove(key); };
}

std::function<void(content&)> packing(std::string_view text) {
    return attribute("packing", cbor::text(text));
}

/// However the parts are stored, and in both generations.
void check_weight_rows(const std::vector<row>& rows) {
    for (const row& each : rows) {
        for (const ztensor::version from : {version::v1_1, version::v1_2}) {
            for (const bool is_zstd : {false, true}) {
                content changed;
                changed.from = from;
                changed.is_zstd = is_zstd;
                each.change(changed);
                CAPTURE(each.rule, name(from), is_zstd);
                CHECK(refusal_of_weights(changed) == each.refusal);
            }
        }
    }
}

} // namespace

TEST_CASE("weights written by hand are read by the documented convention") {
    const temp_dir directory;
    for (const ztensor::version from : {version::v1_1, version::v1_2}) {
        for (const bool is_zstd : {false, true}) {
            content good;
            good.from = from;
            good.is_zstd = is_zstd;
            for (const opening& opened : open_every_way(good.file(), directory)) {
                CAPTURE(name(from), is_zstd, opened.way);
                const quantized_view view = quantized_view::from(*opened.file.value().find("w")).value();
                CHECK(view.unpack().value() ==
                      std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
                CHECK(view.dequantize().value() ==
                      std::vector<float>{-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
                CHECK(view.packed_weight().uncompressed_length().has_value() == (is_zstd && from == version::v1_2));
            }
        }
    }
}

TEST_CASE("groups are numbered along the last dimension, row after row") {
    content file;
    file.scales = little_endian(0x3f800000, 4) + little_endian(0x40000000, 4) + little_endian(0x40800000, 4) +
                  little_endian(0x41000000, 4);
    file.zeros = bytes(16, '\0');
    const reader from = opened(file.file());
    CHECK(quantized_view::from(*from.find("w")).value().dequantize().value() ==
          std::vector<float>{0, 1, 2, 3, 8, 10, 12, 14, 32, 36, 40, 44, 96, 104, 112, 120});
}

TEST_CASE("bits of a word that belong to no weight are ignored") {
    content file;
    file.attributes.set("bits", cbor::number(3))
        .set("packing", cbor::text("2_per_i32"))
        .set("group_size", cbor::number(2));
    file.dimensions = {2, 2};
    file.packed = "\xca\xff\xff\xff" + bytes("\x31\0\0\0", 4);
    file.scales = file.zeros = ones(2);
    const reader from = opened(file.file());
    CHECK(quantized_view::from(*from.find("w")).value().unpack().value() == std::vector<std::uint8_t>{2, 1, 1, 6});
}

TEST_CASE("I1: bits that are missing, no integer or not from 1 to 64 are refused") {
    check_weight_rows({
        {"as they should be", [](content&) {}, {}},
        {"missing", without_key("bits"), errc::quant_bits},
        {"0", attribute("bits", cbor::number(0)), errc::quant_bits},
        {"65", attribute("bits", cbor::number(65)), errc::quant_bits},
        {"2^32 + 4", attribute("bits", cbor::number((std::uint64_t{1} << 32) + 4)), errc::quant_bits},
        {"2^64 - 1", attribute("bits", cbor::number(largest)), errc::quant_bits},
        {"-4", attribute("bits", cbor::minus_one_minus(3)), errc::quant_bits},
        {"-2^64 + 64, which some take for 64", attribute("bits", cbor::minus_one_minus(largest - 64)),
         errc::quant_bits},
        {"a float", attribute("bits", cbor::single_one), errc::quant_bits},
        {"text", attribute("bits", cbor::text("4")), errc::quant_bits},
        {"null", attribute("bits", cbor::null), errc::quant_bits},
        {"true", attribute("bits", cbor::yes), errc::quant_bits},
        {"an array", attribute("bits", cbor::numbers({4})), errc::quant_bits},
        {"a bignum", attribute("bits", cbor::tag(2, cbor::byte_string("\4"))), errc::quant_bits},
        {"4 in eight bytes", attribute("bits", cbor::head_of_size(cbor::major::unsigned_integer, 4, 8)), {}},
        {"2, which leaves bits unused", attribute("bits", cbor::number(2)), {}},
    });
}

TEST_CASE("I2: a group size that is missing, no integer, 0 or does not divide the last dimension is refused") {
    const auto size = [](std::uint64_t value) { return attribute("group_size", cbor::number(value)); };
    const auto with_groups = [=](std::uint64_t value, std::size_t groups) {
        return [=](content& of) {
            size(value)(of);
            of.scales = of.zeros = ones(groups);
        };
    };
    check_weight_rows({
        {"missing", without_key("group_size"), errc::quant_group},
        {"0", size(0), errc::quant_group},
        {"negative", attribute("group_size", cbor::minus_one_minus(3)), errc::quant_group},
        {"a float", attribute("group_size", cbor::double_one), errc::quant_group},
        {"text", attribute("group_size", cbor::text("4")), errc::quant_group},
        {"null", attribute("group_size", cbor::null), errc::quant_group},
        {"3", size(3), errc::quant_group},
        {"16, which divides all weights but no row", with_groups(16, 1), errc::quant_group},
        {"2^64 - 1", size(largest), errc::quant_group},
        {"2^63", size(std::uint64_t{1} << 63), errc::quant_group},
        {"1", with_groups(1, 16), {}},
        {"a whole row", with_groups(8, 2), {}},
        {"no dimension at all", [](content& of) { of.dimensions = {}; }, errc::quant_group},
    });
}

TEST_CASE("I3: a packing that is missing, no text, or contradicts bits, words or shape is refused") {
    const auto of_shape = [](integers dimensions) { return [=](content& of) { of.dimensions = dimensions; }; };
    check_weight_rows({
        {"missing", without_key("packing"), errc::quant_packing},
        {"a number", attribute("packing", cbor::number(8)), errc::quant_packing},
        {"bytes", attribute("packing", cbor::byte_string("8_per_i32")), errc::quant_packing},
        {"null", attribute("packing", cbor::null), errc::quant_packing},
        {"in chunks", attribute("packing", cbor::chunked({"8_per", "_i32"})), {}},
        {"words of the other sign", packing("8_per_u32"), errc::quant_packing},
        {"words of twice the size", packing("8_per_i64"), errc::quant_packing},
        {"one weight too many for a word", packing("9_per_i32"), errc::quant_packing},
        {"one bit too many for a word", attribute("bits", cbor::number(5)), errc::quant_packing},
        {"64 bits", attribute("bits", cbor::number(64)), errc::quant_packing},
        {"a row of twelve", of_shape({2, 12}), errc::quant_packing},
        {"a row of four, two of which share a word", of_shape({4, 4}), errc::quant_packing},
        {"words of an unknown type", [](content& of) { of.word = "u4x8"; }, errc::quant_packing},
    });
}

TEST_CASE("I3: a packing of another form is listed, and refused when it is needed") {
    const std::string_view unknown[] = {"",
                                        "8",
                                        "8_per_",
                                        "_per_i32",
                                        "8_per_i33",
                                        "8_per_f32",
                                        "8_per_bool",
                                        "8_per_I32",
                                        "8_PER_i32",
                                        "08_per_i32",
                                        "0_per_i32",
                                        "100_per_i32",
                                        "+8_per_i32",
                                        "-8_per_i32",
                                        "8 per i32",
                                        "8_per_i32 ",
                                        " 8_per_i32",
                                        "8_per_i32_per_i32",
                                        "1_per_8_per_i32",
                                        "x_per_i32",
                                        "8.0_per_i32",
                                        "18446744073709551624_per_i32",
                                        "vendor_5bit"};
    for (const std::string_view word : unknown) {
        for (const bool is_zstd : {false, true}) {
            content file;
            file.is_zstd = is_zstd;
            file.attributes.set("packing", cbor::text(word));
            file.packed.resize(4); // whose size nothing can be said of
            const reader from = opened(file.file());
            CAPTURE(word, is_zstd);
            const quantized_view view = quantized_view::from(*from.find("w")).value();
            CHECK_FALSE(view.packing().has_value());
            CHECK(view.parameters().packing_name == word);
            CHECK(view.bits() == 4);
            CHECK(view.packed_shape().rank() == 0);
            CHECK(view.group_shape().rank() == 0);
            CHECK(as_string(view.packed_weight().read<std::byte>().value()) == file.packed);
            CHECK(view.scales().read<float>().value() == std::vector<float>(4, 1));
            CHECK(view.zeros().read<float>().value() == std::vector<float>(4, 1));
            CHECK(refusal(view.dequantize()) == errc::quant_packing);
            REQUIRE(refusal(view.unpack()) == errc::quant_packing);
            CHECK(view.unpack().error().what().find(ztensor::detail::quote(word)) != std::string::npos);
        }
    }
}

TEST_CASE("I4: parts of another size than shape and parameters need are refused, where sizes are stated") {
    const std::pair<const char*, std::function<void(content&)>> changes[] = {
        {"packed_weight", [](content& of) { of.packed.resize(4); }},
        {"packed_weight", [](content& of) { of.packed.resize(12); }},
        {"packed_weight", [](content& of) { of.packed.clear(); }},
        {"packed_weight",
         [](content& of) {
             of.dimensions = {3, 8};
             of.scales = of.zeros = ones(6);
         }},
        {"scales", [](content& of) { of.scales = ones(3); }},
        {"scales", [](content& of) { of.scales = ones(5); }},
        {"scales", [](content& of) { of.scales.clear(); }},
        {"zeros", [](content& of) { of.zeros = ones(3); }},
        {"zeros", [](content& of) { of.zeros = ones(8); }},
        {"zeros", [](content& of) { of.zeros.clear(); }},
    };
    for (const auto& [role, change] : changes) {
        content changed;
        change(changed);
        for (const ztensor::version from : {version::v1_1, version::v1_2}) {
            for (const bool is_zstd : {false, true}) {
                changed.from = from;
                changed.is_zstd = is_zstd;
                CAPTURE(role, changed.packed.size(), changed.scales.size(), changed.zeros.size(), name(from), is_zstd);
                const reader file = opened(changed.file());
                const result<quantized_view> view = quantized_view::from(*file.find("w"));
                if (is_zstd && from == version::v1_1) { // only decoding tells
                    const auto dense = view.value().dequantize();
                    REQUIRE_FALSE(dense.has_value());
                    CHECK(dense.error().code() == errc::size_mismatch);
                    CHECK(dense.error().component() == role);
                    CHECK(view->unpack().has_value() == (std::string_view(role) != "packed_weight"));
                } else {
                    REQUIRE_FALSE(view.has_value());
                    CHECK(view.error().code() == errc::size_mismatch);
                    CHECK(view.error().component() == role);
                }
            }
        }
    }
}

TEST_CASE("I4: a part that is no whole number of elements is refused when the file is opened, or decoded") {
    for (const std::size_t size : {7U, 9U}) {
        for (const ztensor::version from : {version::v1_1, version::v1_2}) {
            for (const bool is_zstd : {false, true}) {
                content changed;
                changed.from = from;
                changed.is_zstd = is_zstd;
                changed.packed.resize(size);
                CAPTURE(size, name(from), is_zstd);
                const result<reader> file = open_bytes(changed.file());
                if (is_zstd && from == version::v1_1) {
                    const auto unpacked = quantized_view::from(*file.value().find("w")).value().unpack();
                    REQUIRE_FALSE(unpacked.has_value());
                    CHECK(unpacked.error().code() == errc::size_mismatch);
                } else {
                    REQUIRE_FALSE(file.has_value());
                    CHECK(file.error().code() == errc::size_mismatch);
                    CHECK(file.error().component() == "packed_weight");
                }
            }
        }
    }
}

TEST_CASE("I5: a part that is missing is refused when the file is opened") {
    const std::vector<part> all = {{"packed_weight", "i32", 64, 8}, {"scales", "f32", 64, 8}, {"zeros", "f32", 64, 8}};
    for (const ztensor::version from : {version::v1_0, version::v1_1, version::v1_2}) {
        for (std::size_t missing = 0; missing <= all.size(); ++missing) {
            std::vector<part> parts = all;
            if (missing < all.size()) {
                parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(missing));
            }
            sample file(from);
            const result<reader> opened = open_bytes(file.parts("quantized_group", {2, 8}, parts).file());
            CAPTURE(name(from), missing);
            CHECK(opened.has_value() == (missing == all.size()));
            if (!opened) {
                CHECK(opened.error().code() == errc::layout_components);
            }
        }
    }
}

TEST_CASE("I6: attributes that are no map, or hold a parameter twice, are refused when the file is opened") {
    const auto opened_with = [](bytes attributes) {
        sample file;
        file.parts("quantized_group", {2, 8},
                   {{"packed_weight", "i32", 64, 8}, {"scales", "f32", 64, 8}, {"zeros", "f32", 64, 8}});
        return open_bytes(file.object("attributes", std::move(attributes)).file());
    };
    for (const bytes& item : {cbor::number(4), cbor::array({}), cbor::text("bits")}) {
        CHECK(refusal(opened_with(item)) == errc::schema_type);
    }
    for (const char* const key : {"bits", "group_size", "packing"}) {
        cbor::map twice = content().attributes;
        twice.add(cbor::text(key), cbor::number(4));
        CHECK(refusal(opened_with(twice)) == errc::duplicate_key);
    }
    CHECK(opened_with(content().attributes).has_value());
}

TEST_CASE("without attributes there are no parameters") {
    sample file;
    file.parts("quantized_group", {2, 8},
               {{"packed_weight", "i32", 64, 8}, {"scales", "f32", 64, 8}, {"zeros", "f32", 64, 8}});
    const reader from = opened(file.file());
    CHECK(refusal(quantized_view::from(*from.find("w"))) == errc::quant_bits);
}

TEST_CASE("an object of another format has no quantized weights") {
    for (const char* const format : {"dense", "quantized_group2", "Quantized_group"}) {
        sample file;
        file.object("format", cbor::text(format));
        const reader from = opened(file.file());
        CHECK(refusal(quantized_view::from(*from.find("w"))) == errc::unsupported_format);
    }
}

TEST_CASE("scales of a type that is no number are refused when they are used") {
    content unknown;
    unknown.scale = "f24";
    const reader of_unknown = opened(unknown.file());
    const quantized_view view = quantized_view::from(*of_unknown.find("w")).value();
    CHECK(view.unpack().has_value());
    REQUIRE(refusal(view.dequantize()) == errc::unknown_dtype);
    CHECK(view.dequantize().error().component() == "scales");

    content complex_scales; // of two ones each: as many bytes as four ones have
    complex_scales.from = version::v1_1;
    complex_scales.scale = "complex64";
    complex_scales.scales = ones(8);
    const reader of_complex = opened(complex_scales.file());
    const auto dense = quantized_view::from(*of_complex.find("w")).and_then([](const quantized_view& each) {
        return each.dequantize();
    });
    REQUIRE_FALSE(dense.has_value());
    CHECK((dense.error().code() == errc::unsupported_type || dense.error().code() == errc::size_mismatch));
}

TEST_CASE("a packed shape that no memory holds is refused without taking any") {
    content huge;
    huge.dimensions = {std::uint64_t{1} << 32, std::uint64_t{1} << 31};
    CHECK(refusal_of_weights(huge) == errc::size_mismatch);
    huge.from = version::v1_1;
    huge.is_zstd = true; // whose sizes only decoding tells
    const reader from = opened(huge.file());
    const quantized_view view = quantized_view::from(*from.find("w")).value();
    CHECK(refusal(view.unpack()) == errc::size_mismatch);
    CHECK(refusal(view.dequantize()) == errc::size_mismatch);
    CHECK(refusal(view.unpack<std::uint64_t>()) == errc::size_mismatch);
}

TEST_CASE("a packed part that does not match its digest is refused when it is used") {
    content good;
    sample file;
    file.blobs({good.packed, good.scales, good.zeros});
    part packed{"packed_weight", "i32", 64, 8};
    packed.more.set("digest", cbor::text("crc32c:0x00000000"));
    file.parts("quantized_group", {2, 8}, {packed, {"scales", "f32", 128, 16}, {"zeros", "f32", 192, 16}})
        .object("attributes", good.attributes);
    const reader from = opened(file.file());
    const quantized_view view = quantized_view::from(*from.find("w")).value();
    REQUIRE(refusal(view.unpack()) == errc::digest_mismatch);
    CHECK(view.unpack().error().object() == "w");
    CHECK(view.unpack().error().component() == "packed_weight");
    CHECK(refusal(view.dequantize()) == errc::digest_mismatch);
}

// -- the writer

namespace {

const std::vector<std::int32_t> two_words = {0x76543210, -0x01234568};

const std::vector<float> four = {1, 1, 1, 1};

} // namespace

TEST_CASE("the writer refuses quantized weights that don't fit each other, and writes nothing of them") {
    const auto add = [](ztensor::quantization parameters, shape dimensions = {2, 8},
                        std::vector<std::int32_t> words = two_words, std::vector<float> scales = four,
                        std::vector<float> zeros = four) {
        return [=](writer& to) { return to.add_quantized("q", dimensions, parameters, words, scales, zeros); };
    };
    const std::string good = "8_per_i32";
    for (const format_version version : {format_version::v1_1, format_version::v1_2}) {
        check_refused("q", version, errc::quant_bits, "I1: 0", add({0, 4, good}));
        check_refused("q", version, errc::quant_bits, "I1: 65", add({65, 4, good}));
        check_refused("q", version, errc::quant_group, "I2: 0", add({4, 0, good}));
        check_refused("q", version, errc::quant_group, "I2: 3", add({4, 3, good}));
        check_refused("q", version, errc::quant_group, "I2: across rows",
                      add({4, 16, good}, {2, 8}, two_words, {1}, {1}));
        check_refused("q", version, errc::quant_packing, "I3: empty", add({4, 4, ""}));
        check_refused("q", version, errc::quant_packing, "I3: unknown", add({4, 4, "vendor_5bit"}));
        check_refused("q", version, errc::quant_packing, "I3: words of another type", add({4, 4, "8_per_u32"}));
        check_refused("q", version, errc::quant_packing, "I3: too many", add({4, 4, "9_per_i32"}));
        check_refused("q", version, errc::quant_packing, "I3: too many bits", add({5, 4, good}));
        check_refused("q", version, errc::quant_packing, "I3: across rows", add({4, 4, good}, {4, 4}));
        check_refused("q", version, errc::size_mismatch, "I4: one word less", add({4, 4, good}, {2, 8}, {1}));
        check_refused("q", version, errc::size_mismatch, "I4: one word more", add({4, 4, good}, {2, 8}, {1, 2, 3}));
        check_refused("q", version, errc::size_mismatch, "I4: scales", add({4, 4, good}, {2, 8}, two_words, {1, 2, 3}));
        check_refused("q", version, errc::size_mismatch, "I4: zeros", add({4, 4, good}, {2, 8}, two_words, four, {1}));
        check_refused("q", version, errc::quant_group, "no dimension", add({4, 4, good}, {}));
        check_refused("q", version, errc::shape_overflow, "2^64 weights",
                      add({4, 4, good}, {std::uint64_t{1} << 61, 8}));
    }
    check_refused("q", format_version::v0_1, errc::not_expressible, "0.1", add({4, 4, good}));
}

TEST_CASE("drafts of quantized weights are checked as far as their parameters are understood") {
    const auto draft = [](std::vector<std::int32_t> const& words, const char* packing) {
        ztensor::attributes parameters;
        parameters.set("bits", 4).set("group_size", 4).set("packing", packing);
        return object_draft("quantized_group", {2, 8})
            .component("packed_weight", words)
            .component("scales", four)
            .component("zeros", four)
            .attributes(parameters);
    };
    const std::vector<std::int32_t> one_word = {1};
    for (const format_version version : {format_version::v1_1, format_version::v1_2}) {
        check_refused("q", version, errc::size_mismatch, "I4",
                      [&](writer& to) { return to.add_object("q", draft(one_word, "8_per_i32")); });
        check_refused("q", version, errc::quant_packing, "I3",
                      [&](writer& to) { return to.add_object("q", draft(two_words, "8_per_u32")); });
        check_refused("q", version, errc::layout_components, "I5", [&](writer& to) {
            return to.add_object("q", object_draft("quantized_group", {2, 8})
                                          .component("packed_weight", two_words)
                                          .component("scales", four));
        });
        writer to = to_memory(version);
        CHECK(to.add_object("understood", draft(two_words, "8_per_i32")).has_value());
        CHECK(to.add_object("vendor's own", draft(one_word, "vendor_5bit")).has_value());
        CHECK(to.add_object("no parameters", object_draft("quantized_group", {2, 8})
                                                 .component("packed_weight", one_word)
                                                 .component("scales", four)
                                                 .component("zeros", four))
                  .has_value());
        const reader from = opened(finished(to));
        CHECK(from.size() == 3);
        CHECK(quantized_view::from(*from.find("understood")).value().unpack().value() ==
              std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
    }
}
