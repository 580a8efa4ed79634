// SPDX-License-Identifier: MIT
//
// Parts of tensors by every verb: whatever a tensor is stored as, a part of it is what the whole has there.
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"

#include <ztensor/import.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace {

using support::outcome;
using support::refusal;
using ztensor::bfloat16;
using ztensor::errc;
using ztensor::float16;
using ztensor::index_range;
using ztensor::object_view;
using ztensor::reader;
using ztensor::selection;
using ztensor::store;
using ztensor::writer;

/// Whether it has all of these words.
bool has_words(const std::string& sentence, std::initializer_list<const char*> words) {
    return std::all_of(words.begin(), words.end(),
                       [&](const char* word) { return sentence.find(word) != std::string::npos; });
}

namespace selections {

template <class T>
std::vector<T> counted(std::size_t count) {
    std::vector<T> out(count);
    for (std::size_t i = 0; i < count; ++i) {
        out[i] = static_cast<T>(static_cast<float>(i % 119));
    }
    return out;
}

template <class T>
void add_both(writer& out, const std::string& name) {
    out.add(name + " raw", {7, 6, 11}, counted<T>(462)).value();
    out.add(name + " zstd", {7, 6, 11}, counted<T>(462), store().zstd().digest(ztensor::digest::crc32c)).value();
}

support::byte_vector dense_of_1_2() {
    return support::written({}, [](writer& out) {
        add_both<double>(out, "f64");
        add_both<float>(out, "f32");
        add_both<float16>(out, "f16");
        add_both<bfloat16>(out, "bf16");
        add_both<std::int64_t>(out, "i64");
        add_both<std::uint64_t>(out, "u64");
        add_both<std::int16_t>(out, "i16");
        add_both<std::uint8_t>(out, "u8");
        out.add("bools", {4, 9}, std::vector<bool>(36, true)).value();
        out.add("scalar", {}, std::vector<float>{3}).value();
        out.add("nothing", {0, 5}, std::vector<float>()).value();
        out.add("frames", {300, 1500}, counted<double>(450000), store().zstd()).value(); // four of them
        out.add("f8", {6, 10}, counted<std::uint8_t>(60), store().type("f8_e4m3fn")).value();
        out.add("packed", {6, 10}, counted<std::uint8_t>(30), store().type("i4")).value();
    });
}

support::byte_vector weights_of_2() {
    return support::written(ztensor::write_options().version(ztensor::format_version::v2), [](writer& out) {
        out.add("f4", {6, 10}, counted<std::uint8_t>(30), store().type("f4_e2m1")).value();
        ztensor::object_draft mx("zt.mx/1", {2, 64});
        mx.component("data", counted<std::uint8_t>(128), store().type("f8_e4m3fn"));
        mx.component("scales", std::vector<std::uint8_t>{126, 127, 128, 129}, store().type("f8_e8m0"));
        mx.attributes(ztensor::attributes().set("axis", 1).set("block_size", 32).set("scale_form", "e8m0_exponent"));
        out.add_object("mx", mx).value();
        out.add_quantized("q", {2, 8}, {4, 8, "8_per_i32"}, std::vector<std::int32_t>{0x76543210, 0x01234567},
                          std::vector<float>{0.5F, 2}, std::vector<std::int8_t>{1, 0})
            .value();
    });
}

/// Of the numbers of a whole, those in the ranges.
template <class T>
std::vector<T> cut(const std::vector<T>& whole, const ztensor::shape& dimensions,
                   const std::vector<index_range>& ranges) {
    std::vector<T> out;
    std::vector<std::uint64_t> at;
    for (std::size_t position = 0; position < whole.size(); ++position) {
        std::size_t rest = position;
        bool is_in = true;
        for (std::size_t i = dimensions.rank(); i-- != 0; rest /= static_cast<std::size_t>(dimensions[i])) {
            const std::uint64_t index = rest % dimensions[i];
            is_in = is_in && index >= ranges[i].begin && index < ranges[i].end;
        }
        if (is_in) {
            out.push_back(whole[position]);
        }
    }
    return out;
}

std::vector<index_range> some_ranges(const ztensor::shape& dimensions, std::mt19937& random, int kind) {
    std::vector<index_range> ranges;
    for (const std::uint64_t each : dimensions) {
        std::uint64_t a = random() % (each + 1), b = random() % (each + 1);
        if (kind == 0 && !ranges.empty()) { // rows
            a = 0;
            b = each;
        }
        ranges.push_back({(std::min)(a, b), (std::max)(a, b)});
    }
    return ranges;
}

template <class To>
void check_numbers(const reader& file, const object_view& object, const selection& part,
                   const std::vector<index_range>& ranges) {
    const std::vector<To> expected = cut(object.read_as<To>().value(), object.shape(), ranges);
    CHECK(part.read_as<To>().value() == expected);
    const ztensor::array<To> loaded = part.load_as<To>().value();
    CHECK(std::vector<To>(loaded.begin(), loaded.end()) == expected);
    std::vector<To> into(expected.size());
    CHECK(outcome(part.read_as_into(into)) == "ok");
    CHECK(into == expected);
    std::vector<To> planned(expected.size());
    CHECK(outcome(ztensor::load_plan(file).add_as(part, planned).run()) == "ok");
    CHECK(planned == expected);
    const ztensor::tensor<To> acquired = part.acquire_as<To>().value();
    CHECK(std::vector<To>(acquired.begin(), acquired.end()) == expected);
    CHECK(acquired.shape() == part.shape().value());
    std::vector<To> too_many(expected.size() + 1);
    CHECK(refusal(part.read_as_into(too_many)) == errc::size_mismatch);
}

void check_parts(const reader& file) {
    std::mt19937 random(34);
    for (const object_view object : file) {
        CAPTURE(object.name(), object.shape());
        for (int round = 0; round < 12 && object.shape().rank() != 0; ++round) {
            const std::vector<index_range> ranges = some_ranges(object.shape(), random, round % 3);
            const selection part = round % 3 == 0 ? object.rows(ranges[0].begin, ranges[0].end)
                                                  : object.slice(ztensor::span<const index_range>(ranges));
            check_numbers<float>(file, object, part, ranges);
            if (object.element_count() < 10000) {
                check_numbers<double>(file, object, part, ranges);
                check_numbers<float16>(file, object, part, ranges);
                check_numbers<bfloat16>(file, object, part, ranges);
            }
        }
    }
}

template <class T>
void check_elements(const object_view& object, std::mt19937& random) {
    const std::vector<T> whole = object.read<T>().value();
    for (int round = 0; round < 12; ++round) {
        const std::vector<index_range> ranges = some_ranges(object.shape(), random, round % 3);
        const selection part = object.slice(ztensor::span<const index_range>(ranges));
        const std::vector<T> expected = cut(whole, object.shape(), ranges);
        CHECK(part.template read<T>().value() == expected);
        const auto view = part.template view<T>();
        if (view) {
            CHECK(std::vector<T>(view->begin(), view->end()) == expected);
        } else {
            CHECK(refusal(view) == errc::not_viewable);
        }
    }
}

} // namespace selections

} // namespace

