// SPDX-License-Identifier: MIT
//
// The shape that a caller expects, what is acquired, and what is absent.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/tensor.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::outcome;
using support::refusal;
using ztensor::any;
using ztensor::errc;
using ztensor::expected_shape;
using ztensor::reader;
using ztensor::tensor;

support::byte_vector small_model() {
    return support::written({}, [](ztensor::writer& out) {
        out.add("scalar", {}, std::vector<float>{7}).value();
        out.add("w", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}, ztensor::store().digest(ztensor::digest::crc32c))
            .value();
        out.add("zstd", {4}, std::vector<std::int32_t>{1, 2, 3, 4}, ztensor::store().zstd()).value();
        out.add_csr("sparse", {2, 3}, std::vector<float>{7, 8}, std::vector<std::uint64_t>{1, 0},
                    std::vector<std::uint64_t>{0, 1, 2})
            .value();
    });
}

/// Whether it has all of these words.
bool says(const std::string& sentence, std::initializer_list<const char*> words) {
    return std::all_of(words.begin(), words.end(),
                       [&](const char* word) { return sentence.find(word) != std::string::npos; });
}

/// Whether each is refused with that code.
template <class... Answers>
bool all_are(errc code, const Answers&... answers) {
    return ((refusal(answers) == code) && ...);
}

} // namespace

TEST_CASE("every verb is told the shape that its caller expects") {
    const support::byte_vector content = small_model();
    const reader file = reader::from_bytes(ztensor::bytes_view(content)).value();
    const std::size_t rows = 2;
    for (const expected_shape& right :
         {expected_shape{2, 3}, expected_shape{any, 3}, expected_shape{rows, any}, expected_shape(file["w"].shape()),
          expected_shape(std::vector<int>{2, 3}), expected_shape::anything()}) {
        CAPTURE(to_string(right));
        CHECK(file.view<float>("w", right));
        CHECK(file.read<float>("w", right));
        CHECK(file.load<float>("w", right));
        CHECK(file.read_as<double>("w", right));
        CHECK(file.load_as<double>("w", right));
        CHECK(file.acquire<float>("w", right));
        CHECK(file.acquire_as<double>("w", right));
    }
    for (const expected_shape& wrong : {expected_shape{3, 2}, expected_shape{any}, expected_shape{2, 3, 1},
                                        expected_shape{}, expected_shape{any, 4}}) {
        CAPTURE(to_string(wrong));
        CHECK(all_are(errc::shape_mismatch, file.view<float>("w", wrong), file.read<float>("w", wrong),
                      file.load<float>("w", wrong), file.read_as<double>("w", wrong), file.load_as<double>("w", wrong),
                      file.acquire<float>("w", wrong), file.acquire_as<double>("w", wrong)));
    }
    CHECK(file.view<float>("scalar", {}));
    CHECK(refusal(file.view<float>("scalar", {1})) == errc::shape_mismatch);
    CHECK(refusal(file.view<float>("w", {2, -3})) == errc::invalid_argument);
    CHECK(refusal(file.view<float>("absent", {2, 3})) == errc::object_not_found);
    CHECK(file["w"].rows(0, 1).view<float>({1, 3}));
    CHECK(refusal(file["w"].rows(0, 1).view<float>({2, 3})) == errc::shape_mismatch);
    CHECK(file["w"]["data"].view<float>({2, 3}));
    CHECK(refusal(file["sparse"]["values"].view<float>({2})) == errc::invalid_argument);
    const std::string transposed = file.view<float>("w", {3, 2}).error().what();
    CHECK(says(transposed, {"[2, 3]", "[3, 2]", "transposed"}));
}

TEST_CASE("an expected shape of more dimensions than there may be, or of a negative one, is taken by no call") {
    const support::byte_vector content = small_model();
    const reader file = reader::from_bytes(ztensor::bytes_view(content)).value();
    const std::vector<int> many(65, 1);
    CHECK(refusal(file.view<float>("w", expected_shape(many))) == errc::invalid_argument);
    CHECK(refusal(file.view<float>("w", expected_shape{-1})) == errc::invalid_argument);
    CHECK_FALSE(expected_shape{-1}.is_valid());
    CHECK(expected_shape::anything().matches({1, 2, 3}));
    CHECK_FALSE(expected_shape{}.matches({1}));
    const auto a = any;
    CHECK_FALSE((expected_shape{a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a,
                                a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a,
                                a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a}
                     .is_valid()));
}

