// SPDX-License-Identifier: MIT
//
// Plans: everything at once gives what one by one gives, whatever it is cut into; all problems are told before a byte
// is read; and failures, cancellations and exceptions end a plan with no thread left behind.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/array.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <zstd.h>

namespace {

using support::bytes;
using support::outcome;
using ztensor::bfloat16;
using ztensor::errc;
using ztensor::load_options;
using ztensor::load_plan;
using ztensor::load_progress;
using ztensor::load_report;
using ztensor::read_options;
using ztensor::reader;
using ztensor::result;
using ztensor::span;
using ztensor::store;

template <class T>
std::vector<T> some(std::size_t count, std::uint32_t seed) {
    std::vector<T> out(count);
    const support::byte_vector content = support::noise(count * sizeof(T), seed);
    std::copy(content.begin(), content.end(), ztensor::detail::as_writable_bytes(span<T>(out)).begin());
    return out;
}

/// Numbers in which there is something to compress.
std::vector<std::int32_t> small_numbers(std::size_t count) {
    std::vector<std::int32_t> out = some<std::int32_t>(count, 9);
    for (std::int32_t& each : out) {
        each &= 0xffff;
    }
    return out;
}

/// Of everything that a plan treats in its own way: small and large, raw and compressed, with digests and without.
const bytes& model() {
    static const bytes content = [] {
        ztensor::writer out = ztensor::writer::to_memory().value();
        const auto raw = store();
        const auto checked = store().digest(ztensor::digest::crc32c);
        const auto packed = store().zstd().digest(ztensor::digest::sha256);
        out.add("big", {1000, 3000}, some<float>(3000000, 1), raw).value();
        out.add("big checked", {700000}, some<float>(700000, 2), checked).value();
        out.add("big halves", {700, 1000}, some<bfloat16>(700000, 3), raw).value();
        out.add("big packed", {1000, 1000}, small_numbers(1000000), packed).value();
        out.add("bools", {5}, std::vector<bool>{true, false, true, true, false}, raw).value();
        out.add("nothing", {0, 7}, std::vector<float>(), raw).value();
        out.add("scalar", {}, std::vector<double>{2.5}, checked).value();
        for (int i = 0; i < 40; ++i) {
            out.add("small " + std::to_string(i), {10, 50}, some<std::int16_t>(500, 10U + static_cast<unsigned>(i)),
                    i % 3 == 0   ? checked
                    : i % 3 == 1 ? packed
                                 : raw)
                .value();
        }
        out.finish().value();
        return support::as_string(out.take_bytes());
    }();
    return content;
}

/// Destinations for all of it, and a plan that fills them.
struct everything {
    std::vector<float> big = std::vector<float>(3000000);
    std::vector<float> big_checked = std::vector<float>(700000);
    std::vector<float> halves = std::vector<float>(700000);
    std::vector<std::int32_t> packed = std::vector<std::int32_t>(1000000);
    std::vector<double> packed_numbers = std::vector<double>(1000000);
    bool bools[5] = {};
    std::vector<float> nothing;
    std::vector<float> scalar = std::vector<float>(1);
    std::vector<std::int16_t> small = std::vector<std::int16_t>(40 * 500);
    std::vector<float> rows = std::vector<float>(2 * 3000);
    std::vector<float> corner = std::vector<float>(4 * 8);
    std::vector<std::int32_t> packed_rows = std::vector<std::int32_t>(3 * 1000);
    std::vector<float> twice = std::vector<float>(700000);

    [[nodiscard]] load_plan plan(const reader& from) {
        load_plan wanted(from);
        wanted.add(from["big"].slice({{0, 4}, {8, 16}}), corner);
        for (std::size_t i = 0; i < 40; ++i) {
            wanted.add("small " + std::to_string(i), span(small).subspan(i * 500, 500));
        }
        wanted.add("big packed", packed).add("big", big).add("bools", bools).add("nothing", nothing);
        wanted.add("big checked", big_checked).add_as("big checked", twice).add_as("big halves", halves);
        wanted.add_as("scalar", scalar).add_as("big packed", packed_numbers);
        wanted.add("big", ztensor::rows(998, 1000), rows).add("big packed", ztensor::rows(500, 503), packed_rows);
        return wanted;
    }

