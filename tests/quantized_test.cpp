// SPDX-License-Identifier: MIT
//
// Weights quantized in groups: what is unpacked and dequantized is what a naive computation gives, and parameters or
// parts that contradict each other are refused. I1 to I6 are the rows of the threat model. SPEC.md §5.4.
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/quantized.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using support::bytes;
using support::little_endian;
using support::opening;
using support::part;
using support::refusal;
using support::sample;
using support::temp_dir;
using ztensor::dtype;
using ztensor::errc;
using ztensor::format_version;
using ztensor::generation;
using ztensor::object_draft;
using ztensor::object_view;
using ztensor::quantized_view;
using ztensor::reader;
using ztensor::result;
using ztensor::shape;
using ztensor::store;
using ztensor::write_options;
using ztensor::writer;
namespace cbor = support::cbor;

using integers = std::vector<std::uint64_t>;

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

shape shape_of(const integers& dimensions) { return shape(ztensor::span<const std::uint64_t>(dimensions)); }

std::uint64_t product(const integers& dimensions) {
    return std::accumulate(dimensions.begin(), dimensions.end(), std::uint64_t{1}, std::multiplies<>());
}

bytes as_string(ztensor::bytes_view content) {
    bytes out;
    for (const std::byte byte : content) {
        out += static_cast<char>(byte);
    }
    return out;
}

std::uint64_t mask_of(unsigned bits) { return bits == 64 ? largest : (std::uint64_t{1} << bits) - 1; }

/// Weights before packing, and how they are to be packed.
struct group {
    integers dimensions;
    unsigned bits = 4;
    std::uint64_t group_size = 1;
    std::uint64_t per_word = 8;
    integers weights;
    std::vector<float> scales;
    std::vector<float> zeros;

    [[nodiscard]] std::uint64_t last() const { return dimensions.back(); }

    /// `spare` fills the bits of a word that no weight takes.
    [[nodiscard]] integers words(std::uint64_t spare = 0) const {
        integers out;
        for (std::size_t at = 0; at < weights.size(); at += static_cast<std::size_t>(per_word)) {
            std::uint64_t word = 0;
            for (std::size_t k = static_cast<std::size_t>(per_word); k-- > 0;) {
                word = bits == 64 ? weights[at + k] : word << bits | weights[at + k];
            }
            const std::uint64_t taken = per_word * bits;
            out.push_back(taken >= 64 ? word : word | spare << taken);
        }
        return out;
    }

    [[nodiscard]] std::vector<float> dense() const {
        std::vector<float> out;
        for (std::uint64_t i = 0; i < weights.size(); ++i) {
            const std::uint64_t number = i / last() * (last() / group_size) + i % last() / group_size;
            const auto of_group = static_cast<std::size_t>(number);
            out.push_back((static_cast<float>(weights[static_cast<std::size_t>(i)]) - zeros[of_group]) * scales[of_group]);
        }
        return out;
    }

    [[nodiscard]] shape divided(std::uint64_t divisor) const {
        integers out = dimensions;
        out.back() /= divisor;
        return shape_of(out);
    }
};

group random_group(std::mt19937_64& random, integers dimensions, unsigned bits, std::uint64_t group_size, std::uint64_t per_word) {
    group out{std::move(dimensions), bits, group_size, per_word, {}, {}, {}};
    for (std::uint64_t i = 0; i < product(out.dimensions); ++i) {
        out.weights.push_back(random() & mask_of(bits));
    }
    for (std::uint64_t i = 0; i < product(out.dimensions) / group_size; ++i) {
        out.scales.push_back(std::ldexp(static_cast<float>(1 + random() % 7), -3)); // exact in every float type
        out.zeros.push_back(static_cast<float>(random() % 16));
    }
    return out;
}

template <class T>
std::vector<T> as(const std::vector<float>& numbers) {
    std::vector<T> out;
    for (const float number : numbers) {
        out.push_back(static_cast<T>(number));
    }
    return out;
}