TEST_CASE("a plan tells all shapes that differ together, before it reads") {
    const support::byte_vector content = small_model();
    const reader file = reader::from_bytes(ztensor::bytes_view(content)).value();
    std::vector<float> w(6, -1), scalar(1);
    ztensor::load_plan wrong(file);
    wrong.add("w", {3, 2}, w).add("scalar", {any}, scalar);
    const std::string sentence = wrong.run().error().what();
    CHECK(says(sentence, {"2 of 2 tensors", "[3, 2]", "[any]"}));
    CHECK(w[0] == -1);
    ztensor::load_plan right(file);
    CHECK(outcome(right.add("w", {2, any}, w).add_as("scalar", {}, scalar).run()) == "ok");
    CHECK(w[5] == 6);
    CHECK(right.unused() == std::vector<std::string_view>{"sparse", "zstd"});
    std::vector<float> absent(3, -1);
    CHECK(outcome(ztensor::load_plan(file).add_optional("absent", {3}, absent).run()) == "ok");
    CHECK(absent[0] == -1);
    CHECK(refusal(ztensor::load_plan(file).add_optional("w", {3}, absent).run()) == errc::shape_mismatch);
    CHECK(outcome(right.prefetch()) == "ok");
}

TEST_CASE("a plan takes objects and parts of its own reader, and no other's") {
    const support::byte_vector content = small_model();
    const reader file = reader::from_bytes(ztensor::bytes_view(content)).value();
    const reader other = reader::from_bytes(ztensor::bytes_view(content)).value();
    std::vector<float> w(6), row(3);
    CHECK(outcome(ztensor::load_plan(file).add(file["w"], w).add(file["w"].rows(1, 2), row).run()) == "ok");
    CHECK(row == std::vector<float>{4, 5, 6});
    CHECK(refusal(ztensor::load_plan(file).add(other["w"], w).run()) == errc::invalid_argument);
    CHECK(refusal(ztensor::load_plan(file).add(file["absent"], w).run()) == errc::object_not_found);
    CHECK(refusal(ztensor::load_plan(file).add(file["w"]["data"].part(0, 1, 2), w).run()) == errc::invalid_argument);
}

TEST_CASE("a plan reads into rows that lie apart, and into bytes of a type known when it runs") {
    const support::byte_vector content = small_model();
    const reader file = reader::from_bytes(ztensor::bytes_view(content)).value();
    float apart[2][8] = {};
    std::vector<double> numbers(4);
    std::vector<std::byte> halves(12);
    ztensor::load_plan plan(file);
    plan.add("w", ztensor::into(&apart[0][1], sizeof apart[0]));
    plan.add_as("zstd",
                ztensor::into(ztensor::dtype::f64, ztensor::detail::as_writable_bytes(ztensor::span<double>(numbers))));
    plan.add_as("w", ztensor::into(ztensor::dtype::f16, ztensor::span<std::byte>(halves)));
    CHECK(outcome(plan.run()) == "ok");
    CHECK(apart[0][1] == 1);
    CHECK(apart[0][3] == 3);
    CHECK(apart[0][4] == 0);
    CHECK(apart[1][1] == 4);
    CHECK(numbers == std::vector<double>{1, 2, 3, 4});
    CHECK(refusal(ztensor::load_plan(file)
                      .add_as("w", ztensor::into(ztensor::dtype::i32, ztensor::span<std::byte>(halves)))
                      .run()) == errc::invalid_argument);
    CHECK(refusal(ztensor::load_plan(file)
                      .add("w", ztensor::into(ztensor::dtype::i32, ztensor::span<std::byte>(halves)))
                      .run()) == errc::type_mismatch);
}

TEST_CASE("a number, nothing, and a part of rows are read into rows that lie apart, too") {
    const support::byte_vector content = support::written({}, [](ztensor::writer& out) {
        out.add("number", {}, std::vector<float>{7}).value();
        out.add("nothing", {0, 3}, std::vector<float>()).value();
        out.add("rows", {3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6}).value();
    });
    const reader file = reader::from_bytes(ztensor::bytes_view(content)).value();
    float number = 0, nothing = 5, rows[2][4] = {};
    ztensor::load_plan plan(file);
    plan.add("number", ztensor::into(&number, sizeof number)).add("nothing", ztensor::into(&nothing, sizeof nothing));
    plan.add(file["rows"].rows(1, 3), ztensor::into(&rows[0][0], sizeof rows[0]));
    CHECK(outcome(plan.run()) == "ok");
    CHECK(number == 7);
    CHECK(nothing == 5);
    CHECK((rows[0][0] == 3 && rows[0][1] == 4 && rows[0][2] == 0 && rows[1][0] == 5 && rows[1][1] == 6));
}