    void check(const reader& from) const {
        CHECK(support::memory_of(big) == support::memory_of(from.read<float>("big").value()));
        CHECK(support::memory_of(big_checked) == support::memory_of(from.read<float>("big checked").value()));
        CHECK(std::equal(twice.begin(), twice.end(), big_checked.begin(), big_checked.end(), [](float a, float b) {
            return a == b || (a != a && b != b); // a processor may make a signalling NaN a quiet one as it converts
        }));
        CHECK(support::memory_of(halves) == support::memory_of(from.read_as<float>("big halves").value()));
        CHECK(packed == small_numbers(1000000));
        CHECK(packed_numbers == std::vector<double>(packed.begin(), packed.end()));
        CHECK(std::vector<bool>(bools, bools + 5) == std::vector<bool>{true, false, true, true, false});
        CHECK(scalar[0] == 2.5F);
        for (std::size_t i = 0; i < 40; ++i) {
            CHECK(support::memory_of(span(small).subspan(i * 500, 500)) ==
                  support::memory_of(some<std::int16_t>(500, 10U + static_cast<unsigned>(i))));
        }
        CHECK(support::memory_of(rows) == support::memory_of(from["big"].rows(998, 1000).read<float>().value()));
        CHECK(support::memory_of(corner) ==
              support::memory_of(from["big"].slice({{0, 4}, {8, 16}}).read<float>().value()));
        CHECK(packed_rows == from["big packed"].rows(500, 503).read<std::int32_t>().value());
    }
};

/// Throws, or answers with an error, at the read of that number. Safe to read from many threads.
class failing_source final : public ztensor::byte_source {
public:
    explicit failing_source(const bytes& content, bool is_far) : content_(support::to_vector(content)) {
        best_.requests_in_flight = is_far ? 8 : 1;
    }

    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    [[nodiscard]] ztensor::read_preferences preferences() const noexcept override { return best_; }
    [[nodiscard]] result<void> read_at(std::uint64_t offset, span<std::byte> destination) const override {
        const int now = reads++;
#if ZTENSOR_HAS_EXCEPTIONS
        if (now == throwing_read) {
            throw std::runtime_error("the connection was lost");
        }
#endif
        if (now == failing_read) {
            return ztensor::error(errc::io_error, "the connection was lost");
        }
        std::copy_n(content_.begin() + static_cast<std::ptrdiff_t>(offset), destination.size(), destination.begin());
        return {};
    }

    mutable std::atomic<int> reads{0};
    std::atomic<int> throwing_read{-1};
    std::atomic<int> failing_read{-1};

private:
    support::byte_vector content_;
    ztensor::read_preferences best_;
};

} // namespace

TEST_CASE("a plan gives what reading one by one gives, on any number of threads, with little or much staging") {
    const support::temp_dir directory;
    for (const support::opening& each : support::open_every_way(model(), directory)) {
        const reader& file = each.file.value();
        for (const unsigned threads : {1U, 2U, 7U}) {
            for (const std::uint64_t staging : {std::uint64_t{64} << 20, ~std::uint64_t{0}}) {
                CAPTURE(each.way, threads, staging);
                everything into;
                const load_plan plan = into.plan(file);
                const load_report report = plan.run(load_options().threads(threads).max_staging_bytes(staging)).value();
                into.check(file);
                CHECK(report.bytes_read >= 12000000 + 2800000 + 1400000);
                CHECK(report.bytes_decoded >= 12000000 + 2 * 2800000 + 1400000 + 2 * 4000000 + 40 * 1000);
                CHECK(report.seconds > 0);
            }
        }
    }
}

