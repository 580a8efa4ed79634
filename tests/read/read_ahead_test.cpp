// SPDX-License-Identifier: MIT
//
// Sources whose requests take time: how many requests they get at once, which, and what becomes of failures.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/executors.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/detail/read/read_ahead.hpp>
#include <ztensor/import.hpp>
#include <ztensor/io.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using support::bytes;
using ztensor::errc;
using ztensor::read_request;
using ztensor::result;
using ztensor::span;

constexpr std::size_t one_kib = 1024;

/// Notes what is asked for, and holds requests back until as many are under way as a test waits for.
class waiting_source : public support::remote_source {
public:
    struct request {
        std::uint64_t offset;
        std::uint64_t length;
    };

    explicit waiting_source(const bytes& content) : remote_source(content) {
        best.request_bytes = 16 * one_kib;
        best.gap_bytes = one_kib;
        best.requests_in_flight = 8;
    }

    result<void> read_at(std::uint64_t offset, span<std::byte> destination) const override {
        {
            std::unique_lock<std::mutex> lock(mutex_);
            requests.push_back({offset, destination.size()});
            threads.push_back(std::this_thread::get_id());
            most_at_once = std::max(most_at_once, ++under_way);
            changed_.notify_all();
            if (wanted_at_once != 0) { // a failure to be so many ends after a while, and fails the test
                const bool came =
                    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return most_at_once >= wanted_at_once; });
                wanted_at_once = came ? wanted_at_once : 0; // others need not wait in vain
            }
            const bool is_opener = std::this_thread::get_id() == opener_; // which nobody else would wake
            changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !is_silent || is_opener; });
            if (delay.count() != 0) {
                lock.unlock();
                std::this_thread::sleep_for(delay);
                lock.lock();
            }
            --under_way;
            if (offset <= fails_at && fails_at < offset + destination.size()) {
                return ztensor::error(errc::io_error, "the connection was lost");
            }
        }
#if ZTENSOR_HAS_EXCEPTIONS
        if (offset <= throws_at && throws_at < offset + destination.size()) {
            throws_at = throws_once ? support::largest : throws_at.load();
            throw std::runtime_error("no route to the store");
        }
#endif
        return remote_source::read_at(offset, destination);
    }

    [[nodiscard]] bool was_read_by(std::thread::id reader) const {
        const std::unique_lock<std::mutex> lock(mutex_);
        return std::find(threads.begin(), threads.end(), reader) != threads.end();
    }
    /// Lets those go on that wait because it was silent.
    void speak() {
        const std::unique_lock<std::mutex> lock(mutex_);
        is_silent = false;
        changed_.notify_all();
    }

    void forget() {
        requests.clear();
        threads.clear();
        most_at_once = 0;
    }
    /// The requests so far, while others may come.
    [[nodiscard]] std::vector<request> noted() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return requests;
    }
    [[nodiscard]] bool is_only_this_thread() const {
        return std::all_of(threads.begin(), threads.end(),
                           [](auto each) { return each == std::this_thread::get_id(); });
    }

    mutable std::vector<request> requests;
    mutable std::vector<std::thread::id> threads;
    mutable std::size_t most_at_once = 0;
    mutable std::size_t under_way = 0;
    mutable std::size_t wanted_at_once = 0;
    std::chrono::microseconds delay{0};
    bool is_silent = false; ///< no byte comes to other threads before speak()
    std::uint64_t fails_at = support::largest;
    mutable std::atomic<std::uint64_t> throws_at{support::largest};
    bool throws_once = false;

private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    const std::thread::id opener_ = std::this_thread::get_id();
};

struct remote {
    std::shared_ptr<waiting_source> source;
    ztensor::reader file;
};

remote opened_far(const bytes& content, const ztensor::read_options& options = {}) {
    auto source = std::make_shared<waiting_source>(content);
    ztensor::reader file = ztensor::reader::from_source(source, options).value();
    source->forget();
    return {std::move(source), std::move(file)};
}

std::vector<float> floats_from(std::size_t count, float first = 0) {
    std::vector<float> made(count);
    for (std::size_t i = 0; i < count; ++i) {
        made[i] = first + static_cast<float>(i % 1000);
    }
    return made;
}