template <class Word>
std::vector<Word> as_words(const integers& words) {
    std::vector<Word> out;
    for (const std::uint64_t word : words) {
        out.push_back(static_cast<Word>(word)); // to a signed type: the same bits
    }
    return out;
}

template <class Word>
ztensor::quantization parameters_of(const group& from) {
    return {from.bits, from.group_size,
            std::to_string(from.per_word) + "_per_" + std::string(name(ztensor::element_traits<Word>::storage))};
}

bytes finished(writer& to) {
    to.finish().value();
    return as_string(to.take_bytes());
}

store stored(bool is_zstd) { return is_zstd ? store().zstd() : store(); }

template <class Word, class Scale, class Zero>
bytes written(const group& from, format_version version, bool is_zstd) {
    writer to = writer::to_memory(write_options().version(version)).value();
    to.add_quantized("q", shape_of(from.dimensions), parameters_of<Word>(from), as_words<Word>(from.words()),
                     as<Scale>(from.scales), as<Zero>(from.zeros), stored(is_zstd))
        .value();
    return finished(to);
}

template <class Q>
void check_unpacked(const quantized_view& view, const group& expected) {
    if (expected.bits > 8 * sizeof(Q)) {
        CHECK(refusal(view.unpack<Q>()) == errc::quant_bits);
        return;
    }
    const std::vector<Q> weights = view.unpack<Q>().value();
    CHECK(integers(weights.begin(), weights.end()) == expected.weights);
}

template <class Word>
void check_view(const quantized_view& view, const group& expected) {
    CHECK(view.shape() == shape_of(expected.dimensions));
    CHECK(view.bits() == expected.bits);
    CHECK(view.group_size() == expected.group_size);
    CHECK(view.parameters().bits == expected.bits);
    CHECK(view.parameters().group_size == expected.group_size);
    CHECK(view.parameters().packing_name == parameters_of<Word>(expected).packing_name);
    REQUIRE(view.packing().has_value());
    CHECK(view.packing()->per_word == expected.per_word);
    CHECK(view.packing()->word == ztensor::element_traits<Word>::storage);
    CHECK(view.packed_shape() == expected.divided(expected.per_word));
    CHECK(view.group_shape() == expected.divided(expected.group_size));
    CHECK(view.packed_weight().role() == "packed_weight");
    CHECK(view.scales().role() == "scales");
    CHECK(view.zeros().role() == "zeros");
    CHECK(view.packed_weight().read<Word>().value() == as_words<Word>(expected.words()));
    check_unpacked<std::uint8_t>(view, expected);
    check_unpacked<std::uint16_t>(view, expected);
    check_unpacked<std::uint32_t>(view, expected);
    check_unpacked<std::uint64_t>(view, expected);
    CHECK(view.dequantize().value() == expected.dense());
}

template <class Word, class Scale, class Zero>
void check_group(const group& expected) {
    const temp_dir directory;
    for (const format_version version : {format_version::v1_1, format_version::v1_2}) {
        for (const bool is_zstd : {false, true}) {
            for (const opening& opened : open_every_way(written<Word, Scale, Zero>(expected, version, is_zstd), directory)) {
                CAPTURE(is_zstd, opened.way, expected.dimensions, expected.bits, expected.group_size, expected.per_word);
                const reader& from = opened.file.value();
                CAPTURE(name(from.generation()), name(ztensor::element_traits<Word>::storage));
                check_view<Word>(quantized_view::from(*from.find("q")).value(), expected);
            }
        }
    }
}

} // namespace

