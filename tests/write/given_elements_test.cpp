// SPDX-License-Identifier: MIT
//
// What callers have in their hands: lists, arrays, bools, attributes of single objects, two names for one tensor.
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"

#include <ztensor/array.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace {

using support::refusal;
using support::reopened;
using ztensor::attributes;
using ztensor::dtype;
using ztensor::errc;
using ztensor::error_kind;
using ztensor::format_version;
using ztensor::writer;

const std::vector<std::uint64_t> columns_of_entries = {1, 0, 2};
const std::vector<std::uint64_t> starts_of_rows = {0, 1, 3};

} // namespace

TEST_CASE("listed elements are stored as what they are") {
    const auto model = reopened({}, [](writer& out) {
        out.add("ids", {2}, {1, 0}).value();
        out.add("floats", {2}, {1.0F, 2.0F}).value();
        out.add("bools", {3}, {true, false, true}).value();
        out.add("bytes", {1}, {std::uint8_t{7}}).value();
        out.add("packed", {2}, {1, 0}, ztensor::store().zstd(), attributes().set("k", 1)).value();
        auto rows = out.stream<float>("rows", {3}).value();
        rows.append({1.0F, 2.0F}).value();
        rows.append({3.0F}).value();
        rows.finish().value();
    });
    CHECK(model["ids"].dtype() == dtype::i32);
    CHECK(model.read<std::int32_t>("ids").value() == std::vector<std::int32_t>{1, 0});
    CHECK(model["floats"].dtype() == dtype::f32);
    CHECK(model.read<bool>("bools").value() == std::vector<bool>{true, false, true});
    CHECK(model["bytes"].dtype().text() == "u8");
    CHECK(model.read<std::int32_t>("packed").value() == std::vector<std::int32_t>{1, 0});
    CHECK(model.read<float>("rows").value() == std::vector<float>{1, 2, 3});
}