/// One tensor "w" of `count` floats.
bytes one_tensor(std::size_t count, const ztensor::store& how = {}) {
    ztensor::writer to = support::to_memory();
    REQUIRE(to.add("w", {count}, floats_from(count), how));
    return support::finished(to);
}

/// Tensors "0", "1" and so on of `floats` each, which begin with their numbers.
bytes many_tensors(std::size_t count, std::size_t floats, const ztensor::store& how = {}) {
    ztensor::writer to = support::to_memory();
    for (std::size_t i = 0; i < count; ++i) {
        REQUIRE(to.add(std::to_string(i), {floats}, floats_from(floats, static_cast<float>(i)), how));
    }
    return support::finished(to);
}

/// Loads them by a plan, and checks what came.
result<void> load(const ztensor::reader& file, std::size_t count, std::size_t floats,
                  const ztensor::load_options& options = {}) {
    std::vector<std::string> names;
    std::vector<std::vector<float>> loaded(count, std::vector<float>(floats));
    for (std::size_t i = 0; i < count; ++i) {
        names.push_back(std::to_string(i));
    }
    ztensor::load_plan plan(file);
    for (std::size_t i = 0; i < count; ++i) {
        plan.add(names[i], loaded[i]);
    }
    if (const auto done = plan.run(options); !done) {
        return done.error();
    }
    for (std::size_t i = 0; i < count; ++i) {
        CHECK(loaded[i] == floats_from(floats, static_cast<float>(i)));
    }
    return {};
}

/// Ends what waits for so many requests at once, which have to come or fail the test.
void expect_at_once(waiting_source& source, std::size_t count) {
    source.forget();
    source.wanted_at_once = count;
}

} // namespace

TEST_CASE("both ends of a far file are asked for at once when it is opened, then its index, and nothing else") {
    const auto source = std::make_shared<waiting_source>(many_tensors(3, 64 * one_kib));
    source->wanted_at_once = 2;
    const result<ztensor::reader> file = ztensor::reader::from_source(source);
    REQUIRE(file);
    CHECK(source->requests.size() == 3);
    CHECK(source->most_at_once == 2);
}

TEST_CASE("what is asked for behind the end of a far source is out of its bounds") {
    const auto source = std::make_shared<waiting_source>(bytes(1000, 'x'));
    const auto read = ztensor::detail::with_read_ahead(source, {});
    std::vector<std::byte> to(32);
    CHECK(read->read_at(968, to));
    for (const std::uint64_t offset :
         {std::uint64_t{969}, std::uint64_t{1000}, std::uint64_t{1001}, support::largest}) {
        CHECK(read->read_at(offset, to).error().code() == errc::out_of_bounds);
    }
}

TEST_CASE("a far tensor is read by as many requests at once as its source likes, none larger than that likes") {
    const std::size_t count = 256 * one_kib;
    for (const bool has_digest : {false, true}) {
        CAPTURE(has_digest);
        const ztensor::store how = has_digest ? ztensor::store().digest(ztensor::digest::crc32c) : ztensor::store();
        const remote away = opened_far(one_tensor(count, how));
        const ztensor::object_view w = away.file["w"];
        const auto check = [&](const char* verb, std::size_t at_once) {
            CAPTURE(verb);
            CHECK(away.source->most_at_once >= at_once);
            CHECK(std::all_of(away.source->requests.begin(), away.source->requests.end(),
                              [](const auto& each) { return each.length <= 16 * one_kib; }));
            std::uint64_t bytes = 0;
            for (const auto& each : away.source->requests) {
                bytes += each.length;
            }
            CHECK(bytes == count * sizeof(float)); // each once
            expect_at_once(*away.source, 8);
        };
        expect_at_once(*away.source, 8);
        CHECK(w.read<float>().value() == floats_from(count));
        check("read", 8);
        std::vector<float> into(count);
        REQUIRE(w.read_into(into));
        CHECK(into == floats_from(count));
        check("read_into", 8);
        CHECK(w.read_as<double>().value().back() == static_cast<double>(floats_from(count).back()));
        check("read_as", 1);
        const auto all = ztensor::read_all(away.file);
        REQUIRE(all);
        CHECK(all->front().bytes.size() == count * sizeof(float));
        check("read_all", 8);
        const auto verified = away.file.verify();
        REQUIRE(verified);
        CHECK(verified->mismatches.empty());
        CHECK(verified->verified == (has_digest ? 1 : 0));
        if (has_digest) {
            check("verify", 8);
        }
        auto pieces = ztensor::component_pieces::open(w.data().value()).value();
        std::size_t size = 0;
        for (auto piece = pieces.next(); piece && !piece->empty(); piece = pieces.next()) {
            size += piece->size();
        }
        CHECK(size == count * sizeof(float));
        check("pieces", 8);
    }
}

