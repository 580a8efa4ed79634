// SPDX-License-Identifier: MIT
//
// Digests: published test vectors, pieces of every size, the grammar of the text, and what a file's digests say.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/digest.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::to_vector;
using ztensor::bytes_view;
using ztensor::digest;
using ztensor::digest_text;
using ztensor::digester;
using ztensor::reader;
using ztensor::result;

std::vector<std::byte> equal_bytes(std::size_t count, int value) {
    return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

/// The bytes 3, 10, 17, …
std::vector<std::byte> pattern(std::size_t count) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < count; ++i) {
        bytes.push_back(static_cast<std::byte>((i * 7 + 3) % 256));
    }
    return bytes;
}

/// CRC-32C bit by bit, from its definition.
std::string crc_by_definition(ztensor::bytes_argument bytes) {
    std::uint32_t crc = 0xffffffff;
    for (const std::byte byte : bytes) {
        crc ^= std::to_integer<std::uint32_t>(byte);
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82F63B78u : crc >> 1;
        }
    }
    std::string text = "crc32c:0x";
    for (int shift = 28; shift >= 0; shift -= 4) {
        text += "0123456789ABCDEF"[(~crc >> shift) & 15];
    }
    return text;
}

/// The digest of bytes that come in pieces of at most `most` bytes, empty ones among them.
std::string digest_in_pieces(digest algorithm, bytes_view bytes, std::size_t most, std::mt19937& random) {
    digester hash(algorithm);
    while (!bytes.empty()) {
        const std::size_t taken = std::min<std::size_t>(random() % (most + 1), bytes.size());
        hash.update(bytes.first(taken));
        bytes = bytes.subspan(taken);
    }
    return hash.text();
}

/// A 1.2 file with one object "w" of the bytes "123456789", and the digest if there is one.
std::vector<std::byte> file_with_digest(std::optional<std::string_view> text) {
    support::sample file = support::sample().dtype("u8").shape({9}).blob("123456789");
    if (text) {
        file.component("digest", support::cbor::text(*text));
    }
    return to_vector(file.file());
}

/// What verifying the file's one component answers, or the code of the error, of opening the file too.
std::string answer_to(std::optional<std::string_view> text) {
    const result<reader> file = reader::from_bytes(file_with_digest(text));
    if (!file) {
        return std::string(name(file.error().code()));
    }
    const result<ztensor::digest_state> state = file->find("w").value().data().value().verify();
    return std::string(state ? name(*state) : name(state.error().code()));
}

} // namespace

TEST_CASE("CRC-32C of the published vectors") {
    CHECK(digest_text(digest::crc32c, {}) == "crc32c:0x00000000");
    CHECK(digest_text(digest::crc32c, to_vector("123456789")) == "crc32c:0xE3069283");
    // RFC 3720, appendix B.4, which prints the bytes in the order of the wire.
    CHECK(digest_text(digest::crc32c, equal_bytes(32, 0)) == "crc32c:0x8A9136AA");
    CHECK(digest_text(digest::crc32c, equal_bytes(32, 0xff)) == "crc32c:0x62A8AB43");
    std::vector<std::byte> ascending;
    for (int i = 0; i < 32; ++i) {
        ascending.push_back(static_cast<std::byte>(i));
    }
    CHECK(digest_text(digest::crc32c, ascending) == "crc32c:0x46DD794E");
    std::reverse(ascending.begin(), ascending.end());
    CHECK(digest_text(digest::crc32c, ascending) == "crc32c:0x113FDB5C");
    std::vector<std::byte> read_command = equal_bytes(48, 0);
    const std::pair<std::size_t, int> set_bytes[] = {{0, 0x01},  {1, 0xc0},  {16, 0x14}, {22, 0x04},
                                                     {27, 0x14}, {31, 0x18}, {32, 0x28}, {40, 0x02}};
    for (const auto& [position, value] : set_bytes) {
        read_command[position] = static_cast<std::byte>(value);
    }
    CHECK(digest_text(digest::crc32c, read_command) == "crc32c:0xD9963A56");
}

TEST_CASE("CRC-32C of every length and start is that of the definition") {
    const std::vector<std::byte> bytes = pattern(600);
    for (std::size_t start = 0; start < 9; ++start) {
        for (std::size_t length = 0; length < 80; ++length) {
            const bytes_view part = bytes_view(bytes).subspan(start, length);
            if (digest_text(digest::crc32c, part) != crc_by_definition(part)) {
                FAIL(length << " bytes from " << start);
            }
        }
    }
    CHECK(digest_text(digest::crc32c, bytes) == crc_by_definition(bytes));
}

