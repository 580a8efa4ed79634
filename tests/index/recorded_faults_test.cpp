// SPDX-License-Identifier: MIT
//
// Of every file of the corpora, and of some 20,000 that are such a file with a change: what opening it gives, recorded
// in tests/corpus/records/faults.txt. A file that opens is recorded by a hash of all that can be read of it, and by
// what strict reading says; one that does not by the error's code, offset, object and part. What the changed files give
// is one hash for each file they were made of: ZTENSOR_RECORD=show prints them where they differ, and with
// ZTENSOR_RECORD_OF=rules/valid/x.zt, on either side of a change, all of that file. ZTENSOR_RECORD=write records anew.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/mutants.hpp"
#include "support/outline.hpp"
#include "support/record.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/digest.hpp>
#include <ztensor/import.hpp>
#include <ztensor/io.hpp>
#include <ztensor/lint.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace recorded_faults {

namespace fs = std::filesystem;
using support::bytes;

const fs::path corpora = "tests/corpus";
constexpr std::size_t mutants_of_each = 13;

/// A file in memory that reads as one on a disk does.
class held_source final : public ztensor::byte_source {
public:
    explicit held_source(bytes content) : content_(std::move(content)) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    [[nodiscard]] ztensor::result<void> read_at(std::uint64_t offset,
                                                ztensor::span<std::byte> destination) const override {
        if (!destination.empty()) {
            std::memcpy(destination.data(), content_.data() + static_cast<std::size_t>(offset), destination.size());
        }
        return {};
    }
    /// Shards are looked for beside its name, as of a file.
    [[nodiscard]] ztensor::read_preferences preferences() const noexcept override {
        ztensor::read_preferences best;
        best.requests_in_flight = 1;
        return best;
    }

private:
    bytes content_;
};

/// `open` is asked twice: as callers do, and strictly.
template <class Open>
std::string outcome_of(const Open& open) {
    const ztensor::result<ztensor::reader> file = open(ztensor::read_options());
    if (!file) {
        return support::place_of(file.error());
    }
    std::string said = "ok " + std::to_string(file->size()) + ' ' +
                       support::hash_text(support::hashed(support::outline(*file))).substr(0, 10);
    const ztensor::result<ztensor::reader> strict = open(ztensor::read_options().strict());
    return strict ? said : said + ", " + support::place_of(strict.error());
}

/// As the number that a file's footer says.
std::uint64_t xxh3_of(std::string_view index) {
    const std::string text = ztensor::digest_text(ztensor::digest::xxh3, support::bytes_of(index));
    return std::strtoull(text.substr(text.find(':') + 1).c_str(), nullptr, 16);
}

bool is_of_corpus(const fs::path& path) {
    const std::set<std::string> kinds = {".zt", ".gguf", ".npy", ".npz", ".onnx", ".pt", ".safetensors"};
    return kinds.count(path.extension().string()) != 0;
}

std::vector<fs::path> files_of_corpora() {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(corpora)) {
        if (entry.is_regular_file() && is_of_corpus(entry.path())) {
            found.push_back(entry.path());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

/// Whether this build holds all that the files of a group ask for.
bool can_read(const std::string& group) {
    static const bool has_zlib = [] {
        const auto file = ztensor::open_any(corpora / "foreign/npz/compressed.npz");
        return file || file.error().code() != ztensor::errc::not_built_in;
    }();
    if (group.compare(0, 2, "v2") == 0 || group.compare(0, 5, "found") == 0) {
        return ztensor::can_compute(ztensor::digest::xxh3);
    }
    return has_zlib || (group.compare(0, 11, "foreign/npz") != 0 && group.compare(0, 10, "foreign/pt") != 0);
}

struct mutants_told {
    std::string hash;
    std::vector<std::string> details;
};

/// What opening each changed file says, and the hash of it all.
mutants_told tell_mutants(const std::string& name, const bytes& content) {
    mutants_told told;
    std::uint64_t hash = support::hash_start;
    for (std::size_t i = 0; i < mutants_of_each && !content.empty(); ++i) {
        const bytes changed = support::mutant(content, support::hashed(name) + i, xxh3_of);
        const auto source = std::make_shared<const held_source>(changed);
        told.details.push_back(
            outcome_of([&](const ztensor::read_options& options) { return ztensor::open_any(source, name, options); }));
        hash = support::hashed(told.details.back() + '\n', hash);
    }
    told.hash = support::hash_text(hash);
    return told;
}

} // namespace recorded_faults

} // namespace

TEST_CASE("every file of the corpora, and 20,000 changed ones, give what they gave when that was recorded") {
    using namespace recorded_faults;
    support::record record(corpora / "records/faults.txt");
    const std::size_t step = support::counts_memory ? 1 : 8; // a sanitizer takes its time
    std::size_t number = 0, mutants = 0;
    std::set<std::string> codes;
    for (const fs::path& path : files_of_corpora()) {
        const std::string name = path.lexically_relative(corpora).generic_string();
        const std::string group = name.substr(0, name.rfind('/'));
        const std::string file = name.substr(group.size() + 1);
        if (can_read(group)) {
            record.add(group, file, outcome_of([&](const ztensor::read_options& options) {
                           return ztensor::open_any(path, options);
                       }));
        } else {
            record.keep(group, file);
        }
        if (!can_read(group) || number++ % step != 0) {
            record.keep(group + " changed", file);
            continue;
        }
        const mutants_told told = tell_mutants(name, support::read_file(path));
        record.add(group + " changed", file, told.hash, told.details);
        for (const std::string& each : told.details) {
            codes.insert(each.substr(0, each.find(' ')));
        }
        mutants += told.details.size();
    }
    CHECK(mutants * step >= 19'000);
    CHECK(codes.size() >= 45);
    for (const std::string& each : record.finish()) {
        FAIL_CHECK(each);
    }
}