TEST_CASE("large requests are many at once, too, however small the pieces are that a call reads in") {
    const std::size_t count = std::size_t{4096} * one_kib;
    const auto source = std::make_shared<waiting_source>(one_tensor(count));
    source->best.request_bytes = 1024 * one_kib;
    const ztensor::reader file = ztensor::reader::from_source(source).value();
    const ztensor::object_view w = file["w"];
    const std::vector<float> all = floats_from(count);
    const auto check = [&](const char* verb) {
        CAPTURE(verb);
        CHECK(source->most_at_once >= 8);
        CHECK(source->requests.size() <= 17);
        expect_at_once(*source, 8);
    };
    expect_at_once(*source, 8);
    CHECK(w.read<float>().value() == all);
    check("read");
    CHECK(w.read_as<double>().value()[999] == all[999]);
    check("read_as");
    std::vector<double> into(count);
    REQUIRE(w.read_as_into(into));
    CHECK(into[12345] == all[12345]);
    check("read_as_into");
    CHECK(w.load<float>().value()[999] == all[999]);
    check("load");
    CHECK(w.rows(1, count).read<float>().value().back() == all.back());
    check("rows");
}

TEST_CASE("each byte of a far file is asked for once, however its tensors lie") {
    for (const std::size_t floats : {std::size_t{4096}, std::size_t{4095}, std::size_t{17}}) {
        CAPTURE(floats);
        const remote away = opened_far(many_tensors(1000, floats));
        REQUIRE(load(away.file, 1000, floats, ztensor::load_options().max_staging_bytes(1024 * one_kib)));
        std::uint64_t bytes = 0;
        for (const auto& each : away.source->requests) {
            bytes += each.length;
        }
        CHECK(bytes <= away.file.file_bytes());
    }
}

TEST_CASE("of a compressed far tensor whose rows are asked for, little more than these is fetched") {
    ztensor::writer to = support::to_memory();
    std::vector<float> values(std::size_t{4096} * 1024);
    std::uint32_t noise = 1;
    for (float& each : values) {
        noise = noise * 1664525u + 1013904223u;
        each = static_cast<float>(noise);
    }
    REQUIRE(to.add("w", {4096, 1024}, values, ztensor::store().zstd(1)));
    const remote away = opened_far(support::finished(to));
    CHECK(away.file["w"].rows(0, 1).read<float>().value().front() == values.front());
    std::uint64_t bytes = 0;
    for (const auto& each : away.source->requests) {
        bytes += each.length;
    }
    CHECK(bytes < away.file.file_bytes() / 2);
    CHECK(away.file["w"].rows(4095, 4096).read<float>().value().back() == values.back());
}

