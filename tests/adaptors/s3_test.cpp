// SPDX-License-Identifier: MIT
//
// Objects in S3, read from and written to s3_server.py, which starts this program, checks its signatures, and fails on
// request; or another server that checks them (s3_proxy.py).
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/http.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/s3.hpp>
#include <ztensor/writer.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using nlohmann::json;
using std::chrono::seconds;
using support::byte_vector;
using support::contains_text;
using support::refusal;
using ztensor::byte_sink;
using ztensor::byte_source;
using ztensor::bytes_view;
using ztensor::errc;
using ztensor::http_options;
using ztensor::open_remote;
using ztensor::reader;
using ztensor::s3_credentials;
using ztensor::s3_options;
using ztensor::s3_sink;
using ztensor::s3_source;
using ztensor::s3_write_options;
using ztensor::writer;

namespace {

const std::string key_id = "AKIAIOSFODNN7EXAMPLE";
const std::string secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
constexpr std::size_t mebi = std::size_t{1} << 20;

std::string environment(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::string endpoint(const std::string& host = "127.0.0.1") {
    return "http://" + host + ":" + environment("ZTENSOR_S3_PORT");
}

s3_options signing() {
    return s3_options().endpoint(endpoint()).region("us-east-1").credentials(key_id, secret_key);
}

http_options quick() {
    return http_options()
        .request_bytes(mebi)
        .suffix_bytes(1024)
        .deadline(seconds(20))
        .connect_timeout(seconds(3))
        .stall_timeout(seconds(5))
        .retries(3);
}

s3_write_options in_parts() {
    return s3_write_options().part_bytes(5 * mebi).parts_in_flight(2);
}

/// A bucket of the server that no other test knows.
class bucket {
public:
    explicit bucket(const std::string& plan = "{}") {
        static std::atomic<int> count{0};
        name_ = "bucket-" + std::to_string(++count);
        std::filesystem::create_directories(folder() / "objects");
        support::write_file(folder() / "plan.json", plan);
    }

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::string uri(const std::string& key = "a.zt") const { return "s3://" + name_ + "/" + key; }
    [[nodiscard]] std::filesystem::path folder() const {
        return std::filesystem::path(environment("ZTENSOR_S3_FOLDER")) / name_;
    }
    void put(const std::string& encoded_key, const byte_vector& content) const {
        support::write_file(folder() / "objects" / encoded_key, support::as_string(content));
    }
    [[nodiscard]] bool has(const std::string& encoded_key = "a.zt") const {
        return std::filesystem::exists(folder() / "objects" / encoded_key);
    }
    [[nodiscard]] bool holds(const byte_vector& content, const std::string& encoded_key = "a.zt") const {
        return has(encoded_key) &&
               support::read_file(folder() / "objects" / encoded_key) == support::as_string(content);
    }
    /// Uploads that are neither complete nor aborted.
    [[nodiscard]] std::size_t uploads() const {
        const std::filesystem::path place = folder() / "uploads";
        return std::filesystem::exists(place)
                   ? static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(place), {}))
                   : 0;
    }
    [[nodiscard]] std::vector<json> log(std::string_view op = {}) const {
        std::vector<json> requests;
        if (std::filesystem::exists(folder() / "log")) {
            std::istringstream lines(support::read_file(folder() / "log"));
            for (std::string line; std::getline(lines, line);) {
                json request = json::parse(line);
                if (op.empty() || request["op"] == op) {
                    requests.push_back(std::move(request));
                }
            }
        }
        return requests;
    }
    [[nodiscard]] std::size_t count(std::string_view op) const { return log(op).size(); }

private:
    std::string name_;
};

/// The plan with that fault. As text: a compiler takes minutes for nested initializers of JSON.
std::string faulty(const std::string& fault) {
    return R"({"faults": [)" + fault + "]}";
}

