// SPDX-License-Identifier: MIT
//
// Signatures of requests to S3: published vectors, and how a request is put into the form that is signed.
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <ztensor/detail/http/s3_request.hpp>
#include <ztensor/error.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace detail = ztensor::detail;
using header_list = std::vector<detail::s3_header>;

constexpr std::uint64_t may_24_2013 = 1369353600;

detail::aws_keys example_keys() {
    return {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
}

std::string header_named(const header_list& headers, std::string_view name) {
    for (const auto& [each, value] : headers) {
        if (each == name) {
            return value;
        }
    }
    return "no header";
}

detail::s3_request example_request(std::string_view method, std::string_view url, const header_list& headers) {
    return {method, url, headers, detail::empty_payload_sha256, "us-east-1", may_24_2013};
}

header_list signed_headers(const detail::s3_request& request, const detail::aws_keys& keys = example_keys()) {
    return detail::sign_s3_request(request, keys).value();
}

/// What stands behind "Signature=".
std::string signature_of(const detail::s3_request& request) {
    const std::string authorization = header_named(signed_headers(request), "Authorization");
    return authorization.substr(authorization.find("Signature=") + 10);
}

std::string hmac_hex(const std::string& key, const std::string& text) {
    return detail::with_hex(
        "", detail::hmac_sha256(detail::as_bytes(std::string_view(key)), detail::as_bytes(std::string_view(text))),
        "0123456789abcdef");
}

} // namespace

