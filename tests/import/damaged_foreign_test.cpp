// SPDX-License-Identifier: MIT
//
// Files of other formats with a few bytes changed anywhere: they are refused for what they are, or open and what they
// hold is read or refused; nobody blames the system, memory or the caller.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/import.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace damaged_foreign {

using ztensor::error_kind;

/// Its bytes in memory.
class bytes_source final : public ztensor::byte_source {
public:
    explicit bytes_source(std::string content) : content_(std::move(content)) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    [[nodiscard]] ztensor::result<void> read_at(std::uint64_t offset,
                                                ztensor::span<std::byte> destination) const override {
        const ztensor::bytes_view from = support::bytes_of(content_).subspan(static_cast<std::size_t>(offset));
        std::copy_n(from.begin(), destination.size(), destination.begin());
        return {};
    }

private:
    std::string content_;
};

template <class T>
void check_blames_the_file(const ztensor::result<T>& answer) {
    if (!answer) {
        const error_kind kind = answer.error().kind();
        const bool is_told = kind == error_kind::invalid_file || kind == error_kind::unsupported ||
                             kind == error_kind::limit || kind == error_kind::not_found ||
                             answer.error().code() == ztensor::errc::not_regular_file; // of data in other files
        if (!is_told) {
            CAPTURE(answer.error().what());
            CHECK(is_told);
        }
    }
}

/// Whether it opens. Of what is large nothing is read.
bool try_file(const std::filesystem::path& path, std::string content) {
    const auto options = ztensor::read_options().threads(1).max_decoded_bytes(1 << 16);
    const auto file = ztensor::open_any(std::make_shared<bytes_source>(std::move(content)), path, options);
    check_blames_the_file(file);
    if (!file) {
        return false;
    }
    for (const ztensor::object_view object : *file) {
        for (const ztensor::component_view component : object) {
            if (component.decoded_bytes() <= 1 << 14) {
                check_blames_the_file(component.read_little_endian());
            }
        }
    }
    return true;
}

} // namespace damaged_foreign

} // namespace

TEST_CASE("files of other formats that are damaged or cut off anywhere are refused for it, or read") {
    using damaged_foreign::try_file;
    std::size_t opened = 0, refused = 0;
    const auto count = [&](bool is_open) { ++(is_open ? opened : refused); };
    for (const auto& entry : std::filesystem::recursive_directory_iterator("tests/corpus/foreign")) {
        const std::filesystem::path path = entry.path();
        const bool is_damaged_already = path.parent_path().filename() == "reject";
        const std::string extension = path.extension().string();
        if (!entry.is_regular_file() || entry.file_size() > (is_damaged_already ? 256 : 2048) || extension == ".json" ||
            extension == ".tsv" || extension == ".py" || extension == ".md") {
            continue;
        }
        CAPTURE(path.string());
        const std::string content = support::read_file(path);
        for (std::size_t at = 0; at < content.size(); at += is_damaged_already ? 3 : 1) {
            std::string changed = content;
            const std::size_t rest = content.size() - at;
            switch (at % 5) {
            case 0:
                changed[at] = static_cast<char>(changed[at] ^ 1);
                break;
            case 1:
                changed[at] = static_cast<char>(changed[at] ^ 0xe0);
                break;
            case 2:
                changed.replace(at, std::min<std::size_t>(4, rest), std::min<std::size_t>(4, rest), '\xff');
                break;
            case 3:
                changed.resize(at);
                break;
            default:
                changed.replace(at, std::min<std::size_t>(2, rest), std::min<std::size_t>(2, rest), '\0');
            }
            count(try_file(path, std::move(changed)));
        }
    }
    CHECK(opened > 1000);
    CHECK(refused > 1000);
}

TEST_CASE("a model of ONNX is known by its first three bytes, whatever field comes second") {
    const auto found = [](const std::string& head) {
        return support::outcome(ztensor::open_any(
            std::make_shared<damaged_foreign::bytes_source>(head + std::string(64, '\xff')), "without an extension"));
    };
    for (const char field : {'\x12', '\x1a', '\x22', '\x28', '\x32', '\x3a', '\x42', '\x72'}) {
        CAPTURE(int{field});
        CHECK(found(std::string("\x08\x07") + field) != "bad_magic");
        CHECK(found(std::string("\x08\x3f") + field) != "bad_magic");
        CHECK(found(std::string("\x08\x40") + field) == "bad_magic");
        CHECK(found(std::string("\x08\x00", 2) + field) == "bad_magic");
        CHECK(found(std::string("\x09\x07") + field) == "bad_magic");
    }
    CHECK(found("\x08\x07\x11") == "bad_magic");
    CHECK(found("\x08\x07\x7a") == "bad_magic");
}

TEST_CASE("the limits of options hold for archives") {
    const auto found = [](const ztensor::read_options& options) {
        return support::outcome(ztensor::open_any("tests/corpus/foreign/npz/stored.npz", options));
    };
    CHECK(found(ztensor::read_options()) == "ok");
    CHECK(found(ztensor::read_options().max_objects(1)) == "limit_exceeded");
    CHECK(found(ztensor::read_options().max_manifest_bytes(40)) == "manifest_too_large");
}
