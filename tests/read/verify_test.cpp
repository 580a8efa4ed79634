// SPDX-License-Identifier: MIT
//
// Verifying a whole file: each range of bytes once, in pieces, several messages at once and on several threads, and the
// answer is that of one component after the other.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/detail/read/verify.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::bytes;
using support::outcome;
using support::sample;
using support::watch;
using support::watched;
using support::watched_source;
using ztensor::bytes_view;
using ztensor::digest;
using ztensor::reader;
using ztensor::detail::cpu_features;
using ztensor::detail::hash_task;
namespace cbor = support::cbor;

constexpr std::size_t piece_bytes = std::size_t{8} << 20; // of a CRC-32C
constexpr std::size_t read_bytes = ztensor::detail::hash_buffer_bytes;

std::string stored_digest_of(digest algorithm, std::string_view content) {
    return ztensor::digest_text(algorithm, support::bytes_of(content));
}

bytes object_at(std::uint64_t offset, std::uint64_t length, std::string_view digest) {
    return sample()
        .dtype("u8")
        .shape({length})
        .place(offset, length)
        .component("digest", cbor::text(digest))
        .encoded_object();
}

/// Reads by calls of the system, it says.
class file_like final : public watched_source {
public:
    using watched_source::watched_source;

    [[nodiscard]] ztensor::result<void> read_at(std::uint64_t offset,
                                                ztensor::span<std::byte> destination) const override {
        if (destination.size() > size() - offset) {
            return ztensor::error(ztensor::errc::truncated, "past the end");
        }
        return watched_source::read_at(offset, destination);
    }

private:
    [[nodiscard]] bool reads_files() const noexcept override { return true; }
};

/// The host, and what it can pass for: nothing, and what hashes two or three, or eight messages at once.
std::vector<cpu_features> cpus() {
    cpu_features eight;
    eight.avx2_bmi2 = ztensor::detail::host_cpu().avx2_bmi2;
    return {cpu_features(), eight, ztensor::detail::host_cpu()};
}

/// Tasks of all kinds over `size` bytes: none, short, as long as a buffer, and longer.
std::vector<hash_task> tasks_within(std::size_t size) {
    std::mt19937 random(11);
    std::vector<hash_task> tasks;
    for (const std::size_t most : {0u, 1u, 64u, 200u, 5000u, 32768u, 65536u, 262144u, 300000u, 600000u}) {
        for (const digest algorithm : {digest::sha256, digest::crc32c, digest::sha256}) {
            hash_task task;
            task.length = most - (tasks.size() % 2 != 0 ? random() % (most / 2 + 1) : 0);
            task.offset = random() % (size - task.length + 1);
            task.algorithm = algorithm;
            tasks.push_back(std::move(task));
        }
    }
    return tasks;
}

void hash(const ztensor::byte_source& source, std::vector<hash_task>& tasks, unsigned threads,
          const cpu_features& cpu = ztensor::detail::host_cpu()) {
    ztensor::detail::progress_meter silent;
    ztensor::detail::blob_hasher(source, tasks, cpu, silent).run(threads);
}

/// How many of the tasks did not find the digest of their bytes.
std::size_t count_wrong(const std::vector<hash_task>& tasks, bytes_view content) {
    std::size_t wrong = 0;
    for (const hash_task& task : tasks) {
        const bytes_view range =
            content.subspan(static_cast<std::size_t>(task.offset), static_cast<std::size_t>(task.length));
        const std::string text = ztensor::digest_text(task.algorithm, range);
        const std::string_view digits = ztensor::detail::parse_digest(text).digits;
        const bytes sum = support::big_endian(~task.crc & 0xffffffff, 4);
        const bytes_view value = task.algorithm == digest::crc32c ? support::bytes_of(sum) : bytes_view(task.sha256);
        wrong += task.outcome && ztensor::detail::are_digits_of(digits, value) ? 0u : 1u;
    }
    return wrong;
}

} // namespace

