// SPDX-License-Identifier: MIT
//
// How open_any() tells what a file is.
#include "import/pickled_files.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/watched_source.hpp"

#include <ztensor/import.hpp>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

TEST_CASE("an HDF5 file is known behind a block of its user's of 512 bytes or a power of two times that") {
    const auto outcome_of = [](std::size_t block) {
        const std::string content = std::string(block, 'u') + "\x89HDF\r\n\x1a\n" + std::string(100, '\0');
        const auto file = ztensor::open_any(std::make_shared<support::watched_source>(content), "x");
        REQUIRE_FALSE(file);
        const bool is_named = file.error().sentence().find("an HDF5 file") != std::string::npos;
        CHECK(is_named == (file.error().code() == ztensor::errc::foreign_file));
        return is_named;
    };
    for (const std::size_t block : std::initializer_list<std::size_t>{0, 512, 1024, 2048, 4096, 1 << 16}) {
        CAPTURE(block);
        CHECK(outcome_of(block));
    }
    for (const std::size_t block : std::initializer_list<std::size_t>{8, 256, 511, 514, 516, 1536, 3072}) {
        CAPTURE(block);
        CHECK_FALSE(outcome_of(block));
    }
}

TEST_CASE("files that are none of tensors are called what they are, with what to do instead") {
    const auto is_told = [](const char* name, std::string content, std::string_view what) {
        content.resize(content.size() + 300, '\1');
        const auto file = ztensor::open_any(std::make_shared<support::watched_source>(content), name);
        CAPTURE(name, what);
        REQUIRE_FALSE(file);
        CAPTURE(file.error().sentence());
        CHECK(file.error().code() == ztensor::errc::foreign_file);
        CHECK(file.error().sentence().find(what) != std::string::npos);
    };
    is_told("m.tflite", std::string("\x1c\0\0\0TFL3", 8), "TensorFlow Lite");
    is_told("saved_model.pb", std::string("\x08\x01\x12\x14\x0a\x07", 6), "SavedModel");
    is_told("saved_model.pb", std::string("\x08\x01\x12\xff\x14\x0a\x07", 7), "SavedModel");
    is_told("frozen.pb", "\x0a\x05", "TensorFlow");
    is_told("ggml-base.bin", "lmgg", "whisper.cpp");
    is_told("model.msgpack", "\x82", "Flax");
    is_told("model.7z", "7z\xbc\xaf\x27\x1c", "7z archive");
    is_told("model.xz", "\xfd\x37zXZ", "xz-compressed");
    is_told("model.gz", "\x1f\x8b\x08", "unpack it first");
    is_told("model.safetensors", "version https://git-lfs.github.com/spec/v1\n", "git lfs pull");
    is_told("model.safetensors", "<!doctype html>", "HTML");
    for (const char* const name : {"model.safetensors", "model.pt", "model.onnx", "model"}) {
        is_told(name, std::string(4096, '\0'), "zero bytes");
    }
    std::string tar("./model_config.yaml");
    tar.resize(257, '\0');
    is_told("model.nemo", tar + "ustar", "tar archive");
    const std::string package =
        support::pickled::archive({{"m/.data/0.storage", "x"}, {"m/.data/extern_modules", "x"}});
    const auto file = ztensor::open_any(std::make_shared<support::watched_source>(package), "m.pt");
    REQUIRE_FALSE(file);
    CHECK(file.error().sentence().find("torch.package") != std::string::npos);
}
