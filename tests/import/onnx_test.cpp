// SPDX-License-Identifier: MIT
//
// ONNX models (tests/corpus/foreign/make_onnx.py): where elements are looked at and where they are made, sparse
// initializers, and data in other files. Values of every type are compared in foreign_corpus_test.cpp.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/far_folder.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/import.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using support::outcome;
using support::refusal;
using ztensor::errc;

const std::filesystem::path onnx_folder = "tests/corpus/foreign/onnx";

ztensor::reader open_model(std::string_view name) {
    auto file = ztensor::open_any(onnx_folder / name);
    REQUIRE(outcome(file) == "ok");
    return *std::move(file);
}

} // namespace

TEST_CASE("initializers are the same numbers, raw, typed, with tags of their own and in other files") {
    const ztensor::reader raw = open_model("raw.onnx");
    for (const char* const name : {"typed.onnx", "unpacked.onnx", "external.onnx"}) {
        CAPTURE(name);
        const ztensor::reader other = open_model(name);
        std::vector<float> planned(24);
        ztensor::load_plan plan(other);
        plan.add_as("bfloat16", planned);
        CHECK(outcome(plan.run()) == "ok");
        CHECK(planned == raw.find("bfloat16").value().read_as<float>().value());
        CHECK(other.find("int64").value().read<std::int64_t>().value() ==
              raw.find("int64").value().read<std::int64_t>().value());
        CHECK(other.find("large").value().read<std::int64_t>().value().at(1) == -9223372036854775807 - 1);
        CHECK(other.find("bool").value().read<bool>().value() == raw.find("bool").value().read<bool>().value());
    }
}

TEST_CASE("what stands in one piece is viewed, and numbers with tags or of variable size are made") {
    const auto bytes_of = [](const ztensor::reader& file, std::string_view name) {
        return outcome(file.find(name).value().view<std::byte>());
    };
    CHECK(bytes_of(open_model("raw.onnx"), "float32") == "ok");
    CHECK(bytes_of(open_model("external.onnx"), "float64") == "ok");
    CHECK(bytes_of(open_model("external.onnx"), "int64") == "ok");
    CHECK(bytes_of(open_model("typed.onnx"), "float32") == "ok");
    CHECK(bytes_of(open_model("typed.onnx"), "int64") == "not_viewable");
    CHECK(bytes_of(open_model("unpacked.onnx"), "float32") == "not_viewable");
}

TEST_CASE("the data of a model far away lies in files that its source brings") {
    const auto model = support::open_far(onnx_folder / "external.onnx");
    REQUIRE(model);
    const ztensor::reader local = open_model("external.onnx");
    for (const char* const name : {"float64", "int64"}) {
        CHECK(model->find(name).value().data()->read<std::byte>().value() ==
              local.find(name).value().data()->read<std::byte>().value());
    }
}

TEST_CASE("integers of four bits are bytes of a logical type, two to a byte") {
    const ztensor::reader file = open_model("raw.onnx");
    const ztensor::component_view odd = file.find("odd_uint4").value().data().value();
    CHECK(odd.type().text() == "u4");
    CHECK(file.find("odd_uint4").value().shape() == ztensor::shape{3});
    CHECK(odd.read<std::byte>().value() == std::vector<std::byte>{std::byte{0xf1}, std::byte{0x07}});
    CHECK(odd.read_as<float>().value() == std::vector<float>{1, 15, 7});
}

TEST_CASE("sparse initializers are sparse_coo, whichever way their indices are told") {
    const ztensor::reader file = open_model("sparse.onnx");
    const std::vector<float> dense = file.find("dense").value().read<float>().value();
    for (const char* const name : {"linear", "listed"}) {
        CAPTURE(name);
        const ztensor::object_view object = file.find(name).value();
        CHECK(object.format().text() == "sparse_coo");
        CHECK(object.shape() == ztensor::shape{3, 4});
        CHECK(object.component("coords").value().read<std::uint64_t>().value() ==
              std::vector<std::uint64_t>{0, 1, 2, 1, 1, 3});
        const auto view = ztensor::coo_view<float>::read(object);
        REQUIRE(outcome(view) == "ok");
        CHECK(view->to_dense().value() == dense);
    }
}