TEST_CASE("a plan reads large tensors straight into their place, and small neighbours at once") {
    const support::watched seen = support::watch(model());
    std::vector<std::vector<std::int16_t>> small(40, std::vector<std::int16_t>(500));
    load_plan plan(seen.file);
    for (std::size_t i = 0; i < 40; i += 3) { // two of three are left out: small gaps
        plan.add("small " + std::to_string(i), small[i]);
    }
    CHECK(outcome(plan.run(load_options().threads(1))) == "ok");
    if (support::host_is_little_endian()) { // others turn each tensor's elements around as they read it
        CHECK(seen.source->reads.size() == 1);
    }

    seen.source->reads.clear();
    std::vector<float> big(3000000);
    CHECK(load_plan(seen.file).add("big", big).run(load_options().threads(1)).value().bytes_read == 12000000);
    const std::uint64_t begin = seen.file.find("big").value().data().value().offset();
    CHECK(seen.source->reads == support::read_ranges{{begin, 8U << 20}, {begin + (8U << 20), 12000000 - (8U << 20)}});
}

TEST_CASE("all problems of a plan are told together, before anything is read") {
    const support::watched seen = support::watch(model());
    std::vector<float> floats(10);
    std::vector<double> doubles(500);
    load_plan plan(seen.file);
    plan.add("absent", floats).add("big", floats).add("small 1", doubles).add("scalar", ztensor::rows(0, 1), floats);
    plan.add(seen.file["big"].slice({{0, 1}}), floats)
        .add_as("bools", floats)
        .add("big", ztensor::rows(999, 1001), floats);
    std::vector<std::int16_t> good(500);
    plan.add("small 2", good);
    CHECK(plan.size() == 8);
    const result<load_report> failed = plan.run();
    REQUIRE(outcome(failed) == "object_not_found");
    const std::string& said = failed.error().sentence();
    CAPTURE(said);
    for (const std::string_view part :
         {"7 of 8", "\"absent\"", "\"big\": the destination has 10 elements, but there are 3000000", "\"small 1\"",
          "\"scalar\"", "2 dimensions", "\"bools\"", "999 to 1001"}) {
        CAPTURE(part);
        CHECK(said.find(part) != std::string::npos);
    }
    CHECK(seen.source->reads.empty());
    CHECK(outcome(load_plan(seen.file).add("big", floats).run()) == "size_mismatch");
    CHECK(load_plan(seen.file).add("big", floats).run().error().object() == "big");
    CHECK(load_plan(seen.file).run().value().bytes_decoded == 0);
}

TEST_CASE("destinations that overlap are refused before anything is read, in a sentence with both names") {
    const support::watched seen = support::watch(model());
    std::vector<std::int16_t> all(2000);
    const auto part = [&](std::size_t from, std::size_t count = 500) { return span(all).subspan(from, count); };
    const auto check = [&](load_plan& plan, std::string_view said) {
        const result<load_report> failed = plan.run();
        REQUIRE(outcome(failed) == "invalid_argument");
        CHECK(failed.error().kind() == ztensor::error_kind::usage);
        CAPTURE(failed.error().what());
        CHECK(failed.error().what().find(said) != std::string::npos);
        CHECK(support::outcome(plan.check()) == "invalid_argument");
        CHECK(seen.source->reads.empty());
    };
    for (const std::size_t from : {500U, 501U, 999U}) {
        load_plan plan(seen.file);
        plan.add("small 2", part(from)).add("small 3", part(1500)).add("small 1", part(500));
        check(plan, from == 500 ? "overlaps that of" : "\"small 2\": its destination overlaps that of \"small 1\"");
    }
    load_plan twice(seen.file);
    twice.add("small 1", part(0)).add("small 1", part(0));
    check(twice, "\"small 1\": its destination overlaps that of \"small 1\"");
    load_plan within(seen.file);
    within.add("small 1", part(0)).add("small 2", ztensor::rows(2, 3), part(100, 50));
    check(within, "\"small 2\": its destination overlaps that of \"small 1\"");
    load_plan several(seen.file);
    several.add("absent", part(0)).add("small 1", part(0)).add("small 2", part(1)).add("small 3", part(2));
    const result<load_report> failed = several.run();
    CHECK(outcome(failed) == "object_not_found");
    CHECK(failed.error().sentence().find("3 of 4") != std::string::npos);

    std::vector<float> nothing;
    load_plan neighbours(seen.file);
    neighbours.add("small 1", part(500)).add("nothing", nothing).add("small 0", part(0)).add("small 2", part(1000));
    neighbours.add("nothing", ztensor::span<float>(reinterpret_cast<float*>(all.data()), 0));
    CHECK(outcome(neighbours.run()) == "ok");
    CHECK(std::equal(all.begin() + 500, all.begin() + 1000, some<std::int16_t>(500, 11).begin()));
}