TEST_CASE("HMAC-SHA-256 of the vectors of RFC 4231") {
    CHECK(hmac_hex(std::string(20, '\x0b'), "Hi There") ==
          "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    CHECK(hmac_hex("Jefe", "what do ya want for nothing?") ==
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    CHECK(hmac_hex(std::string(20, '\xaa'), std::string(50, '\xdd')) ==
          "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    std::string counted;
    for (int i = 1; i <= 25; ++i) {
        counted += static_cast<char>(i);
    }
    CHECK(hmac_hex(counted, std::string(50, '\xcd')) ==
          "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
    CHECK(hmac_hex(std::string(20, '\x0c'), "Test With Truncation").substr(0, 32) ==
          "a3b6167473100ee06e0c796c2955552b");
    const std::string long_key(131, '\xaa');
    CHECK(hmac_hex(long_key, "Test Using Larger Than Block-Size Key - Hash Key First") ==
          "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    CHECK(hmac_hex(long_key, "This is a test using a larger than block-size key and a larger than block-size data. The "
                             "key needs to be hashed before being used by the HMAC algorithm.") ==
          "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
    // Short keys are filled up with zeros.
    CHECK(hmac_hex(std::string(63, 'k'), "x") == hmac_hex(std::string(63, 'k') + '\0', "x"));
    CHECK(hmac_hex(std::string(64, 'k'), "x") != hmac_hex(std::string(64, 'k') + '\0', "x"));
}

// "Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk" in the documentation of
// Amazon S3.
TEST_CASE("The signatures of the examples that AWS publishes for S3") {
    SECTION("GET of an object, with a range") {
        const header_list headers = {{"Range", "bytes=0-9"}};
        const detail::s3_request request =
            example_request("GET", "https://examplebucket.s3.amazonaws.com/test.txt", headers);
        CHECK(signature_of(request) == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
        CHECK(header_named(signed_headers(request), "Authorization") ==
              "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
              "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
              "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
        CHECK(header_named(signed_headers(request), "x-amz-date") == "20130524T000000Z");
        CHECK(header_named(signed_headers(request), "x-amz-content-sha256") == detail::empty_payload_sha256);
    }
    SECTION("PUT of an object") {
        const header_list headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                                     {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
        detail::s3_request request =
            example_request("PUT", "https://examplebucket.s3.amazonaws.com/test%24file.text", headers);
        const std::string hash = detail::sha256_hex(detail::as_bytes(std::string_view("Welcome to Amazon S3.")));
        CHECK(hash == "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
        request.payload_sha256 = hash;
        CHECK(signature_of(request) == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
        // The URL may leave unencoded what S3 signs encoded.
        request.url = "https://examplebucket.s3.amazonaws.com:443/test$file.text";
        CHECK(signature_of(request) == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
    }
    SECTION("GET of a bucket's lifecycle") {
        CHECK(signature_of(example_request("GET", "https://examplebucket.s3.amazonaws.com/?lifecycle", {})) ==
              "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    }
    SECTION("a list of objects") {
        for (const char* const query : {"max-keys=2&prefix=J", "prefix=J&max-keys=2", "&prefix=%4a&&max-keys=2"}) {
            CHECK(signature_of(
                      example_request("GET", std::string("https://examplebucket.s3.amazonaws.com/?") + query, {})) ==
                  "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
        }
    }
}

TEST_CASE("The hash of nothing is what is signed for a GET") {
    CHECK(detail::sha256_hex({}) == detail::empty_payload_sha256);
}

TEST_CASE("A time is written as S3 takes it") {
    CHECK(detail::amz_date(0) == "19700101T000000Z");
    CHECK(detail::amz_date(may_24_2013) == "20130524T000000Z");
    CHECK(detail::amz_date(951782399) == "20000228T235959Z");
    CHECK(detail::amz_date(951782400) == "20000229T000000Z");
    CHECK(detail::amz_date(1709251199) == "20240229T235959Z");
    CHECK(detail::amz_date(1709251200) == "20240301T000000Z");
    CHECK(detail::amz_date(4107542400) == "21000301T000000Z");
    CHECK(detail::amz_date(4107542399) == "21000228T235959Z");
    CHECK(detail::amz_date(253402300799) == "99991231T235959Z");
}

TEST_CASE("Headers are signed in lower case, trimmed, in order, and each once") {
    const header_list headers = {{"X-Amz-Meta-B", "  one \t two  "},
                                 {"If-Match", "\"a  b\""},
                                 {"x-amz-meta-a", ""},
                                 {"X-AMZ-META-B", "three"},
                                 {"User-Agent", "curl"},
                                 {"Accept", "*/*"},
                                 {"Authorization", "old"}};
    const header_list added = {{"host", "h"}};
    const header_list canonical = detail::canonical_headers(headers, added);
    CHECK(canonical ==
          header_list{{"host", "h"}, {"if-match", "\"a b\""}, {"x-amz-meta-a", ""}, {"x-amz-meta-b", "one two,three"}});
    CHECK(detail::canonical_headers({}, {}).empty());
}

TEST_CASE("A host that is given is signed, else that of the URL, without a port that is the scheme's own") {
    const header_list none;
    const header_list host = {{"Host", "example.com"}};
    const auto of = [](std::string_view url, const header_list& headers) {
        return signature_of(example_request("GET", url, headers));
    };
    CHECK(of("https://example.com:443/k", none) == of("https://example.com/k", none));
    CHECK(of("http://example.com:80/k", none) == of("https://example.com/k", none));
    CHECK(of("https://example.com:80/k", none) != of("https://example.com/k", none));
    CHECK(of("https://127.0.0.1:9000/k", host) == of("https://example.com/k", none));
    CHECK(of("https://example.com", none) == of("https://example.com/", none));
    CHECK(of("https://example.com/k#part", none) == of("https://example.com/k", none));
}

TEST_CASE("A session token is sent and signed") {
    detail::aws_keys keys = example_keys();
    keys.session_token = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQW==";
    const header_list added =
        signed_headers(example_request("GET", "https://examplebucket.s3.amazonaws.com/test.txt", {}), keys);
    CHECK(header_named(added, "x-amz-security-token") == keys.session_token);
    CHECK_THAT(header_named(added, "Authorization"),
               support::contains_text("host;x-amz-content-sha256;x-amz-date;x-amz-security-token,"));
    CHECK(header_named(signed_headers(example_request("GET", "https://h/", {})), "x-amz-security-token") ==
          "no header");
}

TEST_CASE("A payload may stay unsigned, and a hash that was there before is replaced") {
    const header_list old = {{"X-Amz-Content-SHA256", "old"}, {"X-Amz-Date", "old"}};
    detail::s3_request request = example_request("GET", "https://h/k", old);
    request.payload_sha256 = detail::unsigned_payload;
    CHECK(header_named(signed_headers(request), "x-amz-content-sha256") == "UNSIGNED-PAYLOAD");
    const std::string with_old = signature_of(request);
    request.headers = {};
    CHECK(signature_of(request) == with_old);
}

TEST_CASE("What no request can be is refused, and the secret is not told") {
    const auto refused = [](const detail::s3_request& request, const detail::aws_keys& keys) {
        return support::refusal(detail::sign_s3_request(request, keys));
    };
    const detail::s3_request good = example_request("GET", "https://h/k", {});
    const auto because_of = [&](const detail::aws_keys& keys) {
        const auto answer = detail::sign_s3_request(good, keys);
        REQUIRE(!answer.has_value());
        CHECK(answer.error().code() == ztensor::errc::invalid_argument);
        return answer.error().what();
    };
    for (const std::string bad : {"", "a/b", "a,b", "a b", "a\r\nb", "a\xc3\xa9"}) {
        CHECK(because_of({bad, "hidden", "hidden"}).find("hidden") == std::string::npos);
    }
    for (const std::string bad : {"", "hidden\n", "hidden\x7f"}) {
        CHECK(because_of({"id", bad, "hidden"}).find("hidden") == std::string::npos);
    }
    for (const std::string bad : {"hidden\r\nX: y", "hidden token", "hidden\x01"}) {
        CHECK(because_of({"id", "hidden", bad}).find("hidden") == std::string::npos);
    }
    detail::s3_request bad = good;
    bad.url = "no url";
    CHECK(refused(bad, example_keys()) == ztensor::errc::invalid_argument);
    bad = good;
    bad.region = "us/east";
    CHECK(refused(bad, example_keys()) == ztensor::errc::invalid_argument);
    bad = good;
    bad.unix_seconds = 253402300800;
    CHECK(refused(bad, example_keys()) == ztensor::errc::invalid_argument);
    const header_list injected = {{"If-Match", "x\r\nHost: other"}};
    bad = good;
    bad.headers = injected;
    CHECK(refused(bad, example_keys()) == ztensor::errc::invalid_argument);
}