const byte_vector& noise() {
    static const byte_vector bytes = support::noise(12 * mebi + 345);
    return bytes;
}
const byte_vector& little() {
    static const byte_vector bytes = support::noise(50'000);
    return bytes;
}

ztensor::result<byte_vector> read(const std::string& uri, const s3_options& where = signing(),
                                  const http_options& how = quick()) {
    ZTENSOR_TRY_ASSIGN(const std::shared_ptr<const byte_source> source, s3_source::open(uri, where, how));
    byte_vector bytes(static_cast<std::size_t>(source->size()));
    ZTENSOR_TRY(source->read_at(0, bytes));
    return bytes;
}

ztensor::result<void> write(const std::string& uri, const byte_vector& content,
                            const s3_write_options& what = in_parts(), const s3_options& where = signing(),
                            const http_options& how = quick()) {
    ZTENSOR_TRY_ASSIGN(const std::unique_ptr<byte_sink> sink, s3_sink::open(uri, where, what, how));
    for (std::size_t at = 0; at < content.size();) { // pieces that fit nothing
        const std::size_t count = (std::min)(content.size() - at, std::size_t{777'777});
        ZTENSOR_TRY(sink->write(bytes_view(content.data() + at, count)));
        at += count;
    }
    return sink->finish();
}

byte_vector file_bytes(const std::filesystem::path& path) {
    const std::string content = support::read_file(path);
    byte_vector bytes(content.size());
    std::transform(content.begin(), content.end(), bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
    return bytes;
}

void check_silent(const ztensor::error& told, std::initializer_list<std::string> more = {}) {
    for (const std::string& each : {key_id, secret_key, std::string("Signature="), std::string("Credential")}) {
        CHECK(std::string(told.what()).find(each) == std::string::npos);
    }
    for (const std::string& each : more) {
        CHECK(std::string(told.what()).find(each) == std::string::npos);
    }
}

} // namespace

// ---- options

TEST_CASE("The options fill what is chosen, and the last choice of credentials counts") {
    s3_options options;
    const auto of = [&](const ztensor::detail::aws_keys& in_environment) -> std::string {
        ztensor::detail::aws_environment variables;
        variables.access_key_id = in_environment.access_key_id;
        variables.secret_access_key = in_environment.secret_access_key;
        variables.session_token = in_environment.session_token;
        const auto keys =
            ztensor::detail::resolve_s3_account(ztensor::detail::s3_access::choices_of(options), variables, {})
                .value()
                .keys;
        return keys ? keys->access_key_id + ' ' + keys->secret_access_key + ' ' + keys->session_token : "none";
    };
    CHECK(ztensor::detail::needs_aws_files(ztensor::detail::s3_access::choices_of(options)));
    options.region("eu-west-1").endpoint("http://h").path_style(true).credentials("id", "secret", "token");
    CHECK(options.region() == "eu-west-1");
    CHECK(options.endpoint() == "http://h");
    CHECK(options.path_style() == true);
    CHECK_FALSE(options.is_anonymous());
    CHECK_FALSE(ztensor::detail::needs_aws_files(ztensor::detail::s3_access::choices_of(options)));
    CHECK(of({}) == "id secret token");
    options.anonymous();
    CHECK(options.is_anonymous());
    CHECK(of({}) == "none");
    options.credentials([]() -> ztensor::result<ztensor::s3_credentials> { return {{"a", "b", ""}}; });
    CHECK_FALSE(options.is_anonymous());
    CHECK(options.callback()().value().access_key_id == "a");
    CHECK(of({"env-id", "env-hidden", "env-token"}) == "none");
    options.anonymous(false);
    CHECK(options.callback() == nullptr);
    CHECK(of({"env-id", "env-hidden", "env-token"}) == "env-id env-hidden env-token");
    options.profile("p");
    CHECK(options.profile() == "p");
    CHECK(ztensor::detail::needs_aws_files(ztensor::detail::s3_access::choices_of(options)));
}

// ---- reading

TEST_CASE("An object is read by signed requests, whatever its key holds") {
    const bucket in;
    for (const char* const key :
         {"a.zt", "deep/er/a.zt", "a b+c%41?d#e&f=g~h.zt", "\xc3\xa4/\xe6\xa8\xa1.zt", "a:b@c,(d)!'*$;.zt"}) {
        CAPTURE(key);
        in.put(ztensor::detail::percent_encoded(key, false), little());
        CHECK(read(in.uri(key)).value() == little());
    }
    for (const json& request : in.log()) {
        CHECK(request["headers"].contains("range"));
        CHECK(request["headers"].contains("x-amz-date"));
    }
    in.put("large", noise());
    CHECK(read(in.uri("large")).value() == noise());
    in.put("nothing", {});
    CHECK(read(in.uri("nothing")).value().empty());
}

TEST_CASE("What is wrong with an account is told, and no secret with it") {
    const bucket in;
    in.put("a.zt", little());
    auto refused = read(in.uri(), signing().credentials(key_id, "another hidden one"));
    CHECK(refusal(refused) == errc::io_error);
    CHECK(refused.error().os_error() == std::errc::permission_denied);
    CHECK_THAT(refused.error().what(), contains_text("status 403") && contains_text("SignatureDoesNotMatch"));
    check_silent(refused.error(), {"hidden"});
    CHECK(refused.error().path() == endpoint() + "/" + in.name() + "/a.zt");
    refused = read(in.uri(), signing().credentials("unknown", secret_key));
    CHECK_THAT(refused.error().what(), contains_text("InvalidAccessKeyId"));
    check_silent(refused.error());
    refused = read(in.uri(), signing().anonymous());
    CHECK_THAT(refused.error().what(), contains_text("AccessDenied"));
    CHECK(refusal(read(in.uri("none"))) == errc::file_not_found);
    CHECK(refusal(read("s3://no-such-bucket/key")) == errc::file_not_found);
    CHECK(refusal(read("s3://x/key")) == errc::invalid_argument);
    CHECK(refusal(read("http://x/key")) == errc::invalid_argument);
    const auto sign = [](std::string_view, std::string_view, const ztensor::http_headers&) {
        return ztensor::result<ztensor::http_headers>(ztensor::http_headers());
    };
    CHECK(refusal(read(in.uri(), signing(), quick().sign(sign))) == errc::invalid_argument);
}

TEST_CASE("Public buckets are read without a signature") {
    const bucket in(R"({"anonymous": true})");
    in.put("a.zt", little());
    CHECK(read(in.uri(), signing().anonymous()).value() == little());
    CHECK(!read(in.uri()));
}

TEST_CASE("A callback gives the keys of each request, and is asked again when they have expired") {
    const bucket in(R"({"token": "fresh-token"})");
    in.put("a.zt", little());
    std::atomic<int> calls{0};
    const auto from = [&](int stale) {
        calls = 0;
        return signing().credentials([&calls, stale]() -> ztensor::result<s3_credentials> {
            return s3_credentials{key_id, secret_key, ++calls <= stale ? "stale-token" : "fresh-token"};
        });
    };
    CHECK(read(in.uri(), from(0)).value() == little());
    CHECK(calls == 3);
    CHECK(read(in.uri(), from(1)).value() == little());
    CHECK(read(in.uri(), from(2)).value() == little());
    const auto expired = read(in.uri(), from(1000));
    CHECK(refusal(expired) == errc::io_error);
    CHECK_THAT(expired.error().what(), contains_text("ExpiredToken"));
    check_silent(expired.error(), {"stale-token"});
    CHECK(calls <= 6);
    CHECK(write(in.uri("b.zt"), noise(), in_parts(), from(1)).has_value());
    CHECK(in.holds(noise(), "b.zt"));
    const auto failing = signing().credentials(
        []() -> ztensor::result<s3_credentials> { return ztensor::unexpected(errc::cancelled, "logged out"); });
    CHECK(refusal(read(in.uri(), failing)) == errc::cancelled);
    CHECK(refusal(write(in.uri(), little(), {}, failing)) == errc::cancelled);
    CHECK_THAT(read(in.uri()).error().what(), contains_text("ExpiredToken")); // no one to ask
}

TEST_CASE("A bucket in another region is asked again, signed for that region, and only once") {
    for (const char* const tell : {"header", "body", "moved"}) {
        CAPTURE(tell);
        const bucket in(R"({"region": "eu-central-1", "tell": ")" + std::string(tell) + "\"}");
        in.put("a.zt", noise());
        CHECK(read(in.uri()).value() == noise());
        std::size_t first_region = 0;
        for (const json& request : in.log()) {
            first_region += std::string(request["headers"]["authorization"]).find("/us-east-1/") != std::string::npos;
        }
        CHECK(first_region <= 2); // both ends, which are asked for at once
        const std::size_t before = in.log().size();
        CHECK(write(in.uri("b.zt"), noise()).has_value());
        CHECK(in.holds(noise(), "b.zt"));
        CHECK(in.log().size() == before + 6); // of which one was for the wrong region
    }
    // A server that always names another region ends it.
    const bucket endless(faulty(R"({"op": "get", "status": 400, "code": "AuthorizationHeaderMalformed"})"));
    endless.put("a.zt", little());
    CHECK(refusal(read(endless.uri())) == errc::io_error);
    CHECK(endless.log().size() <= 4);
}

TEST_CASE("On AWS another region is another host, and no other host gets a signature") {
    ztensor::detail::s3_account account;
    account.keys = ztensor::detail::aws_keys{key_id, secret_key, ""};
    const ztensor::detail::s3_store store("bucket", account, nullptr);
    const auto is_signed = [&](const char* url) { return !store.sign("GET", url, {}, "").value().empty(); };
    CHECK(is_signed("https://bucket.s3.us-east-1.amazonaws.com/a"));
    CHECK(is_signed("https://s3.us-east-1.amazonaws.com/bucket/a"));
    CHECK_FALSE(is_signed("https://evils3.us-east-1.amazonaws.com/a"));
    CHECK_FALSE(is_signed("https://s3.us-east-1.amazonaws.com.evil.example/a"));
    CHECK_FALSE(is_signed("https://bucket.s3.eu-central-1.amazonaws.com/a"));
    ztensor::detail::http_response_head head;
    head.clear();
    for (const char* const line : {"HTTP/1.1 301 Moved\r\n", "x-amz-bucket-region: eu-central-1\r\n", "\r\n"}) {
        REQUIRE(head.add_line(line));
    }
    CHECK(store.correct("https://bucket.s3.us-east-1.amazonaws.com/a%20b?c=d", head, "") ==
          "https://bucket.s3.eu-central-1.amazonaws.com/a%20b?c=d");
    CHECK(is_signed("https://bucket.s3.eu-central-1.amazonaws.com/a"));
    CHECK_FALSE(is_signed("https://bucket.s3.us-east-1.amazonaws.com/a"));
    CHECK_FALSE(store.correct("https://bucket.s3.eu-central-1.amazonaws.com/a", head, "").has_value());
}

TEST_CASE("Where S3 redirects to gets no signature") {
    const bucket in(R"({"to": ")" + endpoint("localhost") + "\"}");
    in.put("a.zt", little());
    const auto refused = read(in.uri(), signing(), quick().header("X-Hidden", "1"));
    CHECK(refusal(refused) == errc::io_error); // the server wants a signature there, too
    bool was_there = false;
    for (const json& request : in.log()) {
        if (std::string(request["headers"]["host"]).substr(0, 9) == "localhost") {
            was_there = true;
            for (const char* const field : {"authorization", "x-amz-date", "x-amz-content-sha256", "x-hidden"}) {
                CHECK_FALSE(request["headers"].contains(field));
            }
        }
    }
    CHECK(was_there);
}

TEST_CASE("A shard that another host has is not signed for; one that s3:// names is") {
    const bucket in;
    in.put("a.zt", little());
    in.put("b.zt", noise());
    const std::string digest = "sha256:" + std::string(64, '0');
    const auto elsewhere =
        quick().shard_url([&](std::string_view name, std::string_view) -> ztensor::result<std::string> {
            return name == "own" ? in.uri("b.zt") : endpoint("localhost") + "/" + in.name() + "/b.zt";
        });
    const auto source = s3_source::open(in.uri(), signing(), elsewhere).value();
    CHECK(source->open_shard("own", digest).value()->size() == noise().size());
    CHECK(refusal(source->open_shard("other", digest)) == errc::io_error);
    CHECK_FALSE(in.log().back()["headers"].contains("authorization"));
}

TEST_CASE("A shard is found by its digest where what is not there is refused access") {
    const bucket in(R"({"blind": true})");
    in.put("a.zt", little());
    in.put("blobs%2Fsha256%2F" + std::string(64, '0'), noise());
    const auto source = s3_source::open(in.uri(), signing(), quick()).value();
    CHECK(source->open_shard("name", "sha256:" + std::string(64, '0')).value()->size() == noise().size());
    CHECK(refusal(source->open_shard("name", "sha256:" + std::string(64, '1'))) == errc::io_error);
    CHECK(refusal(read(in.uri("none"))) == errc::io_error);
}

TEST_CASE("Names in stores are opened, of each kind, and shards beside the root") {
    const bucket in;
    CHECK(refusal(open_remote("ftp://host/a.zt")) == errc::invalid_argument);
    {
        writer out = writer::to_sink(s3_sink::open(in.uri("deep/a.zt"), signing()).value()).value();
        out.add("w", {3}, std::vector<float>{1, 2, 3}).value();
        out.finish().value();
    }
    const reader model = open_remote(in.uri("deep/a.zt"), signing()).value();
    CHECK(model.read<float>("w").value() == std::vector<float>{1, 2, 3});
    CHECK(model.path() == endpoint() + "/" + in.name() + "/deep/a.zt");

    const std::filesystem::path shards = "tests/corpus/v2/sharded";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(shards)) {
        if (entry.is_regular_file()) {
            const std::string key = "m/" + std::filesystem::relative(entry.path(), shards).generic_string();
            in.put(ztensor::detail::percent_encoded(key, false), file_bytes(entry.path()));
        }
    }
    for (const auto& entry : std::filesystem::directory_iterator(shards)) {
        const std::string name = entry.path().filename().string();
        if (entry.path().extension() != ".zt") {
            continue;
        }
        const auto local = reader::open(entry.path().string());
        const auto remote = open_remote(in.uri("m/" + name), signing());
        REQUIRE(local.has_value() == remote.has_value());
        for (std::size_t i = 0; local && i < local->size(); ++i) {
            const auto here = (*local)[i].data();
            const auto there = (*remote)[i].data();
            REQUIRE(here.has_value() == there.has_value());
            if (here) {
                CHECK(support::outcome(here->read_little_endian()) == support::outcome(there->read_little_endian()));
            }
        }
    }

    const bucket hub(R"({"bearer": "hf_hidden", "to": ")" + endpoint("localhost") + "\"}");
    hub.put(ztensor::detail::percent_encoded("name/resolve/main/a b.npy", false),
            file_bytes("tests/corpus/foreign/npy/a name with spaces, ü and a.dot.npy"));
    ::setenv("HF_ENDPOINT", endpoint().c_str(), 1);
    ::setenv("HF_TOKEN", "hf_hidden", 1);
    const auto from_hub = open_remote("hf://" + hub.name() + "/name/a b.npy");
    ::setenv("HF_TOKEN", "hf_other", 1);
    const auto refused = open_remote("hf://" + hub.name() + "/name/a b.npy");
    const auto own = open_remote("hf://" + hub.name() + "/name/a b.npy", {}, http_options().bearer("hf_hidden"));
    ::unsetenv("HF_ENDPOINT");
    ::unsetenv("HF_TOKEN");
    CHECK(support::outcome(from_hub) == "ok");
    CHECK(support::outcome(own) == "ok");
    CHECK(refusal(refused) == errc::io_error);
    check_silent(refused.error(), {"hf_other"});
}