TEST_CASE("a plan has as many requests under way as its far source likes, small neighbours in one") {
    SECTION("large tensors") {
        const remote away = opened_far(many_tensors(10, 64 * one_kib));
        expect_at_once(*away.source, 8);
        REQUIRE(load(away.file, 10, 64 * one_kib));
        CHECK(away.source->most_at_once >= 8);
    }
    SECTION("small ones") {
        const remote away = opened_far(many_tensors(1000, 100));
        expect_at_once(*away.source, 8);
        REQUIRE(load(away.file, 1000, 100));
        CHECK(away.source->most_at_once >= 8);
        CHECK(away.source->requests.size() < 50); // of 1,000 tensors in 448 KiB
    }
    SECTION("compressed ones") {
        const remote away = opened_far(many_tensors(40, 64 * one_kib, ztensor::store().zstd(1)));
        REQUIRE(load(away.file, 40, 64 * one_kib));
        const remote large = opened_far(one_tensor(4096 * one_kib, ztensor::store().zstd(1)));
        std::vector<float> into(4096 * one_kib);
        REQUIRE(ztensor::load_plan(large.file).add("w", into).run());
        CHECK(into == floats_from(4096 * one_kib));
        CHECK(large.file["w"].read<float>().value() == into);
    }
    SECTION("converted ones") {
        const remote away = opened_far(many_tensors(10, 64 * one_kib));
        std::vector<double> into(64 * one_kib);
        expect_at_once(*away.source, 8);
        REQUIRE(ztensor::load_plan(away.file).add_as("7", into).run());
        CHECK(into[5] == 12.0);
        CHECK(away.source->most_at_once >= 8);
    }
}

TEST_CASE("of a model in many far files the next few are fetched, however many there are") {
    constexpr std::size_t files = 40;
    constexpr std::size_t floats = 10'000;
    std::vector<std::shared_ptr<waiting_source>> sources;
    std::vector<ztensor::reader> readers;
    std::vector<std::vector<float>> loaded(files, std::vector<float>(floats));
    for (std::size_t i = 0; i < files; ++i) {
        ztensor::writer to = support::to_memory();
        REQUIRE(to.add(std::to_string(i), {floats}, floats_from(floats, static_cast<float>(i)),
                       ztensor::store().digest(ztensor::digest::crc32c)));
        auto [source, file] = opened_far(support::finished(to));
        source->delay = std::chrono::milliseconds(1);
        sources.push_back(std::move(source));
        readers.push_back(std::move(file));
    }
    const ztensor::reader model = ztensor::reader::join(readers).value();
    std::vector<std::string> names;
    for (std::size_t i = 0; i < files; ++i) {
        names.push_back(std::to_string(i));
    }
    ztensor::load_plan plan(model);
    for (std::size_t i = 0; i < files; ++i) {
        plan.add(names[i], loaded[i]);
    }
    std::uint64_t most_held_bytes = 0;
    const auto look = [&](const ztensor::load_progress& now) {
        std::uint64_t asked_bytes = 0;
        for (const auto& each : sources) {
            for (const auto& request : each->noted()) {
                asked_bytes += request.length;
            }
        }
        most_held_bytes = std::max(most_held_bytes, asked_bytes - std::min(asked_bytes, now.bytes_done));
        return true;
    };
    REQUIRE(plan.run(ztensor::load_options().threads(2).progress(look)));
    for (std::size_t i = 0; i < files; ++i) {
        CHECK(loaded[i] == floats_from(floats, static_cast<float>(i)));
    }
    CHECK(most_held_bytes < files * floats * sizeof(float) / 2);
}

