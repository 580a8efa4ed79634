// SPDX-License-Identifier: MIT
//
// Every way in which this host can compute a digest gives what the definition gives: of all lengths, at all alignments,
// in pieces, and of several messages at once.
#include "support/bytes.hpp"
#include "support/catch.hpp"

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/detail/codec/sha256.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::bytes_of;
using support::noise;
using ztensor::bytes_view;
using ztensor::span;
using ztensor::detail::cpu_features;
using ztensor::detail::crc32c_combine;
using ztensor::detail::crc32c_start;
using ztensor::detail::crc32c_update;
using ztensor::detail::digest_memory;
using ztensor::detail::host_cpu;
using ztensor::detail::sha256_lane;

struct named_cpu {
    const char* name;
    cpu_features has;
};

/// Processors that differ in what digests are computed by, each of which this host can pass for.
std::vector<named_cpu> cpus() {
    const cpu_features& host = host_cpu();
    std::vector<named_cpu> found = {{"none", {}}};
    const auto add = [&](const char* name, auto... features) {
        if ((... && (host.*features))) {
            cpu_features has;
            ((has.*features = true), ...);
            found.push_back({name, has});
        }
    };
    add("SSE4.2", &cpu_features::sse42);
    add("PCLMUL", &cpu_features::sse42, &cpu_features::pclmul);
    add("AVX-512 VPCLMULQDQ", &cpu_features::sse42, &cpu_features::avx512_vpclmul);
    add("AVX2", &cpu_features::avx2_bmi2);
    add("SHA-NI", &cpu_features::sha);
    add("ARM CRC32", &cpu_features::arm_crc32);
    add("ARM SHA2", &cpu_features::arm_sha2);
    found.push_back({"host", host});
    return found;
}

/// Bit by bit, from the definition.
std::uint32_t crc32c_by_definition(std::uint32_t crc, bytes_view bytes) {
    for (const std::byte byte : bytes) {
        crc ^= std::to_integer<std::uint32_t>(byte);
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
        }
    }
    return crc;
}

digest_memory sha256_from_start() {
    digest_memory memory;
    std::copy_n(ztensor::detail::sha256_start, 8, memory.words);
    return memory;
}

std::string sha256_hex(bytes_view bytes, const cpu_features& cpu) {
    digest_memory memory = sha256_from_start();
    ztensor::detail::sha256_update(memory, bytes, cpu);
    const std::array<std::byte, 32> value = ztensor::detail::sha256_value(memory, cpu);
    return support::to_hex(value);
}

/// Calls `take` with pieces of at most `most` bytes, empty ones among them, that are `bytes` together.
template <class Take>
void in_pieces(bytes_view bytes, std::size_t most, std::mt19937& random, const Take& take) {
    while (!bytes.empty()) {
        const std::size_t taken = std::min<std::size_t>(random() % (most + 1), bytes.size());
        take(bytes.first(taken));
        bytes = bytes.subspan(taken);
    }
}

} // namespace

TEST_CASE("every kernel of CRC-32C agrees with the definition, for all short lengths at all alignments") {
    constexpr std::size_t longest = 1100;
    const support::byte_vector bytes = noise(longest + 64);
    for (const named_cpu& cpu : cpus()) {
        for (std::size_t from = 0; from < 64; ++from) {
            std::uint32_t expected = 0x12345678;
            std::size_t wrong_lengths = 0;
            for (std::size_t length = 0; length <= longest; ++length) {
                const bytes_view part(bytes.data() + from, length);
                wrong_lengths += crc32c_update(0x12345678, part, cpu.has) != expected ? 1u : 0u;
                expected = crc32c_by_definition(expected, {bytes.data() + from + length, 1});
            }
            CAPTURE(cpu.name, from);
            CHECK(wrong_lengths == 0);
        }
    }
}

TEST_CASE("every kernel of CRC-32C agrees with the definition, for lengths around those of its loops, and in pieces") {
    const support::byte_vector bytes = noise(200000);
    std::mt19937 random(7);
    // Three chains of 128 words, of 5464 bytes, of 16 KiB; steps of 256 bytes.
    for (const std::size_t around : {3072u, 16392u, 16392u + 3072u, 2 * 16392u, 49152u, 4096u, 4096u + 256u, 199990u}) {
        for (const std::size_t length : {around - 9, around - 1, around, around + 1, around + 9}) {
            const bytes_view part(bytes.data() + length % 7, length);
            const std::uint32_t expected = crc32c_by_definition(crc32c_start, part);
            for (const named_cpu& cpu : cpus()) {
                CAPTURE(cpu.name, length);
                CHECK(crc32c_update(crc32c_start, part, cpu.has) == expected);
            }
        }
    }
    const std::uint32_t expected = crc32c_by_definition(crc32c_start, bytes);
    for (const named_cpu& cpu : cpus()) {
        for (const std::size_t most : {100u, 1000u, 20000u, 100000u}) {
            CAPTURE(cpu.name, most);
            std::uint32_t crc = crc32c_start;
            in_pieces(bytes, most, random, [&](bytes_view piece) { crc = crc32c_update(crc, piece, cpu.has); });
            CHECK(crc == expected);
        }
    }
}

