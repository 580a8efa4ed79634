// SPDX-License-Identifier: MIT
//
// Packages of AOTInductor (.pt2): weights that a compiled model keeps beside its code, as views of tensors that
// torch.save wrote, one to a file.
#include "import/pickled_files.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/watched_source.hpp"

#include <ztensor/import.hpp>
#include <ztensor/reader.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace compiled_programs {

namespace pickled = support::pickled;
using support::bytes;
using support::refusal;
using ztensor::errc;
using ztensor::reader;

using entries = std::vector<std::pair<bytes, bytes>>;

/// Beside the weights a package has the code of the model, and what says which kind of archive it is.
bytes package(const entries& weights) {
    entries all = {{"m/archive_format", "pt2"},
                   {"m/archive_version", "0"},
                   {"m/byteorder", "little"},
                   {"m/data/aotinductor/model/code.wrapper.so", "\x7f"
                                                                "ELF"}};
    all.insert(all.end(), weights.begin(), weights.end());
    return pickled::archive(all);
}
bytes config_of(const bytes& model) {
    return "m/data/aotinductor/" + model + "/weights_config.json";
}
ztensor::result<reader> opened_package(const entries& weights) {
    return ztensor::open_any(std::make_shared<support::watched_source>(package(weights)), "m.pt2");
}
/// One model, whose weights all lie in a file of eight f32, 0 to 7.
ztensor::result<reader> compiled_with(const bytes& json) {
    bytes elements;
    for (const char* const each : {"\0\0\0\0", "\0\0\x80\x3f", "\0\0\0\x40", "\0\0\x40\x40", "\0\0\x80\x40",
                                   "\0\0\xa0\x40", "\0\0\xc0\x40", "\0\0\xe0\x40"}) {
        elements.append(each, 4);
    }
    return opened_package(
        {{config_of("model"), json},
         {"m/data/weights/weight_0", pickled::checkpoint(pickled::tensor("FloatStorage", "0", 8), {elements})}});
}

} // namespace compiled_programs

} // namespace

TEST_CASE("the weights of a model that AOTInductor compiled are views of what its files hold") {
    using namespace compiled_programs;
    const auto file =
        compiled_with(R"({"fc.weight": ["weight_0", [2, 3], [3, 1], 0], "fc.bias": ["weight_0", [2], [1], 6],)"
                      R"( "turned": ["weight_0", [3, 2], [1, 3], 0], "scalar": ["weight_0", [], [], 5]})");
    REQUIRE(support::outcome(file) == "ok");
    CHECK(file->container() == ztensor::container_kind::pt);
    CHECK(file->size() == 4);
    CHECK(file->skipped().empty());
    CHECK(file->find("fc.weight")->shape() == ztensor::shape{2, 3});
    CHECK(file->read<float>("fc.weight").value() == std::vector<float>{0, 1, 2, 3, 4, 5});
    CHECK(file->read<float>("fc.bias").value() == std::vector<float>{6, 7});
    CHECK(file->read<float>("turned").value() == std::vector<float>{0, 3, 1, 4, 2, 5});
    CHECK(file->find("scalar")->shape() == ztensor::shape{});
    CHECK(file->read<float>("scalar").value() == std::vector<float>{5});
    CHECK(file->verify().value().ok());
}

TEST_CASE("the weights of several compiled models have names that start with that of theirs") {
    using namespace compiled_programs;
    const bytes json = R"({"w": ["weight_0", [4], [1], 0]})";
    const auto file = opened_package(
        {{config_of("encoder"), json},
         {config_of("decoder"), R"({"w": ["weight_1", [4], [1], 0]})"},
         {"m/data/weights/weight_0", pickled::checkpoint(pickled::tensor("ByteStorage", "0", 4), {"abcd"})},
         {"m/data/weights/weight_1", pickled::checkpoint(pickled::tensor("ByteStorage", "0", 4), {"efgh"})}});
    REQUIRE(support::outcome(file) == "ok");
    CHECK(file->size() == 2);
    CHECK(support::memory_of(file->read<std::uint8_t>("encoder.w").value()) == "abcd");
    CHECK(support::memory_of(file->read<std::uint8_t>("decoder.w").value()) == "efgh");
}

TEST_CASE("a weight of a compiled model whose file holds other than one dense tensor is listed") {
    using namespace compiled_programs;
    const auto file = opened_package(
        {{config_of("model"), R"({"odd": ["weight_1", [4], [1], 0], "w": ["weight_0", [4], [1], 0]})"},
         {"m/data/weights/weight_0", pickled::checkpoint(pickled::tensor("ByteStorage", "0", 4), {"abcd"})},
         {"m/data/weights/weight_1",
          pickled::checkpoint(pickled::dictionary({{"w", pickled::tensor("ByteStorage", "0", 4)}}), {"efgh"})}});
    REQUIRE(support::outcome(file) == "ok");
    CHECK(file->size() == 1);
    CHECK(file->contains("w"));
    REQUIRE(file->skipped().size() == 1);
    CHECK(file->skipped()[0].name == "odd");
    CHECK(file->skipped()[0].why == "its file holds other than one dense tensor");
}

TEST_CASE("weights of a compiled model that are described wrongly are refused by their name") {
    using namespace compiled_programs;
    const auto refused = [](const bytes& json, errc expected) {
        const auto file = compiled_with(json);
        CAPTURE(json);
        REQUIRE(refusal(file) == expected);
        return std::string(file.error().object());
    };
    CHECK(refused(R"({"w": ["weight_0", [4], [1], 5]})", errc::out_of_bounds) == "w");
    CHECK(refused(R"({"w": ["weight_0", [4], [1, 1], 0]})", errc::header_malformed) == "w");
    refused(R"({"w": ["weight_7", [4], [1], 0]})", errc::schema_missing);
    for (const char* const json : {R"(["w"])", R"({"w": "weight_0"})", R"({"w": ["weight_0", [4], [1]]})",
                                   R"({"w": ["weight_0", [4], [1], 0, 0]})", R"({"w": ["weight_0", 4, [1], 0]})",
                                   R"({"w": ["weight_0", [-4], [1], 0]})", R"({"w": {"file": "weight_0"}})"}) {
        refused(json, errc::schema_type);
    }
}

TEST_CASE("a package of AOTInductor without weights is refused by what it is, and says what to do") {
    using namespace compiled_programs;
    const auto file = opened_package({});
    REQUIRE(refusal(file) == errc::foreign_file);
    CHECK_THAT(std::string(file.error().sentence()), support::contains_text("AOTInductor"));
    CHECK_THAT(std::string(file.error().sentence()), support::contains_text("torch.save"));
}