TEST_CASE("what is copied or exported from a far source is asked for by as many requests at once") {
    const support::temp_dir directory;
    const auto have_many_requests = [](const bytes& content, const auto& work) {
        const auto [source, file] = opened_far(content);
        source->wanted_at_once = 8;
        work(file);
        CHECK(source->most_at_once == 8);
        return source->requests.size();
    };
    const bytes large = one_tensor(200'000);
    const bytes digested = many_tensors(20, 40'000, ztensor::store().digest(ztensor::digest::crc32c));
    for (const bytes& content : {large, many_tensors(200, 1000), digested}) {
        for (const auto version : {ztensor::format_version::v1_2, ztensor::format_version::v2}) {
            const std::size_t requests = have_many_requests(content, [&](const ztensor::reader& file) {
                ztensor::writer to = support::to_memory(version);
                REQUIRE(ztensor::copy(file, to));
                const bytes copied = support::finished(to);
                const ztensor::reader again = support::opened(copied);
                CHECK(again.verify().value().ok());
                CHECK(again.size() == file.size());
            });
            // What is digested is read once more for that.
            const bool is_read_once = version == ztensor::format_version::v1_2 && content != digested;
            CHECK((!is_read_once || requests <= content.size() / (16 * one_kib) + 2));
        }
        have_many_requests(
            content, [&](const ztensor::reader& file) { REQUIRE(ztensor::export_npz(file, directory / "m.npz")); });
        have_many_requests(content, [&](const ztensor::reader& file) {
            REQUIRE(ztensor::export_safetensors(file, directory / "m.safetensors"));
        });
    }
    have_many_requests(large, [&](const ztensor::reader& file) {
        ztensor::writer to = support::to_memory();
        REQUIRE(to.add(file["w"]));
        CHECK(support::finished(to) == large);
    });
}

TEST_CASE(
    "tensors of less than half a request are asked for with their neighbours, unless the source joins them itself") {
    const bytes content = many_tensors(12, 80 * one_kib); // 320 KiB each
    for (const bool joins : {false, true}) {
        CAPTURE(joins);
        const auto source = std::make_shared<waiting_source>(content);
        source->best.request_bytes = one_kib * one_kib;
        source->best.joins_requests = joins;
        const ztensor::reader file = ztensor::reader::from_source(source).value();
        source->forget();
        REQUIRE(load(file, 12, 80 * one_kib));
        CHECK(source->requests.size() == (joins ? 12 : 4));
    }
}

TEST_CASE("rows and slices of a far tensor are read by many requests at once, and near runs by one") {
    ztensor::writer to = support::to_memory();
    REQUIRE(to.add("w", {1024, 1024}, floats_from(std::size_t{1024} * 1024)));
    const remote away = opened_far(support::finished(to));
    expect_at_once(*away.source, 8);
    const std::vector<float> column = away.file["w"].slice({{0, 1024}, {7, 9}}).read<float>().value();
    REQUIRE(column.size() == 2048);
    const std::vector<float> all = floats_from(std::size_t{1024} * 1024);
    for (std::size_t row = 0; row < 1024; ++row) {
        CHECK(column[2 * row] == all[1024 * row + 7]);
    }
    CHECK(away.source->most_at_once >= 8); // rows of 4 KiB are farther apart than gap_bytes
    away.source->best.gap_bytes = 8 * one_kib;
    const ztensor::reader again = ztensor::reader::from_source(away.source).value();
    away.source->forget();
    CHECK(again["w"].slice({{0, 1024}, {7, 9}}).read<float>().value() == column);
    CHECK(away.source->requests.size() <= 4 * 1024 / 12);
    expect_at_once(*away.source, 8);
    CHECK(again["w"].rows(100, 300).read<float>().value().size() == 200 * 1024);
    CHECK(away.source->most_at_once >= 8);
}

TEST_CASE("with one thread, or a source that does not wait, only the caller reads") {
    const bytes content = many_tensors(8, 64 * one_kib);
    const bool by_source = GENERATE(true, false);
    const auto source = std::make_shared<waiting_source>(content);
    source->best.requests_in_flight = by_source ? 1 : 8;
    const auto options = by_source ? ztensor::read_options() : ztensor::read_options().threads(1);
    const ztensor::reader file = ztensor::reader::from_source(source, options).value();
    REQUIRE(load(file, 8, 64 * one_kib, ztensor::load_options().threads(1)));
    CHECK(file["3"].read<float>().value() == floats_from(64 * one_kib, 3));
    CHECK(source->is_only_this_thread());
    CHECK(source->most_at_once == 1);
}

TEST_CASE("a plan on one thread starts none, of a far source either") {
    const remote away = opened_far(many_tensors(8, 64 * one_kib));
    REQUIRE(load(away.file, 8, 64 * one_kib, ztensor::load_options().threads(1)));
    CHECK(away.source->is_only_this_thread());
}

TEST_CASE("a far source gets no more requests at once than the pool may have threads") {
    struct limited_pool {
        limited_pool() { ztensor::limit_pool(3); }
        ~limited_pool() { ztensor::limit_pool(0); }
    } const limited;
    const remote away = opened_far(many_tensors(8, 64 * one_kib));
    away.source->delay = std::chrono::milliseconds(1);
    REQUIRE(load(away.file, 8, 64 * one_kib));
    CHECK(away.source->most_at_once <= 5); // two that fetch, and three that work and may ask for what they wait for
    ztensor::limit_pool(1);
    const remote alone = opened_far(many_tensors(8, 64 * one_kib));
    REQUIRE(load(alone.file, 8, 64 * one_kib));
    CHECK(alone.source->is_only_this_thread());
}

TEST_CASE("what a far source fails with is told once, of the tensor that it is of") {
    const remote away = opened_far(many_tensors(10, 64 * one_kib));
    away.source->fails_at = away.file["4"].data().value().offset() + 100 * one_kib;
    const result<void> loaded = load(away.file, 10, 64 * one_kib);
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().code() == errc::io_error);
    CHECK(loaded.error().object() == "4");
    CHECK(away.file["4"].read<float>().error().code() == errc::io_error);
    CHECK(away.file["5"].read<float>().value() == floats_from(64 * one_kib, 5));
    away.source->fails_at = support::largest;
    CHECK(load(away.file, 10, 64 * one_kib));
}

TEST_CASE("a far source that fails when the file is opened says so") {
    const bytes content = many_tensors(2, 100);
    for (const std::uint64_t place : {std::uint64_t{0}, std::uint64_t{content.size() - 1}}) {
        const auto source = std::make_shared<waiting_source>(content);
        source->fails_at = place;
        const result<ztensor::reader> file = ztensor::reader::from_source(source);
        REQUIRE_FALSE(file);
        CHECK(file.error().code() == errc::io_error);
        source->fails_at = support::largest;
        CHECK(ztensor::reader::from_source(source));
    }
}

#if ZTENSOR_HAS_EXCEPTIONS
TEST_CASE("what a far source throws reaches the caller, and the file can be read afterwards") {
    const remote away = opened_far(many_tensors(10, 64 * one_kib));
    away.source->throws_at = away.file["4"].data().value().offset() + 100 * one_kib;
    CHECK_THROWS_AS(static_cast<void>(load(away.file, 10, 64 * one_kib)), std::runtime_error);
    CHECK_THROWS_AS(static_cast<void>(away.file["4"].read<float>()), std::runtime_error);
    away.source->throws_at = support::largest;
    CHECK(load(away.file, 10, 64 * one_kib));
}

TEST_CASE("what a far source throws once is not asked for again") {
    const remote away = opened_far(many_tensors(10, 64 * one_kib));
    away.source->throws_at = away.file["4"].data().value().offset() + 100 * one_kib;
    away.source->throws_once = true;
    CHECK_THROWS_AS(static_cast<void>(load(away.file, 10, 64 * one_kib)), std::runtime_error);
    CHECK(load(away.file, 10, 64 * one_kib));
}
#endif

TEST_CASE("a plan over a far source stops when it is cancelled") {
    const remote away = opened_far(many_tensors(100, 64 * one_kib));
    away.source->delay = std::chrono::milliseconds(1);
    int calls = 0;
    const auto stop = [&](const ztensor::load_progress&) { return ++calls < 2; };
    const result<void> loaded = load(away.file, 100, 64 * one_kib, ztensor::load_options().progress(stop));
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().code() == errc::cancelled);
    CHECK(away.source->under_way == 0);
    CHECK(away.source->requests.size() < 1600);
}

