// SPDX-License-Identifier: MIT
//
// s3:// and hf:// as URLs: addressing, endpoints, keys with any characters, and names that are refused.
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <ztensor/detail/http/s3_request.hpp>
#include <ztensor/error.hpp>
#include <ztensor/result.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace {

using ztensor::detail::s3_place;

ztensor::result<std::string> s3_url_of(std::string_view uri, const s3_place& place = {}) {
    const auto object = ztensor::detail::parse_s3_uri(uri);
    return object ? ztensor::detail::s3_url(*object, place) : ztensor::result<std::string>(object.error());
}

std::string url_at(std::string_view uri, const s3_place& place = {}) {
    return s3_url_of(uri, place).value();
}

std::string hub_url_of(std::string_view uri, std::string_view endpoint = "") {
    return ztensor::detail::hub_url(uri, endpoint).value();
}

} // namespace

TEST_CASE("On AWS a bucket is a part of the host's name where it can be") {
    const s3_place europe = {"eu-central-1", "", {}};
    CHECK(url_at("s3://bucket/key") == "https://bucket.s3.us-east-1.amazonaws.com/key");
    CHECK(url_at("s3://bucket/a/b.zt", europe) == "https://bucket.s3.eu-central-1.amazonaws.com/a/b.zt");
    CHECK(url_at("s3://a.b.c/key", europe) == "https://s3.eu-central-1.amazonaws.com/a.b.c/key");
    CHECK(url_at("s3://Old_Name/key", europe) == "https://s3.eu-central-1.amazonaws.com/Old_Name/key");
    CHECK(url_at("s3://" + std::string(64, 'b') + "/k") ==
          "https://s3.us-east-1.amazonaws.com/" + std::string(64, 'b') + "/k");
    CHECK(url_at("s3://bucket/key", {"eu-central-1", "", true}) == "https://s3.eu-central-1.amazonaws.com/bucket/key");
    CHECK(url_at("s3://bucket/key", {"cn-north-1", "", {}}) == "https://bucket.s3.cn-north-1.amazonaws.com.cn/key");
    CHECK(url_at("s3://bucket/key", {"us-gov-west-1", "", {}}) == "https://bucket.s3.us-gov-west-1.amazonaws.com/key");
    CHECK(url_at("s3://bucket/key", {"eusc-de-east-1", "", {}}) == "https://bucket.s3.eusc-de-east-1.amazonaws.eu/key");
    CHECK(url_at("s3://bucket/key", {"us-west-2", "https://s3.dualstack.us-west-2.amazonaws.com", {}}) ==
          "https://bucket.s3.dualstack.us-west-2.amazonaws.com/key");
}

TEST_CASE("At another endpoint a bucket is a part of the path unless told otherwise") {
    CHECK(url_at("s3://bucket/key", {"us-east-1", "http://localhost:9000", {}}) == "http://localhost:9000/bucket/key");
    CHECK(url_at("s3://bucket/key", {"auto", "HTTPS://Store.Example:443/", {}}) == "https://store.example/bucket/key");
    CHECK(url_at("s3://bucket/key", {"x", "http://h:443/storage/v1/s3//", {}}) ==
          "http://h:443/storage/v1/s3/bucket/key");
    CHECK(url_at("s3://bucket/key", {"x", "http://[::1]:9000", {}}) == "http://[::1]:9000/bucket/key");
    CHECK(url_at("s3://bucket/key", {"x", "http://[::1]", {}}) == "http://[::1]/bucket/key");
    CHECK(url_at("s3://bucket/key", {"x", "http://minio_1:80", {}}) == "http://minio_1/bucket/key");
    CHECK(url_at("s3://bucket/key", {"x", "https://object.example:8443", false}) ==
          "https://bucket.object.example:8443/key");
    CHECK(url_at("s3://bucket/key", {"x", "https://notamazonaws.com", {}}) == "https://notamazonaws.com/bucket/key");
    for (const char* const bucket : {"a.b", "Upper"}) {
        const auto refused =
            s3_url_of("s3://" + std::string(bucket) + "xy/key", {"x", "https://object.example", false});
        CHECK(support::refusal(refused) == ztensor::errc::invalid_argument);
    }
    CHECK(support::refusal(s3_url_of("s3://bucket/key", {"x", "http://[::1]", false})) ==
          ztensor::errc::invalid_argument);
}

TEST_CASE("Every byte of a key is itself") {
    CHECK(url_at("s3://bucket/a b+c%20d") == "https://bucket.s3.us-east-1.amazonaws.com/a%20b%2Bc%2520d");
    CHECK(url_at("s3://bucket/a?b#c&d=e") == "https://bucket.s3.us-east-1.amazonaws.com/a%3Fb%23c%26d%3De");
    CHECK(url_at("s3://bucket/mod\xc3\xa8le/\xe6\xa8\xa1.zt") ==
          "https://bucket.s3.us-east-1.amazonaws.com/mod%C3%A8le/%E6%A8%A1.zt");
    CHECK(url_at("s3://bucket//a//b/") == "https://bucket.s3.us-east-1.amazonaws.com//a//b/");
    CHECK(url_at("s3://bucket/-._~!$'()*,:;@[]\\\"\x7f\n") == "https://bucket.s3.us-east-1.amazonaws.com/"
                                                              "-._~%21%24%27%28%29%2A%2C%3A%3B%40%5B%5D%5C%22%7F%0A");
    CHECK(url_at("s3://bucket/..a/b../.c./...") == "https://bucket.s3.us-east-1.amazonaws.com/..a/b../.c./...");
}