TEST_CASE("parts of dense tensors are what the whole has there, by every verb and as every number") {
    const support::temp_dir directory;
    const support::byte_vector content = selections::dense_of_1_2();
    for (const support::opening& opened : support::open_every_way(support::as_string(content), directory)) {
        CAPTURE(opened.way);
        selections::check_parts(opened.file.value());
    }
}

TEST_CASE("parts of elements that share bytes, and of weights in groups, are what the whole has there") {
    const support::byte_vector content = selections::weights_of_2();
    selections::check_parts(reader::from_bytes(ztensor::bytes_view(content)).value());
}

TEST_CASE("parts of weights in blocks are what the whole has there, and may cut blocks") {
    const reader file = ztensor::open_any("tests/corpus/foreign/gguf/blocks.gguf").value();
    std::mt19937 random(35);
    std::size_t cut_blocks = 0;
    for (const object_view object : file) {
        const ztensor::result<std::vector<float>> whole = object.read_as<float>();
        for (int round = 0; round < 6 && whole && object.shape().rank() != 0; ++round) {
            CAPTURE(object.name(), object.shape());
            const std::vector<index_range> ranges = selections::some_ranges(object.shape(), random, round % 3);
            cut_blocks += ranges.back().begin % 32 != 0 ? 1 : 0;
            const selection part = object.slice(ztensor::span<const index_range>(ranges));
            selections::check_numbers<float>(file, object, part, ranges);
        }
    }
    CHECK(cut_blocks != 0);
}