TEST_CASE("ranges hashed together have the digests of each, on any processor and any number of threads") {
    const support::byte_vector content = support::noise(700000);
    for (const cpu_features& cpu : cpus()) {
        for (const bool is_mapped : {false, true}) {
            CAPTURE(cpu.avx2_bmi2, cpu.sha, is_mapped);
            const watched_source source(support::as_string(content), is_mapped);
            std::vector<hash_task> tasks = tasks_within(content.size());
            hash(source, tasks, 1, cpu);
            CHECK(count_wrong(tasks, content) == 0);
            CHECK(source.reads.empty() == is_mapped);
            for (const auto& each : source.reads) {
                CHECK(each.length <= read_bytes);
            }
        }
        for (const unsigned threads : {0u, 2u, 3u, 16u}) {
            CAPTURE(cpu.avx2_bmi2, cpu.sha, threads);
            const ztensor::detail::memory_source source(content);
            std::vector<hash_task> tasks = tasks_within(content.size());
            hash(source, tasks, threads, cpu);
            CHECK(count_wrong(tasks, content) == 0);
        }
    }
}

TEST_CASE("checksums of neighbours in a file take one read, and those of ranges far from another one each") {
    const support::byte_vector content = support::noise(700000);
    std::vector<hash_task> near;
    for (std::size_t offset = 0; offset < 600000; offset += 300) { // of 100 bytes, some within others
        for (const std::size_t length : {100u, 40u}) {
            hash_task task;
            task.offset = offset + (100 - length) / 2;
            task.length = length;
            task.algorithm = digest::crc32c;
            near.push_back(std::move(task));
        }
    }
    const file_like source(support::as_string(content), false);
    std::vector<hash_task> tasks = near;
    hash(source, tasks, 1);
    CHECK(count_wrong(tasks, content) == 0);
    CHECK(source.reads.size() == 3); // 600,000 bytes
    for (const unsigned threads : {2u, 5u}) {
        const ztensor::detail::memory_source memory(content);
        tasks = near;
        hash(memory, tasks, threads);
        CHECK(count_wrong(tasks, content) == 0);
    }

    std::vector<hash_task> far(2);
    far[0].algorithm = far[1].algorithm = digest::crc32c;
    far[0].length = far[1].length = 100;
    far[1].offset = 100 + ztensor::detail::most_gap_bytes + 1;
    const file_like other(support::as_string(content), false);
    hash(other, far, 1);
    CHECK(count_wrong(far, content) == 0);
    CHECK(other.reads == support::read_ranges{{0, 100}, {far[1].offset, 100}});
}

TEST_CASE("where neighbours can't be read at once each is read by itself, and only what fails has failed") {
    const support::byte_vector content = support::noise(3000);
    std::vector<hash_task> tasks(3);
    for (std::size_t i = 0; i < 3; ++i) {
        tasks[i].algorithm = digest::crc32c;
        tasks[i].offset = 1000 * i;
        tasks[i].length = i == 2 ? 1001 : 1000; // the last goes past the end
    }
    const file_like source(support::as_string(content), false);
    hash(source, tasks, 1);
    CHECK(outcome(tasks[0].outcome) == "ok");
    CHECK(outcome(tasks[1].outcome) == "ok");
    CHECK(outcome(tasks[2].outcome) == "truncated");
    tasks.pop_back();
    CHECK(count_wrong(tasks, content) == 0);
}

TEST_CASE("a damaged byte is found wherever pieces of a digest meet") {
    const std::string crc_blob = support::as_string(support::noise(piece_bytes + 3 * read_bytes / 2));
    const std::string sha_blob = support::as_string(support::noise(2 * read_bytes + 100, 2));
    const std::size_t sha_offset = 64 + (crc_blob.size() + 63) / 64 * 64;
    bytes content =
        sample()
            .blob(crc_blob + bytes(sha_offset - 64 - crc_blob.size(), '\0') + sha_blob)
            .objects(
                cbor::map{{"crc", object_at(64, crc_blob.size(), stored_digest_of(digest::crc32c, crc_blob))},
                          {"sha", object_at(sha_offset, sha_blob.size(), stored_digest_of(digest::sha256, sha_blob))}})
            .file();
    const support::temp_dir directory;
    for (const support::opening& each : support::open_every_way(content, directory)) {
        for (const unsigned threads : {1u, 2u}) {
            CAPTURE(each.way, threads);
            CHECK(each.file.value().verify(threads).value().complete());
        }
    }
    const auto damaged_at = [&](std::size_t position, std::string_view object) {
        content[position] = static_cast<char>(content[position] ^ 0x10);
        for (const bool is_mapped : {false, true}) {
            CAPTURE(position, is_mapped);
            const watched seen = watch(content, is_mapped);
            const ztensor::verification answer = seen.file.verify(1).value();
            CHECK(answer.verified == 1);
            REQUIRE(answer.mismatches.size() == 1);
            CHECK(answer.mismatches[0].digest() == seen.file.find(object).value().data().value().digest());
        }
        content[position] = static_cast<char>(content[position] ^ 0x10);
    };
    for (const std::size_t at :
         {std::size_t{0}, piece_bytes - 1, piece_bytes, piece_bytes + read_bytes, crc_blob.size() - 1}) {
        damaged_at(64 + at, "crc");
    }
    for (const std::size_t at : {std::size_t{0}, read_bytes - 1, read_bytes, 2 * read_bytes, sha_blob.size() - 1}) {
        damaged_at(sha_offset + at, "sha");
    }
}

