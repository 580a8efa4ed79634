// SPDX-License-Identifier: MIT
//
// Files behind URLs, from http_server.py, which starts this program and makes the mistakes that a URL asks for.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/model_names.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/http.hpp>
#include <ztensor/import.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

using std::chrono::milliseconds;
using std::chrono::seconds;
using support::byte_vector;
using support::refusal;
using ztensor::byte_source;
using ztensor::errc;
using ztensor::http_options;
using ztensor::http_source;
using ztensor::open_url;
using ztensor::reader;

namespace {

std::string environment(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

/// What the server serves.
std::filesystem::path folder() {
    return environment("ZTENSOR_HTTP_FOLDER");
}

/// Requests to one path of the server, of which no other test knows.
class site {
public:
    explicit site(std::string plan = "-", std::string file = "noise.bin")
        : plan_(std::move(plan)), file_(std::move(file)) {
        static std::atomic<int> count{0};
        id_ = "site" + std::to_string(++count);
        if (!std::filesystem::exists(folder() / "noise.bin")) {
            support::write_file(folder() / "noise.bin", support::as_string(content()));
        }
    }

    static const byte_vector& content() {
        static const byte_vector bytes = support::noise(300'000);
        return bytes;
    }

    [[nodiscard]] std::string path() const { return "/" + plan_ + "/" + id_ + "/" + file_; }
    [[nodiscard]] std::string url(const std::string& host = "127.0.0.1") const {
        return "http://" + host + ":" + environment("ZTENSOR_HTTP_PORT") + path();
    }
    [[nodiscard]] std::string secure_url(const std::string& host = "127.0.0.1") const {
        return "https://" + host + ":" + environment("ZTENSOR_HTTPS_PORT") + path();
    }

    /// The requests so far, in order.
    [[nodiscard]] std::vector<nlohmann::json> log() const {
        std::vector<nlohmann::json> requests;
        std::istringstream lines(support::read_file(folder() / "log" / id_));
        for (std::string line; std::getline(lines, line);) {
            requests.push_back(nlohmann::json::parse(line));
        }
        return requests;
    }

private:
    std::string plan_;
    std::string file_;
    std::string id_;
};

/// Small requests, and no patience.
http_options quick() {
    return http_options()
        .request_bytes(65536)
        .requests_in_flight(4)
        .suffix_bytes(1024)
        .deadline(seconds(8))
        .connect_timeout(seconds(3))
        .stall_timeout(seconds(1))
        .retries(4);
}

using opened = ztensor::result<std::shared_ptr<const byte_source>>;

ztensor::result<byte_vector> read_all(const byte_source& source) {
    byte_vector bytes(static_cast<std::size_t>(source.size()));
    ZTENSOR_TRY(source.read_at(0, bytes));
    return bytes;
}

/// How many of so many threads that read all at once do not get the content of the sites.
int wrong_reads(const byte_source& source, int count) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([&] {
            const auto read = read_all(source);
            wrong += !read || *read != site::content();
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    return wrong;
}

/// Opened and read.
ztensor::result<byte_vector> fetch(const std::string& url, const http_options& how = quick()) {
    ZTENSOR_TRY_ASSIGN(const std::shared_ptr<const byte_source> source, http_source::open(url, how));
    return read_all(*source);
}
ztensor::result<byte_vector> fetch(const site& from, const http_options& how = quick()) {
    return fetch(from.url(), how);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The same objects, with the same bytes.
void check_same(const reader& a, const reader& b) {
    REQUIRE(a.size() == b.size());
    for (const ztensor::object_view object : a) {
        CAPTURE(object.name());
        const ztensor::object_view other = b.find(object.name()).value();
        CHECK(object.shape() == other.shape());
        const auto mine = object.data();
        if (mine) {
            CHECK(mine->read_little_endian().value() == other.data()->read_little_endian().value());
        }
    }
}

std::size_t open_files() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}
std::size_t running_threads() {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

void serve(const std::string& name, const std::filesystem::path& from) {
    std::filesystem::copy_file(from, folder() / name, std::filesystem::copy_options::overwrite_existing);
}

/// A file with one tensor, "w", of the content of the sites, with a digest.
site serve_noise(const std::string& name) {
    const support::temp_dir local;
    auto out = ztensor::writer::create(local / name).value();
    std::vector<std::uint8_t> numbers;
    for (const std::byte each : site::content()) {
        numbers.push_back(std::to_integer<std::uint8_t>(each));
    }
    REQUIRE(out.add("w", {numbers.size()}, numbers, ztensor::store().digest(ztensor::digest::sha256)));
    REQUIRE(out.finish());
    serve(name, local / name);
    return site("-", name);
}

} // namespace

// ---- what is right

TEST_CASE("A .zt file behind a URL has the tensors of the file, and is opened in one trip") {
    const std::filesystem::path local = "tests/corpus/golden/silero-vad-16k.zt";
    serve("model.zt", local);
    const site from("delay@head=0.2,delay@tail=0.2", "model.zt");
    const auto start = std::chrono::steady_clock::now();
    const auto file = open_url(from.url());
    REQUIRE(file);
    const double taken = seconds_since(start);
    const std::vector<nlohmann::json> log = from.log();
    CHECK(log.size() == 2);
    CHECK(log.back()["active"] == 2); // at the same time
    CHECK(taken > 0.2);
    CHECK(file->path() == from.url());
    check_same(reader::open(local).value(), *file);
}

TEST_CASE("Files of other formats behind a URL are opened, too") {
    for (const auto& each : std::filesystem::directory_iterator("tests/corpus/foreign/safetensors")) {
        if (each.path().extension() == ".safetensors") {
            const std::string name = each.path().filename().string();
            CAPTURE(name);
            serve(name, each.path());
            const site from("-", name);
            const auto file = open_url(from.url(), quick());
            const auto local = ztensor::open_any(each.path());
            REQUIRE(file.has_value() == local.has_value());
            if (local) {
                check_same(*local, *file);
            }
        }
    }
}

TEST_CASE("Ranges anywhere are read, those of both ends from memory") {
    const site from;
    const std::shared_ptr<const byte_source> source = http_source::open(from.url(), quick()).value();
    const byte_vector& content = site::content();
    CHECK(source->size() == content.size());
    const std::pair<std::size_t, std::size_t> ranges[] = {
        {0, 4096}, {100, 0},     {4095, 1},    {299'000, 1000}, {content.size(), 0}, {298'976, 1024},
        {4095, 2}, {0, 300'000}, {100'000, 1}, {298'900, 1100}, {4096, 294'880},     {5000, 65'536}};
    for (const auto& [offset, length] : ranges) {
        CAPTURE(offset, length);
        byte_vector read(length + 2, std::byte{0xee});
        REQUIRE(source->read_at(offset, {read.data() + 1, length}));
        CHECK(std::equal(read.begin() + 1, read.end() - 1, content.begin() + static_cast<std::ptrdiff_t>(offset)));
        CHECK((read.front() == std::byte{0xee} && read.back() == std::byte{0xee}));
        if (&length == &ranges[5].second) {
            CHECK(from.log().size() == 2); // nothing was asked for so far
        }
    }
    byte_vector two(2);
    CHECK(refusal(source->read_at(content.size() - 1, two)) == errc::out_of_bounds);
    CHECK(refusal(source->read_at(~std::uint64_t{0}, two)) == errc::out_of_bounds);
    for (const nlohmann::json& request : from.log()) {
        CHECK(request["method"] == "GET");
        CHECK(request["headers"]["accept-encoding"] == "identity");
        CHECK(request["headers"]["user-agent"].get<std::string>().rfind("ztensor/", 0) == 0);
        CHECK((request["headers"].contains("if-match") == (request["where"] == "rest") ||
               request["headers"]["range"] == "bytes=0-4095"));
    }
}

TEST_CASE("Files that are smaller than what is asked for at first") {
    for (const std::size_t size : {1u, 17u, 1024u, 1025u, 4096u, 4097u, 5000u}) {
        CAPTURE(size);
        const std::string name = "small" + std::to_string(size);
        const byte_vector content = support::noise(size);
        support::write_file(folder() / name, support::as_string(content));
        for (const char* const plan : {"-", "status@tail=416", "whole@tail"}) {
            const site from(plan, name);
            CHECK(fetch(from).value() == content);
        }
    }
    support::write_file(folder() / "empty", "");
    CHECK(http_source::open(site("-", "empty").url(), quick()).value()->size() == 0);
    CHECK(refusal(open_url(site("-", "empty").url(), quick())) == errc::file_too_small);
    CHECK(fetch(site(), quick().suffix_bytes(0)).value() == site::content());
}

TEST_CASE("Many requests are under way at once, and no more than are allowed") {
    const site from("delay@rest=0.05");
    const std::shared_ptr<const byte_source> source =
        http_source::open(from.url(), quick().request_bytes(4096).requests_in_flight(16)).value();
    CHECK(source->preferences().requests_per_call == 16);
    CHECK(source->preferences().request_bytes == 4096);
    CHECK(wrong_reads(*source, 4) == 0);
    int most = 0;
    for (const nlohmann::json& request : from.log()) {
        most = (std::max)(most, request["active"].get<int>());
    }
    CHECK(most <= 16);
    CHECK(most > 8);
}

TEST_CASE("Waiting for other requests does not count for the deadline") {
    const site from("delay@rest=0.1");
    const std::shared_ptr<const byte_source> source =
        http_source::open(from.url(), quick().deadline(milliseconds(600))).value();
    CHECK(wrong_reads(*source, 10) == 0); // 50 requests, 4 at once
}

namespace {

/// Ranges one behind the other, of which at most `room` bytes are read and not yet given back.
class ranges final : public ztensor::read_requests {
public:
    ranges(byte_vector& into, std::size_t piece, std::size_t room) : into_(into), piece_(piece), room_(room) {}

    std::optional<ztensor::read_request> next() override {
        const std::lock_guard lock(mutex_);
        if (at_ == into_.size() || held_ + piece_ > room_) {
            return std::nullopt;
        }
        const std::size_t count = (std::min)(piece_, into_.size() - at_);
        held_ += piece_;
        at_ += count;
        most_ = (std::max)(most_, held_ / piece_);
        return ztensor::read_request{at_ - count, {into_.data() + (at_ - count), count}};
    }
    void complete(const ztensor::read_request& /*request*/, ztensor::result<void> outcome) override {
        const std::lock_guard lock(mutex_);
        held_ -= piece_;
        completed += 1;
        failed += !outcome;
    }

    int completed = 0;
    int failed = 0;
    [[nodiscard]] std::size_t most() const { return most_; }

private:
    byte_vector& into_;
    std::size_t piece_, room_;
    std::size_t at_ = 0, held_ = 0, most_ = 0;
    std::mutex mutex_;
};

} // namespace

TEST_CASE("Small neighbours are read by one request into all their places") {
    constexpr std::size_t count = 40, floats = 70'000; // 280 kB each, with up to 63 bytes between them
    {
        ztensor::writer out = ztensor::writer::create(folder() / "neighbours.zt").value();
        for (std::size_t i = 0; i < count; ++i) {
            REQUIRE(out.add(std::to_string(i), {floats - i}, std::vector<float>(floats - i, static_cast<float>(i))));
        }
        REQUIRE(out.finish());
    }
    for (const std::string plan : {"-", "cut@rest*3=1000000", "status@rest*2=503"}) {
        CAPTURE(plan);
        const site from(plan, "neighbours.zt");
        const auto file = open_url(from.url(), quick().request_bytes(3'000'000));
        REQUIRE(file);
        std::vector<std::vector<float>> loaded;
        std::vector<std::string> names;
        for (std::size_t i = 0; i < count; ++i) {
            names.push_back(std::to_string(i));
            loaded.emplace_back(floats - i, -1.0f);
        }
        ztensor::load_plan all(*file);
        for (std::size_t i = 0; i < count; i += i % 7 == 0 ? 2 : 1) { // and what lies between some is not wanted
            all.add(names[i], loaded[i]);
        }
        const auto done = all.run();
        INFO((done ? "" : done.error().what()));
        REQUIRE(done);
        for (std::size_t i = 0; i < count; i += i % 7 == 0 ? 2 : 1) {
            CHECK(loaded[i] == std::vector<float>(floats - i, static_cast<float>(i)));
        }
        if (plan == "-") {
            CHECK(from.log().size() <= 2 + 10 + 6); // the opening, 11 MB, and ends at what is not wanted
        }
    }
    const site broken("status@rest=403", "neighbours.zt");
    const auto refused = open_url(broken.url(), quick().suffix_bytes(65536));
    REQUIRE(refused);
    std::vector<float> first(floats), second(floats - 1);
    const auto loaded = ztensor::load_plan(*refused).add("0", first).add("1", second).run();
    CHECK(refusal(loaded) == errc::io_error);
}

TEST_CASE("read_many takes more whenever there is room") {
    const site from("delay@rest=0.01");
    const std::shared_ptr<const byte_source> source =
        http_source::open(from.url(), quick().requests_in_flight(8).request_bytes(3000)).value();
    for (const std::size_t room : {std::size_t{3000}, std::size_t{15'000}, std::size_t{1'000'000}}) {
        CAPTURE(room);
        byte_vector read(site::content().size());
        ranges all(read, 3000, room);
        source->read_many(all);
        CHECK(all.completed == 100);
        CHECK(all.failed == 0);
        CHECK(read == site::content());
        CHECK(all.most() == (std::min)(room / 3000, std::size_t{8}));
    }
    byte_vector longer(site::content().size() + 5);
    ranges beyond(longer, 3000, 1'000'000);
    source->read_many(beyond);
    CHECK(beyond.completed == 101);
    CHECK(beyond.failed == 1);
}

TEST_CASE("Shards are found beside their root") {
    const support::temp_dir local;
    const std::vector<float> a(3000, 1.5f), b(70'000, 2.5f);
    {
        const auto options = ztensor::write_options().version(ztensor::format_version::v2).shard_bytes(1);
        ztensor::writer out = ztensor::writer::create(local / "parts.zt", options).value();
        REQUIRE(out.add("a", {a.size()}, a));
        REQUIRE(out.add("b", {b.size()}, b));
        REQUIRE(out.finish());
    }
    for (const std::string& name : local.names()) {
        serve(name, local / name);
    }
    const site from("-", "parts.zt");
    const std::string secret = "?token=SECRET";
    for (const bool keeps : {false, true}) {
        const auto file = open_url(from.url() + secret, quick().keep_query(keeps));
        INFO((file ? "" : file.error().what()));
        REQUIRE(file);
        CHECK(file->read<float>("a").value() == a);
        CHECK(file->read<float>("b").value() == b);
        CHECK(file->path() == from.url());
        for (const nlohmann::json& request : from.log()) {
            const bool is_root = request["path"] == from.path();
            CHECK((request["query"] == "token=SECRET") == (is_root || keeps));
        }
        std::filesystem::remove(folder() / "log" / from.path().substr(3, from.path().rfind('/') - 3));
    }
    std::atomic<int> xxh3{0};
    const auto by_name = // called by several threads
        quick().shard_url([&](std::string_view name, std::string_view digest) -> ztensor::result<std::string> {
            xxh3 += digest.substr(0, 5) == "xxh3:" ? 1 : 0;
            return site("-", "parts-" + std::string(name) + ".zt").url("localhost");
        });
    const auto named = open_url(from.url(), by_name);
    REQUIRE(named);
    CHECK(xxh3 == 2);
    CHECK(named->read<float>("b").value() == b);
    std::filesystem::remove(folder() / support::path_without_token(local, "parts-00002.zt").filename());
    const auto without = open_url(from.url(), quick());
    REQUIRE(without);
    CHECK(without->read<float>("a").value() == a);
    CHECK(refusal(without->read<float>("b")) == errc::shard_missing);
}

TEST_CASE("What an index names, and the data of a model, lie beside their URLs") {
    std::filesystem::create_directories(folder() / "a folder");
    const std::string files[] = {"silero.zt", "a folder/100% #1?.zt"}; // which no URL may hold as they are
    nlohmann::json map;
    for (const std::string& name : files) {
        const bool is_first = name == files[0];
        ztensor::writer out = ztensor::writer::create(folder() / name).value();
        const std::string object = is_first ? "a" : "b";
        REQUIRE(out.add(object, {2}, std::vector<float>{1, is_first ? 2.0f : 3.0f}));
        REQUIRE(out.finish());
        map[object] = name;
    }
    support::write_file(folder() / "some.index.json", nlohmann::json{{"weight_map", map}}.dump());
    const auto set = open_url(site("-", "some.index.json").url(), quick());
    INFO((set ? "" : set.error().what()));
    REQUIRE(set);
    CHECK(set->files().size() == 2);
    CHECK(set->read<float>("b").value() == std::vector<float>{1, 3});

    serve("external.onnx", "tests/corpus/foreign/onnx/external.onnx");
    std::filesystem::create_directories(folder() / "external.data");
    for (const auto& each : std::filesystem::directory_iterator("tests/corpus/foreign/onnx/external.data")) {
        serve("external.data/" + each.path().filename().string(), each.path());
    }
    serve("float64.bin", "tests/corpus/foreign/onnx/float64.bin");
    const auto model = open_url(site("-", "external.onnx").url(), quick());
    INFO((model ? "" : model.error().what()));
    REQUIRE(model);
    check_same(ztensor::open_any("tests/corpus/foreign/onnx/external.onnx").value(), *model);
}

TEST_CASE("A server of the world: nginx, by HTTP/1.1 and HTTP/2") {
    if (environment("ZTENSOR_NGINX_PORT").empty()) {
        WARN("skipped: nginx is not installed");
        return;
    }
    const std::filesystem::path local = "tests/corpus/golden/silero-vad-16k.zt";
    serve("nginx.zt", local);
    static_cast<void>(site()); // noise.bin
    const std::string bases[] = {"http://127.0.0.1:" + environment("ZTENSOR_NGINX_PORT"),
                                 "https://127.0.0.1:" + environment("ZTENSOR_NGINXS_PORT")};
    for (const std::string& base : bases) {
        auto how = quick().ca_file(environment("ZTENSOR_HTTP_CA")).requests_in_flight(16).request_bytes(5000);
        const auto file = open_url(base + "/nginx.zt", how);
        INFO((file ? "" : file.error().what()));
        REQUIRE(file);
        check_same(reader::open(local).value(), *file);
        const std::shared_ptr<const byte_source> source = http_source::open(base + "/noise.bin", how).value();
        CHECK(wrong_reads(*source, 8) == 0);
        CHECK(refusal(fetch(base + "/none", how)) == errc::file_not_found);

        support::write_file(folder() / "changing", std::string(100'000, 'a'));
        const std::shared_ptr<const byte_source> changing = http_source::open(base + "/changing", how).value();
        std::filesystem::remove(folder() / "changing");
        support::write_file(folder() / "changing", std::string(100'001, 'b'));
        CHECK(refusal(read_all(*changing)) == errc::file_changed);
    }
}

// ---- what is wrong for a while

TEST_CASE("What is wrong for a while is asked for again, from the byte that was reached on") {
    const char* const plans[] = {
        "cut@rest*3=1000",
        "cut@head*1=100",
        "cut@tail*2=100",
        "shorter@rest*3=5000",
        "shorter@tail*1=10",
        "reset*2",
        "reset@rest*3=3000",
        "stall@rest*1=500",
        "status*1=408",
        "status@rest*1=429",
        "status*2=500",
        "status*2=502",
        "status*2=503",
        "status@rest*4=504",
        "cut=30000",
        "early",
        "status@rest*1=503,retry=1",
        "status@head*1=503,retry=date",
        "etag=",
        "etag=W%2F\"weak\"",
        "etag=odd",
        "delay=0.01",
    };
    for (const std::string plan : plans) {
        CAPTURE(plan);
        const site from(plan);
        const auto start = std::chrono::steady_clock::now();
        const auto read = fetch(from);
        if (!read) {
            FAIL(read.error().what());
        }
        CHECK(*read == site::content());
        const double taken = seconds_since(start);
        CHECK(taken < 8);
        CHECK((plan.find("retry") == std::string::npos || taken > 0.9));
        if (plan.rfind("etag", 0) == 0) { // of which none can be sent back
            for (const nlohmann::json& request : from.log()) {
                CHECK(!request["headers"].contains("if-match"));
            }
        }
        if (plan == "cut@rest*3=1000") {
            bool continues = false;
            for (const nlohmann::json& request : from.log()) {
                const std::string range =
                    request["headers"]["range"]; // any three of those that are sent at once are cut
                const bool has_begin = range.rfind("bytes=", 0) == 0 && range[6] != '-';
                continues = continues || (has_begin && std::stoul(range.substr(6)) % 65536 == 4096 + 1000);
            }
            CHECK(continues);
        }
    }
}

TEST_CASE("Ends that a server does not give by their length are asked for by their place") {
    for (const char* const plan : {"status@tail=416", "status@tail=400", "status@tail=501", "whole@tail",
                                   "begin@tail=-1", "norange@tail", "total@tail=1"}) {
        CAPTURE(plan);
        const site from(plan);
        CHECK(fetch(from).value() == site::content());
        CHECK(from.log()[2]["headers"]["range"] == "bytes=298976-299999");
    }
}

// ---- what stays wrong

TEST_CASE("What stays wrong is the error that says what it is") {
    const struct {
        const char* plan;
        errc code;
        const char* says;
    } cases[] = {
        {"whole", errc::io_error, "status 200 instead of 206"},
        {"whole@rest", errc::io_error, "status 200 instead of 206"},
        {"begin@rest=-1", errc::io_error, "another range"},
        {"begin@rest=1", errc::io_error, "another range"},
        {"end@rest=1", errc::io_error, "another range"},
        {"end@rest=-1", errc::io_error, "another range"},
        {"begin@head=1", errc::io_error, "another range"},
        {"total@rest=1", errc::file_changed, "has become 300001 bytes large; it had 300000"},
        {"total@head=1", errc::file_changed, "while it was opened"},
        {"norange@rest", errc::io_error, "Content-Range is absent or malformed"},
        {"range@rest=bytes%2065536-131071%2F*", errc::io_error, "Content-Range is absent or malformed"},
        {"range@rest=bytes%2065536-99999999999999999999%2F300000", errc::io_error,
         "Content-Range is absent or malformed"},
        {"twice@rest", errc::io_error, "no well-formed response"},
        {"gzip@rest", errc::io_error, "compresses"},
        {"etag@rest=\"version-2\"", errc::file_changed, "another ETag (status 412)"},
        {"etag@tail=\"version-2\"", errc::file_changed, "while it was opened"},
        {"status@rest=404", errc::file_not_found, "nothing at this URL"},
        {"status=410", errc::file_not_found, "status 410"},
        {"status=401", errc::io_error, "refuses access (status 401)"},
        {"status@rest=403", errc::io_error, "refuses access (status 403)"},
        {"status@rest=412", errc::file_changed, "another ETag"},
        {"status@rest=416", errc::io_error, "refuses the range"},
        {"status=418", errc::io_error, "status 418"},
        {"status=503", errc::io_error, "status 503, at try 5"},
        {"status@rest=429,retry=3600", errc::io_error, "status 429"},
        {"status=304", errc::io_error, "status 304"},
        {"cut@rest=0", errc::io_error, "ended early"},
        {"reset", errc::io_error, "reset or ended early"},
        {"shorter@rest=0", errc::io_error, "fewer bytes"},
        {"garbage", errc::io_error, "no well-formed response of HTTP"},
        {"garbage=ssh", errc::io_error, "no well-formed response of HTTP"},
        {"garbage@rest=smtp", errc::io_error, "no well-formed response of HTTP"},
        {"garbage=status", errc::io_error, "no well-formed response of HTTP"},
        {"garbage@rest=version", errc::io_error, "no well-formed response of HTTP"},
        {"garbage=line", errc::io_error, "header of the server's response is too large"},
        {"garbage@rest=line", errc::io_error, "header of the server's response is too large"},
        {"longer@rest", errc::io_error, "more bytes than the range"},
        {"endless", errc::io_error, "more bytes than the range"},
        {"headers", errc::io_error, "header of the server's response is too large"},
        {"padding@rest=70000", errc::io_error, "header of the server's response is too large"},
        {"padding@rest=200000", errc::io_error, "header of the server's response is too large"},
        {"redirect=loop", errc::io_error, "more often"},
        {"redirect=ftp", errc::io_error, "something else than a URL of http"},
        {"redirect=odd", errc::io_error, "something else than a URL of http"},
        {"redirect=none", errc::io_error, "does not say where"},
        {"redirect=long", errc::io_error, "no well-formed response"},
        {"delay@rest=9", errc::io_error, "deadline"},
        {"stall@rest=10", errc::io_error, "stall_timeout"},
    };
    for (const auto& each : cases) {
        CAPTURE(each.plan);
        const site from(each.plan);
        const auto start = std::chrono::steady_clock::now();
        const bool is_slow = std::string_view(each.says) == "deadline";
        http_options how = quick().bearer("SECRET").header("X-Key", "SECRET");
        if (is_slow) {
            how.stall_timeout(seconds(20)).deadline(seconds(1));
        }
        if (std::string_view(each.plan).substr(0, 5) == "stall") {
            how.retries(1);
        }
        const std::string url = "http://SECRET:SECRET@" + from.url().substr(7) + "?key=SECRET#SECRET";
        const auto read = fetch(url, how);
        CHECK(refusal(read) == each.code);
        CHECK(seconds_since(start) < 8);
        if (!read) {
            CHECK_THAT(read.error().what(), support::contains_text(each.says));
            CHECK_THAT(read.error().what(), support::contains_text(from.path()));
            CHECK(read.error().path() == from.url());
            CHECK(read.error().what().find("SECRET") == std::string::npos);
        }
    }
}

TEST_CASE("Errors have the codes of the standard library that say most") {
    const auto os_error = [](const std::string& url, const http_options& how = quick()) {
        return fetch(url, how).error().os_error();
    };
    CHECK(os_error(site("status=403").url()) == std::errc::permission_denied);
    CHECK(os_error(site("reset").url()) == std::errc::connection_reset);
    CHECK(os_error("http://127.0.0.1:1/x") == std::errc::connection_refused);
    CHECK(os_error(site("delay=3").url(), quick().deadline(milliseconds(300))) == std::errc::timed_out);
    CHECK(os_error(site("stall=1").url(), quick().retries(0)) == std::errc::timed_out);
    CHECK_THAT(fetch("http://no-such-host.invalid/x").error().what(), support::contains_text("DNS"));
}

TEST_CASE("What is no URL, and options outside their range, are the caller's mistakes") {
    for (const char* const url : {"", "model.zt", "/a/b", "ftp://127.0.0.1/x", "file:///etc/passwd", "http://",
                                  "http:// a/", "http://a/\r\nX: y", "https://[::1", "http://a:99999999/"}) {
        CAPTURE(url);
        CHECK(refusal(http_source::open(url, quick())) == errc::invalid_argument);
    }
    const std::string url = site().url();
    CHECK(refusal(http_source::open(url, quick().request_bytes(0))) == errc::invalid_argument);
    CHECK(refusal(http_source::open(url, quick().requests_in_flight(0))) == errc::invalid_argument);
    CHECK(refusal(http_source::open(url, quick().deadline(seconds(-1)))) == errc::invalid_argument);
    CHECK(refusal(http_source::open(url, quick().header("a b", "c"))) == errc::invalid_argument);
    CHECK(refusal(http_source::open(url, quick().header("a", "c\r\nd: e"))) == errc::invalid_argument);
    CHECK(refusal(http_source::open(url, quick().header("RANGE", "bytes=0-1"))) == errc::invalid_argument);
    CHECK(refusal(http_source::open(url, quick().user_agent("\n"))) == errc::invalid_argument);
}

// ---- redirects and credentials

TEST_CASE("Redirects are followed, and what they lead to is remembered") {
    for (const char* const kind : {"same", "other"}) {
        for (const char* const code : {"301", "302", "303", "307", "308"}) {
            const site from("redirect=" + std::string(kind) + ",code=" + code);
            CHECK(fetch(from).value() == site::content());
            std::size_t redirected = 0;
            for (const nlohmann::json& request : from.log()) {
                redirected += request["path"] == from.path();
            }
            CHECK(redirected == 2); // when it was opened
        }
    }
    CHECK(refusal(fetch(site("redirect=same"), quick().redirects(0))) == errc::io_error);
}

TEST_CASE("Credentials go to the host of the URL, and to no other") {
    for (const char* const kind : {"same", "other"}) {
        const site from("redirect=" + std::string(kind));
        std::mutex noting;
        std::vector<std::string> signed_urls;
        auto how = quick().header("Cookie", "SECRET").header("X-Token", "SECRET");
        how.sign([&](std::string_view method, std::string_view url, const ztensor::http_headers& headers) {
            const std::lock_guard lock(noting);
            CHECK(method == "GET");
            CHECK(headers.front().first == "Range");
            signed_urls.emplace_back(url);
            return ztensor::result<ztensor::http_headers>(ztensor::http_headers{{"X-Signature", "SECRET"}});
        });
        const std::string url = "http://user:SECRET@" + from.url().substr(7) + "?key=SECRET";
        CHECK(fetch(url, how).value() == site::content());
        int with = 0, without = 0;
        for (const nlohmann::json& request : from.log()) {
            const bool is_home = request["headers"]["host"].get<std::string>().rfind("127.0.0.1", 0) == 0;
            (is_home ? with : without) += 1;
            for (const char* const name : {"authorization", "cookie", "x-token", "x-signature"}) {
                CHECK(request["headers"].contains(name) == is_home);
            }
            CHECK((is_home || request.dump().find("key=SECRET") == std::string::npos));
        }
        CHECK(with == static_cast<int>(signed_urls.size()));
        CHECK((without != 0) == (std::string_view(kind) == "other"));
    }
}

TEST_CASE("A function that signs may fail, and may not break a request") {
    auto fails = quick().sign([](std::string_view, std::string_view, const ztensor::http_headers&) {
        return ztensor::result<ztensor::http_headers>(ztensor::unexpected(errc::cancelled, "there is no key"));
    });
    CHECK(refusal(fetch(site(), fails)) == errc::cancelled);
    auto breaks = quick().sign([](std::string_view, std::string_view, const ztensor::http_headers&) {
        return ztensor::result<ztensor::http_headers>(ztensor::http_headers{{"a", "b\r\nc: d"}});
    });
    CHECK(refusal(fetch(site(), breaks)) == errc::invalid_argument);
}

TEST_CASE("Credentials that are needed") {
    CHECK(fetch(site("need=Bearer+abc"), quick().bearer("abc")).value() == site::content());
    CHECK(refusal(fetch(site("need=Bearer+abc"), quick().bearer("abcd"))) == errc::io_error);
    const site from("need=Basic+dTpwIHc="); // u:p w
    CHECK(fetch("http://u:p%20w@" + from.url().substr(7)).value() == site::content());
}

TEST_CASE("A URL that expires is asked for anew, once") {
    const site from("expired@rest");
    std::atomic<int> asked{0};
    auto how = quick().refresh([&](std::string_view url) -> ztensor::result<std::string> {
        CHECK(url == from.url());
        ++asked;
        return from.url() + "?fresh=SECRET";
    });
    const std::shared_ptr<const byte_source> source = http_source::open(from.url() + "?old=1", how).value();
    CHECK(wrong_reads(*source, 4) == 0);
    CHECK(asked == 1);

    CHECK(refusal(fetch(from)) == errc::io_error); // nobody to ask
    asked = 0;
    how.refresh([&](std::string_view) -> ztensor::result<std::string> {
        ++asked;
        return from.url() + "?stale";
    });
    CHECK(refusal(fetch(from.url(), how)) == errc::io_error);
    CHECK(asked >= 1);
    CHECK(asked <= 10);
    how.refresh([](std::string_view) -> ztensor::result<std::string> {
        return ztensor::unexpected(errc::cancelled, "logged out");
    });
    CHECK(refusal(fetch(from.url(), how)) == errc::cancelled);
    how.refresh([](std::string_view) -> ztensor::result<std::string> { return std::string("nonsense"); });
    CHECK(refusal(fetch(from.url(), how)) == errc::invalid_argument);
}

TEST_CASE("Where a redirect led expires, and the URL leads elsewhere") {
    for (const char* const status : {"403", "404", "410"}) {
        const site from("redirect=other,status@rest*1=" + std::string(status));
        CHECK(fetch(from, quick().requests_in_flight(1)).value() == site::content());
        std::size_t redirected = 0;
        for (const nlohmann::json& request : from.log()) {
            redirected += request["path"] == from.path();
        }
        CHECK(redirected == 3);
    }
}

// ---- TLS

TEST_CASE("HTTPS is checked, and is not left for HTTP") {
    if (environment("ZTENSOR_HTTPS_PORT").empty()) {
        WARN("skipped: openssl made no certificate");
        return;
    }
    const std::string trusted = environment("ZTENSOR_HTTP_CA");
    const auto untrusted = fetch(site().secure_url());
    CHECK(refusal(untrusted) == errc::io_error);
    CHECK_THAT(untrusted.error().what(), support::contains_text("certificate is not trusted"));
    CHECK(fetch(site().secure_url(), quick().ca_file(trusted)).value() == site::content());
    CHECK(fetch(site().secure_url("localhost"), quick().ca_file(trusted)).value() == site::content());
    CHECK(fetch(site().secure_url(), quick().insecure()).value() == site::content());
    CHECK(refusal(fetch(site().secure_url(), quick().ca_file("/no/such/file"))) == errc::io_error);

    const auto plain = fetch(site("redirect=plain").secure_url(), quick().ca_file(trusted));
    CHECK(refusal(plain) == errc::io_error);
    CHECK_THAT(plain.error().what(), support::contains_text("from https to http"));
    CHECK(fetch(site("redirect=secure"), quick().ca_file(trusted)).value() == site::content());

    const site not_tls; // at the port of http
    const auto spoken = fetch("https" + not_tls.url().substr(4));
    CHECK(refusal(spoken) == errc::io_error);
    CHECK_THAT(spoken.error().what(), support::contains_text("TLS"));
}

// ---- what is left behind

TEST_CASE("Nothing is left behind: no thread, no connection") {
    static_cast<void>(fetch(site()).value()); // what libcurl sets up once
    if (!std::filesystem::exists("/proc/self/task")) {
        return;
    }
    const std::size_t files = open_files(), threads = running_threads();
    {
        const std::shared_ptr<const byte_source> source = http_source::open(site().url(), quick()).value();
        CHECK(running_threads() > threads);
        CHECK(open_files() > files);
        CHECK(read_all(*source).value() == site::content());
    }
    CHECK(running_threads() == threads);
    CHECK(open_files() == files);
    for (const char* const plan : {"status=404", "endless", "reset", "redirect=loop", "stall=5", "whole"}) {
        CHECK(!fetch(site(plan), quick().retries(0)));
    }
    for (int i = 0; i < 20; ++i) {
        CHECK(http_source::open(site().url(), quick()));
    }
    CHECK(running_threads() == threads);
    CHECK(open_files() == files);
}

TEST_CASE("A source that goes while its readers are not waiting is gone at once") {
    const auto start = std::chrono::steady_clock::now();
    // The head fails at once, while the other request of opening would take long.
    CHECK(refusal(http_source::open(site("delay@tail=5,status@head=404").url(), quick().stall_timeout(seconds(9)))) ==
          errc::file_not_found);
    CHECK(seconds_since(start) < 3);
}

#if !defined(_WIN32)
TEST_CASE("In a process that was forked off, reading fails, and the parent goes on") {
    if (!support::forks_beside_threads()) {
        return;
    }
    auto source =
        std::make_unique<std::shared_ptr<const byte_source>>(http_source::open(site().url(), quick()).value());
    CHECK(support::exit_code_of([&] {
              byte_vector bytes(1000);
              const auto read = (*source)->read_at(100'000, bytes);
              const bool is_refused = !read && read.error().code() == errc::io_error;
              const bool knows_ends = (*source)->read_at(0, bytes).has_value();
              source.reset(); // closes nothing of the parent's
              return is_refused && knows_ends ? 7 : 1;
          }) == 7);
    CHECK(read_all(**source).value() == site::content());
}

TEST_CASE("A process that was forked off while others read hears an error at once") {
    if (!support::forks_beside_allocating_threads()) {
        return;
    }
    std::optional<reader> model = open_url(serve_noise("noise.zt").url(), quick()).value();
    std::atomic<bool> is_over{false};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) {
        readers.emplace_back([&] {
            while (!is_over) {
                static_cast<void>(model->read<std::uint8_t>("w"));
            }
        });
    }
    int wrong = 0;
    for (int i = 0; i < 60; ++i) {
        wrong += support::exit_code_of([&] {
                     ::alarm(5); // ends what hangs
                     const auto read = model->read<std::uint8_t>("w");
                     const bool is_refused = !read && read.error().code() == errc::io_error;
                     model.reset(); // closes nothing of the parent's
                     return is_refused ? 7 : 1;
                 }) != 7;
    }
    is_over = true;
    for (std::thread& each : readers) {
        each.join();
    }
    CHECK(wrong == 0);
}

TEST_CASE("Without descriptors every call ends in time") {
    if (!support::forks_beside_allocating_threads()) { // the child starts threads
        return;
    }
    const std::string url = site().url();
    const http_options how = quick().deadline(seconds(2)).connect_timeout(seconds(1)).retries(1);
    const auto use_up = [] {
        const ::rlimit few = {64, 64};
        ::setrlimit(RLIMIT_NOFILE, &few);
        while (::open("/dev/null", O_RDONLY) >= 0) {
        }
        ::alarm(20); // ends what hangs
    };
    CHECK(support::exit_code_of([&] {
              use_up();
              const auto start = std::chrono::steady_clock::now();
              const auto refused = http_source::open(url, how);
              return !refused && refused.error().code() == errc::io_error && seconds_since(start) < 5 ? 7 : 1;
          }) == 7);
    CHECK(support::exit_code_of([&] {
              const auto source = http_source::open(url, how).value();
              use_up();
              const auto start = std::chrono::steady_clock::now();
              const auto read = read_all(*source);
              return (read || read.error().code() == errc::io_error) && seconds_since(start) < 5 ? 7 : 1;
          }) == 7);
}
#endif

// ---- a caller that does not want to wait

TEST_CASE("A call is cancelled while a server is silent") {
    const auto local = serve_noise("noise.zt");
    for (const char* const plan : {"delay@rest=30", "stall@rest=0", "stall@rest=40000", "trickle@rest=0.05"}) {
        CAPTURE(plan);
        const reader model =
            open_url(site(plan, "noise.zt").url(), quick().stall_timeout(seconds(60)).deadline(seconds(60))).value();
        const support::temp_dir place;
        std::chrono::steady_clock::time_point start;
        std::atomic<int> others{0};
        const std::thread::id here = std::this_thread::get_id();
        const auto goes_on = [&](const auto& /*now*/) {
            others += std::this_thread::get_id() != here;
            return seconds_since(start) < 0.3;
        };
        const auto is_cancelled = [&](const auto& call) {
            start = std::chrono::steady_clock::now();
            const auto code = refusal(call());
            return code == errc::cancelled && seconds_since(start) < 2.3;
        };
        byte_vector bytes(site::content().size());
        ztensor::load_plan wanted(model);
        wanted.add("w", bytes);
        const auto watched = ztensor::load_options().progress(goes_on);
        CHECK(is_cancelled([&] { return wanted.run(watched); }));
        CHECK(is_cancelled([&] { return wanted.run(ztensor::load_options(watched).threads(1)); }));
        CHECK(is_cancelled([&] { return ztensor::read_all(model, watched); }));
        CHECK(is_cancelled([&] { return model.verify(0, goes_on); }));
        CHECK(is_cancelled([&] { return model.verify(1, goes_on); }));
        CHECK(is_cancelled([&] {
            auto out = ztensor::writer::create(place / "copy.zt").value();
            return ztensor::copy(model, out, ztensor::copy_options().progress(goes_on));
        }));
        CHECK(is_cancelled([&] {
            return ztensor::export_safetensors(model, place / "m.safetensors",
                                               ztensor::export_options().progress(goes_on));
        }));
        CHECK(others == 0);
    }
}

TEST_CASE("What a progress function throws while a server is silent ends the call") {
    const auto local = serve_noise("noise.zt");
    const reader model =
        open_url(site("delay@rest=30", "noise.zt").url(), quick().stall_timeout(seconds(60)).deadline(seconds(60)))
            .value();
    const auto throwing = [](const auto& /*now*/) -> bool { throw std::runtime_error("enough"); };
    const support::temp_dir place;
    byte_vector bytes(site::content().size());
    ztensor::load_plan wanted(model);
    wanted.add("w", bytes);
    auto out = ztensor::writer::create(place / "copy.zt").value();
    const auto start = std::chrono::steady_clock::now();
    CHECK_THROWS_AS(wanted.run(ztensor::load_options().progress(throwing)), std::runtime_error);
    CHECK_THROWS_AS(model.verify(0, throwing), std::runtime_error);
    CHECK_THROWS_AS(ztensor::copy(model, out, ztensor::copy_options().progress(throwing)), std::runtime_error);
    CHECK(seconds_since(start) < 6);
}

TEST_CASE("A call that is cancelled leaves the reads of other threads whole") {
    const auto local = serve_noise("noise.zt");
    const reader model = open_url(site("delay@rest=0.6", "noise.zt").url(), quick()).value();
    std::atomic<int> wrong{0};
    std::vector<std::thread> others;
    for (int i = 0; i < 3; ++i) {
        others.emplace_back([&] {
            const auto read = model.read<std::uint8_t>("w");
            wrong += !read || !std::equal(read->begin(), read->end(), site::content().begin(), site::content().end(),
                                          [](std::uint8_t a, std::byte b) { return static_cast<std::byte>(a) == b; });
        });
    }
    for (int i = 0; i < 3; ++i) {
        CHECK(refusal(model.verify(0, [](const auto& /*now*/) { return false; })) == errc::cancelled);
    }
    for (std::thread& each : others) {
        each.join();
    }
    CHECK(wrong == 0);
}

// ---- memory

#if defined(__linux__)
namespace {

/// How much more memory the process takes at most, from here on.
class peak_memory {
public:
    peak_memory() {
        std::ofstream("/proc/self/clear_refs") << "5"; // VmHWM begins anew
        begin_ = kib_of("VmRSS:");
    }
    [[nodiscard]] long grown_mib() const { return (kib_of("VmHWM:") - begin_) / 1024; }

private:
    static long kib_of(const std::string& wanted) {
        std::ifstream status("/proc/self/status");
        for (std::string word; status >> word;) {
            if (word == wanted) {
                long kib = 0;
                status >> kib;
                return kib;
            }
        }
        return 0;
    }
    long begin_;
};

/// Each way to read all of the tensor, or most of it, fails and takes little memory.
template <class T>
void check_little_is_taken(const reader& model, const std::string& name) {
    const auto takes_little = [](const auto& call) {
        const peak_memory taken;
        const auto code = refusal(call());
        const long grown = taken.grown_mib();
        CAPTURE(grown);
        CHECK(grown < 60);
        CHECK(code == errc::io_error);
    };
    const ztensor::object_view tensor = model[name];
    takes_little([&] { return model.read<T>(name); });
    takes_little([&] { return model.load<T>(name); });
    takes_little([&] { return model.acquire<T>(name); });
    takes_little([&] { return model.template read_as<double>(name); });
    takes_little([&] { return tensor.rows(100, 25'000'000).template read<T>(); });
    takes_little([&] { return tensor.rows(100, 25'000'000).template read_as<double>(); });
    takes_little([&] { return tensor.data().value().template read<std::byte>(); });
    takes_little([&] { return ztensor::read_all(model); });
    takes_little([&]() -> ztensor::result<void> {
        const support::temp_dir place;
        auto out = ztensor::writer::create(place / "copy.zt").value();
        return ztensor::copy(model, out);
    });
}

} // namespace

TEST_CASE("What a server only claims to have takes no memory") {
    const http_options how = quick().stall_timeout(milliseconds(400)).retries(0);
    std::string header = R"({"w":{"dtype":"F32","shape":[30000000],"data_offsets":[0,120000000]}})";
    header.resize(4000, ' ');
    const std::string length = {static_cast<char>(4000 & 0xff), static_cast<char>(4000 >> 8), 0, 0, 0, 0, 0, 0};
    support::write_file(folder() / "claim.safetensors", length + header);
    for (const unsigned threads : {0U, 1U}) {
        const auto model = open_url(site("claim=120000000,stall@rest=0", "claim.safetensors").url(),
                                    ztensor::read_options().threads(threads), how);
        check_little_is_taken<float>(model.value(), "w");
    }
}

TEST_CASE("Memory for compressed tensors is taken when their bytes have come") {
    std::vector<float> zeros(30'000'000); // behind some noise, which is more than opening brings
    for (std::size_t i = 0; i < 30'000; ++i) {
        zeros[i] = static_cast<float>(std::to_integer<int>(site::content()[i])) / 3;
    }
    auto out = ztensor::writer::create(folder() / "zeros.zt").value();
    CHECK(out.add("w", {zeros.size()}, zeros, ztensor::store().zstd()).has_value());
    CHECK(out.finish().has_value());
    std::vector<float>().swap(zeros);
    const auto model =
        open_url(site("stall@rest=0", "zeros.zt").url(), quick().stall_timeout(milliseconds(400)).retries(0));
    check_little_is_taken<float>(model.value(), "w");
}
#endif

TEST_CASE("A source in static storage outlives main()") {
    static std::shared_ptr<const byte_source> last; // destroyed behind what libcurl's libraries do at exit
    const bool has_tls = !environment("ZTENSOR_HTTPS_PORT").empty();
    last = (has_tls ? http_source::open(site().secure_url(), quick().insecure())
                    : http_source::open(site().url(), quick()))
               .value();
    CHECK(read_all(*last).value() == site::content());
}