// ---- writing

TEST_CASE("Small objects are one request, large ones parts, and each is what was written") {
    const bucket to;
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, 5 * mebi - 1, 5 * mebi, 5 * mebi + 1, 10 * mebi, 12 * mebi}) {
        CAPTURE(size);
        const std::string key = "o" + std::to_string(size);
        const byte_vector content(noise().begin(), noise().begin() + static_cast<std::ptrdiff_t>(size));
        const std::size_t before = to.log().size();
        const auto written = write(to.uri(key), content);
        CHECK(support::outcome(written) == "ok");
        CHECK(to.holds(content, key));
        const std::size_t parts = (size + 5 * mebi - 1) / (5 * mebi);
        CHECK(to.log().size() - before == (parts <= 1 ? 1 : parts + 2));
    }
    CHECK(to.uploads() == 0);
    CHECK(to.count("abort") == 0);
    CHECK(write(to.uri("o1"), little()).has_value()); // in place of the old one
    CHECK(to.holds(little(), "o1"));
    CHECK(read(to.uri("o1")).value() == little());
}

TEST_CASE("Parts are under way together, and no more than was said") {
    const bucket to;
    CHECK(write(to.uri(), support::noise(41 * mebi), in_parts().parts_in_flight(3)).has_value());
    std::size_t most = 0;
    for (const json& request : to.log("part")) {
        most = (std::max)(most, request["active"].get<std::size_t>());
    }
    CHECK(most >= 2);
    CHECK(most <= 3);
}