TEST_CASE("rows that lie apart may lie between those of other tensors, and overlap none") {
    const reader file = support::opened(model());
    // Matrices of 10 rows and 50 columns, beside each other in one of 10 rows and 150 columns, and a tensor behind it.
    std::vector<std::int16_t> all(10 * 150 + 500);
    const auto column = [&](std::size_t first, std::size_t step = 150) {
        return ztensor::into(all.data() + first, step * sizeof(std::int16_t));
    };
    const auto of = [&](std::size_t first, std::size_t second, std::size_t third, std::size_t behind) {
        load_plan plan(file);
        plan.add("small 2", column(second)).add("small 1", column(first)).add("small 3", column(third));
        plan.add("small 4", span(all).subspan(behind, 500));
        return plan.run();
    };
    REQUIRE(outcome(of(0, 50, 100, 1500)) == "ok");
    for (std::size_t row = 0; row < 10; ++row) {
        for (std::size_t each = 0; each < 3; ++each) {
            const auto expected = some<std::int16_t>(500, static_cast<std::uint32_t>(11 + each));
            const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row * 150 + each * 50);
            CHECK(std::equal(begin, begin + 50, expected.begin() + static_cast<std::ptrdiff_t>(row * 50)));
        }
    }
    CHECK(outcome(of(0, 49, 100, 1500)) == "invalid_argument"); // a column of two tensors
    CHECK(outcome(of(0, 50, 99, 1500)) == "invalid_argument");
    CHECK(outcome(of(0, 50, 101, 1500)) == "invalid_argument"); // whose last row goes on behind the matrix
    CHECK(outcome(of(0, 50, 100, 1499)) == "invalid_argument");
    const result<load_report> overlapping = load_plan(file).add("small 1", column(0, 49)).run();
    REQUIRE(outcome(overlapping) == "invalid_argument");
    CHECK(overlapping.error().sentence() == "rows of 100 bytes overlap where each begins 98 behind the one before");
    CHECK(outcome(load_plan(file).add("small 1", column(0, 50)).run()) == "ok");
    const auto one_row = [&](std::size_t step) {
        return load_plan(file).add(file["small 1"].rows(3, 4), column(0, step)).run();
    };
    CHECK(outcome(one_row(0)) == "ok");
}

TEST_CASE("a plan of many interleaved rows is checked in no time") {
    constexpr std::size_t count = 2'000;
    constexpr std::size_t rows = 100;
    const reader file = support::reopened({}, [&](ztensor::writer& to) {
        const std::vector<std::uint8_t> column(rows, 7);
        for (std::size_t i = 0; i < count; ++i) {
            to.add(std::to_string(i), {rows, 1U}, column).value();
        }
    });
    std::vector<std::uint8_t> all(rows * count);
    load_plan plan(file);
    for (std::size_t i = 0; i < count; ++i) {
        plan.add(std::to_string(i), ztensor::into(all.data() + i, count));
    }
    CHECK(outcome(plan.run()) == "ok");
    CHECK(std::count(all.begin(), all.end(), 7) == static_cast<std::ptrdiff_t>(all.size()));
}

TEST_CASE("options own the progress function that they were given, whatever became of it, and copies share it") {
    const reader file = support::opened(model());
    everything into;
    const load_plan plan = into.plan(file);
    const auto calls = std::make_shared<std::size_t>(0);
    const auto counting = [&calls] {
        return load_options().threads(1).progress([calls](const load_progress&) { return ++*calls != 0; });
    };
    const load_options kept = counting();
    const load_options copied = kept; // NOLINT: the copy is what is looked at
    CHECK(calls.use_count() == 2);
    REQUIRE(outcome(plan.run(copied)) == "ok");
    CHECK(*calls != 0);
}