TEST_CASE("the pieces of a blob's checksum are not more than its claimed length can make expensive") {
    CHECK(ztensor::detail::crc32c_piece_bytes(0) == piece_bytes);
    CHECK(ztensor::detail::crc32c_piece_bytes(std::uint64_t{1} << 35) >= piece_bytes);
    for (const std::uint64_t length : {std::uint64_t{1} << 40, support::two_to_63, support::largest}) {
        CAPTURE(length);
        CHECK(length / ztensor::detail::crc32c_piece_bytes(length) < 4096);
    }
}

TEST_CASE("bytes that several components share are read once for each algorithm") {
    const bytes blob = support::counting(1000);
    const std::string crc = stored_digest_of(digest::crc32c, blob);
    const std::string sha = stored_digest_of(digest::sha256, blob);
    std::string crc_without_prefix = "crc32c:" + crc.substr(9);
    const watched seen = watch(sample()
                                   .blob(blob)
                                   .objects(cbor::map{{"a", object_at(64, 1000, crc)},
                                                      {"b", object_at(64, 1000, sha)},
                                                      {"c", object_at(64, 1000, crc_without_prefix)},
                                                      {"d", object_at(64, 1000, "crc32c:0x00000000")},
                                                      {"e", object_at(64, 1000, sha)},
                                                      {"f", object_at(64, 1000, "md5:00")}})
                                   .file());
    const ztensor::verification answer = seen.file.verify(1).value();
    CHECK(answer.verified == 4);
    CHECK(answer.unsupported == 1);
    REQUIRE(answer.mismatches.size() == 1);
    CHECK(answer.mismatches[0].digest().text() == "crc32c:0x00000000");
    CHECK(support::sorted(seen.source->reads) == support::read_ranges{{64, 1000}, {64, 1000}});
}

TEST_CASE("blobs are read in the order of the file, and answered in the order of the manifest") {
    const bytes blob = support::counting(64 + 64 + 64);
    const std::string wrong = "crc32c:0x00000000";
    const bytes content =
        sample()
            .blob(blob)
            .objects(cbor::map{
                {"a", object_at(192, 60, wrong)}, {"b", object_at(128, 61, wrong)}, {"c", object_at(64, 62, wrong)}})
            .file();
    const watched seen = watch(content);
    const ztensor::verification answer = seen.file.verify(1).value();
    REQUIRE(answer.mismatches.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(answer.mismatches[i].stored_bytes() == 60 + i);
    }
    CHECK(seen.source->reads == support::read_ranges{{64, 62}, {128, 61}, {192, 60}});
}

TEST_CASE("of several blobs that can't be read the error is that of the first in the manifest") {
    const bytes blob = support::counting(64 + 64 + 64);
    for (const std::string& wrong : {std::string("crc32c:0x00000000"), "sha256:" + std::string(64, '0')}) {
        const bytes content = sample()
                                  .blob(blob)
                                  .objects(cbor::map{{"a", object_at(192, 60, wrong)},
                                                     {"b", object_at(128, 61, wrong)},
                                                     {"c", object_at(64, 62, wrong)}})
                                  .file();
        const watched seen = watch(content);
        seen.source->first_failing_read = 1; // b, then a
        const ztensor::result<ztensor::verification> answer = seen.file.verify(1);
        REQUIRE(outcome(answer) == "io_error");
        CHECK(answer.error().object() == "a");
        CHECK(answer.error().component() == "data");
        const watched shrunk = watch(content, true);
        shrunk.source->has_shrunk = true;
        const ztensor::result<ztensor::verification> refused = shrunk.file.verify(2);
        REQUIRE(outcome(refused) == "file_changed");
        CHECK(refused.error().object() == "a");
    }
}