TEST_CASE("The header fields that were given go to the request that creates the object") {
    const bucket to;
    const auto what =
        in_parts().header("x-amz-storage-class", "STANDARD_IA").header("Content-Type", "application/x-zt");
    CHECK(write(to.uri(), noise(), what).has_value());
    CHECK(write(to.uri("b"), little(), what).has_value());
    for (const json& request : to.log()) {
        const bool creates = request["op"] == "create" || request["op"] == "put";
        CHECK(request["headers"].contains("x-amz-storage-class") == creates);
        CHECK((request["headers"].value("content-type", "") == "application/x-zt") == creates);
    }
    CHECK(refusal(write(to.uri(), {}, s3_write_options().header("a b", "c"))) == errc::invalid_argument);
    CHECK(refusal(write(to.uri(), {}, s3_write_options().part_bytes(1))) == errc::invalid_argument);
    CHECK(refusal(write(to.uri(), {}, s3_write_options().parts_in_flight(0))) == errc::invalid_argument);
}

TEST_CASE("What fails for a while is sent again") {
    for (const char* const fault :
         {R"({"op": "part", "count": 1, "status": 503, "code": "SlowDown"})",
          R"({"op": "part", "count": 2, "cut": 1000000})", R"({"op": "part", "count": 1, "lost": true})",
          R"({"op": "part", "count": 1, "status": 400, "code": "RequestTimeout"})",
          R"({"op": "create", "count": 1, "status": 500})", R"({"op": "complete", "count": 1, "cut": 10})",
          R"({"op": "complete", "count": 1, "late": "InternalError"})",
          R"({"op": "complete", "count": 1, "status": 503})"}) {
        CAPTURE(fault);
        const bucket to(faulty(fault));
        const auto written = write(to.uri(), noise());
        CHECK(support::outcome(written) == "ok");
        CHECK(to.holds(noise()));
        CHECK(to.uploads() == 0);
    }
    const bucket small(faulty(R"({"op": "put", "count": 2, "cut": 1000})"));
    CHECK(write(small.uri(), little()).has_value());
    CHECK(small.holds(little()));
}

