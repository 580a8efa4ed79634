// SPDX-License-Identifier: MIT
//
// Weights quantized in groups: what is unpacked and dequantized is what a naive computation gives. SPEC.md §5.4.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/elements.hpp"
#include "support/golden.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"

#include <ztensor/float_types.hpp>
#include <ztensor/quantized.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::as;
using support::as_string;
using support::bytes;
using support::finished;
using support::integers;
using support::largest;
using support::opened;
using support::opening;
using support::refusal;
using support::stored;
using support::temp_dir;
using support::to_memory;
using ztensor::component_view;
using ztensor::errc;
using ztensor::format_version;
using ztensor::object_view;
using ztensor::quantized_view;
using ztensor::reader;
using ztensor::shape;
using ztensor::writer;
namespace cbor = support::cbor;

shape shape_of(const integers& dimensions) {
    return shape(ztensor::span<const std::uint64_t>(dimensions));
}

std::uint64_t product(const integers& dimensions) {
    return std::accumulate(dimensions.begin(), dimensions.end(), std::uint64_t{1}, std::multiplies<>());
}

std::uint64_t mask_of(unsigned bits) {
    return bits == 64 ? largest : (std::uint64_t{1} << bits) - 1;
}

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
            out.push_back((static_cast<float>(weights[static_cast<std::size_t>(i)]) - zeros[of_group]) *
                          scales[of_group]);
        }
        return out;
    }

    [[nodiscard]] shape divided(std::uint64_t divisor) const {
        integers out = dimensions;
        out.back() /= divisor;
        return shape_of(out);
    }
};

group random_group(std::mt19937_64& random, integers dimensions, unsigned bits, std::uint64_t group_size,
                   std::uint64_t per_word) {
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

template <class Word>
std::vector<Word> as_words(const integers& words) {
    std::vector<Word> out;
    for (const std::uint64_t word : words) {
        out.push_back(static_cast<Word>(word)); // to a signed type: the same bits
    }
    return out;
}

/// How a group is stored, and what depends on the type of its words.
struct group_types {
    std::string_view word; ///< the name of its dtype
    ztensor::dtype storage;
    bytes (*write)(const group&, const std::string& packing, format_version, bool is_zstd);
    bool (*has_words)(const component_view&, const integers&);
};

template <class Word, class Scale, class Zero>
bytes written_group(const group& from, const std::string& packing, format_version version, bool is_zstd) {
    writer to = to_memory(version);
    to.add_quantized("q", shape_of(from.dimensions), {from.bits, from.group_size, packing},
                     as_words<Word>(from.words()), as<Scale>(from.scales), as<Zero>(from.zeros), stored(is_zstd))
        .value();
    return finished(to);
}

template <class Word>
bool has_words(const component_view& component, const integers& words) {
    return component.read<Word>().value() == as_words<Word>(words);
}

template <class Word, class Scale, class Zero>
constexpr group_types types_of = {name(ztensor::element_traits<Word>::storage), ztensor::element_traits<Word>::storage,
                                  written_group<Word, Scale, Zero>, has_words<Word>};

std::string packing_of(const group& from, const group_types& types) {
    return std::to_string(from.per_word) + "_per_" + std::string(types.word);
}

template <class Q>
void check_unpacked(const quantized_view& view, const group& expected) {
    if (expected.bits > 8 * sizeof(Q)) {
        CHECK(refusal(view.unpack<Q>()) == errc::quant_bits);
        return;
    }
    CHECK(as<std::uint64_t>(view.unpack<Q>().value()) == expected.weights);
}

void check_view(const quantized_view& view, const group& expected, const group_types& types) {
    CHECK(view.shape() == shape_of(expected.dimensions));
    CHECK(view.bits() == expected.bits);
    CHECK(view.group_size() == expected.group_size);
    CHECK(view.parameters().bits == expected.bits);
    CHECK(view.parameters().group_size == expected.group_size);
    CHECK(view.parameters().packing_name == packing_of(expected, types));
    REQUIRE(view.packing().has_value());
    CHECK(view.packing()->per_word == expected.per_word);
    CHECK(view.packing()->word == types.storage);
    CHECK(view.packed_shape() == expected.divided(expected.per_word));
    CHECK(view.group_shape() == expected.divided(expected.group_size));
    CHECK(view.packed_weight().role() == "packed_weight");
    CHECK(view.scales().role() == "scales");
    CHECK(view.zeros().role() == "zeros");
    CHECK(types.has_words(view.packed_weight(), expected.words()));
    check_unpacked<std::uint8_t>(view, expected);
    check_unpacked<std::uint16_t>(view, expected);
    check_unpacked<std::uint32_t>(view, expected);
    check_unpacked<std::uint64_t>(view, expected);
    CHECK(view.dequantize().value() == expected.dense());
}

void check_group(const group& expected, const group_types& types) {
    const temp_dir directory;
    for (const format_version version : {format_version::v1_1, format_version::v1_2}) {
        for (const bool is_zstd : {false, true}) {
            const bytes file = types.write(expected, packing_of(expected, types), version, is_zstd);
            for (const opening& opened : open_every_way(file, directory)) {
                CAPTURE(is_zstd, opened.way, expected.dimensions, expected.bits, expected.group_size,
                        expected.per_word);
                const reader& from = opened.file.value();
                CAPTURE(from.version().text(), types.word);
                check_view(quantized_view::from(*from.find("q")).value(), expected, types);
            }
        }
    }
}

template <class Word, class Scale, class Zero>
void check_group(const group& expected) {
    check_group(expected, types_of<Word, Scale, Zero>);
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
        group all{{per_word}, bits, per_word, per_word, integers(static_cast<std::size_t>(per_word), mask_of(bits)),
                  {2},        {1}};
        check_group<std::int32_t, float, float>(all);
        all.weights.assign(all.weights.size(), 0);
        check_group<std::uint32_t, float, float>(all);
    }
}

TEST_CASE("the parameters are written as attributes") {
    std::mt19937_64 random(3);
    const bytes file = written_group<std::int32_t, float, float>(random_group(random, {1, 64}, 4, 32, 8), "8_per_i32",
                                                                 format_version::v1_2, false);
    const reader from = opened(file);
    const object_view object = from.find("q").value();
    CHECK(object.format().text() == "quantized_group");
    CHECK(object.attributes().size() == 3);
    CHECK(as_string(object.attributes().cbor("bits").value()) == cbor::number(4));
    CHECK(as_string(object.attributes().cbor("group_size").value()) == cbor::number(32));
    CHECK(as_string(object.attributes().cbor("packing").value()) == cbor::text("8_per_i32"));
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
            dense.push_back((static_cast<float>(weights.back()) - half_value(zeros.at(of_group))) *
                            half_value(scales.at(of_group)));
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
    const integers weights =
        numbers_of(*file.find("q8")->component("packed_weight"), 1); // the first in the lowest byte
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

TEST_CASE("a view of groups that is about to die gives its parameters away, and says along which dimension they lie") {
    const auto path = support::golden_path("v1.2-quantized-group.zt");
    const ztensor::reader file = ztensor::reader::open(path).value();
    for (const ztensor::object_view object : file) {
        const auto view = ztensor::quantized_view::from(object);
        if (view) {
            CHECK(view->axis() == view->shape().rank() - 1);
            CHECK(ztensor::quantized_view::from(object).value().parameters().bits == view->bits());
        }
    }
}
