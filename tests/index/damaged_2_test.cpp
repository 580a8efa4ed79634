// SPDX-License-Identifier: MIT
//
// Indices of version 2 that are read by pattern and by the general way: the files of the corpus, those whose first
// objects stand again and again, and all of them with a byte of their index changed or the rest cut off.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"

#include "index/described.hpp"

#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/parse.hpp>
#include <ztensor/detail/index/rules.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace {

namespace damaged_2 {

namespace detail = ztensor::detail;
using support::bytes;
using ztensor::errc;

/// All that the index says, or why it is refused.
std::string read_index(const bytes& index, std::uint64_t offset, bool uses_templates) {
    detail::manifest into;
    REQUIRE(into.index.allocate(index.size(), detail::scan_reach_bytes));
    std::memcpy(into.index.data(), index.data(), index.size());
    const ztensor::read_options options;
    const std::uint64_t file_bytes = offset + index.size() + detail::footer_bytes_2;
    const detail::manifest_location at = {detail::container::zt_2, offset, index.size(), 0, false};
    auto done = detail::parse_index(into, at, file_bytes, options, uses_templates);
    if (done) {
        done = detail::rulebook(into).check();
    }
    return done ? described::describe(into) : std::string(done.error().what());
}

struct index_2 {
    bytes content;
    std::uint64_t offset = 0;
};

/// Of a whole file; empty where its footer leads nowhere.
index_2 index_of(const bytes& file) {
    const auto footer = detail::decode_footer_2(support::bytes_of(file).last(detail::footer_bytes_2));
    if (footer.manifest_offset > file.size() || footer.manifest_length > file.size() - footer.manifest_offset) {
        return {};
    }
    return {
        file.substr(static_cast<std::size_t>(footer.manifest_offset), static_cast<std::size_t>(footer.manifest_length)),
        footer.manifest_offset};
}

/// The file with another index.
bytes with_index(const bytes& file, const bytes& content) {
    const std::uint64_t offset = index_of(file).offset;
    const auto footer = detail::encode_footer_2({offset, content.size(), detail::xxh3_of(support::bytes_of(content))});
    return file.substr(0, static_cast<std::size_t>(offset)) + content +
           support::as_string(ztensor::bytes_view(footer.data(), footer.size()));
}

/// Objects of each layout that stand several times.
bytes file_of_much_alike() {
    const auto options = ztensor::write_options().version(ztensor::format_version::v2);
    return support::as_string(support::written(options, [](ztensor::writer& to) {
        const std::vector<float> floats(6, 1.5F), one = {1}, two = {5, 7};
        const std::vector<std::uint64_t> columns = {0, 2}, pointers = {0, 1, 2};
        const std::vector<std::uint32_t> words = {0x76543210};
        for (const char* const name : {"a", "b", "c", "d", "e"}) {
            const bytes start = name;
            to.add(start + ".1", {2, 3}, floats).value();
            to.add(start + ".2", {6}, floats, ztensor::store().digest(ztensor::digest::sha256)).value();
            to.add(start + ".3", {6}, floats, ztensor::store().zstd()).value();
            to.add_csr(start + ".4", {2, 3}, two, columns, pointers).value();
            to.add_quantized(start + ".5", {1, 8}, {4, 8, "8_per_u32"}, words, one, one).value();
            to.add(start + ".6", {3}, std::vector<bool>(3)).value();
        }
    }));
}

std::vector<bytes> files() {
    std::vector<bytes> found = {file_of_much_alike()};
    for (const char* const folder : {"tests/corpus/v2/valid", "tests/corpus/v2/reject"}) {
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            bytes content = entry.path().extension() == ".zt" ? support::read_file(entry.path()) : bytes();
            if (content.size() < 40000 && content.size() >= detail::least_file_bytes_2) {
                found.push_back(std::move(content));
            }
        }
    }
    return found;
}

} // namespace damaged_2

} // namespace

TEST_CASE("indices of version 2 are the same by pattern and by the general way, whole, cut off or damaged") {
    using namespace damaged_2;
    std::size_t compared = 0;
    const auto check = [&](const bytes& index, std::uint64_t offset) {
        const std::string general = read_index(index, offset, false);
        if (const std::string fast = read_index(index, offset, true); fast != general) {
            CAPTURE(support::to_hex(support::bytes_of(index)));
            CHECK(fast == general);
        }
        ++compared;
    };
    std::size_t number = 0;
    for (const bytes& file : files()) {
        index_2 index = index_of(file);
        if (index.content.empty() || index.content.size() > 2048) {
            continue;
        }
        CAPTURE(number++);
        check(index.content, index.offset);
        for (std::size_t at = 0; at<index.content.size(); at += number> 1 ? 5 : 1) {
            check(index.content.substr(0, at), index.offset);
            const char was = index.content[at];
            for (const int flip : {0x01, 0x20, 0xe0}) {
                index.content[at] = static_cast<char>(was ^ flip);
                check(index.content, index.offset);
            }
            index.content[at] = was;
        }
    }
    CHECK(compared > 10000);
}

TEST_CASE("an index of version 2 that stays in its limits is read, and one that does not is refused") {
    using namespace damaged_2;
    const bytes file = file_of_much_alike();
    const auto outcome_with = [&](const ztensor::read_options& options) {
        return support::outcome(ztensor::reader::from_bytes(support::bytes_of(file), options));
    };
    const std::size_t index_bytes = index_of(file).content.size();
    CHECK(outcome_with(ztensor::read_options().max_objects(30)) == "ok");
    CHECK(outcome_with(ztensor::read_options().max_objects(29)) == "limit_exceeded");
    CHECK(outcome_with(ztensor::read_options().max_objects(1)) == "limit_exceeded");
    CHECK(outcome_with(ztensor::read_options().max_objects(0)) == "limit_exceeded");
    CHECK(outcome_with(ztensor::read_options().max_manifest_bytes(index_bytes)) == "ok");
    CHECK(outcome_with(ztensor::read_options().max_manifest_bytes(index_bytes - 1)) == "manifest_too_large");
    const bytes cut = index_of(file).content;
    CHECK(support::outcome(
              ztensor::reader::from_bytes(support::bytes_of(with_index(file, cut.substr(0, cut.size() - 1))))) != "ok");
}