TEST_CASE("What fails for good leaves no object and no upload behind") {
    using failure = std::pair<const char*, const char*>; // and what is said
    for (const auto& [fault, words] :
         {failure(R"({"op": "part", "part": 2, "status": 503, "code": "SlowDown"})", "SlowDown"),
          failure(R"({"op": "part", "part": 2, "status": 403, "code": "AccessDenied"})", "AccessDenied"),
          failure(R"({"op": "part", "part": 1, "cut": 100000})", "connection"),
          failure(R"({"op": "create", "status": 403, "code": "AccessDenied"})", "AccessDenied"),
          failure(R"({"op": "create", "empty": true})", "does not answer as S3 does"),
          failure(R"({"op": "part", "empty": true})", "ETag"),
          failure(R"({"op": "complete", "late": "InternalError"})", "InternalError"),
          failure(R"({"op": "complete", "late": "InvalidPart"})", "InvalidPart"),
          failure(R"({"op": "complete", "empty": true})", "does not answer as S3 does"),
          failure(R"({"op": "complete", "status": 400, "code": "EntityTooSmall"})", "EntityTooSmall")}) {
        CAPTURE(fault);
        const bucket to(faulty(fault));
        const auto failed = write(to.uri(), noise(), in_parts(), signing(), quick().retries(1));
        CHECK(refusal(failed) == errc::io_error);
        CHECK_THAT(failed.error().what(), contains_text(words));
        check_silent(failed.error());
        CHECK(failed.error().path() == endpoint() + "/" + to.name() + "/a.zt");
        CHECK_FALSE(to.has());
        CHECK(to.uploads() == 0);
    }
    const bucket done(faulty(R"({"op": "complete", "late": "Unknown", "done": true})"));
    CHECK(refusal(write(done.uri(), noise())) == errc::io_error);
    CHECK(refusal(write("s3://no-such-bucket/a", little())) == errc::file_not_found);
    CHECK(refusal(write("s3://no-such-bucket/a", noise())) == errc::file_not_found);
}

