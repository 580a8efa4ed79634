// SPDX-License-Identifier: MIT
//
// safetensors: what opens, how it is viewed, and that plain headers are read like others.
#include "import/foreign_files.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/import.hpp>
#include <ztensor/io.hpp>
#include <ztensor/lint.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

using support::refusal;
using ztensor::errc;
using ztensor::open_any;

namespace {

class text_source final : public ztensor::byte_source {
public:
    explicit text_source(std::string content) : content_(std::move(content)) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    [[nodiscard]] ztensor::result<void> read_at(std::uint64_t offset,
                                                ztensor::span<std::byte> destination) const override {
        if (!destination.empty()) {
            std::memcpy(destination.data(), content_.data() + offset, destination.size());
        }
        return {};
    }

private:
    std::string content_;
};

ztensor::result<ztensor::reader> open_text(const std::string& content, const ztensor::read_options& options = {}) {
    return open_any(std::make_shared<text_source>(content), "memory.safetensors", options);
}

} // namespace

TEST_CASE("a safetensors file is viewed where it lies, and read") {
    const support::temp_dir folder;
    support::write_file(folder / "model", support::safetensors_file({{"a", {1, 2}}, {"b", {3}}}));
    const auto file = open_any(folder / "model");
    REQUIRE(support::outcome(file) == "ok");
    CHECK(file->container() == ztensor::container_kind::safetensors);
    CHECK(file->is_mapped());
    CHECK(file->size() == 2);
    CHECK(file->read<float>("a").value() == std::vector<float>{1, 2});
    CHECK(file->read<float>("b").value() == std::vector<float>{3});
    const auto view = file->view<float>("b");
    const errc why_not = support::host_is_little_endian() ? errc::misaligned_memory : errc::needs_byteswap;
    CHECK((view ? (*view)[0] == 3 : view.error().code() == why_not)); // the header's length is chance
    CHECK(file->find("b")->data()->offset() == file->file_bytes() - 4);
    std::vector<float> loaded(2);
    CHECK(ztensor::load_plan(*file).add("a", loaded).run());
    CHECK(loaded == std::vector<float>{1, 2});
    CHECK(refusal(ztensor::lint(*file)) == errc::unsupported_container);
    CHECK(refusal(ztensor::reader::open(folder / "model")) == errc::foreign_file);
}

TEST_CASE("a safetensors file opens from a source, and the same by its name alone") {
    const std::string content = support::safetensors_file({{"a", {1, 2}}});
    CHECK(open_text(content).value().read<float>("a").value() == std::vector<float>{1, 2});
    CHECK(refusal(open_any(std::make_shared<text_source>("cut"), "x.safetensors")) == errc::file_too_small);
    CHECK(refusal(open_any(std::make_shared<text_source>("cut"), "x")) == errc::file_too_small);
    CHECK(refusal(open_any(nullptr, "x")) == errc::invalid_argument);
}

TEST_CASE("what stands in the place of a safetensors file is named, whatever it is called") {
    const auto refused =
        open_any(std::make_shared<text_source>("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
                 "model.safetensors");
    REQUIRE(refusal(refused) == errc::foreign_file);
    CHECK(refused.error().sentence().find("git lfs pull") != std::string::npos);
    CHECK(refusal(open_any(std::make_shared<text_source>("<!DOCTYPE html><html>"), "model.safetensors")) ==
          errc::foreign_file);
}

TEST_CASE("spaces, escapes, unknown fields and the order of fields change nothing") {
    const std::string data(8, '\1');
    const auto names = [&](const std::string& header) {
        const auto file = open_text(support::safetensors_file(header, data));
        if (!file) {
            return std::string(name(file.error().code()));
        }
        std::string all;
        for (const ztensor::object_view object : *file) {
            all += std::string(object.name()) + to_string(object.shape()) + std::string(object.data()->dtype().text());
        }
        return all;
    };
    const std::string plain =
        R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[],"data_offsets":[4,8]}})";
    CHECK(names(plain) == "a[4]u8b[]f32");
    CHECK(names(plain + "    ") == "a[4]u8b[]f32");
    CHECK(names(plain + " \n") == "a[4]u8b[]f32");
    CHECK(names(R"({ "\u0061" : {"shape":[4],"data_offsets":[0, 4],"dtype":"U8"},
                   "b":{"x":[{"y":[1,{}]}],"dtype":"F32","shape":[ ],"data_offsets":[4,8],"z":-1.5}})") ==
          "a[4]u8b[]f32");
    CHECK(names(R"({"a":{"dtype":"U8","x":{"dtype":[1]},"shape":[4],"data_offsets":[0,4]},)"
                R"("b":{"dtype":"F32","shape":[],"data_offsets":[4,8]},"__metadata__":null})") == "a[4]u8b[]f32");
    // In the order of the data or not.
    CHECK(
        names(
            R"({"b":{"dtype":"F32","shape":[],"data_offsets":[4,8]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})") ==
        "b[]f32a[4]u8");
}

