// SPDX-License-Identifier: MIT
//
// GGUF files that the gguf package wrote (tests/corpus/foreign/make_gguf.py): attributes of every kind, and quantized
// weights, bit for bit what the package makes of them, in the GGUF file and in what it is converted to.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/attributes.hpp>
#include <ztensor/copy.hpp>
#include <ztensor/detail/codec/ggml_types.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/import.hpp>
#include <ztensor/json.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::outcome;
using support::refusal;
using ztensor::errc;

const std::filesystem::path gguf_folder = "tests/corpus/foreign/gguf";

constexpr const char* block_types[] = {"q4_0",    "q4_1",   "q5_0",    "q5_1",  "q8_0",   "q8_1",  "q2_k",
                                       "q3_k",    "q4_k",   "q5_k",    "q6_k",  "q8_k",   "iq1_s", "iq1_m",
                                       "iq2_xxs", "iq2_xs", "iq2_s",   "iq3_s", "iq4_nl", "q1_0",  "q2_0",
                                       "tq1_0",   "tq2_0",  "iq3_xxs", "mxfp4", "nvfp4",  "iq4_xs"};

ztensor::reader open_gguf(std::string_view name) {
    auto file = ztensor::open_any(gguf_folder / name);
    REQUIRE(outcome(file) == "ok");
    return *std::move(file);
}

std::vector<std::byte> finished_file(ztensor::writer& to) {
    REQUIRE(outcome(to.finish()) == "ok");
    return to.take_bytes();
}

/// All of a file as .zt; blobs as they are, or with `change`.
template <class Change>
ztensor::reader as_zt(const ztensor::reader& from, Change&& change) {
    ztensor::writer to = ztensor::writer::to_memory().value();
    REQUIRE(outcome(change(from, to)) == "ok");
    std::vector<std::byte> content = finished_file(to);
    return ztensor::reader::from_bytes(std::move(content)).value();
}

ztensor::result<void> copy_compressed(const ztensor::reader& from, ztensor::writer& to) {
    for (const ztensor::object_view object : from) {
        const ztensor::component_view data = object.component("data").value();
        const std::vector<std::byte> stored = data.read<std::byte>().value();
        ztensor::object_draft draft(object.format().text(), object.shape());
        draft.component_bytes("data", *data.dtype().known(), stored, ztensor::store().zstd());
        if (object.has_attributes()) {
            draft.attributes(ztensor::attributes(object.attributes()));
        }
        if (auto added = to.add_object(object.name(), draft); !added) {
            return added;
        }
    }
    return {};
}

/// What the pieces of an object give, converted.
struct joined_numbers {
    support::bytes content; ///< as in a file
    std::size_t count = 0;  ///< of pieces
    std::string outcome = "ok";
};

template <class To>
joined_numbers join(const ztensor::object_view& object) {
    joined_numbers joined;
    auto pieces = ztensor::component_pieces::open_as(object, ztensor::element_traits<To>::storage);
    for (joined.outcome = outcome(pieces); pieces; ++joined.count) {
        const auto piece = pieces->next();
        joined.outcome = outcome(piece);
        if (!piece || piece->empty()) {
            break;
        }
        joined.content += support::as_string(*piece);
    }
    return joined;
}

template <class To>
void check_pieces(const ztensor::object_view& object) {
    const std::vector<float> weights = object.read_as<float>().value();
    std::vector<To> expected;
    for (const float each : weights) {
        expected.push_back(static_cast<To>(each));
    }
    const joined_numbers joined = join<To>(object);
    CHECK(joined.outcome == "ok");
    CHECK(joined.content == support::between_file_and_host(support::memory_of(expected), sizeof(To)));
}

/// How many differ in a bit; one NaN is as good as another, since processors differ in which they give.
std::size_t differing_weights(const std::vector<float>& weights, const std::vector<float>& expected) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const bool are_nan = std::isnan(weights[i]) && std::isnan(expected[i]);
        const bool is_same = weights[i] == expected[i] && std::signbit(weights[i]) == std::signbit(expected[i]);
        count += are_nan || is_same ? 0 : 1;
    }
    return count;
}