TEST_CASE("texts among initializers are skipped and listed") {
    const ztensor::reader file = open_model("texts.onnx");
    CHECK(refusal(file.find("texts")) == errc::object_not_found);
    REQUIRE(file.skipped().size() == 1);
    CHECK(file.skipped()[0].name == "texts");
    CHECK(file.skipped()[0].why == "it is a tensor of texts");
    CHECK(file.find("values").value().read<float>().value().size() == 3);
}

TEST_CASE("typed numbers that are more or fewer than the shape needs are refused when they are read") {
    const support::temp_dir directory;
    const auto field = [](char tag, const std::string& content) {
        return std::string(1, tag) + static_cast<char>(content.size()) + content;
    };
    const auto open_numbers = [&](char dimension, const std::string& numbers) {
        const std::string tensor =
            field(0x0a, std::string(1, dimension)) + std::string("\x10\x07") + field(0x42, "w") + field(0x3a, numbers);
        support::write_file(directory / "w.onnx",
                            std::string("\x08\x0a") + field(0x12, "t") + field(0x3a, field(0x2a, tensor)));
        return ztensor::open_any(directory / "w.onnx").value();
    };
    const auto numbers_of = [](const ztensor::reader& file) { return file.find("w").value().read<std::int64_t>(); };
    const ztensor::reader right = open_numbers(2, "\x81\x01\x05");
    CHECK(numbers_of(right).value() == std::vector<std::int64_t>{129, 5});
    const ztensor::reader more = open_numbers(2, "\x01\x02\x03");
    CHECK(refusal(numbers_of(more)) == errc::size_mismatch);
    const ztensor::reader fewer = open_numbers(3, "\x81\x01\x82\x01");
    CHECK(refusal(numbers_of(fewer)) == errc::size_mismatch);
    const ztensor::reader cut = open_numbers(2, "\x01\x81");
    CHECK(refusal(numbers_of(cut)) == errc::header_malformed);
}

TEST_CASE("floats of six bits stand one by one in numbers, and packed in a tensor of ours") {
    const support::temp_dir directory;
    const auto field = [](char tag, const std::string& content) {
        return std::string(1, tag) + static_cast<char>(content.size()) + content;
    };
    const auto open_numbers = [&](char dimension, const std::string& numbers) {
        const std::string tensor =
            field(0x0a, std::string(1, dimension)) + std::string("\x10\x1b") + field(0x42, "w") + field(0x2a, numbers);
        support::write_file(directory / "w.onnx",
                            std::string("\x08\x0a") + field(0x12, "t") + field(0x3a, field(0x2a, tensor)));
        return ztensor::open_any(directory / "w.onnx");
    };
    const auto bytes_of = [](const ztensor::result<ztensor::reader>& file) {
        const ztensor::component_view data = file.value().find("w").value().data().value();
        CHECK(data.type().text() == "f6_e2m3");
        return support::memory_of(data.read<std::uint8_t>().value());
    };
    CHECK(bytes_of(open_numbers(4, "\x01\x3f\x20\x2a")) == "\xc1\x0f\xaa"); // 24 bits, the lowest first
    CHECK(bytes_of(open_numbers(5, "\x01\x3f\x20\x2a\x15")) == "\xc1\x0f\xaa\x15");
    CHECK(bytes_of(open_numbers(6, "\x01\x3f\x20\x2a\x15\x2b")) == "\xc1\x0f\xaa\xd5\x0a");
    CHECK(bytes_of(open_numbers(3, "\x01\x3f\x20")) == std::string("\xc1\x0f\x02"));
    CHECK(bytes_of(open_numbers(1, "\xff\x01")) == "\x3f"); // bits that no writer sets
    CHECK(refusal(open_numbers(4, "\x01\x3f\x20")) == errc::size_mismatch);
    const auto more = open_numbers(3, "\x01\x3f\x20\x2a");
    CHECK(refusal(more.value().find("w").value().data().value().read<std::uint8_t>()) == errc::size_mismatch);
}