TEST_CASE("what is acquired is borrowed where that is safe, and outlives the reader") {
    const support::byte_vector content = small_model();
    const support::temp_dir folder;
    support::write_file(folder / "m.zt", support::as_string(content));
    const auto open = [&](const ztensor::read_options& options) {
        return reader::open(folder / "m.zt", options).value();
    };
    const bool is_little = support::host_is_little_endian();

    const tensor<float> loaded = open({}).acquire<float>("w", {2, 3}).value();
    CHECK_FALSE(loaded.is_borrowed());
    CHECK(loaded.is_verified());
    CHECK(loaded.shape() == ztensor::shape{2, 3});
    CHECK(loaded[5] == 6);
    CHECK(reinterpret_cast<std::uintptr_t>(loaded.data()) % 64 == 0);

    tensor<float> borrowed = open(ztensor::read_options().stable_file()).acquire<float>("w").value();
    CHECK(borrowed.is_borrowed() == is_little);
    CHECK(borrowed.is_verified() != is_little);
    CHECK(std::vector<float>(borrowed.begin(), borrowed.end()) == std::vector<float>{1, 2, 3, 4, 5, 6});
    tensor<float> moved = std::move(borrowed);
    CHECK(moved.size() == 6);
    tensor<float> owned = open({}).acquire<float>("w").value();
    for (tensor<float>* const each : {&moved, &owned}) {
        tensor<float> assigned = open({}).acquire<float>("w").value();
        assigned = std::move(*each);
        CHECK(assigned.shape() == ztensor::shape{2, 3});
        CHECK(std::vector<float>(assigned.begin(), assigned.end()) == std::vector<float>{1, 2, 3, 4, 5, 6});
    }
    for (const tensor<float>* const each : {&borrowed, &moved, &owned}) { // NOLINT: moved from on purpose
        CHECK(each->empty());
        CHECK(each->begin() == each->end());
        CHECK(each->shape() == ztensor::shape{});
        CHECK_FALSE(each->is_borrowed());
        CHECK_FALSE(each->is_verified());
    }

    const tensor<float> of_memory =
        reader::from_bytes(ztensor::bytes_view(content)).value().acquire<float>("w").value();
    CHECK(of_memory.is_borrowed() == is_little);
    const tensor<double> converted = open({}).acquire_as<double>("zstd", {4}).value();
    CHECK_FALSE(converted.is_borrowed());
    CHECK(converted[3] == 4);
    CHECK(open(ztensor::read_options().stable_file()).acquire_as<float>("w").value().is_borrowed() == is_little);
    CHECK(open({}).acquire<bool>("w").error().code() == errc::type_mismatch);
    const reader file = open({});
    const tensor<float> values = file["sparse"]["values"].acquire<float>().value();
    CHECK(values.shape() == ztensor::shape{2});
    CHECK(ztensor::load<float>(folder / "m.zt", "scalar", {}).value()[0] == 7);
    CHECK(refusal(ztensor::load<float>(folder / "m.zt", "w", {6})) == errc::shape_mismatch);
}

TEST_CASE("an object that is not there answers every question, and says so to every verb") {
    const support::byte_vector content = small_model();
    const reader file = reader::from_bytes(ztensor::bytes_view(content)).value();
    const ztensor::object_view none = file[std::string("no such ") + "name"];
    CHECK_FALSE(none.is_present());
    CHECK(none.name() == "no such name");
    CHECK(none.shape().rank() == 0);
    CHECK(none.element_count() == 0);
    CHECK(none.size() == 0);
    CHECK(none.attributes().empty());
    CHECK_FALSE(none.format().is_present());
    CHECK_FALSE(none.dtype().is_present());
    CHECK_FALSE(none.type().is_present());
    std::vector<float> floats(1);
    CHECK(all_are(errc::object_not_found, none.view<float>(), none.read<float>(), none.load<float>(),
                  none.read_as<float>(), none.load_as<float>(), none.read_into(floats), none.read_as_into(floats),
                  none.acquire<float>(), none.acquire_as<float>(), none.data(), none.component("data"),
                  none["data"].read<float>(), none.rows(0, 1).read<float>(), none.slice({}).read_as<float>()));
    const ztensor::component_view no_part = file["w"]["scales"];
    CHECK_FALSE(no_part.is_present());
    CHECK_FALSE(no_part.encoding().is_present());
    CHECK_FALSE(no_part.digest().is_present());
    CHECK(no_part.stored_bytes() == 0);
    CHECK(all_are(errc::component_not_found, no_part.view<float>(), no_part.read<float>(), no_part.read_as<float>(),
                  no_part.bytes(), no_part.verify(), no_part.read_little_endian(), no_part.check<float>(),
                  no_part.acquire<float>(), no_part.part(0, 1, 1).read<float>()));
}