TEST_CASE("A sink that goes before it is finished leaves nothing behind") {
    const bucket to;
    {
        const auto sink = s3_sink::open(to.uri(), signing(), in_parts(), quick()).value();
        CHECK(sink->write(noise()).has_value());
    }
    CHECK(to.count("create") == 1);
    CHECK(to.count("abort") == 1);
    CHECK(to.uploads() == 0);
    CHECK_FALSE(to.has());
    {
        const auto sink = s3_sink::open(to.uri(), signing(), in_parts(), quick()).value();
        CHECK(sink->write(little()).has_value());
    }
    CHECK(to.count("put") == 0);
    {
        writer out = writer::to_sink(s3_sink::open(to.uri(), signing(), in_parts(), quick()).value()).value();
        CHECK(out.add_bytes("w", {noise().size()}, ztensor::dtype::u8, noise()).has_value());
    }
    CHECK(to.uploads() == 0);
    CHECK_FALSE(to.has());

    const auto sink = s3_sink::open(to.uri(), signing(), {}, quick()).value();
    CHECK(sink->finish().has_value());
    CHECK(refusal(sink->finish()) == errc::writer_closed);
    CHECK(refusal(sink->write(little())) == errc::writer_closed);
}

TEST_CASE("An object that is there already is not replaced where that was said") {
    for (const byte_vector* const content : {&little(), &noise()}) {
        const bucket to;
        CHECK(write(to.uri(), *content, in_parts().create_only()).has_value());
        const auto refused = write(to.uri(), noise(), in_parts().create_only());
        CHECK(refusal(refused) == errc::io_error);
        CHECK(refused.error().os_error() == std::errc::file_exists);
        CHECK_THAT(refused.error().what(), contains_text("already"));
        CHECK(refusal(write(to.uri(), little(), in_parts().create_only())) == errc::io_error);
        CHECK(to.holds(*content));
        CHECK(to.uploads() == 0);
        CHECK(write(to.uri(), little()).has_value());
        CHECK(to.holds(little()));
    }
    const bucket busy(faulty(R"({"op": "complete", "status": 409, "code": "ConditionalRequestConflict"})"));
    CHECK(refusal(write(busy.uri(), noise(), in_parts().create_only())) == errc::busy);
    // The try whose answer was lost has made it, and an object of another writer looks different.
    const bucket lost(faulty(R"({"op": "put", "lost": true, "count": 1})"));
    CHECK(write(lost.uri(), little(), s3_write_options().create_only()).has_value());
    CHECK(lost.holds(little()));
    const bucket taken(faulty(R"({"op": "put", "status": 500, "count": 1})"));
    taken.put("a.zt", noise());
    const auto unknown = write(taken.uri(), little(), s3_write_options().create_only());
    CHECK(refusal(unknown) == errc::io_error);
    CHECK_THAT(unknown.error().what(), contains_text("answer was lost"));
    CHECK(taken.holds(noise()));
}