/// Every way to the weights gives, bit for bit, what the package's dequantizer gave.
void check_weights(const ztensor::reader& file) {
    for (const std::string type : block_types) {
        CAPTURE(type);
        const ztensor::object_view blocks = file.find(type).value();
        const std::vector<float> expected = file.find(type + ".expected").value().read<float>().value();
        const std::vector<double> wide(expected.begin(), expected.end());
        REQUIRE(expected.size() >= 128);
        CHECK(blocks.element_count() == expected.size());
        CHECK(support::memory_of(blocks.read_as<float>().value()) == support::memory_of(expected));
        CHECK(support::memory_of(blocks.read_as<double>().value()) == support::memory_of(wide));
        CHECK(blocks.read_as<long double>().value().at(77) == static_cast<long double>(expected.at(77)));
        std::vector<float> mine(expected.size());
        CHECK(outcome(blocks.read_as_into(mine)) == "ok");
        CHECK(support::memory_of(mine) == support::memory_of(expected));
        std::vector<float> longer(expected.size() + 1);
        CHECK(refusal(blocks.read_as_into(longer)) == errc::size_mismatch);
        CHECK(refusal(blocks.read<float>()) == errc::unsupported_format);
        CHECK(refusal(blocks.view<float>()) == errc::unsupported_format);
    }
    std::vector<std::vector<float>> floats;
    std::vector<std::vector<double>> doubles;
    for (const std::string type : block_types) {
        floats.emplace_back(static_cast<std::size_t>(file.find(type).value().element_count()));
        doubles.emplace_back(floats.back().size());
    }
    ztensor::load_plan plan(file);
    for (std::size_t i = 0; i < floats.size(); ++i) {
        plan.add_as(block_types[i], floats[i]);
        plan.add_as(block_types[i], doubles[i]);
    }
    REQUIRE(outcome(plan.run()) == "ok");
    for (std::size_t i = 0; i < floats.size(); ++i) {
        const auto expected = file.find(block_types[i] + std::string(".expected")).value().read<float>().value();
        CAPTURE(block_types[i]);
        CHECK(support::memory_of(floats[i]) == support::memory_of(expected));
        CHECK(support::memory_of(doubles[i]) ==
              support::memory_of(std::vector<double>(expected.begin(), expected.end())));
    }
}

} // namespace

TEST_CASE("weights in blocks are what the gguf package computes of them") {
    const ztensor::reader file = open_gguf("blocks.gguf");
    check_weights(file);
    const ztensor::object_view blocks = file.find("q4_k").value();
    CHECK(blocks.format().text() == "gguf.q4_k/1");
    CHECK(blocks.shape() == ztensor::shape{2, 512});
    CHECK(blocks.attributes().unsigned_integer("elems_per_block").value() == 256);
    CHECK(blocks.attributes().unsigned_integer("block_bytes").value() == 144);
    CHECK(blocks.component("data").value().read<std::uint8_t>().value().size() == 4 * 144);
}

TEST_CASE("a .zt file made of a GGUF file holds its blocks unchanged, and gives the same weights") {
    const ztensor::reader file = open_gguf("blocks.gguf");
    const ztensor::reader copied = as_zt(file, [](const auto& from, auto& to) { return ztensor::copy(from, to); });
    check_weights(copied);
    check_weights(as_zt(file, copy_compressed));
    for (const ztensor::object_view object : file) {
        CAPTURE(object.name());
        const ztensor::object_view there = copied.find(object.name()).value();
        CHECK(there.format() == object.format());
        CHECK(there.shape() == object.shape());
        CHECK(there.component("data").value().read<std::byte>().value() ==
              object.component("data").value().read<std::byte>().value());
    }
    CHECK(copied.attributes().text("general.architecture").value() == "test");
}