TEST_CASE("weights packed into words of any type are read as they were written, in every version and by every path") {
    std::mt19937_64 random(1);
    const integers small = {2, 16};
    check_group<std::int32_t, float, float>(random_group(random, {4, 32}, 2, 8, 16));
    check_group<std::int32_t, ztensor::float16, ztensor::float16>(random_group(random, {4, 32}, 4, 16, 8));
    check_group<std::int32_t, ztensor::bfloat16, std::int8_t>(random_group(random, {3, 8}, 8, 4, 4));
    check_group<std::int32_t, float, std::uint8_t>(random_group(random, {3, 20}, 3, 5, 10));
    check_group<std::uint32_t, double, float>(random_group(random, {64}, 2, 64, 16));
    check_group<std::uint32_t, float, ztensor::float16>(random_group(random, {2, 3, 16}, 4, 4, 8));
    check_group<std::uint32_t, float, std::int32_t>(random_group(random, small, 8, 1, 4));
    check_group<std::uint8_t, ztensor::float16, std::int8_t>(random_group(random, small, 2, 16, 4));
    check_group<std::uint8_t, float, float>(random_group(random, small, 4, 8, 2));
    check_group<std::uint8_t, float, std::uint8_t>(random_group(random, small, 8, 2, 1));
    check_group<std::int8_t, float, float>(random_group(random, small, 1, 8, 8));
    check_group<std::uint16_t, float, float>(random_group(random, {2, 15}, 5, 3, 3));
    check_group<std::int16_t, float, float>(random_group(random, small, 16, 4, 1));
    check_group<std::int64_t, float, float>(random_group(random, {2, 18}, 7, 6, 9));
    check_group<std::int64_t, float, float>(random_group(random, {2, 2}, 33, 2, 1));
    check_group<std::uint64_t, float, float>(random_group(random, {2, 128}, 1, 32, 64));
    check_group<std::uint64_t, float, float>(random_group(random, {2, 2}, 64, 1, 1));
    check_group<std::int64_t, float, float>(random_group(random, {6}, 32, 3, 2));
}

TEST_CASE("weights of which there are none are read as such") {
    std::mt19937_64 random(2);
    check_group<std::int32_t, float, float>(random_group(random, {0, 16}, 4, 8, 8));
    check_group<std::int32_t, float, float>(random_group(random, {16, 0}, 4, 8, 8));
}

TEST_CASE("every weight of the largest and the smallest value comes out as such") {
    for (const unsigned bits : {1U, 2U, 3U, 4U, 7U, 8U, 16U, 32U}) {
        const std::uint64_t per_word = 32 / bits;
        group all{{per_word}, bits, per_word, per_word, integers(static_cast<std::size_t>(per_word), mask_of(bits)), {2}, {1}};
        check_group<std::int32_t, float, float>(all);
        all.weights.assign(all.weights.size(), 0);
        check_group<std::uint32_t, float, float>(all);
    }
}

TEST_CASE("the parameters are written as attributes") {
    std::mt19937_64 random(3);
    const bytes file = written<std::int32_t, float, float>(random_group(random, {1, 64}, 4, 32, 8), format_version::v1_2, false);
    const reader from = reader::from_bytes(support::to_vector(file)).value();
    const object_view object = from.find("q").value();
    CHECK(object.format() == "quantized_group");
    CHECK(object.attributes().size() == 3);
    CHECK(as_string(object.attributes().cbor("bits").value()) == cbor::number(4));
    CHECK(as_string(object.attributes().cbor("group_size").value()) == cbor::number(32));
    CHECK(as_string(object.attributes().cbor("packing").value()) == cbor::text("8_per_i32"));
}

// -- files made by hand

namespace {

bytes floats(std::size_t count) { return support::repeated(count, bytes("\0\0\x80\x3f", 4)); } // ones

/// Two rows of eight weights of 4 bits in one i32 each, in groups of four.
struct content {
    generation from = generation::v1_2;
    bool is_zstd = false;
    integers dimensions = {2, 8};
    cbor::map attributes = {{"bits", cbor::number(4)}, {"group_size", cbor::number(4)}, {"packing", cbor::text("8_per_i32")}};
    std::string word = "i32";
    std::string scale = "f32";
    bytes packed = "\x10\x32\x54\x76\x98\xba\xdc\xfe";
    bytes scales = floats(4);
    bytes zeros = floats(4);