TEST_CASE("Where the answer to the request that makes the object is lost, the object is looked at") {
    const auto few = quick().retries(1);
    for (const char* const fault :
         {R"({"op": "complete", "count": 1, "lost": true})", R"({"op": "complete", "lost": true})",
          R"({"op": "complete", "count": 1, "then": 500})", R"({"op": "complete", "then": 502})"}) {
        CAPTURE(fault);
        for (const s3_write_options& what : {in_parts(), in_parts().create_only()}) {
            const bucket to(faulty(fault));
            CHECK(support::outcome(write(to.uri(), noise(), what, signing(), few)) == "ok");
            CHECK(to.holds(noise()));
            CHECK(to.count("head") == 1);
            CHECK(to.uploads() == 0);
        }
    }
    for (const char* const fault : {R"({"op": "put", "lost": true})", R"({"op": "put", "then": 503})"}) {
        CAPTURE(fault);
        const bucket to(faulty(fault));
        CHECK(support::outcome(write(to.uri(), little(), {}, signing(), few)) == "ok");
        CHECK(to.holds(little()));
    }
    const bucket right;
    CHECK(write(right.uri(), noise()).has_value());
    CHECK(right.count("head") == 0);
}

TEST_CASE("What is not the object that was written is no success, whatever was lost") {
    const auto few = quick().retries(1);
    const std::string gone = R"({"op": "complete", "status": 404, "code": "NoSuchUpload"})";
    const bucket none(faulty(gone));
    const auto lost = write(none.uri(), noise(), in_parts(), signing(), few);
    CHECK(refusal(lost) == errc::io_error);
    CHECK_THAT(lost.error().what(), contains_text("NoSuchUpload") && contains_text("no object of this name"));
    byte_vector other = noise();
    other.back() ^= std::byte{1};
    for (const byte_vector* const before : {&little(), &std::as_const(other)}) {
        const bucket to(faulty(gone));
        to.put("a.zt", *before);
        const auto replaced = write(to.uri(), noise(), in_parts(), signing(), few);
        CHECK(refusal(replaced) == errc::io_error);
        CHECK_THAT(replaced.error().what(), contains_text("another size or ETag"));
        CHECK(to.holds(*before));
    }
    const bucket silent(faulty(R"({"op": "complete", "lost": true}, {"op": "head", "status": 403})"));
    const auto unknown = write(silent.uri(), noise(), in_parts(), signing(), few);
    CHECK(refusal(unknown) == errc::io_error);
    CHECK_THAT(unknown.error().what(), contains_text("can't be told"));
}