TEST_CASE("sums of CRC-32C that were computed apart are put together") {
    const support::byte_vector bytes = noise(70000);
    std::mt19937 random(3);
    const std::uint32_t expected = crc32c_update(crc32c_start, bytes, cpu_features());
    for (const std::size_t most : {1u, 10u, 3000u, 70000u}) {
        CAPTURE(most);
        std::uint32_t crc = crc32c_start;
        in_pieces(bytes, most, random,
                  [&](bytes_view piece) { crc = crc32c_combine(crc, crc32c_update(0, piece), piece.size()); });
        CHECK(crc == expected);
    }
    CHECK(crc32c_combine(expected, 0, 0) == expected);
    // Longer than any of them, and far longer than memory: 2^50 zeros are 2^10 times 2^40 zeros.
    const support::byte_vector zeros(std::size_t{1} << 22);
    CHECK(crc32c_combine(crc32c_start, 0, zeros.size()) == crc32c_update(crc32c_start, zeros));
    std::uint32_t step_by_step = crc32c_start;
    for (int i = 0; i < 1 << 10; ++i) {
        step_by_step = crc32c_combine(step_by_step, 0, std::uint64_t{1} << 40);
    }
    CHECK(crc32c_combine(crc32c_start, 0, std::uint64_t{1} << 50) == step_by_step);
}

TEST_CASE("every kernel of SHA-256 gives the published vectors") {
    const std::string million(1000000, 'a');
    const std::pair<std::string_view, std::string_view> vectors[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqr"
         "stu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
        {million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    for (const named_cpu& cpu : cpus()) {
        for (const auto& [message, digest] : vectors) {
            CAPTURE(cpu.name, message.size());
            CHECK(sha256_hex(bytes_of(message), cpu.has) == digest);
        }
    }
}

TEST_CASE("every kernel of SHA-256 agrees with the portable one, for all short lengths and in pieces") {
    const support::byte_vector bytes = noise(60000);
    std::mt19937 random(5);
    for (std::size_t length = 0; length <= 1100; ++length) {
        const bytes_view part(bytes.data() + length % 64, length);
        const std::string expected = sha256_hex(part, {});
        for (const named_cpu& cpu : cpus()) {
            CAPTURE(cpu.name, length);
            CHECK(sha256_hex(part, cpu.has) == expected);
        }
    }
    const std::string expected = sha256_hex(bytes, {});
    for (const named_cpu& cpu : cpus()) {
        for (const std::size_t most : {100u, 1000u, 20000u}) {
            CAPTURE(cpu.name, most);
            digest_memory memory = sha256_from_start();
            in_pieces(bytes, most, random,
                      [&](bytes_view piece) { ztensor::detail::sha256_update(memory, piece, cpu.has); });
            CHECK(support::to_hex(ztensor::detail::sha256_value(memory, cpu.has)) == expected);
        }
    }
}

TEST_CASE("several messages of SHA-256 at once are as each by itself") {
    constexpr std::size_t most_lanes = 20;
    const support::byte_vector bytes = noise(most_lanes * 777 + 20 * 64);
    for (const named_cpu& cpu : cpus()) {
        for (std::size_t count = 0; count <= most_lanes; ++count) {
            for (const std::size_t blocks : {0u, 1u, 2u, 7u, 20u}) {
                CAPTURE(cpu.name, count, blocks);
                digest_memory at_once[most_lanes];
                std::vector<sha256_lane> lanes;
                for (std::size_t i = 0; i < count; ++i) {
                    at_once[i] = sha256_from_start();
                    at_once[i].words[0] += static_cast<std::uint32_t>(i);
                    lanes.push_back({at_once[i].words, bytes.data() + 777 * i});
                }
                ztensor::detail::sha256_blocks(span<sha256_lane>(lanes), blocks, cpu.has);
                for (std::size_t i = 0; i < count; ++i) {
                    digest_memory alone = sha256_from_start();
                    alone.words[0] += static_cast<std::uint32_t>(i);
                    sha256_lane lane = {alone.words, bytes.data() + 777 * i};
                    ztensor::detail::sha256_portable(lane, blocks);
                    CHECK(std::equal(alone.words, alone.words + 8, at_once[i].words));
                    CHECK(lanes[i].next == lane.next);
                }
            }
        }
    }
}
