// SPDX-License-Identifier: MIT
//
// The two ends of a file, as bytes alone: which container it is, and where its manifest lies.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/index/frame.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using support::bytes;
using support::largest;
using support::little_endian;
using ztensor::errc;
using ztensor::result;
using ztensor::detail::as_bytes;
using ztensor::detail::container;
using ztensor::detail::foreign_kind;
using ztensor::detail::identify_container;
using ztensor::detail::locate_manifest;
using ztensor::detail::manifest_location;

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

errc code_of_head(std::string_view head, std::uint64_t file_bytes) {
    const result<container> found = identify_container(as_bytes(head), file_bytes);
    REQUIRE_FALSE(found.has_value());
    return found.error().code();
}

container kind_of_head(std::string_view head) {
    const result<container> found = identify_container(as_bytes(head), head.size());
    REQUIRE(found.has_value());
    return *found;
}

/// What a file of `file_bytes` bytes with this end leads to.
struct tail_row {
    const char* what;
    container kind;
    bytes tail;
    std::uint64_t file_bytes;
    std::uint64_t offset, length; ///< if it is found
};

struct bad_tail_row {
    const char* what;
    container kind;
    bytes tail;
    std::uint64_t file_bytes;
    errc code;
};

} // namespace

TEST_CASE("the first eight bytes tell the container") {
    CHECK(kind_of_head("ZTEN1000") == container::zt_1);
    CHECK(kind_of_head("ZTEN1000 and more") == container::zt_1);
    CHECK(kind_of_head("ZTEN0001") == container::zt_0_1);
    CHECK(kind_of_head("ZTEN0001{\"\": 1}") == container::zt_0_1);
    CHECK(kind_of_head("\x89ZT2\r\n\x1a\n") == container::zt_2);
}

TEST_CASE("what starts with nothing that is read has an error of its own") {
    CHECK(code_of_head("", 0) == errc::file_too_small);
    CHECK(code_of_head("Z", 1) == errc::truncated);
    CHECK(code_of_head("ZTEN100", 7) == errc::truncated);
    CHECK(code_of_head("ZTEN000", 7) == errc::truncated);
    CHECK(code_of_head("x", 1) == errc::file_too_small);
    CHECK(code_of_head("ZTEN1x", 6) == errc::file_too_small);
    CHECK(code_of_head("nothing known", 100) == errc::bad_magic);
    CHECK(code_of_head(" ZTEN1000", 100) == errc::bad_magic);
    CHECK(code_of_head("Zten1000", 100) == errc::bad_magic);
    CHECK(code_of_head("\x89ZT2\r\n\x1a", 7) == errc::truncated);
    CHECK(code_of_head("\x89ZT2\n\x1a\n\n", 100) == errc::bad_magic);
    CHECK(code_of_head("ZTEN1001", 100) == errc::unsupported_container);
    CHECK(code_of_head("ZTEN2000", 100) == errc::unsupported_container);
    CHECK(code_of_head("ZTEN0000", 100) == errc::unsupported_container);
    CHECK(code_of_head("\x89ZT3\r\n\x1a\n", 100) == errc::unsupported_container);
    CHECK(code_of_head("\x89ZT3\n\n\x1a\n", 100) == errc::bad_magic);
    CHECK(code_of_head("\x89ZTx\r\n\x1a\n", 100) == errc::bad_magic);
    CHECK(code_of_head("GGUF and more", 100) == errc::foreign_file);
}

TEST_CASE("an unknown start is shown escaped and cut") {
    const result<container> found = identify_container(as_bytes(std::string_view("\x01"
                                                                                 "bc\"efghijkl",
                                                                                 12)),
                                                       12);
    REQUIRE(!found);
    CHECK(found.error().sentence().find("\"\\x01bc\\\"efgh\"") != std::string::npos);
    CHECK(found.error().sentence().find("ijkl") == std::string::npos);
}

