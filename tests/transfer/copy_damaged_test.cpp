// SPDX-License-Identifier: MIT
//
// Copies and exports of bytes that are not those of their digest: refused, unless the reader is to check none.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"
#include "support/writing.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/import.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace {

using support::bytes;
using support::refusal;
using ztensor::errc;
using ztensor::format_version;
using ztensor::read_options;
using ztensor::reader;
using ztensor::store;
using ztensor::write_options;
using ztensor::writer;

constexpr format_version all_versions[] = {format_version::v0_1, format_version::v1_1, format_version::v1_2,
                                           format_version::v2};

/// "a" and "b"; the first stored byte of "b" is another than the one that was digested.
bytes damaged_file(format_version version, const store& how) {
    writer out = writer::to_memory(write_options().version(version)).value();
    out.add("a", {3}, std::vector<float>{1, 2, 3}).value();
    out.add("b", {4}, std::vector<float>{4, 5, 6, 7}, how).value();
    bytes file = support::finished(out);
    const reader whole = support::opened(file);
    char& first = file[static_cast<std::size_t>(whole.find("b").value().data().value().offset())];
    first = static_cast<char>(first ^ 1);
    return file;
}

reader unchecked(const bytes& file) {
    return support::opened(file, read_options().verify_digests(false));
}

} // namespace

TEST_CASE("damaged bytes are not copied, whatever the versions; what stands before them is, and the writer goes on") {
    for (const format_version from : all_versions) {
        for (const ztensor::digest algorithm : {ztensor::digest::crc32c, ztensor::digest::sha256}) {
            const store how = from == format_version::v2 && algorithm == ztensor::digest::crc32c
                                  ? store()
                                  : store().digest(algorithm);
            const reader file = support::opened(damaged_file(from, how));
            for (const format_version to : all_versions) {
                writer out = writer::to_memory(write_options().version(to)).value();
                const auto copied = ztensor::copy(file, out);
                CAPTURE(static_cast<int>(from), static_cast<int>(to), static_cast<int>(algorithm));
                REQUIRE(refusal(copied) == errc::digest_mismatch);
                CHECK(copied.error().object() == "b");
                CHECK(copied.error().component() == "data");
                REQUIRE(out.add("c", {1}, std::vector<float>{8}));
                const reader copy = support::opened(support::finished(out));
                CHECK(copy.size() == 2);
                CHECK(copy.contains("a"));
            }
        }
    }
}

TEST_CASE("damaged frames are not copied") {
    const store how = store().zstd().digest(ztensor::digest::crc32c);
    const reader before_2 = support::opened(damaged_file(format_version::v1_2, how));
    writer out = writer::to_memory().value();
    CHECK(refusal(ztensor::copy(before_2, out)) == errc::digest_mismatch);

    // Digests of version 2 are those of what the frames decode to.
    const reader of_2 = support::opened(damaged_file(format_version::v2, store().zstd()));
    writer out_2 = writer::to_memory(write_options().version(format_version::v2)).value();
    CHECK(refusal(ztensor::copy(of_2, out_2)) == errc::decode_failed);
}

TEST_CASE("a draft takes no damaged component of a file") {
    const reader file = support::opened(damaged_file(format_version::v1_2, store().digest(ztensor::digest::crc32c)));
    const auto data = file.find("b").value().data().value();
    writer out = writer::to_memory().value();
    CHECK(refusal(out.add_object("b", ztensor::object_draft("dense", {4}).component_stored("data", data))) ==
          errc::digest_mismatch);
}

TEST_CASE(
    "a reader that checks no digests lets damaged bytes be copied as they are, with the digest that tells of it") {
    for (const format_version version : all_versions) {
        const bytes content = damaged_file(version, store().digest(ztensor::digest::sha256));
        const reader file = unchecked(content);
        writer out = writer::to_memory(write_options().version(version)).value();
        REQUIRE(ztensor::copy(file, out));
        const reader copy = support::opened(support::finished(out));
        const auto old = file.find("b").value().data().value(), data = copy.find("b").value().data().value();
        CHECK(data.digest() == old.digest());
        CHECK(data.read_little_endian().error().code() == errc::digest_mismatch);
        CHECK(data.verify().value() == ztensor::digest_state::mismatch);
    }
}

TEST_CASE("damaged bytes are not exported, unless the reader checks no digests") {
    const support::temp_dir directory;
    const bytes content = damaged_file(format_version::v1_2, store().digest(ztensor::digest::crc32c));
    const reader file = support::opened(content), lenient = unchecked(content);
    const auto path = directory / "x";
    CHECK(refusal(ztensor::export_safetensors(file, path)) == errc::digest_mismatch);
    CHECK(refusal(ztensor::export_npz(file, path)) == errc::digest_mismatch);
    CHECK(refusal(ztensor::export_npy(file.find("b").value(), path)) == errc::digest_mismatch);
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK(ztensor::export_safetensors(lenient, path));
    CHECK(ztensor::export_npz(lenient, path));
    CHECK(ztensor::export_npy(lenient.find("b").value(), path));
}

TEST_CASE("a blob of many names is compared with its digest once") {
    constexpr std::size_t elements = std::size_t{1} << 20;
    writer out = writer::to_memory().value();
    out.add("w", {elements}, std::vector<float>(elements, 1), store().digest(ztensor::digest::crc32c)).value();
    for (int i = 0; i < 100; ++i) {
        out.add_tied("v" + std::to_string(i), "w").value();
    }
    const support::watched watched = support::watch(support::finished(out));
    writer copy = writer::to_memory().value();
    REQUIRE(ztensor::copy(watched.file, copy));
    std::uint64_t bytes_read = 0;
    for (const support::read_range& each : watched.source->reads) {
        bytes_read += each.length;
    }
    CHECK(bytes_read <= 3 * elements * sizeof(float));
}