TEST_CASE("arrays are written and read into") {
    const int side = 2;
    const float weights[4] = {1, 2, 3, 4};
    const float table[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const auto model = reopened({}, [&](writer& out) {
        out.add("w", {side, side}, weights).value();
        out.add("table", std::vector<int>{2, 3}, table).value();
        out.add("array", {2}, std::array<double, 2>{1, 2}).value();
    });
    float into[4] = {};
    model.read_into("w", into).value();
    CHECK(std::vector<float>(into, into + 4) == std::vector<float>{1, 2, 3, 4});
    std::array<float, 6> flat{};
    model.read_into("table", flat).value();
    CHECK(flat[5] == 6);
    float converted[2] = {};
    model.read_as_into("array", converted).value();
    CHECK(converted[1] == 2);
    float row[2] = {};
    model["w"].rows(1, 2).read_into(row).value();
    CHECK(row[0] == 3);
    float again[4] = {};
    ztensor::load_plan plan(model);
    plan.add("w", again).add_as("array", converted).add("w", ztensor::rows(0, 1), row);
    plan.run().value();
    CHECK(again[3] == 4);
    CHECK(row[1] == 2);
}

TEST_CASE("every way to write an object takes its attributes") {
    const attributes about = attributes().set("unit", "mV").set("scale", {0.5, 0.25});
    const auto fill = [&](writer& out) {
        out.add("dense", {2}, std::vector<float>{1, 2}, {}, about).value();
        out.add("bools", {2}, std::vector<bool>{true, false}, {}, about).value();
        out.add_bytes("bytes", {2}, dtype::u8, std::array<std::byte, 2>{}, {}, about).value();
        out.add_csr("csr", {2, 3}, std::vector<float>{7, 8, 9}, columns_of_entries, starts_of_rows, {}, about).value();
        out.add_csr("csr of bools", {2, 3}, std::vector<bool>{true, true, true}, columns_of_entries, starts_of_rows, {},
                    about)
            .value();
        out.add_coo("coo", {3}, std::vector<float>{7, 8, 9}, columns_of_entries, {}, about).value();
        out.add_coo("coo of bools", {3}, std::vector<bool>{true, true, true}, columns_of_entries, {}, about).value();
        out.add_quantized("quantized", {1, 8}, {4, 4, "8_per_i32"}, std::vector<std::int32_t>{0},
                          std::vector<float>{1, 1}, std::vector<float>{0, 0}, {}, about)
            .value();
        auto typed = out.stream<float>("stream", {1}, {}, about).value();
        typed.append({1.0F}).value();
        typed.finish().value();
        auto untyped = out.stream("untyped", {1}, dtype::f32, {}, about).value();
        untyped.append({1.0F}).value();
        untyped.finish().value();
        out.add("none", {1}, {1}).value();
        out.add("empty", {1}, {1}, {}, attributes()).value();
    };
    const auto model = reopened({}, fill);
    for (const ztensor::object_view object : model) {
        INFO(object.name());
        const bool has_some = object.name() != "none" && object.name() != "empty";
        CHECK(object.has_attributes() == (object.name() != "none"));
        CHECK(object.attributes().contains("unit") == has_some);
        if (has_some) {
            CHECK(object.attributes().text("unit").value() == "mV");
            CHECK(object.attributes().array<double>("scale").value() == std::vector<double>{0.5, 0.25});
        }
    }
    CHECK(model["quantized"].attributes().integer("bits").value() == 4);
    const auto bools = ztensor::csr_view<std::uint8_t>::from(model["csr of bools"]).value();
    CHECK(bools.values()[2] == 1);
    CHECK(ztensor::coo_view<std::uint8_t>::read(model["coo of bools"]).value().entry_count() == 3);
}

TEST_CASE("elements of temporaries are written as they were given, whatever lies in their memory by then") {
    const std::size_t count = 5'000;
    const std::vector<float> numbers = [&] {
        std::vector<float> made(count);
        std::iota(made.begin(), made.end(), 0.0F);
        return made;
    }();
    const auto model = reopened({}, [&](writer& out) { out.add("w", {count}, numbers).value(); });
    const auto noise = [&] { // in memory that was given back
        std::vector<ztensor::array<float>> others;
        for (int i = 0; i < 8; ++i) {
            ztensor::array<float>& other = others.emplace_back(count);
            std::fill(other.begin(), other.end(), -1.0F);
        }
        return std::vector<float>(count, -1.0F);
    };
    ztensor::object_draft draft("own", {count});
    draft.component("tensor", model.acquire<float>("w").value());
    draft.component("array", model.load<float>("w").value()).component("vector", std::vector<float>(numbers));
    draft.component("list", std::initializer_list<float>{1, 2, 3});
    draft.component("bools", std::initializer_list<bool>{true, false});
    draft.component_bytes("bytes", dtype::f32, model.acquire<std::byte>("w").value());
    const auto name = [](const char* of) { return std::string("a name that takes memory of its own: ") + of; };
    const ztensor::named_elements kept[] = {{name("tensor"), {count}, model.acquire<float>("w").value()},
                                            {name("vector"), {count}, std::vector<float>(numbers)},
                                            {name("list"), {2}, std::initializer_list<float>{1, 2}},
                                            {name("lvalue"), {count}, numbers}};
    noise();
    const auto from = reopened({}, [&](writer& out) { out.add_object("draft", draft).value(); });
    for (const char* const role : {"tensor", "array", "vector"}) {
        CAPTURE(role);
        CHECK(from["draft"][role].read<float>().value() == numbers);
    }
    CHECK(from["draft"]["list"].read<float>().value() == std::vector<float>{1, 2, 3});
    CHECK(from["draft"]["bools"].read<bool>().value() == std::vector<bool>{true, false});
    CHECK(from["draft"]["bytes"].read<std::byte>().value() == model.read<std::byte>("w").value());

    const support::temp_dir folder;
    CHECK(ztensor::save(folder / "m.zt", {kept[0], kept[1], kept[2], kept[3]}));
    const auto saved = ztensor::reader::open(folder / "m.zt").value();
    for (const char* const each : {"tensor", "vector", "lvalue"}) {
        CHECK(saved.read<float>(name(each)).value() == numbers);
    }
    CHECK(saved.read<float>(name("list")).value() == std::vector<float>{1, 2});
}

TEST_CASE("attributes that an object can't have are refused before a byte is written") {
    for (const auto& refuse :
         {std::function<ztensor::result<void>(writer&, const attributes&)>(
              [](writer& out, const attributes& about) { return out.add("w", {1}, {1}, {}, about); }),
          std::function<ztensor::result<void>(writer&, const attributes&)>([](writer& out, const attributes& about) {
              return support::done(out.stream<float>("w", {1}, {}, about));
          })}) {
        support::check_refused("w", format_version::v1_2, errc::name_invalid, "3.6",
                               [&](writer& out) { return refuse(out, attributes().set("", 1)); });
        support::check_refused("w", format_version::v1_2, errc::cbor_utf8, "3.6",
                               [&](writer& out) { return refuse(out, attributes().set("k", {"\xff"})); });
        support::check_refused("w", format_version::v0_1, errc::not_expressible, "8.1",
                               [&](writer& out) { return refuse(out, attributes().set("offset", 1)); });
    }
}

TEST_CASE("a tensor of two names stands in the file once") {
    const std::vector<float> weights(1000, 0.5F);
    const auto fill = [&](bool is_tied) {
        return support::written({}, [&](writer& out) {
            out.add("embedding", {10, 100}, weights, ztensor::store().digest(ztensor::digest::crc32c),
                    attributes().set("unit", "mV"))
                .value();
            out.add("other", {10, 100}, weights).value();
            if (is_tied) {
                out.add_tied("a head", "embedding").value();
            }
        });
    };
    auto bytes = fill(true);
    CHECK(bytes.size() - fill(false).size() < 400);
    const auto model = ztensor::reader::from_bytes(std::move(bytes)).value();
    CHECK(model["a head"].same_storage_as(model["embedding"]));
    CHECK_FALSE(model["a head"].same_storage_as(model["other"]));
    CHECK(model["a head"]["data"].same_storage_as(model["embedding"]["data"]));
    CHECK(model["a head"].shape() == std::vector<int>{10, 100});
    CHECK(model["a head"].attributes().text("unit").value() == "mV");
    CHECK(model.read<float>("a head").value() == weights);
    const auto copy = model;
    CHECK(copy["a head"].same_storage_as(model["embedding"]));

    auto out = writer::to_memory().value();
    out.add("w", {1}, {1}).value();
    CHECK(refusal(out.add_tied("x", "nobody")) == errc::object_not_found);
    CHECK(refusal(out.add_tied("w", "w")) == errc::duplicate_key);
    CHECK(refusal(out.add_tied("", "w")) == errc::name_invalid);
    out.add_tied("x", "w").value();
    out.add_tied("y", "x").value();
    out.finish().value();
    CHECK(refusal(out.add_tied("z", "w")) == errc::writer_closed);
    auto old = support::to_memory(format_version::v0_1);
    old.add("w", {1}, {1}).value();
    CHECK(refusal(old.add_tied("x", "w")) == errc::not_expressible);
}

TEST_CASE("what a writer refuses is the caller's mistake, and names file and object") {
    const support::temp_dir directory;
    const std::string path = (directory / "model.zt").string();
    auto out = writer::create(path).value();
    out.add("w", {2}, {1, 2}).value();
    const auto check = [&](const ztensor::result<void>& refused, errc code, const char* object) {
        REQUIRE_FALSE(refused.has_value());
        INFO(refused.error().what());
        CHECK(refused.error().code() == code);
        CHECK(refused.error().kind() == error_kind::usage);
        CHECK(refused.error().path() == path);
        CHECK(refused.error().object() == object);
    };
    check(out.add("v", {3}, {1, 2}), errc::size_mismatch, "v");
    check(out.add("w", {2}, {1, 2}), errc::duplicate_key, "w");
    check(out.add("", {2}, {1, 2}), errc::name_invalid, "");
    check(out.add_csr("s", {2, 3}, std::vector<float>{7, 8}, columns_of_entries, starts_of_rows), errc::sparse_size,
          "s");
    check(out.attributes(attributes().set("", 1)), errc::name_invalid, "");
    auto rows = out.stream<float>("rows", {3}).value();
    check(rows.append({1, 2}), errc::type_mismatch, "rows");
    check(rows.append({1.0F, 2.0F, 3.0F, 4.0F}), errc::size_mismatch, "rows");
    check(rows.attributes(attributes().set("", 1)), errc::name_invalid, "rows");
    check(rows.finish(), errc::size_mismatch, "rows");
    rows.append({1.0F, 2.0F, 3.0F}).value();
    rows.finish().value();
    out.finish().value();
    check(out.finish(), errc::writer_closed, "");
}

TEST_CASE("a file in a folder that does not exist can't be created, and the error says so") {
    const support::temp_dir directory;
    const auto made = writer::create((directory / "nowhere" / "model.zt").string());
    REQUIRE(refusal(made) == errc::io_error);
    CHECK(made.error().sentence().find("folder") != std::string::npos);
    CHECK(made.error().path() == (directory / "nowhere" / "model.zt").string());
}