TEST_CASE("words are absent, known or unknown, and compare by what they mean") {
    using word = ztensor::open_word<ztensor::format>;
    const word absent, dense(ztensor::format::dense, "dense", "zt.dense"), odd(std::nullopt, "odd", "odd");
    CHECK_FALSE(absent.is_present());
    CHECK(absent.text().empty());
    CHECK(dense == ztensor::format::dense);
    CHECK(ztensor::format::mx != dense);
    CHECK(dense == word(ztensor::format::dense, "dense", "other"));
    CHECK(odd == word(std::nullopt, "odd", "odd"));
    CHECK(odd != word(std::nullopt, "even", "even"));
    CHECK(odd != dense);
    CHECK(odd != absent);
    CHECK_FALSE(odd.is_known());
    CHECK(dense.original() == "zt.dense");
    std::ostringstream printed;
    printed << odd;
    CHECK(printed.str() == "odd");

    const support::byte_vector content = small_model();
    const reader file = reader::from_bytes(ztensor::bytes_view(content)).value();
    CHECK(file.version() == ztensor::version::v1_2);
    CHECK(file.version().original() == "1.2.0");
    CHECK(file.container() == ztensor::container_kind::zt);
    CHECK(file["w"]["data"].digest().algorithm() == ztensor::digest::crc32c);
    CHECK(file["w"]["data"].digest().hex().size() == 8);
    CHECK(file["zstd"]["data"].encoding() == ztensor::encoding::zstd);
}

TEST_CASE("a model is saved in one line, one object is copied by another, and an editor adds") {
    const support::temp_dir folder;
    const std::vector<float> w = {1, 2, 3, 4, 5, 6}, b = {7, 8};
    for (const auto version : {ztensor::format_version::v1_2, ztensor::format_version::v2}) {
        const auto options = ztensor::write_options().version(version);
        CHECK(outcome(ztensor::save(folder / "s.zt", {{"w", {2, 3}, w}, {"b", {2}, b, ztensor::store().zstd()}},
                                    options)) == "ok");
        const reader saved = reader::open(folder / "s.zt").value();
        CHECK(saved.read<float>("w", {2, 3}).value() == w);
        CHECK(saved.read<float>("b", {2}).value() == b);
        const reader copied = support::reopened(options, [&](ztensor::writer& out) {
            CHECK(outcome(out.add(saved["b"])) == "ok");
            CHECK(outcome(out.add("c", saved["w"])) == "ok");
            CHECK(refusal(out.add(saved["absent"])) == errc::object_not_found);
        });
        CHECK(copied.read<float>("c").value() == w);
        CHECK(copied["b"]["data"].encoding() == saved["b"]["data"].encoding());
    }
    CHECK(refusal(ztensor::save(folder / "t.zt", {{"w", {7}, w}})) == errc::size_mismatch);
    CHECK(!std::filesystem::exists(folder / "t.zt"));

    for (const auto version :
         {ztensor::format_version::v0_1, ztensor::format_version::v1_1, ztensor::format_version::v1_2}) {
        const auto options = ztensor::write_options().version(version);
        REQUIRE(ztensor::save(folder / "e.zt", {{"w", {2, 3}, w}, {"x", {2}, b}}, options));
        auto change = ztensor::edit(folder / "e.zt").value();
        CHECK(outcome(change.add("a", {2}, b)) == "ok");
        CHECK(refusal(change.add("w", {2}, b)) == errc::duplicate_key);
        CHECK(outcome(change.rename("a", "v")) == "ok");
        CHECK(outcome(change.remove("x")) == "ok");
        CHECK(outcome(change.add("x", {1}, std::vector<float>{9})) == "ok");
        CHECK(outcome(change.finish()) == "ok");
        const reader edited = reader::open(folder / "e.zt").value();
        CHECK(edited.size() == 3);
        CHECK(edited.read<float>("v").value() == b);
        CHECK(edited.read<float>("w").value() == w);
        CHECK(edited.read<float>("x").value() == std::vector<float>{9});
    }
    auto in_place =
        ztensor::edit(folder / "e.zt", ztensor::write_options().publish(ztensor::publish_mode::in_place)).value();
    CHECK(outcome(in_place.add("a", {2}, b)) == "ok");
    CHECK(outcome(in_place.finish()) == "ok");
    CHECK(reader::open(folder / "e.zt").value().read<float>("a").value() == b);
}