TEST_CASE("no more is fetched ahead than the requests under way may hold") {
    const remote away = opened_far(one_tensor(1024 * one_kib));
    const std::uint64_t begin = away.file["w"].data().value().offset();
    auto pieces = ztensor::component_pieces::open(away.file["w"].data().value()).value();
    REQUIRE(pieces.next());
    std::this_thread::sleep_for(std::chrono::milliseconds(100)); // for as many as would come
    std::uint64_t farthest = 0;
    for (const auto& each : away.source->noted()) {
        farthest = std::max(farthest, each.offset + each.length - begin);
    }
    const std::uint64_t given = one_kib * one_kib; // the first piece
    CHECK(farthest <= given + 8 * 16 * one_kib + 16 * one_kib);
}

TEST_CASE("far sources are read right by executors that come late, at once, or never") {
    const bytes content = many_tensors(20, 16 * one_kib, ztensor::store().digest(ztensor::digest::sha256));
    support::late_executor late;
    support::prompt_executor prompt;
    support::late_executor never;
    never.accepts = false;
    for (ztensor::executor* const each :
         {static_cast<ztensor::executor*>(&late), static_cast<ztensor::executor*>(&prompt),
          static_cast<ztensor::executor*>(&never)}) {
        const support::used_executor used(each);
        const remote away = opened_far(content);
        CHECK(load(away.file, 20, 16 * one_kib));
        CHECK(away.file["3"].read<float>().value() == floats_from(16 * one_kib, 3));
        CHECK(away.file.verify().value().verified == 20);
        late.run_all();
    }
}