TEST_CASE("weights in blocks come in pieces of every width of float, rounded once") {
    const ztensor::reader file = open_gguf("blocks.gguf");
    const ztensor::reader compressed = as_zt(file, copy_compressed);
    for (const char* const type : block_types) {
        CAPTURE(type);
        for (const ztensor::reader* const each : {&file, &compressed}) {
            const ztensor::object_view blocks = each->find(type).value();
            check_pieces<double>(blocks);
            check_pieces<float>(blocks);
            check_pieces<ztensor::float16>(blocks);
            check_pieces<ztensor::bfloat16>(blocks);
        }
    }
    check_pieces<double>(file.find("q4_k.expected").value()); // of dense objects their elements
    CHECK(join<std::int32_t>(file.find("q4_k").value()).outcome == "invalid_argument");
}

TEST_CASE("weights in blocks become the tensors of other formats that floats are asked for in") {
    const ztensor::reader file = open_gguf("blocks.gguf");
    const support::temp_dir folder;
    const auto as_floats = [](ztensor::dtype floats) {
        return ztensor::export_options().floats_as(floats).attributes(false).sync(ztensor::sync_level::none);
    };
    REQUIRE(outcome(ztensor::export_safetensors(file, folder / "x.safetensors", as_floats(ztensor::dtype::bf16))) ==
            "ok");
    REQUIRE(outcome(ztensor::export_npz(file, folder / "x.npz", as_floats(ztensor::dtype::f32))) == "ok");
    const auto bf16 = ztensor::open_any(folder / "x.safetensors").value();
    const auto f32 = ztensor::open_any(folder / "x.npz").value();
    CHECK(bf16.size() == file.size());
    for (const std::string type : block_types) {
        CAPTURE(type);
        const ztensor::object_view blocks = file.find(type).value();
        const std::vector<float> expected = blocks.read_as<float>().value();
        CHECK(f32.find(type).value().shape() == blocks.shape());
        CHECK(support::memory_of(f32.read<float>(type).value()) == support::memory_of(expected));
        const std::vector<ztensor::bfloat16> shorter(bf16.read<ztensor::bfloat16>(type).value());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            REQUIRE(shorter[i].bits() == ztensor::bfloat16(expected[i]).bits());
        }
        CHECK(outcome(ztensor::export_npy(blocks, folder / "x.npy", as_floats(ztensor::dtype::f32))) == "ok");
        CHECK(support::memory_of(ztensor::open_any(folder / "x.npy").value().read<float>("x").value()) ==
              support::memory_of(expected));
    }
    const auto text_of = [](ztensor::export_options how) { return how.attributes(true); };
    CHECK(outcome(ztensor::export_safetensors(file, folder / "y.safetensors",
                                              text_of(as_floats(ztensor::dtype::f32)))) == "ok");
    CHECK(refusal(ztensor::export_npz(file, folder / "y.npz", ztensor::export_options().attributes(false))) ==
          errc::not_expressible);
}

TEST_CASE("large tensors of blocks are converted piece by piece, alone and by a plan") {
    const ztensor::reader small = open_gguf("blocks.gguf");
    constexpr std::uint64_t rows = 1024;
    for (const std::string type : {"q4_0", "q3_k", "q6_k", "iq1_m"}) {
        const ztensor::object_view object = small.find(type).value();
        const auto blocks = object.component("data").value().read<std::byte>().value();
        const auto weights = object.read_as<float>().value();
        std::vector<std::byte> many_bytes;
        std::vector<float> expected;
        for (std::uint64_t i = 0; i < 8 * rows; ++i) {
            many_bytes.insert(many_bytes.end(), blocks.begin(), blocks.end());
            expected.insert(expected.end(), weights.begin(), weights.end());
        }
        for (const bool is_zstd : {false, true}) {
            for (const bool is_checked : {false, true}) {
                CAPTURE(type, is_zstd, is_checked);
                ztensor::writer to = ztensor::writer::to_memory().value();
                ztensor::store how;
                how.digest(is_checked ? ztensor::digest::crc32c : ztensor::digest::none);
                if (is_zstd) {
                    how.zstd();
                }
                ztensor::object_draft draft(object.format().text(), {rows, expected.size() / rows});
                draft.component_bytes("data", ztensor::dtype::u8, many_bytes, how);
                draft.attributes(ztensor::attributes(object.attributes()));
                REQUIRE(outcome(to.add_object("w", draft)) == "ok");
                const support::temp_dir directory;
                const std::vector<std::byte> content = finished_file(to);
                support::write_file(directory / "w.zt", support::as_string(content));
                for (const ztensor::io_mode mode : {ztensor::io_mode::automatic, ztensor::io_mode::positional}) {
                    const auto file = ztensor::open_any(directory / "w.zt", ztensor::read_options().mode(mode)).value();
                    CHECK((file.find("w").value().read_as<float>().value() == expected));
                    const joined_numbers pieces = join<float>(file.find("w").value());
                    CHECK((pieces.content == support::between_file_and_host(support::memory_of(expected), 4)));
                    CHECK(pieces.count > 4);
                    std::vector<float> planned(expected.size());
                    ztensor::load_plan plan(file);
                    plan.add_as("w", planned);
                    REQUIRE(outcome(plan.run()) == "ok");
                    CHECK((planned == expected));
                }
            }
        }
    }
}