TEST_CASE("in a folder of links, as hubs cache models, data is found where the model lies") {
    const support::temp_dir directory;
    const std::filesystem::path folder = std::filesystem::absolute(onnx_folder);
    const std::filesystem::path blobs = directory / "blobs", snapshot = directory / "snapshots";
    std::filesystem::create_directories(snapshot / "external.data");
    std::filesystem::create_directory(blobs);
    std::filesystem::copy_file(folder / "external.onnx", blobs / "0a");
    std::filesystem::copy_file(folder / "float64.bin", blobs / "0b");
    std::filesystem::copy_file(folder / "external.data" / "weights.bin", blobs / "0c");
    std::error_code refused;
    std::filesystem::create_symlink("../blobs/0a", snapshot / "external.onnx", refused);
    if (refused) {
        WARN("symbolic links can't be made here");
        return;
    }
    std::filesystem::create_symlink("../blobs/0b", snapshot / "float64.bin");
    std::filesystem::create_symlink("../../blobs/0c", snapshot / "external.data" / "weights.bin");
    const auto open = [&] { return ztensor::open_any(snapshot / "external.onnx"); };
    const auto file = open();
    REQUIRE(outcome(file) == "ok");
    CHECK(file->find("float64").value().read<double>().value().size() == file->find("float64").value().element_count());

    std::filesystem::remove(snapshot / "float64.bin"); // a link within the snapshot
    std::filesystem::copy_file(folder / "float64.bin", snapshot / "real.bin");
    std::filesystem::create_symlink("real.bin", snapshot / "float64.bin");
    CHECK(outcome(open()) == "ok");
    for (const char* const elsewhere : {"../../elsewhere.bin", "/etc/passwd", "nowhere", "float64.bin", "../blobs"}) {
        CAPTURE(elsewhere);
        support::write_file(directory / "elsewhere.bin", support::read_file(folder / "float64.bin"));
        std::filesystem::remove(snapshot / "float64.bin");
        std::filesystem::create_symlink(elsewhere, snapshot / "float64.bin");
        CHECK(outcome(open()) != "ok");
    }
    std::filesystem::remove(snapshot / "float64.bin");
    std::filesystem::create_symlink("../elsewhere.bin", snapshot / "float64.bin");
    CHECK(refusal(open()) == errc::name_invalid);
    std::filesystem::remove(snapshot / "external.onnx"); // no link any more, so that its home is the snapshot alone
    std::filesystem::copy_file(folder / "external.onnx", snapshot / "external.onnx");
    std::filesystem::remove(snapshot / "float64.bin");
    std::filesystem::create_symlink("../blobs/0b", snapshot / "float64.bin");
    CHECK(refusal(open()) == errc::name_invalid);
}

TEST_CASE("data in another file is not followed through symbolic links that lead away") {
    const support::temp_dir directory;
    const std::filesystem::path folder = std::filesystem::absolute(onnx_folder);
    std::filesystem::copy_file(folder / "external.onnx", directory / "external.onnx");
    std::filesystem::create_directory(directory / "external.data");
    std::filesystem::copy_file(folder / "external.data" / "weights.bin", directory / "external.data" / "weights.bin");
    std::error_code refused;
    std::filesystem::create_symlink(folder / "float64.bin", directory / "float64.bin", refused);
    if (refused) {
        WARN("symbolic links can't be made here");
        return;
    }
    CHECK(refusal(ztensor::open_any(directory / "external.onnx")) == errc::name_invalid);
    std::filesystem::remove(directory / "float64.bin");
    std::filesystem::copy_file(folder / "float64.bin", directory / "float64.bin");
    CHECK(outcome(ztensor::open_any(directory / "external.onnx")) == "ok");
    std::filesystem::rename(directory / "external.data", directory / "elsewhere");
    std::filesystem::create_directory_symlink(directory / "elsewhere", directory / "external.data", refused);
    CHECK(refusal(ztensor::open_any(directory / "external.onnx")) == errc::name_invalid);
}