namespace {

/// Takes several requests, and completes them from the last to the first, on a thread of its own.
class many_source final : public waiting_source {
public:
    enum class habit { right, loses_one, fails_one };

    many_source(const bytes& content, habit does) : waiting_source(content), does_(does) { best.requests_per_call = 8; }

    void read_many(ztensor::read_requests& wanted) const override {
        ++calls;
        for (;;) {
            std::vector<read_request> taken;
            for (std::optional<read_request> next; taken.size() < 8 && (next = wanted.next());) {
                taken.push_back(*next);
            }
            if (taken.empty()) {
                return;
            }
            std::thread worker([&] {
                for (std::size_t i = taken.size(); i-- != 0;) {
                    const bool is_third = ++taken_count == 3;
                    if (is_third && does_ == habit::loses_one) {
                        continue;
                    }
                    if (is_third && does_ == habit::fails_one) {
                        wanted.complete(taken[i], ztensor::error(errc::file_changed, "another version"));
                        continue;
                    }
                    wanted.complete(taken[i], read_at(taken[i].offset, taken[i].destination));
                }
            });
            worker.join();
        }
    }

    mutable std::atomic<int> calls{0};
    mutable std::atomic<int> taken_count{0};

private:
    habit does_;
};

} // namespace

TEST_CASE("a source takes its requests by itself, in any order, and what it loses is asked for again") {
    using habit = many_source::habit;
    const bytes content = many_tensors(10, 64 * one_kib);
    for (const habit does : {habit::right, habit::loses_one, habit::fails_one}) {
        const auto source = std::make_shared<many_source>(content, does);
        const ztensor::reader file = ztensor::reader::from_source(source).value();
        source->taken_count = 0;
        source->delay = std::chrono::milliseconds(1); // so that its thread comes in time
        const result<void> loaded = load(file, 10, 64 * one_kib);
        if (does == habit::fails_one) {
            REQUIRE_FALSE(loaded);
            CHECK(loaded.error().code() == errc::file_changed);
        } else {
            CHECK(loaded);
        }
        CHECK(source->calls > 0);
    }
}

namespace {

/// The first call keeps its last request until another call has come. Readers get nothing before it has taken all that
/// it takes, since else they might ask for everything themselves meanwhile.
class holding_source final : public waiting_source {
public:
    explicit holding_source(const bytes& content) : waiting_source(content) { best.requests_per_call = 8; }

    result<void> read_at(std::uint64_t offset, span<std::byte> destination) const override {
        if (holds) {
            std::unique_lock<std::mutex> lock(mutex_);
            came_.wait_for(lock, std::chrono::seconds(20), [&] { return has_taken_; });
        }
        return waiting_source::read_at(offset, destination);
    }

    void read_many(ztensor::read_requests& wanted) const override {
        const bool is_first = holds && count_call() == 1;
        std::vector<read_request> taken;
        while (const std::optional<read_request> next = wanted.next()) {
            taken.push_back(*next);
        }
        if (is_first) {
            const std::lock_guard<std::mutex> lock(mutex_);
            has_taken_ = true;
            came_.notify_all();
        }
        for (std::size_t i = 0; i < taken.size(); ++i) {
            if (is_first && i + 1 == taken.size()) {
                std::unique_lock<std::mutex> lock(mutex_);
                another_came = came_.wait_for(lock, std::chrono::seconds(20), [&] { return calls_ > 1; });
            }
            wanted.complete(taken[i], read_at(taken[i].offset, taken[i].destination));
        }
    }