TEST_CASE("SHA-256 of the published vectors") {
    CHECK(digest_text(digest::sha256, {}) == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(digest_text(digest::sha256, to_vector("abc")) ==
          "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(digest_text(digest::sha256, to_vector("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
          "sha256:248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(digest_text(digest::sha256, to_vector("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                                                "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu")) ==
          "sha256:cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    CHECK(digest_text(digest::sha256, equal_bytes(1000000, 'a')) ==
          "sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 of lengths around the block and its padding") {
    // Computed with another implementation.
    const std::pair<std::size_t, std::string_view> expected[] = {
        {1, "084fed08b978af4d7d196a7446a86b58009e636b611db16211b65a9aadff29c5"},
        {55, "e7313d333c272e639f790978283f9eb392e843d0f29b7016828bb1daa4aac70b"},
        {56, "4324d65f3c103567f5589c710bc08f8523f929a9272e3af36fc968e52abc6c27"},
        {57, "35df609437dcfea3279283ab79fd554e2bf78f8f7ae2de532d8ee300b09e8f73"},
        {63, "81c80242132f230c3bd41b3e63bbcff16107339549214a99614ff26664625055"},
        {64, "39e3d7b6b5d075d37d053ad89b24b41bef4f3c29760c84447cab3f3be1882241"},
        {65, "aacca6ff74fdbb296d165a45cecfa04e5127bc008770fbbdd48006f2d2fae95e"},
        {111, "67d9492e628fd376e0b2efec8ca2b99b123e202cf620deb270728df979b2f73e"},
        {112, "96b928cff8528dbb99602c709a65b846cb6467acb8b722f0d758e4dc27bfc508"},
        {119, "9ce7368e4daf32341631b492e80359dc9f594b48453cd0dd5bf0b19279cc177e"},
        {120, "7836b787757e95e58b3ca5aec90b1b004e8deba1e50e9675af9cabf1a13a04b5"},
        {127, "a8d23e75d936f303d248888d9b165ee543f4cbafcad3c9dd2a79bd84faa11d07"},
        {128, "d2742f1f4ac6bb7ca2b239ee18402ba8b3f9f8e652d2a72973c2b9ba11c08cf6"},
        {129, "307f8fc2c1622b92762e818d39a185d4d667ad49a4b07ceae1f4afa008a93ec4"},
        {1000, "1e9bc38cbf860b9ec31918b065f9b52476c549a782e0e7990bed8ce3868d2371"},
    };
    for (const auto& [length, hex] : expected) {
        CAPTURE(length);
        CHECK(digest_text(digest::sha256, pattern(length)) == "sha256:" + std::string(hex));
    }
}

TEST_CASE("XXH3 of lengths around those at which it changes its way") {
    const std::pair<std::size_t, std::string_view> expected[] = {
        {0, "2d06800538d394c2"},    {1, "13e608bc156defed"},      {3, "a9088dda485b481c"},   {4, "6d9253b16c8b1ed3"},
        {8, "60539db630471163"},    {9, "feff668361d723a8"},      {16, "b8c859b0f030b585"},  {17, "714a04408e79b80f"},
        {128, "67425a03650261bf"},  {129, "c664bf3311c6abc4"},    {240, "64556dc6b462a6cf"}, {241, "8beadd3a8874fe17"},
        {1000, "6c4f14bd97bd9e82"}, {100000, "0c056f6fcc340974"},
    };
    REQUIRE(ztensor::can_compute(digest::xxh3));
    for (const auto& [length, hex] : expected) {
        CAPTURE(length);
        CHECK(digest_text(digest::xxh3, pattern(length)) == "xxh3:" + std::string(hex));
    }
}

TEST_CASE("a digest does not depend on the pieces the bytes come in") {
    std::mt19937 random(11);
    const std::vector<std::byte> bytes = pattern(1000);
    const std::string crc = crc_by_definition(bytes);
    const std::string sha = "sha256:1e9bc38cbf860b9ec31918b065f9b52476c549a782e0e7990bed8ce3868d2371";
    for (const std::size_t most : {1u, 2u, 7u, 8u, 9u, 63u, 64u, 65u, 128u, 500u}) {
        for (int repetition = 0; repetition < 20; ++repetition) {
            CAPTURE(most, repetition);
            CHECK(digest_in_pieces(digest::crc32c, bytes, most, random) == crc);
            CHECK(digest_in_pieces(digest::sha256, bytes, most, random) == sha);
            CHECK(digest_in_pieces(digest::xxh3, bytes, most, random) == "xxh3:6c4f14bd97bd9e82");
        }
    }
}