TEST_CASE("key-values of GGUF become attributes, whatever their kind") {
    for (const char* const name : {"kinds.gguf", "big_endian.gguf", "version_2.gguf"}) {
        CAPTURE(name);
        const ztensor::reader file = open_gguf(name);
        const ztensor::attributes_view attributes = file.attributes();
        CHECK(file.container() == ztensor::container_kind::gguf);
        CHECK(attributes.size() == 17);
        CHECK(attributes.text("general.architecture").value() == "test");
        CHECK(attributes.unsigned_integer("kind.u8").value() == 255);
        CHECK(attributes.integer("kind.i8").value() == -128);
        CHECK(attributes.unsigned_integer("kind.u16").value() == 65535);
        CHECK(attributes.integer("kind.i16").value() == -32768);
        CHECK(attributes.unsigned_integer("kind.u32").value() == 4294967295);
        CHECK(attributes.integer("kind.i32").value() == -2147483648LL);
        CHECK(attributes.number("kind.f32").value() == 0.1F);
        CHECK(attributes.unsigned_integer("kind.u64").value() == support::largest);
        CHECK(attributes.integer("kind.i64").value() == -9223372036854775807LL - 1);
        CHECK(attributes.number("kind.f64").value() == 0.1);
        CHECK(attributes.boolean("kind.bool").value());
        CHECK(attributes.text("kind.text").value() == "Grüße");
        const auto json = [&](const char* key) {
            return ztensor::to_json(attributes.cbor(key).value()).value().dump();
        };
        CHECK(json("kind.numbers") == "[1,-2,3]");
        CHECK(json("kind.texts") == "[\"a\",\"\",\"ß\"]");
        CHECK(json("kind.bools") == "[true,false]");
        CHECK(json("kind.nested") == "[[1,2],[3],[4,5,6]]");
    }
}

TEST_CASE("big-endian tensors of GGUF are read swapped, and a view says why it can't") {
    const ztensor::reader little = open_gguf("kinds.gguf");
    const ztensor::reader big = open_gguf("big_endian.gguf");
    CHECK(big.find("f32").value().read<float>().value() == little.find("f32").value().read<float>().value());
    CHECK(big.find("i64").value().read_as<double>().value() == little.find("i64").value().read_as<double>().value());
    const bool swaps = support::host_is_little_endian();
    CHECK(outcome(big.find("f32").value().view<float>()) == (swaps ? "needs_byteswap" : "ok"));
    CHECK(outcome(little.find("f32").value().view<float>()) == (swaps ? "ok" : "needs_byteswap"));
}

TEST_CASE("scales that are infinite, no numbers, subnormal or zero give the weights of the gguf package") {
    const ztensor::reader file = open_gguf("extremes.gguf");
    for (const std::string type : block_types) {
        CAPTURE(type);
        const std::vector<float> expected = file.find(type + ".expected").value().read<float>().value();
        const std::vector<float> weights = file.find(type).value().read_as<float>().value();
        REQUIRE(weights.size() == expected.size());
        CHECK(differing_weights(weights, expected) == 0);
    }
}

