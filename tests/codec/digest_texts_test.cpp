// SPDX-License-Identifier: MIT
//
// The texts of digests, taken apart and compared: SPEC.md §7 and §13.8, and the checksums of archives.
#include "support/bytes.hpp"
#include "support/catch.hpp"

#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/digest.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace {

using ztensor::digest;
using ztensor::detail::are_digits_of;
using ztensor::detail::digest_parts;
using ztensor::detail::parse_any_digest;
using ztensor::detail::parse_digest;
using ztensor::detail::parse_strict_digest;
using ztensor::detail::same_digest;

const std::string sixty_four_digits = "0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef";

struct text_case {
    std::string text;
    digest algorithm;
    bool is_well_formed;
};

void check_parts(digest_parts (*parse)(std::string_view), const std::vector<text_case>& cases) {
    for (const text_case& each : cases) {
        CAPTURE(each.text);
        CHECK(parse(each.text).algorithm == each.algorithm);
        CHECK(parse(each.text).is_well_formed == each.is_well_formed);
    }
}

} // namespace

TEST_CASE("the text of a digest is taken apart by its algorithm") {
    const std::vector<text_case> common = {
        {"crc32c:0123abCD", digest::crc32c, true},
        {"crc32c:0x0123abCD", digest::crc32c, true},
        {"crc32c:0X0123abCD", digest::crc32c, true},
        {"crc32c:0123abC", digest::crc32c, false},
        {"crc32c:0123abCDE", digest::crc32c, false},
        {"crc32c:0123abCg", digest::crc32c, false},
        {"crc32c:", digest::crc32c, false},
        {"sha256:" + sixty_four_digits, digest::sha256, true},
        {"sha256:" + sixty_four_digits + "0", digest::sha256, false},
        {"sha256:" + sixty_four_digits.substr(1), digest::sha256, false},
        {"sha256:0x" + sixty_four_digits.substr(2), digest::sha256, false},
        {"xxh3:0123456789abcdef", digest::none, true},
        {"CRC32C:01234567", digest::none, true},
        {"crc32c", digest::none, true},
        {"", digest::none, true},
    };
    const auto plain = [](std::string_view text) { return parse_digest(text); };
    const auto any = [](std::string_view text) { return parse_any_digest(text); };
    check_parts(plain, common);
    check_parts(any, common);
    check_parts(plain, {{"crc32:01234567", digest::none, true}});
    check_parts(any, {{"crc32:0123abCD", digest::crc32, true},
                      {"crc32:0123abC", digest::crc32, false},
                      {"crc32:0123abCg", digest::crc32, false},
                      {"crc32:0123abCDE", digest::crc32, false},
                      {"crc32:", digest::crc32, false}});
}

TEST_CASE("a digest of version 2 is small letters and digits, a colon and hexadecimal digits in lower case") {
    check_parts([](std::string_view text) { return parse_strict_digest(text); },
                {{"xxh3:0123456789abcdef", digest::xxh3, true},
                 {"xxh3:0", digest::xxh3, true}, // matches nothing
                 {"sha256:00", digest::sha256, true},
                 {"crc32c:00", digest::none, true},
                 {"blake3:00", digest::none, true},
                 {"xxh3:0123456789ABCDEF", digest::xxh3, false},
                 {"xxh3:0123456789abcdeg", digest::xxh3, false},
                 {"xxh3:", digest::xxh3, false},
                 {"xxh3", digest::xxh3, false},
                 {":00", digest::none, false},
                 {"", digest::none, false},
                 {"XXH3:00", digest::none, false},
                 {"sha-256:00", digest::none, false}});
}

TEST_CASE("digests are the same whatever the case of their digits, and with or without 0x") {
    const auto same = [](std::string_view a, std::string_view b) {
        return same_digest(parse_digest(a), parse_digest(b));
    };
    CHECK(same("crc32c:0123abcd", "crc32c:0x0123ABCD"));
    CHECK(same("crc32c:0123ABCD", "crc32c:0123abcd"));
    CHECK(same("crc32c:AFafAFaf", "crc32c:afAFafAF"));
    CHECK_FALSE(same("crc32c:0123abcd", "crc32c:0123abce"));
    CHECK_FALSE(same("crc32c:1123abcd", "crc32c:0123abcd"));
    CHECK_FALSE(same("crc32c:0123abc", "crc32c:0123abcd"));
    CHECK_FALSE(same("crc32c:" + sixty_four_digits, "sha256:" + sixty_four_digits));
}

TEST_CASE("digits are those of a value in either case, two to a byte") {
    const support::byte_vector value = support::from_hex("00 09 90 0a a0 af fa ff 5c");
    CHECK(are_digits_of("0009900aa0affaff5c", value));
    CHECK(are_digits_of("0009900AA0AFFAFF5C", value));
    CHECK_FALSE(are_digits_of("0009900aa0affaff5d", value));
    CHECK_FALSE(are_digits_of("1009900aa0affaff5c", value));
    CHECK_FALSE(are_digits_of("0009900aa0affaff5", value));
    CHECK_FALSE(are_digits_of("0009900aa0affaff5c0", value));
    CHECK_FALSE(are_digits_of("0009900aa0affaff5g", value));
    CHECK_FALSE(are_digits_of("000990:aa0affaff5c", value));
    CHECK(are_digits_of("", {}));
}