TEST_CASE("Names that S3 or HTTP can't have are refused") {
    for (const std::string& uri : {std::string("s3:/bucket/key"),
                                   std::string("http://bucket/key"),
                                   std::string("s3://"),
                                   std::string("s3:///key"),
                                   std::string("s3://bucket"),
                                   std::string("s3://bucket/"),
                                   std::string("s3://ab/key"),
                                   std::string("s3://.bucket/key"),
                                   std::string("s3://bucket-/key"),
                                   std::string("s3://../key"),
                                   std::string("s3://a..b/key"),
                                   std::string("s3://buck et/key"),
                                   std::string("s3://b%2fc/key"),
                                   std::string("s3://bucket:80/key"),
                                   "s3://" + std::string(256, 'b') + "/key",
                                   std::string("s3://bucket/../key"),
                                   std::string("s3://bucket/a/./b"),
                                   std::string("s3://bucket/a/.."),
                                   std::string("s3://bucket/."),
                                   std::string("s3://bucket/a\0b", 15),
                                   std::string("s3://bucket/\xff"),
                                   "s3://bucket/" + std::string(1025, 'k')}) {
        CAPTURE(uri);
        CHECK(support::refusal(s3_url_of(uri)) == ztensor::errc::invalid_argument);
    }
    CHECK(s3_url_of("s3://bucket/" + std::string(1024, 'k')).has_value());
    CHECK(support::refusal(s3_url_of("s3://bucket/key", {"eu/..", "", {}})) == ztensor::errc::invalid_argument);
    CHECK(support::refusal(s3_url_of("s3://bucket/key", {"", "", {}})) == ztensor::errc::invalid_argument);
    const auto leaked = s3_url_of("s3://AKIA:hidden@bucket/key");
    CHECK(leaked.error().what().find("hidden") == std::string::npos);
}

TEST_CASE("An endpoint is a scheme, a host, and perhaps a port and a path") {
    for (const char* const endpoint : {"localhost:9000",
                                       "s3.example.com",
                                       "ftp://h",
                                       "http://",
                                       "http:///path",
                                       "http://h:",
                                       "http://h:0",
                                       "http://h:65536",
                                       "http://h:80a",
                                       "http://h:123456",
                                       "http://user:hidden@h",
                                       "http://h/a?b=c",
                                       "http://h#x",
                                       "http://h/../a",
                                       "http://h/a b",
                                       "http://h/%2e%2e",
                                       "http://-h",
                                       "http://h\r\nX: y",
                                       "http://[::1",
                                       "http://[]",
                                       "http://::1",
                                       "http://a,b",
                                       "?://h",
                                       "http://h:+80",
                                       "http://h:080"}) {
        CAPTURE(endpoint);
        const auto refused = s3_url_of("s3://bucket/key", {"x", endpoint, {}});
        CHECK(support::refusal(refused) == ztensor::errc::invalid_argument);
        CHECK(refused.error().what().find("hidden") == std::string::npos);
    }
    CHECK(ztensor::detail::parse_endpoint("http://h:65535").value().authority == "h:65535");
}

TEST_CASE("hf:// names a file in a repository, at a revision") {
    CHECK(hub_url_of("hf://owner/name/model.zt") == "https://huggingface.co/owner/name/resolve/main/model.zt");
    CHECK(hub_url_of("hf://owner/name/a b/c+d.zt") == "https://huggingface.co/owner/name/resolve/main/a%20b/c%2Bd.zt");
    CHECK(hub_url_of("hf://owner/name/model.zt@v1.0") == "https://huggingface.co/owner/name/resolve/v1.0/model.zt");
    CHECK(hub_url_of("hf://owner/name/m.zt@refs/pr/1") ==
          "https://huggingface.co/owner/name/resolve/refs%2Fpr%2F1/m.zt");
    CHECK(hub_url_of("hf://owner/name@abc123/m.zt") == "https://huggingface.co/owner/name/resolve/abc123/m.zt");
    CHECK(hub_url_of("hf://owner/name@main/icon@2x.zt") ==
          "https://huggingface.co/owner/name/resolve/main/icon%402x.zt");
    CHECK(hub_url_of("hf://owner/name@refs/pr/12/a/m.zt") ==
          "https://huggingface.co/owner/name/resolve/refs%2Fpr%2F12/a/m.zt");
    CHECK(hub_url_of("hf://datasets/owner/name/m.zt") ==
          "https://huggingface.co/datasets/owner/name/resolve/main/m.zt");
    CHECK(hub_url_of("hf://spaces/owner/name@r/m.zt") == "https://huggingface.co/spaces/owner/name/resolve/r/m.zt");
    CHECK(hub_url_of("hf://owner/name/m.zt", "https://hf-mirror.example/") ==
          "https://hf-mirror.example/owner/name/resolve/main/m.zt");
    for (const char* const uri :
         {"hf:/owner/name/m.zt", "hf://owner/name", "hf://owner/name/", "hf://owner//m.zt", "hf:///name/m.zt",
          "hf://owner/name/@main", "hf://owner/name/m.zt@", "hf://owner/name@/m.zt", "hf://owner/../m.zt",
          "hf://../name/m.zt", "hf://owner/name/../m.zt", "hf://owner/name/a//b", "hf://owner/name/m.zt@..",
          "hf://owner/name@refs/pr", "hf://owner/name@refs/pr/1", "hf://datasets/owner/m.zt", "hf://ow ner/name/m.zt",
          "hf://owner/name/\xff", "hf://owner/name/m.zt/"}) {
        CAPTURE(uri);
        CHECK(support::refusal(ztensor::detail::hub_url(uri, "")) == ztensor::errc::invalid_argument);
    }
    CHECK(support::refusal(ztensor::detail::hub_url("hf://owner/name/m.zt", "mirror")) ==
          ztensor::errc::invalid_argument);
}