TEST_CASE("An upload to a server that is silent is cancelled at once") {
    const support::temp_dir place;
    {
        auto out = writer::create(place / "a.zt").value();
        std::vector<std::uint8_t> numbers(24 * mebi);
        CHECK(out.add("w", {numbers.size()}, numbers).has_value());
        CHECK(out.finish().has_value());
    }
    const reader from = reader::open(place / "a.zt").value();
    for (const char* const fault : {R"({"op": "part", "stall": 20}, {"op": "abort", "stall": 20})",
                                    R"({"op": "create", "stall": 20}, {"op": "abort", "stall": 20})"}) {
        CAPTURE(fault);
        const bucket to(faulty(fault));
        const auto how = quick().stall_timeout(seconds(60)).deadline(seconds(60));
        const auto start = std::chrono::steady_clock::now();
        const auto seconds_taken = [&] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        };
        {
            auto out = writer::to_sink(s3_sink::open(to.uri(), signing(), in_parts(), how).value()).value();
            const auto stopped = ztensor::copy(
                from, out, ztensor::copy_options().progress([&](const auto&) { return seconds_taken() < 0.3; }));
            CHECK(refusal(stopped) == errc::cancelled);
            CHECK(seconds_taken() < 2.3);
        }
        CHECK(seconds_taken() < 4.5); // with the message that tells S3 to forget the parts
    }
}