TEST_CASE("progress comes on the calling thread, rises to the whole, and cancels") {
    const reader file = support::opened(model());
    for (const unsigned threads : {1U, 4U}) {
        everything into;
        const load_plan plan = into.plan(file);
        const std::thread::id mine = std::this_thread::get_id();
        std::vector<load_progress> seen;
        bool is_elsewhere = false;
        const auto note = [&](const load_progress& now) {
            is_elsewhere = is_elsewhere || std::this_thread::get_id() != mine;
            seen.push_back(now);
            return true;
        };
        const load_report report = plan.run(load_options().threads(threads).progress(note)).value();
        CHECK(!is_elsewhere);
        REQUIRE(!seen.empty());
        CHECK(std::is_sorted(seen.begin(), seen.end(), [](const load_progress& a, const load_progress& b) {
            return a.bytes_done < b.bytes_done;
        }));
        CHECK(seen.back().bytes_done == seen.back().bytes_total);
        CHECK(seen.back().bytes_total == report.bytes_decoded);
        CHECK(seen.back().name.empty());

        for (std::size_t when = 1; when < std::min<std::size_t>(seen.size(), 20); ++when) {
            std::size_t calls = 0;
            const auto cancel = [&](const load_progress&) { return ++calls != when; };
            const result<load_report> cancelled = plan.run(load_options().threads(threads).progress(cancel));
            if (calls == when || threads == 1) { // else the others had done it all
                CHECK(calls == when);
                CHECK((outcome(cancelled) == "cancelled" || threads > 1));
            }
        }
        into.plan(file).run().value();
        into.check(file);
    }
    const load_options plain = load_options().progress(+[](const load_progress&) { return false; });
    std::vector<float> big(3000000);
    CHECK(outcome(load_plan(file).add("big", big).run(load_options(plain).threads(1))) == "cancelled");
}

TEST_CASE("a source that fails or throws ends the plan with its error, and the next one works") {
    const bool is_far = GENERATE(false, true);
    const auto source = std::make_shared<failing_source>(model(), is_far);
    const reader file = reader::from_source(source).value();
    for (const unsigned threads : {1U, 4U}) {
        everything into;
        const load_plan plan = into.plan(file);
        source->reads = 0;
        REQUIRE(outcome(plan.run(load_options().threads(threads))) == "ok");
        const int all =
            is_far ? source->reads * 3 / 4 : source->reads.load(); // a far one may be asked for a little less
        for (int when = 0; when < all; when += 1 + all / 9) {
            CAPTURE(threads, when, all);
            source->reads = 0;
            source->failing_read = when;
            const result<load_report> failed = plan.run(load_options().threads(threads));
            REQUIRE(outcome(failed) == "io_error");
            CHECK(failed.error().what().find("the connection was lost") != std::string::npos);
            CHECK(!failed.error().object().empty());
            source->failing_read = -1;
#if ZTENSOR_HAS_EXCEPTIONS
            source->reads = 0;
            source->throwing_read = when;
            CHECK_THROWS_AS(static_cast<void>(plan.run(load_options().threads(threads))), std::runtime_error);
            source->throwing_read = -1;
#endif
        }
        REQUIRE(outcome(plan.run(load_options().threads(threads))) == "ok");
        into.check(file);
    }
}

TEST_CASE("damage ends a plan with its name, and leaves no bools but 0 and 1") {
    const reader good = support::opened(model());
    for (const char* name : {"big checked", "small 0", "small 1", "big packed", "scalar"}) {
        bytes damaged = model();
        const ztensor::component_view data = good.find(name).value().data().value();
        char& byte = damaged[static_cast<std::size_t>(data.offset() + data.stored_bytes() / 2)];
        byte = static_cast<char>(byte ^ 1);
        for (const unsigned threads : {1U, 3U}) {
            CAPTURE(name, threads);
            const reader file = support::opened(damaged);
            everything into;
            const result<load_report> failed = into.plan(file).run(load_options().threads(threads));
            REQUIRE(outcome(failed) == "digest_mismatch");
            CHECK(failed.error().object() == name);
            CHECK(!std::any_of(into.bools, into.bools + 5, [](bool each) { return each; }));
        }
    }
}