TEST_CASE("every entry of a codebook is the one of the gguf package") {
    const ztensor::reader file = open_gguf("codebooks.gguf");
    for (const std::string type : {"iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s"}) {
        CAPTURE(type);
        const ztensor::object_view expected = file.find(type + ".expected").value();
        CHECK((file.find(type).value().read_as<float>().value() == expected.read_as<float>().value()));
    }
}

TEST_CASE("a type number that nobody knows is listed with the bytes up to the next tensor") {
    const support::temp_dir directory;
    std::string content = support::read_file(gguf_folder / "aligned.gguf");
    const std::size_t type_of_a = content.find("a", content.find("general.alignment") + 30) + 1 + 4 + 8;
    REQUIRE(content[type_of_a] == 24);
    content[type_of_a] = 99;
    support::write_file(directory / "new.gguf", content);
    const auto file = ztensor::open_any(directory / "new.gguf");
    REQUIRE(outcome(file) == "ok");
    const ztensor::object_view object = file->find("a").value();
    CHECK(object.format().text() == "gguf.type_99/1");
    CHECK(refusal(object.read_as<float>()) == errc::unsupported_format);
    CHECK(refusal(object.data()) == errc::unsupported_format);
    CHECK(object.component("data").value().read<std::uint8_t>().value().at(2) == 3);
    CHECK(file->find("b").value().read<std::int8_t>().value() == std::vector<std::int8_t>{4, 5, 6});
    const std::size_t type_of_b = content.find("b", type_of_a + 1) + 1 + 4 + 8;
    REQUIRE(content[type_of_b] == 24);
    content[type_of_b] = 98;
    support::write_file(directory / "new.gguf", content);
    const auto both = ztensor::open_any(directory / "new.gguf");
    REQUIRE(outcome(both) == "ok");
    CHECK(both->find("a").value().format().text() == "gguf.type_99/1");
    CHECK(both->find("b").value().format().text() == "gguf.type_98/1");
}

TEST_CASE("objects that say they are blocks and are not give no weights") {
    struct wrong_blocks {
        const char* rule;
        errc code;
        const char* format;
        ztensor::shape shape;
        std::size_t bytes;
        int elems_per_block; ///< 0: none
        int block_bytes;
        const char* role = "data";
        ztensor::dtype dtype = ztensor::dtype::u8;
    };
    const wrong_blocks table[] = {
        {"an unknown type", errc::unsupported_format, "gguf.q9_9/1", {32}, 18, 32, 18},
        {"another version", errc::unsupported_format, "gguf.q4_0/2", {32}, 18, 32, 18},
        {"no type", errc::unsupported_format, "gguf./1", {32}, 18, 32, 18},
        {"elements differ", errc::size_mismatch, "gguf.q4_0/1", {64}, 18, 64, 18},
        {"bytes differ", errc::size_mismatch, "gguf.q4_0/1", {32}, 20, 32, 20},
        {"no elems_per_block", errc::attribute_not_found, "gguf.q4_0/1", {32}, 18, 0, 18},
        {"no block_bytes", errc::attribute_not_found, "gguf.q4_0/1", {32}, 18, 32, 0},
        {"half a block in a row", errc::size_mismatch, "gguf.q4_0/1", {2, 48}, 54, 32, 18},
        {"a scalar", errc::size_mismatch, "gguf.q4_0/1", {}, 18, 32, 18},
        {"too few blocks", errc::size_mismatch, "gguf.q4_0/1", {64}, 18, 32, 18},
        {"a byte too many", errc::size_mismatch, "gguf.q4_0/1", {32}, 19, 32, 18},
        {"another role", errc::layout_components, "gguf.q4_0/1", {32}, 18, 32, 18, "blocks"},
        {"another dtype", errc::type_mismatch, "gguf.q4_0/1", {32}, 18, 32, 18, "data", ztensor::dtype::i16},
    };
    for (const wrong_blocks& each : table) {
        CAPTURE(each.rule);
        ztensor::writer to = ztensor::writer::to_memory().value();
        const std::vector<std::byte> stored(each.bytes);
        ztensor::attributes attributes;
        if (each.elems_per_block != 0) {
            attributes.set("elems_per_block", each.elems_per_block);
        }
        if (each.block_bytes != 0) {
            attributes.set("block_bytes", each.block_bytes);
        }
        ztensor::object_draft draft(each.format, each.shape);
        draft.component_bytes(each.role, each.dtype, stored).attributes(attributes);
        REQUIRE(outcome(to.add_object("w", draft)) == "ok");
        std::vector<std::byte> content = finished_file(to);
        const auto file = ztensor::reader::from_bytes(std::move(content)).value();
        std::vector<float> weights(32);
        CHECK(refusal(file.find("w").value().read_as<float>()) == each.code);
        CHECK(refusal(file.find("w").value().read_as_into(weights)) == each.code);
        CHECK(refusal(ztensor::component_pieces::open_as(file.find("w").value(), ztensor::dtype::f32)) == each.code);
        const support::temp_dir folder;
        const auto floats = ztensor::export_options().floats_as(ztensor::dtype::f32);
        CHECK(refusal(ztensor::export_safetensors(file, folder / "x", floats)) == each.code);
        CHECK_FALSE(std::filesystem::exists(folder / "x"));
        ztensor::load_plan plan(file);
        plan.add_as("w", weights);
        CHECK(refusal(plan.run()) == each.code);
    }
}