    std::atomic<bool> holds{false};
    mutable bool another_came = false;

private:
    int count_call() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        came_.notify_all();
        return ++calls_;
    }

    mutable std::mutex mutex_;
    mutable std::condition_variable came_;
    mutable int calls_ = 0;
    mutable bool has_taken_ = false;
};

} // namespace

TEST_CASE("while a source waits for what it has under way, another call asks for what there is memory for by then") {
    const auto source = std::make_shared<holding_source>(many_tensors(1000, 100));
    const ztensor::reader file = ztensor::reader::from_source(source).value();
    source->holds = true;
    REQUIRE(load(file, 1000, 100));
    CHECK(source->another_came);
}

namespace {

/// Gives up before it takes a request, or throws.
class idle_source final : public waiting_source {
public:
    idle_source(const bytes& content, bool throws) : waiting_source(content), throws_(throws) {
        best.requests_per_call = 8;
    }
    void read_many(ztensor::read_requests&) const override {
#if ZTENSOR_HAS_EXCEPTIONS
        if (throws_) {
            throw std::runtime_error("no route to the store");
        }
#endif
    }

private:
    [[maybe_unused]] bool throws_;
};

} // namespace

TEST_CASE("a source that takes no request is read all the same, and not asked without end") {
    support::prompt_executor prompt;
    for (ztensor::executor* const each :
         {static_cast<ztensor::executor*>(&prompt), static_cast<ztensor::executor*>(nullptr)}) {
        const support::used_executor used(each);
        for (const bool throws : {false, true}) {
            const ztensor::reader file =
                ztensor::reader::from_source(std::make_shared<idle_source>(many_tensors(4, 64 * one_kib), throws))
                    .value();
            CHECK(load(file, 4, 64 * one_kib));
        }
    }
}

#if !defined(_WIN32)
TEST_CASE("the progress function of a plan is asked while no byte comes, and ends what waits") {
    bool has_waited = false; // or it has read itself, as threads came late
    for (int i = 0; i < 50 && !has_waited; ++i) {
        const remote away = opened_far(one_tensor(4096 * one_kib)); // far more than opening has read
        away.source->forget();
        away.source->is_silent = true;
        int calls = 0;
        std::uint64_t first_bytes = 1;
        std::vector<float> numbers(4096 * one_kib);
        ztensor::load_plan plan(away.file);
        plan.add("w", numbers);
        const auto loaded = plan.run(ztensor::load_options().progress([&](const ztensor::load_progress& now) {
            first_bytes = calls == 0 ? now.bytes_done : first_bytes;
            if (++calls == 3) {
                away.source->speak();
            }
            return calls < 3;
        }));
        away.source->speak();
        has_waited = !away.source->was_read_by(std::this_thread::get_id());
        if (has_waited) {
            CHECK(support::refusal(loaded) == errc::cancelled);
            CHECK(calls == 3);
            CHECK(first_bytes == 0);
        }
    }
    CHECK(has_waited);
}

TEST_CASE("several threads read the same far tensor at once, each what the others fetch") {
    const remote away = opened_far(one_tensor(64 * one_kib, ztensor::store().digest(ztensor::digest::sha256)));
    away.source->delay = std::chrono::microseconds(50);
    const std::vector<float> expected = floats_from(64 * one_kib);
    std::atomic<int> wrong{0};
    for (int round = 0; round < 30; ++round) {
        std::vector<std::thread> readers;
        for (int i = 0; i < 3; ++i) {
            readers.emplace_back([&] {
                const auto read = away.file.read<float>("w");
                wrong += !read || *read != expected;
            });
        }
        for (std::thread& each : readers) {
            each.join();
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("a forked child reads from a far source what its parent was reading ahead") {
    if (!support::forks_beside_allocating_threads()) {
        return;
    }
    const remote away = opened_far(one_tensor(1024 * one_kib));
    auto pieces = ztensor::component_pieces::open(away.file["w"].data().value()).value();
    REQUIRE(pieces.next());
    CHECK(support::exit_code_of([&] {
              const auto again = away.file["w"].rows(0, 1000).read<float>();
              return again && *again == floats_from(1000) ? 0 : 1;
          }) == 0);
}
#endif