TEST_CASE("foreign files are recognised by their first bytes") {
    const auto is = [](std::string_view head, std::string_view word, std::uint64_t file_bytes = 1000) {
        const char* const found = foreign_kind(head, file_bytes);
        CAPTURE(head, found == nullptr ? "nothing" : found);
        CHECK((found != nullptr && std::string_view(found).find(word) != std::string_view::npos));
    };
    is("version https://git-lfs.github.com/spec/v1\n", "Git LFS");
    is("VERSION HTTPS://GIT-LFS", "Git LFS");
    is("PK\x03\x04rest", "ZIP");
    is("PK\x05\x06rest", "ZIP");
    is("GGUF\x03", "GGUF");
    is("\x93NUMPY\x01", "npy");
    is("\x89HDF\r\n\x1a\n", "HDF5");
    is("\x80\x02}q", "pickle");
    is("\x80\x05\x95", "pickle");
    is("\x1f\x8b\x08", "gzip");
    is("\x28\xb5\x2f\xfd", "zstd");
    is("<!DOCTYPE HTML>", "HTML");
    is("<hTmL lang=en>", "HTML");
    is(" \t\r\n<!doctype html>", "HTML");
    is("\xef\xbb\xbf<html>", "HTML");
    is("<?xml version=\"1.0\"?>", "XML");
    is("{\"error\": 404}", "JSON");
    is("\n[1]", "JSON");
    is(bytes("\2\0\0\0\0\0\0\0{}", 10), "safetensors", 10);
    is(bytes("\x0a\0\0\0\0\0\0\0{ ", 10), "safetensors", 18);
}

TEST_CASE("what only looks like a foreign file is not taken for one") {
    for (const std::string_view head : {"version https", "PK\x03", "PK\x03\x05", "GGU", "\x93NUMP", "\x80\x01",
                                        "\x80\x06", "\x1f\x8c", "   ", "", "text", "\xef\xbb\xbf"}) {
        CAPTURE(head);
        CHECK(foreign_kind(head, 1000) == nullptr);
    }
    // A safetensors header is as long as it says, within the file, and starts with a brace.
    CHECK(foreign_kind(bytes("\2\0\0\0\0\0\0\0[]", 10), 10) == nullptr);
    CHECK(foreign_kind(bytes("\1\0\0\0\0\0\0\0{}", 10), 10) == nullptr);
    CHECK(foreign_kind(bytes("\3\0\0\0\0\0\0\0{}", 10), 10) == nullptr);
    CHECK(foreign_kind(bytes("\3\0\0\0\0\0\0\xff{}", 10), 10) == nullptr);
    CHECK(foreign_kind(bytes("\2\0\0\0\0\0\0\0", 8), 8) == nullptr);
}

TEST_CASE("the end of a file tells where its manifest lies") {
    const bytes magic(support::magic_1);
    const tail_row rows[] = {
        {"1.1, as large as it can be", container::zt_1, little_endian(76, 8) + magic, 100, 8, 76},
        {"1.1, as small as it can be", container::zt_1, little_endian(1, 8) + magic, 25, 8, 1},
        {"1.1, behind blobs", container::zt_1, little_endian(10, 8) + magic, 1000, 974, 10},
        {"1.1, of the largest size allowed", container::zt_1, little_endian(gibibyte, 8) + magic, largest,
         largest - 16 - gibibyte, gibibyte},
        {"1.0, as large as it can be", container::zt_1, bytes(8, 'x') + little_endian(84, 8), 100, 8, 84},
        {"1.0, as small as it can be", container::zt_1, bytes(8, 'x') + little_endian(1, 8), 17, 8, 1},
        {"1.0, behind blobs", container::zt_1, bytes(8, 'x') + little_endian(10, 8), 1000, 982, 10},
        {"0.1, as large as it can be", container::zt_0_1, bytes(8, 'x') + little_endian(84, 8), 100, 8, 84},
        {"0.1, an empty array", container::zt_0_1, bytes(8, 'x') + little_endian(1, 8), 17, 8, 1},
        {"0.1, nothing", container::zt_0_1, bytes(support::magic_0_1) + little_endian(0, 8), 16, 8, 0},
        {"0.1, with what would be the magic of 1.1", container::zt_0_1, magic + little_endian(3, 8), 100, 89, 3},
    };
    for (const tail_row& row : rows) {
        CAPTURE(row.what);
        const result<manifest_location> found = locate_manifest(row.kind, as_bytes(row.tail), row.file_bytes, gibibyte);
        REQUIRE(found);
        CHECK(found->offset == row.offset);
        CHECK(found->length == row.length);
        const bool has_magic = row.tail.substr(8) == magic;
        CHECK(found->kind == (row.kind == container::zt_0_1 ? container::zt_0_1
                              : has_magic                   ? container::zt_1
                                                            : container::zt_1_0_or_cut_off));
    }
}