TEST_CASE("blocks of a big-endian GGUF file are kept, and refused with the reason when weights are asked for") {
    const auto big = [](std::uint64_t value, std::size_t size) {
        std::string digits = support::little_endian(value, size);
        return std::string(digits.rbegin(), digits.rend());
    };
    const std::string blocks = "12345678901234567\x7f";
    std::string content = "GGUF" + big(3, 4) + big(1, 8) + big(0, 8); // one tensor, no key-values
    content += big(1, 8) + "w" + big(1, 4) + big(32, 8) + big(2, 4) + big(0, 8);
    content.resize((content.size() + 31) / 32 * 32);
    const support::temp_dir directory;
    support::write_file(directory / "big.gguf", content + blocks);
    const auto file = ztensor::open_any(directory / "big.gguf");
    REQUIRE(outcome(file) == "ok");
    const ztensor::object_view object = file->find("w").value();
    CHECK(object.format().text() == "gguf.q4_0_big_endian/1");
    CHECK(support::memory_of(object.component("data").value().read<std::uint8_t>().value()) == blocks);
    const auto weights = object.read_as<float>();
    CHECK(refusal(weights) == errc::unsupported_format);
    CHECK(std::string(weights.error().what()).find("depends on the program that wrote them") != std::string::npos);
}

#if defined(__x86_64__) || defined(__aarch64__) // others forget which NaN it was
TEST_CASE("scales of four and eight bits are what they say at the ends of their range") {
    // Of MXFP4 a power of two, the smallest of which no normal float is half of; 2 stands for 1.
    for (const unsigned exponent : {0U, 1U, 2U, 127U, 254U}) {
        CAPTURE(exponent);
        std::uint8_t block[17] = {static_cast<std::uint8_t>(exponent), 0x22};
        ztensor::detail::unpacked_block out = {};
        ztensor::detail::mxfp4_block::unpack(block, out);
        CHECK(static_cast<double>(out.scales[0]) == std::ldexp(0.5, static_cast<int>(exponent) - 127));
        CHECK(out.integers[0] == 2); // twice as much as it stands for
    }
    // Of NVFP4 a float without a sign, of which the largest is no number.
    using ztensor::detail::half_of_ue4m3;
    CHECK(half_of_ue4m3(0) == 0);
    CHECK(half_of_ue4m3(1) == 0x1p-10F);
    CHECK(half_of_ue4m3(8) == 0x1p-7F);
    CHECK(half_of_ue4m3(0x38) == 0.5F);
    CHECK(half_of_ue4m3(0x7e) == 224);
    CHECK(half_of_ue4m3(0x7f) == 0);
}