TEST_CASE("a frame larger than the staging memory is refused, where it must be staged") {
    ztensor::writer out = ztensor::writer::to_memory().value();
    const std::vector<std::int32_t> numbers = small_numbers(4000000);
    out.add("w", {4000000}, numbers, store().zstd()).value();
    out.finish().value();
    const std::vector<std::byte> content = out.take_bytes();
    const support::temp_dir directory;
    support::write_file(directory / "f.zt", support::as_string(content));
    std::vector<std::int32_t> into(4000000);
    for (const bool is_file : {true, false}) {
        CAPTURE(is_file);
        const reader file = is_file ? reader::open(directory / "f.zt").value()
                                    : reader::from_bytes(ztensor::bytes_view(content)).value();
        load_plan plan(file);
        plan.add("w", into);
        CHECK(outcome(plan.run(load_options().max_staging_bytes(1 << 18))) == (is_file ? "limit_exceeded" : "ok"));
        std::fill(into.begin(), into.end(), 0);
        CHECK(outcome(plan.run()) == "ok");
        CHECK(into == numbers);
    }
}

TEST_CASE("a plan hints at what it will read, raw or not, in whole or in part") {
    const ztensor::reader file = support::reopened(ztensor::write_options(), [](ztensor::writer& out) {
        const std::vector<float> numbers(40000, 0.5f);
        out.add("raw", {200, 200}, numbers).value();
        out.add("zstd", {200, 200}, numbers, ztensor::store().zstd()).value();
        out.add("planes", {200, 200}, numbers, ztensor::store().planes()).value();
    });
    std::vector<float> raw(40000), zstd(40000), planes(40000), rows(200);
    ztensor::load_plan plan(file);
    plan.add("raw", raw).add("zstd", zstd).add("planes", planes).add("zstd", ztensor::rows(3, 4), rows);
    CHECK(plan.prefetch());
    CHECK(plan.run());
    CHECK(rows == std::vector<float>(200, 0.5f));
    CHECK(ztensor::load_plan(file).add("none", raw).prefetch().error().code() == ztensor::errc::object_not_found);
}

TEST_CASE("read_all gives every dense object in memory of its own") {
    const reader file = support::opened(model());
    const std::vector<ztensor::loaded_tensor> all = ztensor::read_all(file).value();
    REQUIRE(all.size() == file.size());
    std::size_t i = 0;
    for (const ztensor::object_view object : file) {
        CHECK(all[i].object.name() == object.name());
        const bytes stored = support::memory_of(object.read<std::byte>().value());
        const std::size_t width = ztensor::width_bytes(*object.data().value().dtype().known());
        CHECK(support::memory_of(all[i].bytes) == support::between_file_and_host(stored, width));
        ++i;
    }
    const auto cancel = [](const load_progress&) { return false; };
    CHECK(outcome(ztensor::read_all(file, load_options().threads(1).progress(cancel))) == "cancelled");
}

TEST_CASE("read_all lists what it leaves out, each with its reason") {
    const reader file = support::reopened({}, [](ztensor::writer& out) {
        out.add("dense", {2}, {1.0F, 2.0F}).value();
        out.add_csr("sparse", {2, 3}, std::vector<float>{7, 8, 9}, std::vector<std::uint64_t>{1, 0, 2},
                    std::vector<std::uint64_t>{0, 1, 3})
            .value();
        out.add_object("blocks",
                       ztensor::object_draft("gguf.q8_0/1", {32}).component("data", std::vector<std::uint8_t>(34)))
            .value();
        out.add("weights", {2}, {1.0F, 2.0F}).value();
    });
    const ztensor::loaded_tensors all = ztensor::read_all(file).value();
    REQUIRE(all.size() == 2);
    CHECK(all[0].object.name() == "dense");
    CHECK(all[1].object.name() == "weights");
    REQUIRE(all.left_out.size() == 2);
    CAPTURE(all.left_out[0].why, all.left_out[1].why);
    CHECK(all.left_out[0].name == "blocks");
    CHECK(all.left_out[0].why.find("its format is \"gguf.q8_0/1\", not dense") == 0);
    CHECK(all.left_out[1].name == "sparse");
    CHECK(all.left_out[1].why.find("its format is \"sparse_csr\", not dense") == 0);
    const std::vector<ztensor::loaded_tensor> tensors = ztensor::read_all(file).value(); // as it was called before
    CHECK(tensors.size() == 2);
    const reader dense = support::opened(model());
    CHECK(ztensor::read_all(dense).value().left_out.empty());
}