TEST_CASE("an end that leads to no manifest has the error of its rule") {
    const bytes magic(support::magic_1);
    const bytes magic_0_1(support::magic_0_1);
    const bad_tail_row rows[] = {
        {"1.1 without a manifest", container::zt_1, little_endian(0, 8) + magic, 100, errc::manifest_empty},
        {"1.1 with room for none", container::zt_1, little_endian(0, 8) + magic, 24, errc::file_too_small},
        {"1.1 of overlapping magics", container::zt_1, magic + magic, 16, errc::file_too_small},
        {"1.1, one byte too many", container::zt_1, little_endian(77, 8) + magic, 100, errc::manifest_out_of_bounds},
        {"1.1, 2^64 - 1 bytes", container::zt_1, little_endian(largest, 8) + magic, 100, errc::manifest_out_of_bounds},
        {"1.1, 2^64 - 16 bytes", container::zt_1, little_endian(largest - 15, 8) + magic, 100,
         errc::manifest_out_of_bounds},
        {"1.1, more than the limit", container::zt_1, little_endian(gibibyte + 1, 8) + magic, largest,
         errc::manifest_too_large},
        {"1.1, more than the file before more than the limit", container::zt_1, little_endian(gibibyte + 1, 8) + magic,
         100, errc::manifest_out_of_bounds},
        {"1.0 without a manifest", container::zt_1, bytes(8, 'x') + little_endian(0, 8), 100, errc::truncated},
        {"1.0, one byte too many", container::zt_1, bytes(8, 'x') + little_endian(85, 8), 100, errc::truncated},
        {"1.0 with room for none", container::zt_1, magic + little_endian(1, 8), 16, errc::truncated},
        {"1.0, more than the limit", container::zt_1, bytes(8, 'x') + little_endian(gibibyte + 1, 8), largest,
         errc::manifest_too_large},
        {"1.1, cut within the magic", container::zt_1, bytes(8, 'x') + "00ZTEN10", 100, errc::truncated},
        {"1.1, bytes appended", container::zt_1, bytes(7, 'x') + magic + "\n", 100, errc::truncated},
        {"a magic and two bytes", container::zt_1, magic + "xy", 10, errc::truncated},
        {"0.1 without a manifest, with data", container::zt_0_1, bytes(16, '\0'), 100, errc::manifest_empty},
        {"0.1 without a manifest, with a byte of data", container::zt_0_1, bytes(16, '\0'), 17, errc::manifest_empty},
        {"0.1, one byte too many", container::zt_0_1, bytes(8, 'x') + little_endian(85, 8), 100,
         errc::manifest_out_of_bounds},
        {"0.1, 2^64 - 1 bytes", container::zt_0_1, bytes(8, 'x') + little_endian(largest, 8), 100,
         errc::manifest_out_of_bounds},
        {"0.1 with room for none", container::zt_0_1, magic_0_1 + little_endian(1, 8), 16,
         errc::manifest_out_of_bounds},
        {"0.1, more than the limit", container::zt_0_1, bytes(8, 'x') + little_endian(gibibyte + 1, 8), largest,
         errc::manifest_too_large},
    };
    for (const bad_tail_row& row : rows) {
        CAPTURE(row.what);
        const result<manifest_location> found = locate_manifest(row.kind, as_bytes(row.tail), row.file_bytes, gibibyte);
        REQUIRE_FALSE(found.has_value());
        CHECK(found.error().code() == row.code);
    }
}

TEST_CASE("the limit of a manifest is exact") {
    for (const container kind : {container::zt_1, container::zt_0_1}) {
        const bytes tail = kind == container::zt_1 ? little_endian(50, 8) + bytes(support::magic_1)
                                                   : bytes(8, 'x') + little_endian(50, 8);
        CHECK(locate_manifest(kind, as_bytes(tail), 100, 50).has_value());
        CHECK(locate_manifest(kind, as_bytes(tail), 100, 49).error().code() == errc::manifest_too_large);
    }
}