TEST_CASE("asking for the digest so far does not disturb it") {
    digester crc(digest::crc32c);
    digester sha(digest::sha256);
    digester xxh(digest::xxh3);
    for (digester* const each : {&crc, &sha, &xxh}) {
        each->update(to_vector("a"));
        static_cast<void>(each->text());
        each->update(to_vector("bc"));
    }
    CHECK(crc.text() == crc_by_definition(to_vector("abc")));
    CHECK(sha.text() == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(sha.text() == sha.text());
    CHECK(xxh.text() == digest_text(digest::xxh3, to_vector("abc")));
}

TEST_CASE("no digest has no text") {
    digester none(digest::none);
    none.update(to_vector("abc"));
    CHECK(none.text().empty());
    CHECK(digest_text(digest::none, {}).empty());
}

TEST_CASE("the states of a digest have names") {
    using ztensor::digest_state;
    CHECK(name(digest_state::match) == "match");
    CHECK(name(digest_state::mismatch) == "mismatch");
    CHECK(name(digest_state::absent) == "absent");
    CHECK(name(digest_state::unsupported) == "unsupported");
}

TEST_CASE("a digest matches in every spelling that the grammar allows") {
    CHECK(answer_to("crc32c:0xE3069283") == "match");
    CHECK(answer_to("crc32c:0xe3069283") == "match");
    CHECK(answer_to("crc32c:0XE3069283") == "match");
    CHECK(answer_to("crc32c:E3069283") == "match");
    CHECK(answer_to("crc32c:e3069283") == "match");
    CHECK(answer_to("sha256:15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225") == "match");
    CHECK(answer_to("sha256:15E2B0D3C33891EBB0F1EF609EC419420C20E320CE94C65FBC8C3312448EB225") == "match");
    CHECK(answer_to("sha256:15e2B0D3C33891EBB0F1EF609EC419420C20E320CE94C65FBC8C3312448EB225") == "match");
}

TEST_CASE("a digest of other bytes does not match") {
    CHECK(answer_to("crc32c:0xE3069284") == "mismatch");
    CHECK(answer_to("crc32c:0xF3069283") == "mismatch");
    CHECK(answer_to("crc32c:00000000") == "mismatch");
    CHECK(answer_to("sha256:15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb224") == "mismatch");
    CHECK(answer_to("sha256:05e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225") == "mismatch");
    CHECK(answer_to("sha256:" + std::string(64, '0')) == "mismatch");
}

TEST_CASE("no digest, and one of an unknown algorithm, could not be checked, and the answer says which") {
    CHECK(answer_to(std::nullopt) == "absent");
    for (const std::string_view text :
         {"md5:25f9e794323b453885f5181f1b624d0b", "md5:", "xxh3:0xE3069283", "CRC32C:0xE3069283", "Sha256:15e2",
          "crc32:0xCBF43926", " crc32c:0xE3069283", "crc32c :0xE3069283", "blake3:a:b"}) {
        CAPTURE(text);
        CHECK(answer_to(text) == "unsupported");
    }
}

TEST_CASE("a digest without an algorithm before a colon is of an unknown one") {
    for (const std::string_view text : {"", ":", ":E3069283", "E3069283", "crc32c", "sha256", "0xE3069283"}) {
        CAPTURE(text);
        CHECK(answer_to(text) == "unsupported");
    }
}

TEST_CASE("a malformed digest of a known algorithm is an error, and never counts as checked") {
    const std::string sha = "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225";
    for (const std::string& text :
         {std::string("crc32c:"), std::string("crc32c:0x"), std::string("crc32c:0xE306928"),
          std::string("crc32c:0xE30692833"), std::string("crc32c:E306928G"), std::string("crc32c:0x0xE3069283"),
          std::string("crc32c: E3069283"), std::string("crc32c:E3069283 "), std::string("crc32c:-3069283"),
          std::string("crc32c::E306928"), std::string("sha256:"), "sha256:0x" + sha, "sha256:" + sha.substr(1),
          "sha256:" + sha + "0", "sha256:g" + sha.substr(1), "sha256: " + sha.substr(1)}) {
        CAPTURE(text);
        CHECK(answer_to(text) == "digest_format");
    }
}