TEST_CASE("what is refused in a plain header is refused in one with spaces, with the same code") {
    std::ifstream lines(support::foreign_corpus_path("safetensors/reject.tsv"), std::ios::binary);
    std::size_t count = 0;
    for (std::string file, code, rule;
         std::getline(lines, file, '\t') && std::getline(lines, code, '\t') && std::getline(lines, rule);) {
        std::string content = support::read_file(support::foreign_corpus_path("safetensors/reject") / file);
        if (content.size() < 10 || content[8] != '{' || content.substr(0, 2) == std::string(2, '\xff')) {
            continue;
        }
        const std::size_t header =
            static_cast<unsigned char>(content[0]) + 256 * std::size_t{static_cast<unsigned char>(content[1])};
        if (header + 8 > content.size()) {
            continue;
        }
        const std::string spaced =
            support::safetensors_file("{ " + content.substr(9, header - 1), content.substr(8 + header));
        CAPTURE(file, rule);
        CHECK(support::outcome(open_text(spaced)) == code);
        ++count;
    }
    CHECK(count >= 40);
}

TEST_CASE("metadata become attributes of the file, be there none or many") {
    CHECK_FALSE(open_text(support::safetensors_file("{}", "")).value().has_attributes());
    CHECK(open_text(support::safetensors_file(R"({"__metadata__":{}})", "")).value().has_attributes());
    const auto file = open_text(support::safetensors_file(R"({"__metadata__":{"b":"\n","a":"x"}})", ""));
    CHECK(file->attributes().text("b").value() == "\n");
    CHECK(file->attributes().size() == 2);
}

TEST_CASE("holes and trailing bytes are allowed by an option, overlaps never") {
    const auto options = ztensor::read_options().allow_unclaimed_bytes(true);
    const auto opened = [&](const char* name) {
        return support::outcome(open_any(support::foreign_corpus_path("safetensors/reject") / name, options));
    };
    CHECK(opened("hole.safetensors") == "ok");
    CHECK(opened("hole_in_front.safetensors") == "ok");
    CHECK(opened("trailing.safetensors") == "ok");
    CHECK(opened("overlap.safetensors") == "blob_overlap");
    CHECK(opened("same_range.safetensors") == "blob_overlap");
    CHECK(opened("offsets_beyond.safetensors") == "out_of_bounds");
}

TEST_CASE("types that .zt has no word for open with their own, and are read as bytes and as numbers") {
    const auto file = open_text(support::safetensors_file(
        R"({"f4":{"dtype":"F4","shape":[2,3],"data_offsets":[0,3]},"f6":{"dtype":"F6_E3M2","shape":[4],"data_offsets":[3,6]},)"
        R"("e8":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[6,8]},"c":{"dtype":"C64","shape":[1],"data_offsets":[8,16]}})",
        std::string(16, '\1')));
    REQUIRE(support::outcome(file) == "ok");
    CHECK(file->find("f4")->data()->type().text() == "f4");
    CHECK(file->find("f4")->shape() == ztensor::shape{2, 3});
    CHECK(file->read<std::byte>("f4").value().size() == 3);
    CHECK(file->read<std::byte>("f6").value().size() == 3);
    CHECK(file->read_as<float>("f4").value() == std::vector<float>{0.5F, 0, 0.5F, 0, 0.5F, 0});
    CHECK(file->read_as<float>("f6").value() == std::vector<float>{1 / 16.0F, 4 / 16.0F, 2.0F, 0});
    CHECK(file->read_as<double>("e8").value() == std::vector<double>(2, std::ldexp(1.0, -126)));
    CHECK(file->find("c")->data()->type().text() == "complex64");
}

TEST_CASE("every type of safetensors takes its own number of bits, and no other") {
    const std::pair<const char*, std::size_t> bits_of_types[] = {
        {"F64", 64},    {"F32", 32},    {"F16", 16},    {"BF16", 16},       {"I64", 64},    {"I32", 32},
        {"I16", 16},    {"I8", 8},      {"U64", 64},    {"U32", 32},        {"U16", 16},    {"U8", 8},
        {"BOOL", 8},    {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E8M0", 8}, {"F8_E5M2FNUZ", 8},
        {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},      {"C64", 64},
    };
    for (const auto& [type, bits] : bits_of_types) {
        for (const std::size_t size : {bits - 1, bits, bits + 1}) { // of eight elements, in bytes
            CAPTURE(type, size);
            const std::string header = R"({"a":{"dtype":")" + std::string(type) +
                                       R"(","shape":[8],"data_offsets":[0,)" + std::to_string(size) + "]}}";
            const auto file = open_text(support::safetensors_file(header, std::string(size, '\0')));
            CHECK(support::outcome(file) == (size == bits ? "ok" : "size_mismatch"));
        }
    }
}

TEST_CASE("limits of options hold for headers of other formats") {
    const std::string content = support::safetensors_file({{"a", {1}}, {"b", {2}}});
    CHECK(refusal(open_text(content, ztensor::read_options().max_manifest_bytes(20))) == errc::manifest_too_large);
    CHECK(refusal(open_text(content, ztensor::read_options().max_objects(1))) == errc::limit_exceeded);
}