TEST_CASE("the limit of a manifest of version 2 is exact") {
    using namespace ztensor::detail;
    constexpr std::uint64_t file_bytes = 2 * 4096 + 50 + footer_bytes_2;
    const auto footer = encode_footer_2({2 * 4096, 50, 0});
    const auto located = [&](std::uint64_t most) {
        return locate_manifest(container::zt_2, {footer.data(), footer.size()}, file_bytes, most);
    };
    CHECK(located(50).value().length == 50);
    CHECK(located(49).error().code() == errc::manifest_too_large);
}

TEST_CASE("every byte of a footer of version 2 has its place") {
    using namespace ztensor::detail;
    const auto bytes =
        encode_footer_2({0x0807060504030201, 0x100f0e0d0c0b0a09, 0x1817161514131211, 0x1c1b1a19, 0x201f1e1d});
    for (std::size_t i = 0; i < 32; ++i) {
        CHECK(bytes[i] == static_cast<std::byte>(i + 1));
    }
    const footer_2 back = decode_footer_2({bytes.data(), bytes.size()});
    CHECK(back.manifest_offset == 0x0807060504030201);
    CHECK(back.manifest_length == 0x100f0e0d0c0b0a09);
    CHECK(back.manifest_hash == 0x1817161514131211);
    CHECK(back.version == 0x1c1b1a19);
    CHECK(back.reserved == 0x201f1e1d);
}

TEST_CASE("a data shard has no manifest, and nothing that says where it lies") {
    using namespace ztensor::detail;
    const auto located = [](const footer_2& footer) {
        const auto bytes = encode_footer_2(footer);
        return locate_manifest(container::zt_2, {bytes.data(), bytes.size()}, 4096 + footer_bytes_2, 1000);
    };
    const manifest_location none = located({0, 0, 0}).value();
    CHECK(none.offset == 0);
    CHECK(none.length == 0);
    CHECK(none.hash == 0);
    CHECK(none.is_data_shard);
    CHECK(located({4096, 0, 0}).error().code() == errc::manifest_empty);
    CHECK(located({0, 0, 1}).error().code() == errc::manifest_empty);
}

TEST_CASE("a magic with another number is one of a generation to come") {
    const auto kind_of_error = [](const char* head) { return code_of_head(bytes(head, 8), 100); };
    CHECK(kind_of_error("ZTEN1001") == errc::unsupported_container);
    CHECK(kind_of_error("\x89ZT3\r\n\x1a\n") == errc::unsupported_container);
    CHECK(kind_of_error("\x89ZT:\r\n\x1a\n") == errc::bad_magic);
    CHECK(kind_of_error("\x89ZT/\r\n\x1a\n") == errc::bad_magic);
    CHECK(kind_of_error("\x89ZT2\r\n\x1a\r") == errc::bad_magic);
}

TEST_CASE("a cut-off file is told its length") {
    CHECK(ztensor::detail::missing_footer(12345).sentence().find("12345 bytes") != std::string::npos);
    CHECK(ztensor::detail::missing_footer(12345).code() == errc::truncated);
}

TEST_CASE("a magic is not its own end") {
    for (const std::string_view magic : {std::string_view("ZTEN1000"), std::string_view("ZTEN0001")}) {
        CHECK(support::outcome(support::open_bytes(magic)) == "truncated");
    }
    CHECK(support::outcome(support::open_bytes("ZTEN1000ZTEN1000")) == "file_too_small");
    CHECK(support::outcome(support::open_bytes("ZTEN1000ZTEN100")) == "truncated");
}

TEST_CASE("the start of a text is compared without regard to case, of ASCII letters alone") {
    using ztensor::detail::starts_with_ignoring_case;
    CHECK(starts_with_ignoring_case("<HTML>", "<html"));
    CHECK(starts_with_ignoring_case("<html>", "<HTML"));
    CHECK(starts_with_ignoring_case("", ""));
    CHECK_FALSE(starts_with_ignoring_case("<htm", "<html"));
    CHECK_FALSE(starts_with_ignoring_case("[", "{")); // 32 apart, like letters
    CHECK_FALSE(starts_with_ignoring_case("@", "`"));
}