TEST_CASE("a blob that is hashed in pieces is read no further than its source allows, and says so once") {
    const support::bytes content = support::counting(std::size_t{17} << 20);
    support::sample file;
    file.dtype("u8").shape({content.size()}).blob(content).component("digest", support::cbor::text("crc32c:00000000"));
    for (const unsigned threads : {1U, 2U}) {
        const support::watched seen = support::watch(file.file());
        seen.source->first_failing_read = 0;
        CHECK(support::refusal(seen.file.verify(threads)) == ztensor::errc::io_error);
    }
}

TEST_CASE("whoever verifies is told how far it is, of one file and of several, until all of it is done") {
    const support::temp_dir directory;
    const auto write = [&](const char* file, const char* prefix, ztensor::write_options how, digest with) {
        auto out = ztensor::writer::create(directory / file, how).value();
        for (int i = 0; i < 3; ++i) {
            const std::vector<float> numbers(300'000 + static_cast<std::size_t>(i), 1.5F);
            out.add(prefix + std::to_string(i), {numbers.size()}, numbers, ztensor::store().digest(with)).value();
        }
        out.finish().value();
    };
    const std::uint64_t bytes_each = 4 * (3 * 300'000 + 3);
    write("crc.zt", "c", {}, digest::crc32c);
    write("sha.zt", "s", {}, digest::sha256);
    write("two.zt", "t", ztensor::write_options().version(ztensor::format_version::v2), digest::sha256);
    write("none.zt", "n", {}, digest::none);

    const auto check = [](const reader& file, std::uint64_t total) {
        for (const unsigned threads : {1u, 2u}) {
            std::vector<ztensor::load_progress> told;
            std::vector<std::string> names;
            const auto tell = [&](const ztensor::load_progress& now) {
                told.push_back(now);
                names.emplace_back(now.name);
                return true;
            };
            CHECK(file.verify(threads, tell).value().ok());
            REQUIRE(!told.empty());
            CHECK(std::is_sorted(told.begin(), told.end(),
                                 [](const auto& a, const auto& b) { return a.bytes_done < b.bytes_done; }));
            CHECK(std::all_of(told.begin(), told.end(), [&](const auto& each) { return each.bytes_total == total; }));
            CHECK(told.back().bytes_done == total);
            CHECK(names.back().empty());
            CHECK((threads != 1 || total == 0 || (told.size() >= 3 && !names.front().empty())));
        }
    };
    std::vector<reader> all;
    for (const char* const name : {"crc.zt", "sha.zt", "two.zt"}) {
        CAPTURE(name);
        all.push_back(reader::open(directory / name).value());
        check(all.back(), bytes_each);
    }
    check(reader::open(directory / "none.zt").value(), 0);
    check(reader::join(all).value(), 3 * bytes_each);
    check(reader::open(directory / "sha.zt", ztensor::read_options().stable_file()).value(), bytes_each);
}

TEST_CASE("verifying ends when its progress function says so, and nothing is called damaged") {
    const support::temp_dir directory;
    for (const auto version : {ztensor::format_version::v1_2, ztensor::format_version::v2}) {
        for (const digest with : {digest::crc32c, digest::sha256}) {
            if (version == ztensor::format_version::v2 && with == digest::crc32c) {
                continue; // which version 2 does not know
            }
            auto out = ztensor::writer::create(directory / "m.zt", ztensor::write_options().version(version)).value();
            for (const char* const name : {"a", "b", "c"}) {
                out.add(name, {1'000'000}, std::vector<float>(1'000'000), ztensor::store().digest(with)).value();
            }
            out.finish().value();
            const reader file = reader::open(directory / "m.zt").value();
            for (const unsigned threads : {1u, 2u}) {
                std::size_t calls = 0;
                const auto cancel = [&](const ztensor::load_progress&) { return ++calls < 2; };
                const auto found = file.verify(threads, cancel);
                CHECK((calls <= 2 && (threads == 2 || outcome(found) == "cancelled")));
                CHECK((outcome(found) == "cancelled" || found.value().ok()));
            }
        }
    }
}