    [[nodiscard]] bytes file() const {
        sample file(from);
        std::vector<bytes> blobs;
        std::vector<part> parts;
        std::uint64_t offset = 64;
        const auto add = [&](const std::string& role, const std::string& type, const bytes& plain) {
            blobs.push_back(is_zstd ? support::zstd::frame(support::zstd::raw_block(plain)) : plain);
            part one{role, type, offset, blobs.back().size()};
            if (is_zstd) {
                one.more.set("encoding", cbor::text("zstd"));
                if (from == generation::v1_2) {
                    one.more.set("uncompressed_length", cbor::number(plain.size()));
                }
            }
            parts.push_back(one);
            offset += (blobs.back().size() + 63) / 64 * 64;
        };
        add("packed_weight", word, packed);
        add("scales", scale, scales);
        add("zeros", "f32", zeros);
        return file.blobs(blobs).parts("quantized_group", dimensions, parts).object("attributes", attributes).file();
    }
};

/// Nothing if the view can be had, and the error's place is right if not.
std::optional<errc> refusal_of(const content& from) {
    const reader file = reader::from_bytes(support::to_vector(from.file())).value();
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
std::function<void(content&)> without(std::string_view key) {
    return [key = std::string(key)](content& of) { of.attributes.remove(key); };
}
std::function<void(content&)> packing(std::string_view text) { return attribute("packing", cbor::text(text)); }

/// However the parts are stored, and in both generations.
void check_rows(const std::vector<row>& rows) {
    for (const row& each : rows) {
        for (const generation from : {generation::v1_1, generation::v1_2}) {
            for (const bool is_zstd : {false, true}) {
                content changed;
                changed.from = from;
                changed.is_zstd = is_zstd;
                each.change(changed);
                CAPTURE(each.rule, name(from), is_zstd);
                CHECK(refusal_of(changed) == each.refusal);
            }
        }
    }
}

} // namespace

TEST_CASE("weights written by hand are read by the documented convention") {
    const temp_dir directory;
    for (const generation from : {generation::v1_1, generation::v1_2}) {
        for (const bool is_zstd : {false, true}) {
            content good;
            good.from = from;
            good.is_zstd = is_zstd;
            for (const opening& opened : open_every_way(good.file(), directory)) {
                CAPTURE(name(from), is_zstd, opened.way);
                const quantized_view view = quantized_view::from(*opened.file.value().find("w")).value();
                CHECK(view.unpack().value() == std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
                CHECK(view.dequantize().value() == std::vector<float>{-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
                CHECK(view.packed_weight().uncompressed_length().has_value() == (is_zstd && from == generation::v1_2));
            }
        }
    }
}

TEST_CASE("groups are numbered along the last dimension, row after row") {
    content file;
    file.scales = little_endian(0x3f800000, 4) + little_endian(0x40000000, 4) + little_endian(0x40800000, 4) + little_endian(0x41000000, 4);
    file.zeros = bytes(16, '\0');
    const reader from = reader::from_bytes(support::to_vector(file.file())).value();
    CHECK(quantized_view::from(*from.find("w")).value().dequantize().value() ==
          std::vector<float>{0, 1, 2, 3, 8, 10, 12, 14, 32, 36, 40, 44, 96, 104, 112, 120});
}

TEST_CASE("bits of a word that belong to no weight are ignored") {
    content file;
    file.attributes.set("bits", cbor::number(3)).set("packing", cbor::text("2_per_i32")).set("group_size", cbor::number(2));
    file.dimensions = {2, 2};
    file.packed = "\xca\xff\xff\xff" + bytes("\x31\0\0\0", 4);
    file.scales = file.zeros = floats(2);
    const reader from = reader::from_bytes(support::to_vector(file.file())).value();
    CHECK(quantized_view::from(*from.find("w")).value().unpack().value() == std::vector<std::uint8_t>{2, 1, 1, 6});
}

TEST_CASE("I1: bits that are missing, no integer or not from 1 to 64 are refused") {
    check_rows({
        {"as they should be", [](content&) {}, {}},
        {"missing", without("bits"), errc::quant_bits},
        {"0", attribute("bits", cbor::number(0)), errc::quant_bits},
        {"65", attribute("bits", cbor::number(65)), errc::quant_bits},
        {"2^32 + 4", attribute("bits", cbor::number((std::uint64_t{1} << 32) + 4)), errc::quant_bits},
        {"2^64 - 1", attribute("bits", cbor::number(largest)), errc::quant_bits},
        {"-4", attribute("bits", cbor::minus_one_minus(3)), errc::quant_bits},
        {"-2^64 + 64, which some take for 64", attribute("bits", cbor::minus_one_minus(largest - 64)), errc::quant_bits},
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
            of.scales = of.zeros = floats(groups);
        };
    };
    check_rows({
        {"missing", without("group_size"), errc::quant_group},
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
    check_rows({
        {"missing", without("packing"), errc::quant_packing},
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
    const std::string_view unknown[] = {"", "8", "8_per_", "_per_i32", "8_per_i33", "8_per_f32", "8_per_bool", "8_per_I32",
                                        "8_PER_i32", "08_per_i32", "0_per_i32", "100_per_i32", "+8_per_i32", "-8_per_i32",
                                        "8 per i32", "8_per_i32 ", " 8_per_i32", "8_per_i32_per_i32", "1_per_8_per_i32",
                                        "x_per_i32", "8.0_per_i32", "18446744073709551624_per_i32", "vendor_5bit"};
    for (const std::string_view word : unknown) {
        for (const bool is_zstd : {false, true}) {
            content file;
            file.is_zstd = is_zstd;
            file.attributes.set("packing", cbor::text(word));
            file.packed.resize(4); // whose size nothing can be said of
            const reader from = reader::from_bytes(support::to_vector(file.file())).value();
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
        {"packed_weight", [](content& of) { of.dimensions = {3, 8}; of.scales = of.zeros = floats(6); }},
        {"scales", [](content& of) { of.scales = floats(3); }},
        {"scales", [](content& of) { of.scales = floats(5); }},
        {"scales", [](content& of) { of.scales.clear(); }},
        {"zeros", [](content& of) { of.zeros = floats(3); }},
        {"zeros", [](content& of) { of.zeros = floats(8); }},
        {"zeros", [](content& of) { of.zeros.clear(); }},
    };
    for (const auto& [role, change] : changes) {
        content changed;
        change(changed);
        for (const generation from : {generation::v1_1, generation::v1_2}) {
            for (const bool is_zstd : {false, true}) {
                changed.from = from;
                changed.is_zstd = is_zstd;
                CAPTURE(role, changed.packed.size(), changed.scales.size(), changed.zeros.size(), name(from), is_zstd);
                const reader file = reader::from_bytes(support::to_vector(changed.file())).value();
                const result<quantized_view> view = quantized_view::from(*file.find("w"));
                if (is_zstd && from == generation::v1_1) { // only decoding tells
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
        for (const generation from : {generation::v1_1, generation::v1_2}) {
            for (const bool is_zstd : {false, true}) {
                content changed;
                changed.from = from;
                changed.is_zstd = is_zstd;
                changed.packed.resize(size);
                CAPTURE(size, name(from), is_zstd);
                const result<reader> file = reader::from_bytes(support::to_vector(changed.file()));
                if (is_zstd && from == generation::v1_1) {
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
    for (const generation from : {generation::v1_0, generation::v1_1, generation::v1_2}) {
        for (std::size_t missing = 0; missing <= all.size(); ++missing) {
            std::vector<part> parts = all;
            if (missing < all.size()) {
                parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(missing));
            }
            sample file(from);
            const result<reader> opened = reader::from_bytes(support::to_vector(file.parts("quantized_group", {2, 8}, parts).file()));
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
        file.parts("quantized_group", {2, 8}, {{"packed_weight", "i32", 64, 8}, {"scales", "f32", 64, 8}, {"zeros", "f32", 64, 8}});
        return reader::from_bytes(support::to_vector(file.object("attributes", std::move(attributes)).file()));
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
    file.parts("quantized_group", {2, 8}, {{"packed_weight", "i32", 64, 8}, {"scales", "f32", 64, 8}, {"zeros", "f32", 64, 8}});
    const reader from = reader::from_bytes(support::to_vector(file.file())).value();
    CHECK(refusal(quantized_view::from(*from.find("w"))) == errc::quant_bits);
}

TEST_CASE("an object of another format has no quantized weights") {
    for (const char* const format : {"dense", "quantized_group2", "Quantized_group"}) {
        sample file;
        file.object("format", cbor::text(format));
        const reader from = reader::from_bytes(support::to_vector(file.file())).value();
        CHECK(refusal(quantized_view::from(*from.find("w"))) == errc::unsupported_format);
    }
}

TEST_CASE("scales of a type that is no number are refused when they are used") {
    content unknown;
    unknown.scale = "f24";
    const reader of_unknown = reader::from_bytes(support::to_vector(unknown.file())).value();
    const quantized_view view = quantized_view::from(*of_unknown.find("w")).value();
    CHECK(view.unpack().has_value());
    REQUIRE(refusal(view.dequantize()) == errc::unknown_dtype);
    CHECK(view.dequantize().error().component() == "scales");

    content complex_scales; // of two floats each: as many bytes as four floats have
    complex_scales.from = generation::v1_1;
    complex_scales.scale = "complex64";
    complex_scales.scales = floats(8);
    const reader of_complex = reader::from_bytes(support::to_vector(complex_scales.file())).value();
    const auto dense = quantized_view::from(*of_complex.find("w")).and_then([](const quantized_view& each) { return each.dequantize(); });
    REQUIRE_FALSE(dense.has_value());
    CHECK((dense.error().code() == errc::unsupported_type || dense.error().code() == errc::size_mismatch));
}

TEST_CASE("a packed shape that no memory holds is refused without taking any") {
    content huge;
    huge.dimensions = {std::uint64_t{1} << 32, std::uint64_t{1} << 31};
    CHECK(refusal_of(huge) == errc::size_mismatch);
    huge.from = generation::v1_1;
    huge.is_zstd = true; // whose sizes only decoding tells
    const reader from = reader::from_bytes(support::to_vector(huge.file())).value();
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
    file.parts("quantized_group", {2, 8}, {packed, {"scales", "f32", 128, 16}, {"zeros", "f32", 192, 16}}).object("attributes", good.attributes);
    const reader from = reader::from_bytes(support::to_vector(file.file())).value();
    const quantized_view view = quantized_view::from(*from.find("w")).value();
    REQUIRE(refusal(view.unpack()) == errc::digest_mismatch);
    CHECK(view.unpack().error().object() == "w");
    CHECK(view.unpack().error().component() == "packed_weight");
    CHECK(refusal(view.dequantize()) == errc::digest_mismatch);
}

// -- the file that the reference wrote

namespace {

float half_value(std::uint64_t bits) {
    const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const auto mantissa = static_cast<float>(bits & 1023);
    return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024.0F + mantissa, exponent - 25));
}

/// Little-endian numbers of `width` bytes each.
integers numbers_of(const ztensor::component_view& component, std::size_t width) {
    const std::vector<std::byte> content = component.read<std::byte>().value();
    integers out;
    for (std::size_t at = 0; at < content.size(); at += width) {
        std::uint64_t number = 0;
        for (std::size_t i = width; i-- > 0;) {
            number = number << 8 | std::to_integer<std::uint64_t>(content[at + i]);
        }
        out.push_back(number);
    }
    return out;
}

} // namespace

TEST_CASE("the weights in the reference's file are those that its bytes say") {
    const reader file = reader::open("tests/corpus/golden/v1.2-quantized-group.zt").value();
    const quantized_view q4 = quantized_view::from(*file.find("q4")).value();
    CHECK(q4.bits() == 4);
    CHECK(q4.group_size() == 64);
    CHECK(q4.shape() == shape{128, 256});
    CHECK(q4.packed_shape() == shape{128, 32});
    CHECK(q4.group_shape() == shape{128, 4});
    const integers words = numbers_of(*file.find("q4")->component("packed_weight"), 4);
    const integers scales = numbers_of(*file.find("q4")->component("scales"), 2);
    const integers zeros = numbers_of(*file.find("q4")->component("zeros"), 2);
    std::vector<std::uint8_t> weights;
    std::vector<float> dense;
    for (std::size_t row = 0; row < 128; ++row) {
        for (std::size_t column = 0; column < 256; ++column) {
            const std::uint64_t word = words.at(row * 32 + column / 8);
            weights.push_back(static_cast<std::uint8_t>(word >> (column % 8 * 4) & 15));
            const std::size_t of_group = row * 4 + column / 64;
            dense.push_back((static_cast<float>(weights.back()) - half_value(zeros.at(of_group))) * half_value(scales.at(of_group)));
        }
    }
    CHECK(q4.unpack().value() == weights);
    CHECK(q4.dequantize().value() == dense);
}

TEST_CASE("the compressed weights in the reference's file are those that its bytes say") {
    const reader file = reader::open("tests/corpus/golden/v1.2-quantized-group.zt").value();
    const quantized_view q8 = quantized_view::from(*file.find("q8")).value();
    CHECK(q8.packed_shape() == shape{16, 32});
    CHECK(q8.group_shape() == shape{16, 1});
    const integers weights = numbers_of(*file.find("q8")->component("packed_weight"), 1); // the first in the lowest byte
    const integers zeros = numbers_of(*file.find("q8")->component("zeros"), 1);
    const std::vector<float> scales = file.find("q8")->component("scales")->read<float>().value();
    std::vector<float> dense;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const auto zero = static_cast<std::int8_t>(static_cast<std::uint8_t>(zeros.at(i / 128)));
        dense.push_back((static_cast<float>(weights[i]) - static_cast<float>(zero)) * scales.at(i / 128));
    }
    const std::vector<std::uint16_t> unpacked = q8.unpack<std::uint16_t>().value();
    CHECK(integers(unpacked.begin(), unpacked.end()) == weights);
    CHECK(q8.dequantize().value() == dense);

    const quantized_view odd = quantized_view::from(*file.find("odd-packing")).value();
    CHECK_FALSE(odd.packing().has_value());
    CHECK(odd.parameters().packing_name == "vendor_5bit");
    CHECK(refusal(odd.unpack()) == errc::quant_packing);
    CHECK(odd.packed_weight().read<std::uint8_t>().value().size() == 160);
}

// -- the writer

namespace {

template <class Call>
void check_refused(format_version version, errc code, const char* rule, Call&& call) {
    CAPTURE(rule);
    writer untouched = writer::to_memory(write_options().version(version)).value();
    writer to = writer::to_memory(write_options().version(version)).value();
    const result<void> done = call(to);
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().code() == code);
    CHECK(done.error().object() == "q");
    for (writer* const each : {&untouched, &to}) {
        each->add("after", {2}, std::vector<float>{1, 2}).value();
    }
    CHECK(finished(to) == finished(untouched));
}

const std::vector<std::int32_t> two_words = {0x76543210, -0x01234568};
const std::vector<float> four = {1, 1, 1, 1};

} // namespace

TEST_CASE("the writer refuses quantized weights that don't fit each other, and writes nothing of them") {
    const auto add = [](ztensor::quantization parameters, shape dimensions = {2, 8}, std::vector<std::int32_t> words = two_words,
                        std::vector<float> scales = four, std::vector<float> zeros = four) {
        return [=](writer& to) { return to.add_quantized("q", dimensions, parameters, words, scales, zeros); };
    };
    const std::string good = "8_per_i32";
    for (const format_version version : {format_version::v1_1, format_version::v1_2}) {
        check_refused(version, errc::quant_bits, "I1: 0", add({0, 4, good}));
        check_refused(version, errc::quant_bits, "I1: 65", add({65, 4, good}));
        check_refused(version, errc::quant_group, "I2: 0", add({4, 0, good}));
        check_refused(version, errc::quant_group, "I2: 3", add({4, 3, good}));
        check_refused(version, errc::quant_group, "I2: across rows", add({4, 16, good}, {2, 8}, two_words, {1}, {1}));
        check_refused(version, errc::quant_packing, "I3: empty", add({4, 4, ""}));
        check_refused(version, errc::quant_packing, "I3: unknown", add({4, 4, "vendor_5bit"}));
        check_refused(version, errc::quant_packing, "I3: words of another type", add({4, 4, "8_per_u32"}));
        check_refused(version, errc::quant_packing, "I3: too many", add({4, 4, "9_per_i32"}));
        check_refused(version, errc::quant_packing, "I3: too many bits", add({5, 4, good}));
        check_refused(version, errc::quant_packing, "I3: across rows", add({4, 4, good}, {4, 4}));
        check_refused(version, errc::size_mismatch, "I4: one word less", add({4, 4, good}, {2, 8}, {1}));
        check_refused(version, errc::size_mismatch, "I4: one word more", add({4, 4, good}, {2, 8}, {1, 2, 3}));
        check_refused(version, errc::size_mismatch, "I4: scales", add({4, 4, good}, {2, 8}, two_words, {1, 2, 3}));
        check_refused(version, errc::size_mismatch, "I4: zeros", add({4, 4, good}, {2, 8}, two_words, four, {1}));
        check_refused(version, errc::quant_group, "no dimension", add({4, 4, good}, {}));
        check_refused(version, errc::shape_overflow, "2^64 weights", add({4, 4, good}, {std::uint64_t{1} << 61, 8}));
    }
    check_refused(format_version::v0_1, errc::not_expressible, "0.1", add({4, 4, good}));
}

TEST_CASE("drafts of quantized weights are checked as far as their parameters are understood") {
    const auto draft = [](std::vector<std::int32_t> const& words, const char* packing) {
        ztensor::attributes parameters;
        parameters.set("bits", 4).set("group_size", 4).set("packing", packing);
        return object_draft("quantized_group", {2, 8}).component("packed_weight", words).component("scales", four).component("zeros", four).attributes(parameters);
    };
    const std::vector<std::int32_t> one_word = {1};
    for (const format_version version : {format_version::v1_1, format_version::v1_2}) {
        check_refused(version, errc::size_mismatch, "I4", [&](writer& to) { return to.add_object("q", draft(one_word, "8_per_i32")); });
        check_refused(version, errc::quant_packing, "I3", [&](writer& to) { return to.add_object("q", draft(two_words, "8_per_u32")); });
        check_refused(version, errc::layout_components, "I5", [&](writer& to) {
            return to.add_object("q", object_draft("quantized_group", {2, 8}).component("packed_weight", two_words).component("scales", four));
        });
        writer to = writer::to_memory(write_options().version(version)).value();
        CHECK(to.add_object("understood", draft(two_words, "8_per_i32")).has_value());
        CHECK(to.add_object("vendor's own", draft(one_word, "vendor_5bit")).has_value());
        CHECK(to.add_object("no parameters", object_draft("quantized_group", {2, 8})
                                                 .component("packed_weight", one_word).component("scales", four).component("zeros", four)).has_value());
        const reader from = reader::from_bytes(support::to_vector(finished(to))).value();
        CHECK(from.size() == 3);
        CHECK(quantized_view::from(*from.find("understood")).value().unpack().value() ==
              std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
    }
}