TEST_CASE("sixteen threads read, verify and plan on one reader at once") {
    const auto source = std::make_shared<failing_source>(model(), false);
    const reader file = reader::from_source(source).value();
    std::vector<std::thread> threads;
    std::atomic<int> good{0};
    for (unsigned i = 0; i < 16; ++i) {
        threads.emplace_back([&, i] {
            switch (i % 4) {
            case 0: {
                std::vector<std::int32_t> packed(1000000);
                std::vector<float> halves(700000);
                load_plan plan(file);
                plan.add("big packed", packed).add_as("big halves", halves);
                good += plan.run(load_options().threads(3)).has_value() && packed == small_numbers(1000000) ? 1 : 0;
                break;
            }
            case 1:
                good += file.verify(2).value().ok() ? 1 : 0;
                break;
            case 2:
                good += file.read<std::int32_t>("big packed").value() == small_numbers(1000000) ? 1 : 0;
                break;
            default: {
                std::size_t calls = 0;
                const auto cancel = [&](const load_progress&) { return ++calls < 3; };
                std::vector<float> halves(700000);
                std::vector<float> again(700000);
                std::vector<std::int32_t> packed(1000000);
                load_plan plan(file);
                plan.add_as("big halves", halves).add("big packed", packed).add_as("big halves", again);
                const result<load_report> done = plan.run(load_options().threads(2).progress(cancel));
                good += done || done.error().code() == errc::cancelled ? 1 : 0;
            }
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    CHECK(good == 16);
}

namespace {

/// One dense u8 object for each (offset, length) of a blob of zeros and ones.
bytes scattered(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& places, std::size_t blob_bytes) {
    support::cbor::map objects;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const support::cbor::map data = {{"dtype", support::cbor::text("u8")},
                                         {"offset", support::cbor::number(64 + places[i].first)},
                                         {"length", support::cbor::number(places[i].second)}};
        objects.set("w" + std::to_string(i), support::cbor::map{{"shape", support::cbor::numbers({places[i].second})},
                                                                {"format", support::cbor::text("dense")},
                                                                {"components", support::cbor::map{{"data", data}}}});
    }
    return support::sample().blobs({support::counting(blob_bytes)}).objects(objects).file();
}

} // namespace

TEST_CASE("small tensors are read together as long as they lie near each other and are not too many") {
    constexpr std::uint64_t kib = 1024, large = 200 * kib;
    const std::vector<std::pair<std::uint64_t, std::uint64_t>> places = {{0, 0},
                                                                         {0, 64},
                                                                         {64 * kib, 64},
                                                                         {128 * kib, large},
                                                                         {328 * kib, large},
                                                                         {528 * kib, large},
                                                                         {728 * kib, large},
                                                                         {928 * kib, large},
                                                                         {1128 * kib, large},
                                                                         {1328 * kib, 0}};
    const support::watched seen = support::watch(scattered(places, 1400 * kib));
    std::vector<std::vector<std::uint8_t>> into;
    for (const auto& [offset, length] : places) {
        into.emplace_back(static_cast<std::size_t>(length));
    }
    load_plan plan(seen.file);
    for (std::size_t i = 0; i < into.size(); ++i) {
        plan.add("w" + std::to_string(i), into[i]);
    }
    CHECK(outcome(plan.run(load_options().threads(1))) == "ok");
    const bytes content = support::counting(1400 * kib);
    for (std::size_t i = 0; i < into.size(); ++i) {
        const auto offset = static_cast<std::size_t>(places[i].first);
        CHECK(bytes(into[i].begin(), into[i].end()) == content.substr(offset, into[i].size()));
    }
    CHECK(seen.source->reads.size() == 4); // two far from the others, and more than fit one MiB
    const support::watched of_nothing = support::watch(scattered({{0, 0}, {0, 0}}, 64));
    CHECK(outcome(load_plan(of_nothing.file).add("w0", into[0]).add("w1", into[0]).run()) == "ok");
    CHECK(of_nothing.source->reads.empty());
}

TEST_CASE("bytes have no order, and are read with their neighbours whatever a file of 0.1 says of it") {
    support::sample file(ztensor::version::v0_1);
    file.dtype("u8").shape({8}).component("data_endianness", support::cbor::text("big"));
    const reader from = support::opened(file.file());
    std::vector<std::uint8_t> numbers(8);
    std::vector<float> floats(8);
    CHECK(outcome(load_plan(from).add("w", numbers).add_as("w", floats).run()) == "ok");
    CHECK(std::equal(numbers.begin(), numbers.end(), floats.begin()));
    CHECK(floats == from.read_as<float>("w").value());
}

TEST_CASE("a large compressed tensor is converted to narrower numbers, and groups of any size by one thread") {
    const std::vector<double> numbers = some<double>(100000, 5);
    const reader file = support::reopened(
        {}, [&](ztensor::writer& to) { to.add("w", {numbers.size()}, numbers, store().zstd()).value(); });
    std::vector<float> narrow(numbers.size());
    CHECK(outcome(load_plan(file).add_as("w", narrow).run(load_options().threads(1).max_staging_bytes(1 << 20))) ==
          "ok");
    CHECK(support::memory_of(narrow) == support::memory_of(file.read_as<float>("w").value()));
}

TEST_CASE("a plan takes no progress function for none, and fills memory that nothing was written to") {
    bool (*const none)(const ztensor::load_progress&) = nullptr;
    constexpr std::size_t count = std::size_t{3} << 20;
    const reader file = support::reopened({}, [&](ztensor::writer& to) {
        to.add("w", {count}, std::vector<ztensor::float16>(count, ztensor::float16(1.5F))).value();
    });
    const std::unique_ptr<float[]> memory(new float[count]); // not initialised
    const ztensor::span<float> numbers(memory.get(), count);
    CHECK(outcome(load_plan(file).add_as("w", numbers).run(load_options().progress(none).threads(1))) == "ok");
    CHECK(std::count(numbers.begin(), numbers.end(), 1.5F) == static_cast<std::ptrdiff_t>(count));
}

TEST_CASE("packed elements of a large compressed blob are converted as a whole") {
    const support::byte_vector packed = support::noise(std::size_t{3} << 20);
    bytes compressed(ZSTD_compressBound(packed.size()), '\0');
    compressed.resize(ZSTD_compress(compressed.data(), compressed.size(), packed.data(), packed.size(), 1));
    support::sample file;
    file.dtype("u8").component("type", support::cbor::text("f4_e2m1")).shape({2 * packed.size()});
    const auto from = support::opened(file.zstd_blob(compressed, packed.size()).file());
    std::vector<float> planned(2 * packed.size());
    ztensor::load_plan plan(from);
    plan.add_as("w", planned);
    REQUIRE(support::outcome(plan.run()) == "ok");
    CHECK((planned == from.read_as<float>("w").value()));
}

TEST_CASE("a plan that ends early leaves no bools behind, nor minds that there are none") {
    const reader file = support::reopened({}, [](ztensor::writer& to) {
        to.add("bools", {3}, std::vector<bool>{true, true, true}).value();
        to.add("none", {0}, std::vector<bool>()).value();
    });
    bool bools[3] = {true, true, true};
    const auto cancel = [](const load_progress&) { return false; };
    load_plan plan(file);
    plan.add("none", span<bool>(bools, 0)).add("bools", bools);
    CHECK(outcome(plan.run(load_options().threads(1).progress(cancel))) == "cancelled");
    CHECK(std::vector<bool>(bools, bools + 3) == std::vector<bool>(3, false));
}