TEST_CASE("a model that was opened from memory without a name has no folder to look for data in") {
    const std::string content = support::read_file(onnx_folder / "external.onnx");
    const auto source = std::make_shared<support::source_with_holes>(content.size(), content, "");
    CHECK(refusal(ztensor::open_any(source, "")) == errc::name_invalid);
    CHECK(outcome(ztensor::open_any(source, onnx_folder / "external.onnx")) == "ok");
}

TEST_CASE("fields that nobody knows are passed over in what says where the data lies") {
    const auto field = [](int number, const std::string& content) { // of fewer than 128 bytes
        return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} + content;
    };
    const auto number_field = [](int number, int value) {
        return std::string{static_cast<char>(number << 3), static_cast<char>(value)};
    };
    const std::string location = number_field(4, 1) + field(1, "location") + field(3, "?") + field(2, "data.bin");
    const std::string offset = field(1, "offset") + field(2, "4") + number_field(5, 2);
    const std::string tensor = number_field(1, 2) + number_field(2, 1) + field(8, "w") + field(13, location) +
                               field(13, offset) + number_field(14, 1);
    const support::temp_dir folder;
    support::write_file(folder / "data.bin", support::little_endian(std::vector<std::uint64_t>{7, 0, 0x3f800000}, 4));
    support::write_file(folder / "model.onnx", number_field(1, 8) + field(7, field(2, "g") + field(5, tensor)));
    const auto file = ztensor::open_any(folder / "model.onnx");
    REQUIRE(outcome(file) == "ok");
    CHECK(file->read<float>("w").value() == std::vector<float>{0, 1});
}

TEST_CASE("numbers of every narrow type stand one by one, or several to a byte, packed or not") {
    const support::temp_dir directory;
    const auto field = [](char tag, const std::string& content) {
        return std::string(1, tag) + static_cast<char>(content.size()) + content;
    };
    const auto bytes_of = [&](char type, char dimension, const std::string& data) {
        const std::string tensor = field(0x0a, std::string(1, dimension)) + '\x10' + type + field(0x42, "w") + data;
        support::write_file(directory / "w.onnx",
                            std::string("\x08\x0a") + field(0x12, "t") + field(0x3a, field(0x2a, tensor)));
        const auto file = ztensor::open_any(directory / "w.onnx");
        if (!file) {
            return outcome(file);
        }
        const auto read = file->find("w").value().data().value().read<std::uint8_t>();
        return read ? support::memory_of(*read) : outcome(read);
    };
    constexpr char u8 = 2, f8_e8m0 = 24, u2 = 25;
    const auto packed = [&](const std::string& numbers) { return field(0x2a, numbers); };
    CHECK(bytes_of(u8, 1, packed("\x05")) == "\x05");
    CHECK(bytes_of(u8, 1, packed("") + packed("\x05")) == "\x05");
    CHECK(bytes_of(u8, 2, packed("\x05") + packed("\x06")) == "\x05\x06");
    CHECK(bytes_of(u8, 2, std::string("\x28\x05\x28\x06")) == "\x05\x06");
    CHECK(bytes_of(f8_e8m0, 3, packed("\x7f\x01\x02")) == "\x7f\x01\x02");
    CHECK(bytes_of(u2, 4, packed("\x1b")) == "\x1b"); // four to a byte
    CHECK(bytes_of(u2, 5, packed("\x1b\x03")) == "\x1b\x03");
    CHECK(bytes_of(u2, 5, packed("\x1b")) == "size_mismatch");
    CHECK(bytes_of(u2, 4, field(0x4a, "\x1b")) == "\x1b"); // raw
    CHECK(bytes_of(u2, 5, field(0x4a, "\x1b\x03")) == "\x1b\x03");
    CHECK(bytes_of(u2, 5, field(0x4a, "\x1b\x03\x01")) == "size_mismatch");
}