TEST_CASE("parts are viewed where they are one run of whole bytes, and the reason is told where they are not") {
    const support::byte_vector content = selections::dense_of_1_2();
    const reader file = reader::from_bytes(ztensor::bytes_view(content)).value();
    std::mt19937 random(36);
    selections::check_elements<double>(file["f64 raw"], random);
    selections::check_elements<float16>(file["f16 raw"], random);
    selections::check_elements<std::uint8_t>(file["u8 raw"], random);
    const auto sentence = [](const auto& answer) { return std::string(answer.error().sentence()); };
    CHECK(file["f32 raw"].rows(2, 4).view<float>().value().data() ==
          file.view<float>("f32 raw").value().data() + 2 * 66);
    CHECK(has_words(sentence(file["f32 raw"].slice({{0, 7}, {0, 2}, {0, 11}}).view<float>()), {"lie apart"}));
    CHECK(has_words(sentence(file["f32 zstd"].rows(0, 1).view<float>()), {"compressed"}));
    CHECK(has_words(sentence(file["packed"].rows(0, 1).view<std::uint8_t>()), {"parts of bytes"}));
}

TEST_CASE("a part of a component is converted to any number, and acquired") {
    auto out = ztensor::writer::to_memory().value();
    REQUIRE(out.add("x", {4}, std::vector<std::int64_t>{1, -2, (std::int64_t{1} << 62) + 1, 4}));
    REQUIRE(out.add("y", {4}, std::vector<float>{1, 2, 3, 4}));
    REQUIRE(out.finish());
    const std::vector<std::byte> content = out.take_bytes();
    const reader file = reader::from_bytes(ztensor::bytes_view(content)).value();
    const selection part = file["x"]["data"].part(1, 2, 2);
    const std::vector<long double> exact = {static_cast<long double>((std::int64_t{1} << 62) + 1), 4};
    CHECK(part.read_as<long double>().value() == exact);
    CHECK(part.read_as<double>().value() == std::vector<double>{4611686018427387904.0, 4});
    const auto borrowed = part.acquire<std::int64_t>();
    REQUIRE(borrowed);
    CHECK(borrowed->is_borrowed());
    CHECK(borrowed->shape() == ztensor::shape{2});
    CHECK((*borrowed)[1] == 4);
    const auto made = file["y"]["data"].part(0, 1, 4).acquire_as<float>();
    REQUIRE(made);
    CHECK((*made)[0] == 1);
    const auto converted = file["y"]["data"].part(0, 1, 2).acquire_as<double>();
    REQUIRE(converted);
    CHECK((*converted)[1] == 2);
}

TEST_CASE("a part that is not there is told by the verb that asks for it") {
    const support::byte_vector content = selections::dense_of_1_2();
    const reader file = reader::from_bytes(ztensor::bytes_view(content)).value();
    CHECK(refusal(file["f32 raw"].rows(3, 8).read<float>()) == errc::out_of_bounds);
    CHECK(refusal(file["f32 raw"].rows(4, 3).view<float>()) == errc::out_of_bounds);
    CHECK(refusal(file["scalar"].rows(0, 1).read_as<float>()) == errc::out_of_bounds);
    CHECK(refusal(file["f32 raw"].slice({{0, 7}, {0, 7}, {0, 11}}).load<float>()) == errc::out_of_bounds);
    CHECK(refusal(file["f32 raw"].slice({{0, 7}}).acquire<float>()) == errc::invalid_argument);
    CHECK(refusal(file["f32 raw"].rows(0, 8).shape()) == errc::out_of_bounds);
    CHECK(refusal(file["absent"].rows(0, 1).read<float>()) == errc::object_not_found);
    CHECK(refusal(file["f32 raw"]["data"].part(1, 3, 2).read<float>()) == errc::out_of_bounds);
    CHECK(refusal(file["f32 raw"]["scales"].part(0, 1, 2).read<float>()) == errc::component_not_found);
    CHECK(file["f32 raw"]["data"].part(1, 3, 7).read<float>().value() ==
          file["f32 raw"].rows(1, 3).read<float>().value());
    CHECK(file["i16 raw"]["data"].part(1, 3, 7).read_as<float>().value() ==
          file["i16 raw"].rows(1, 3).read_as<float>().value());
}