TEST_CASE("a minimum that is no number keeps its sign, as in the gguf package") {
    const std::vector<std::pair<const char*, std::size_t>> types = {{"q4_1", 20}, {"q5_1", 24}};
    for (const auto& type : types) {
        for (const std::uint64_t sign : {0u, 0x8000u}) {
            CAPTURE(type.first, sign);
            std::string blocks = support::little_endian({0x3c00, 0x7e01 | sign}, 2);
            blocks.resize(type.second);
            ztensor::writer to = ztensor::writer::to_memory().value();
            ztensor::object_draft draft("gguf." + std::string(type.first) + "/1", {32});
            draft.component_bytes("data", ztensor::dtype::u8, support::bytes_of(blocks))
                .attributes(ztensor::attributes().set("elems_per_block", 32).set("block_bytes", type.second));
            REQUIRE(outcome(to.add_object("w", draft)) == "ok");
            const auto file = ztensor::reader::from_bytes(finished_file(to)).value();
            const std::string weights = support::memory_of(file.find("w").value().read_as<float>().value());
            CHECK(weights.substr(124) == support::little_endian(0x7fc02000 | sign << 16, 4));
        }
    }
}
#endif

TEST_CASE("limits hold for the headers and the weights of GGUF files") {
    const auto limited = ztensor::read_options().max_manifest_bytes(1000);
    CHECK(refusal(ztensor::open_any(gguf_folder / "kinds.gguf", limited)) == errc::manifest_too_large);
    const auto little = ztensor::read_options().max_decoded_bytes(600);
    const ztensor::reader file = ztensor::open_any(gguf_folder / "blocks.gguf", little).value();
    CHECK(file.find("q4_0").value().component("data").value().read<std::byte>().value().size() == 72);
    CHECK(outcome(file.find("q4_0").value().read_as<float>()) == "ok"); // 512 bytes
    CHECK(refusal(file.find("q2_k").value().read_as<float>()) == errc::limit_exceeded);
}

TEST_CASE("a header of GGUF may end with the smallest key-value that there is") {
    const auto file = [](std::uint64_t count) {
        const support::bytes pair = support::little_endian(1, 8) + "k" + support::little_endian(0, 4) + "\7";
        return "GGUF" + support::little_endian(3, 4) + support::little_endian(0, 8) + support::little_endian(count, 8) +
               pair;
    };
    const support::temp_dir folder;
    support::write_file(folder / "one.gguf", file(1));
    support::write_file(folder / "two.gguf", file(2));
    const auto one = ztensor::open_any(folder / "one.gguf");
    REQUIRE(outcome(one) == "ok");
    CHECK(one->attributes().unsigned_integer("k").value() == 7);
    CHECK_FALSE(ztensor::open_any(folder / "two.gguf"));
}

TEST_CASE("counts of GGUF that the file has no room for are refused before anything is read") {
    const auto opened = [](std::uint64_t tensors, std::uint64_t pairs, const support::bytes& content) {
        const support::temp_dir folder;
        support::write_file(folder / "x.gguf", "GGUF" + support::little_endian(3, 4) +
                                                   support::little_endian(tensors, 8) +
                                                   support::little_endian(pairs, 8) + content);
        return ztensor::open_any(folder / "x.gguf");
    };
    const support::bytes pair = support::little_endian(1, 8) + "k" + support::little_endian(0, 4) + "\7";
    for (const auto& file : {opened(1, 0, pair), opened(0, 2, pair), opened(std::uint64_t{1} << 60, 0, pair)}) {
        CHECK(refusal(file) == errc::truncated);
        CHECK((file || file.error().sentence().find("more than the file has room for") != std::string::npos));
    }
    // The smallest that there could be are looked at: what they lack is a name.
    CHECK(refusal(opened(1, 0, support::bytes(24, '\0'))) == errc::name_invalid);
    CHECK(refusal(opened(0, 1, support::bytes(13, '\0'))) == errc::name_invalid);
}
