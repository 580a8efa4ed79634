// SPDX-License-Identifier: MIT
//
// Files that another thread writes while the caller goes on: they hold the same, however threads come, and what that
// thread has to tell is told.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/counted_memory.hpp"
#include "support/executors.hpp"
#include "support/faulty_os.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/detail/write/writer_core.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

using support::faulty_os;
using support::late_executor;
using support::prompt_executor;
using support::temp_dir;
using support::used_executor;
using ztensor::errc;
using ztensor::reader;
using ztensor::result;
using ztensor::store;
using ztensor::write_options;
using ztensor::writer;

constexpr std::size_t behind_mebibyte = std::size_t{1} << 20;

result<writer> writer_by(const std::filesystem::path& path, const write_options& options, faulty_os& os) {
    result<std::unique_ptr<ztensor::byte_sink>> sink = ztensor::detail::create_sink(path, options, os);
    if (!sink) {
        return std::move(sink).error();
    }
    auto* const core = new ztensor::detail::writer_core(*std::move(sink), nullptr, options);
    writer out = ztensor::detail::writer_access::make(core);
    if (result<void> begun = core->begin(); !begun) {
        return std::move(begun).error();
    }
    return out;
}

std::vector<std::uint8_t> some_bytes(std::size_t count) {
    std::vector<std::uint8_t> all(count);
    std::iota(all.begin(), all.end(), std::uint8_t{0});
    for (std::size_t i = 0; i < count; i += 251) {
        all[i] = static_cast<std::uint8_t>(i >> 8);
    }
    return all;
}

ztensor::span<const std::uint8_t> bytes_from(const std::vector<std::uint8_t>& all, std::size_t begin,
                                             std::size_t size) {
    return {all.data() + begin, size};
}

/// Adds all of `content`, cut into tensors of these sizes.
result<void> add_all(writer& out, const std::vector<std::uint8_t>& content, const std::vector<std::size_t>& sizes,
                     const store& how = {}) {
    std::size_t at = 0;
    for (const std::size_t size : sizes) {
        result<void> added = out.add("t" + std::to_string(at), {size}, bytes_from(content, at, size), how);
        if (!added) {
            return added;
        }
        at += size;
    }
    return out.finish();
}

/// As add_all() has written it.
bool holds_all(const std::filesystem::path& path, const std::vector<std::uint8_t>& content,
               const std::vector<std::size_t>& sizes) {
    const reader model = reader::open(path).value();
    std::size_t at = 0;
    for (const std::size_t size : sizes) {
        const auto read = model.read<std::uint8_t>("t" + std::to_string(at)).value();
        if (!std::equal(read.begin(), read.end(), content.begin() + static_cast<std::ptrdiff_t>(at),
                        content.begin() + static_cast<std::ptrdiff_t>(at + size))) {
            return false;
        }
        at += size;
    }
    return model.size() == sizes.size() && model.verify().value().ok();
}

bool verifies(const std::filesystem::path& path) {
    const reader model = reader::open(path).value();
    return model.verify().value().ok();
}

std::vector<std::size_t> sizes_of_all(std::size_t all_bytes, std::size_t each) {
    std::vector<std::size_t> sizes(all_bytes / each, each);
    if (all_bytes % each != 0) {
        sizes.push_back(all_bytes % each);
    }
    return sizes;
}

/// From a byte to some MiB, most of them small.
std::vector<std::size_t> random_sizes(std::size_t all_bytes, std::mt19937& dice) {
    std::vector<std::size_t> sizes;
    while (all_bytes != 0) {
        const std::size_t most = std::size_t{1} << (dice() % 9 == 0 ? 22 : 8 + dice() % 11);
        sizes.push_back(std::min<std::size_t>(all_bytes, 1 + dice() % most));
        all_bytes -= sizes.back();
    }
    return sizes;
}

} // namespace

TEST_CASE("a file is the same whoever writes it, and when") {
    const temp_dir directory;
    const std::vector<std::uint8_t> content = some_bytes(10 * behind_mebibyte + 4321);
    late_executor late, refuses;
    refuses.accepts = false;
    prompt_executor prompt;
    std::mt19937 dice(9);
    for (int round = 0; round < 4; ++round) {
        const std::vector<std::size_t> sizes = random_sizes(content.size(), dice);
        const store how = round % 2 == 0 ? store() : store().digest(ztensor::digest::crc32c);
        const auto write = [&](const char* name, ztensor::executor* threads, write_options options) {
            const used_executor used(threads);
            writer out = writer::create(directory / name, options.sync(false)).value();
            REQUIRE(add_all(out, content, sizes, how));
            return support::read_file(directory / name);
        };
        const std::string alone = write("f", nullptr, write_options().threads(1));
        CHECK(holds_all(directory / "f", content, sizes));
        CHECK((write("f", nullptr, write_options()) == alone));
        CHECK((write("f", &late, write_options()) == alone));
        CHECK((write("f", &refuses, write_options()) == alone));
        CHECK((write("f", &prompt, write_options()) == alone));
        CHECK((round > 1 || write("f", nullptr, write_options().direct(true)) == alone));
        late.run_all(); // for writers that have gone
    }
}

TEST_CASE("small tensors of a large file are written by another thread, and all writes but the last are whole MiB") {
    const temp_dir directory;
    const std::vector<std::uint8_t> content = some_bytes(12 * behind_mebibyte);
    for (const bool has_digest : {false, true}) {
        faulty_os os;
        writer out = writer_by(directory / "f", write_options().sync(false), os).value();
        const store how = has_digest ? store().digest(ztensor::digest::crc32c) : store();
        REQUIRE(add_all(out, content, sizes_of_all(content.size(), 10000), how));
        REQUIRE(!os.write_sizes.empty());
        os.write_sizes.pop_back();
        CHECK(os.write_sizes == std::vector<std::size_t>(12, behind_mebibyte));
    }
}

TEST_CASE("large tensors that lie in memory as in the file are written from there, others by another thread") {
    const temp_dir directory;
    const std::vector<std::uint8_t> memory = some_bytes(12 * behind_mebibyte + 64);
    const std::size_t first = static_cast<std::size_t>(-ztensor::detail::address_of(memory.data())) % 32;
    late_executor late;
    prompt_executor prompt;
    for (const std::size_t apart : {0U, 1U, 8U, 16U, 31U}) {
        CAPTURE(apart);
        const auto begin = memory.begin() + static_cast<std::ptrdiff_t>(first + apart);
        const ztensor::span<const std::uint8_t> content(&*begin, 12 * behind_mebibyte);
        const auto write = [&](ztensor::executor* threads, write_options options) {
            const used_executor used(threads);
            faulty_os os;
            writer out = writer_by(directory / "f", options.sync(false), os).value();
            for (std::size_t at = 0; at < content.size(); at += 4 * behind_mebibyte) {
                out.add(std::to_string(at), {4 * behind_mebibyte}, content.subspan(at, 4 * behind_mebibyte)).value();
            }
            out.finish().value();
            return os.write_sizes;
        };
        const std::vector<std::size_t> alone = write(nullptr, write_options().threads(1));
        const std::string expected = support::read_file(directory / "f");
        CHECK(std::count(alone.begin(), alone.end(), behind_mebibyte) > 8);
        CHECK((write(&late, write_options()) == alone) == (apart == 0));
        CHECK(late.tasks.empty() == (apart == 0)); // of the caller's memory nobody writes behind its back
        late.run_all();
        CHECK((support::read_file(directory / "f") == expected));
        write(&prompt, write_options());
        CHECK((support::read_file(directory / "f") == expected));
        write(nullptr, write_options());
        CHECK((support::read_file(directory / "f") == expected));
    }
}

TEST_CASE("a writer on one thread, and one of a small file, starts none") {
    const temp_dir directory;
    const std::vector<std::uint8_t> content = some_bytes(12 * behind_mebibyte);
    late_executor late;
    const used_executor used(&late);
    const auto write = [&](std::size_t all_bytes, write_options options) {
        writer out = writer::create(directory / "f", options.sync(false)).value();
        REQUIRE(add_all(out, content, sizes_of_all(all_bytes, 10000), store().digest(ztensor::digest::sha256)));
        const std::size_t asked = late.tasks.size();
        late.run_all();
        return asked;
    };
    CHECK(write(content.size(), write_options().threads(1)) == 0);
    CHECK(write(3 * behind_mebibyte, write_options()) == 0);
    CHECK(write(content.size(), write_options()) != 0);
}

TEST_CASE("nobody is asked past the system's cache, in a file that is gone on with in place, or of a pool of one") {
    const temp_dir directory;
    const std::vector<std::uint8_t> content = some_bytes(20 * behind_mebibyte);
    const std::vector<std::size_t> sizes = sizes_of_all(content.size(), 10000);
    late_executor late;
    {
        const used_executor used(&late);
        writer direct = writer::create(directory / "f", write_options().sync(false).direct(true)).value();
        REQUIRE(add_all(direct, content, sizes));
        CHECK(late.tasks.empty());
        const auto in_place = write_options().sync(false).publish(ztensor::publish_mode::in_place);
        writer extended = writer::append(directory / "f", in_place).value();
        for (std::size_t at = 0; at < content.size() - 10000; at += 10000) {
            REQUIRE(extended.add("x" + std::to_string(at), {10000}, bytes_from(content, at, 10000)));
        }
        REQUIRE(extended.finish());
        CHECK(late.tasks.empty());
    }
    CHECK(verifies(directory / "f"));
    if (support::counts_memory) {
        ztensor::limit_pool(1);
        const auto use = support::measure_memory([&] {
            writer out = writer::create(directory / "f", write_options().sync(false)).value();
            return add_all(out, content, sizes_of_all(content.size(), 100000));
        });
        ztensor::limit_pool(0);
        CHECK(use.most < behind_mebibyte + 200000);
    }
}

TEST_CASE("a compressed tensor does not keep other threads from small ones behind it") {
    const temp_dir directory;
    std::vector<std::uint8_t> content(12 * behind_mebibyte);
    std::mt19937 dice(3);
    std::generate(content.begin(), content.end(), [&] { return static_cast<std::uint8_t>(dice()); });
    late_executor late;
    const used_executor used(&late);
    writer out = writer::create(directory / "f", write_options().sync(false)).value();
    REQUIRE(out.add("packed", {content.size()}, content, store().zstd()));
    late.run_all();
    REQUIRE(add_all(out, content, sizes_of_all(content.size(), 10000)));
    CHECK(!late.tasks.empty());
    late.run_all();
}

TEST_CASE("what is shared, copied and streamed stands where it would, whoever writes what came before") {
    const temp_dir directory;
    const std::vector<std::uint8_t> content = some_bytes(9 * behind_mebibyte);
    const std::vector<std::size_t> sizes = {5 * behind_mebibyte + 5, 4 * behind_mebibyte - 5};
    writer large = writer::create(directory / "large", write_options().sync(false)).value();
    REQUIRE(add_all(large, content, sizes));
    const reader from = reader::open(directory / "large").value();
    late_executor late, refuses;
    refuses.accepts = false;
    prompt_executor prompt;
    for (const ztensor::format_version version : {ztensor::format_version::v1_2, ztensor::format_version::v2}) {
        const auto write = [&](ztensor::executor* threads, unsigned count) {
            const used_executor used(threads);
            const auto options = write_options().version(version).any_order().sync(false).threads(count);
            writer out = writer::create(directory / "f", options).value();
            const auto add_small = [&](const std::string& prefix) {
                for (std::size_t i = 0; i < 100; ++i) { // every third is one that was there before
                    const std::size_t at = (i % 3 == 2 ? i - 1 : i) * 60000;
                    REQUIRE(out.add(prefix + std::to_string(i), {60000}, bytes_from(content, at, 60000)));
                }
            };
            add_small("a");
            REQUIRE(ztensor::copy(from, out));
            add_small("b");
            auto stream = out.stream<std::uint8_t>("in pieces", {content.size()}).value();
            for (std::size_t at = 0; at < content.size(); at += behind_mebibyte / 8) {
                REQUIRE(stream.append(bytes_from(content, at, behind_mebibyte / 8)));
            }
            REQUIRE(stream.finish());
            REQUIRE(out.finish());
            return support::read_file(directory / "f");
        };
        const std::string alone = write(nullptr, 1);
        CHECK(verifies(directory / "f"));
        for (ztensor::executor* const each : std::vector<ztensor::executor*>{nullptr, &late, &refuses, &prompt}) {
            CHECK((write(each, 0) == alone));
        }
        late.run_all();
    }
}

TEST_CASE("what another thread could not write is told within some MiB") {
    const temp_dir directory;
    const std::vector<std::uint8_t> content = some_bytes(100000);
    late_executor late;
    prompt_executor prompt;
    for (ztensor::executor* const threads : std::vector<ztensor::executor*>{&late, &prompt}) {
        const used_executor used(threads);
        faulty_os os;
        os.room_bytes = 6 * behind_mebibyte;
        writer out = writer_by(directory / "f", write_options().sync(false), os).value();
        std::size_t added = 0;
        while (added < 300 && out.add(std::to_string(added), {content.size()}, content)) {
            ++added;
        }
        CHECK(added > 60);
        CHECK(added < 105);
    }
    late.run_all();
}

TEST_CASE("what another thread could not write is told, and leaves the old file") {
    const temp_dir directory;
    const std::vector<std::uint8_t> content = some_bytes(12 * behind_mebibyte);
    const std::vector<std::size_t> sizes = sizes_of_all(content.size(), 10000);
    support::write_file(directory / "f", "the old content");
    prompt_executor prompt;
    for (ztensor::executor* const threads : std::vector<ztensor::executor*>{nullptr, &prompt}) {
        const used_executor used(threads);
        for (std::size_t room = 0; room < 14; ++room) {
            CAPTURE(room);
            faulty_os os;
            os.syncs = false;
            os.room_bytes = room * behind_mebibyte + 5;
            result<void> done;
            {
                writer out = writer_by(directory / "f", {}, os).value();
                done = add_all(out, content, sizes);
                REQUIRE(done.has_value() == (room == 13));
                CHECK(support::refusal(out.add("more", {1}, std::vector<float>{1})) == errc::writer_closed);
            }
            if (!done) {
                CHECK(done.error().code() == errc::io_error);
                CHECK(done.error().os_error() == std::errc::no_space_on_device);
                CHECK(support::read_file(directory / "f") == "the old content");
            }
            CHECK(directory.names() == std::vector<std::string>{"f"});
            CHECK(os.open_handles == 0);
        }
        support::write_file(directory / "f", "the old content");
    }
}

TEST_CASE("a write that fails once, on whatever thread, is no file") {
    const temp_dir directory;
    const std::vector<std::uint8_t> content = some_bytes(12 * behind_mebibyte);
    const std::vector<std::size_t> sizes = sizes_of_all(content.size(), 10000);
    late_executor late;
    prompt_executor prompt;
    for (ztensor::executor* const threads : std::vector<ztensor::executor*>{&late, &prompt, nullptr}) {
        const used_executor used(threads);
        for (std::size_t failing = 0; failing < 14; ++failing) {
            faulty_os os;
            writer out = writer_by(directory / "f", write_options().sync(false), os).value();
            const std::size_t opening = os.calls.size();
            os.first_failing_call = opening + failing; // nothing but writes comes until the last, in a file so small
            os.failing_calls = failing < 13 ? 1 : 0;
            const result<void> done = add_all(out, content, sizes);
            CHECK(done.has_value() == (failing == 13));
            CHECK((done || done.error().code() == errc::io_error));
            CHECK(os.calls.at(os.first_failing_call) == (failing < 13 ? "write" : "status_in"));
        }
    }
    late.run_all();
}

TEST_CASE("a writer that is dropped while another thread writes leaves nothing behind") {
    const temp_dir directory;
    const std::vector<std::uint8_t> content = some_bytes(12 * behind_mebibyte);
    for (std::size_t all_bytes = 5 * behind_mebibyte; all_bytes <= content.size(); all_bytes += behind_mebibyte / 2) {
        writer out = writer::create(directory / "f").value();
        for (std::size_t at = 0; at + 10000 <= all_bytes; at += 10000) {
            REQUIRE(out.add(std::to_string(at), {10000}, bytes_from(content, at, 10000)));
        }
    }
    CHECK(directory.names().empty());
}

TEST_CASE("writing small tensors takes three buffers, and on one thread one") {
    if (!support::counts_memory) {
        return;
    }
    const temp_dir directory;
    const std::vector<std::uint8_t> content = some_bytes(16 * behind_mebibyte);
    const auto use = [&](unsigned threads) {
        return support::measure_memory([&] {
            writer out = writer::create(directory / "f", write_options().sync(false).threads(threads)).value();
            return add_all(out, content, sizes_of_all(content.size(), 100000), store().digest(ztensor::digest::crc32c));
        });
    };
    CHECK(use(0).most < 3 * behind_mebibyte + 200000);
    CHECK(use(1).most < behind_mebibyte + 200000);
}

#if !defined(_WIN32)
TEST_CASE("a child that was forked off while another thread writes neither writes nor waits, and its parent goes on") {
    const temp_dir directory;
    const std::vector<std::uint8_t> content = some_bytes(16 * behind_mebibyte);
    const std::vector<std::size_t> sizes = sizes_of_all(content.size() - 10000, 10000);
    for (int round = 0; round < 5; ++round) {
        writer out = writer::create(directory / "f", write_options().sync(false)).value();
        for (std::size_t at = 0; at < 10 * behind_mebibyte; at += 100000) {
            REQUIRE(out.add("x" + std::to_string(at), {100000}, bytes_from(content, at, 100000)));
        }
        const int outcome = support::exit_code_of([&] {
            const writer mine = std::move(out); // which goes with its buffers
            return 42;
        });
        CHECK(outcome == 42);
        const int tried = support::exit_code_of(
            [&] { return support::refusal(add_all(out, content, sizes)) == errc::writer_closed ? 42 : 1; });
        CHECK(tried == 42);
        REQUIRE(add_all(out, content, sizes));
        CHECK(reader::open(directory / "f").value().size() == 105 + sizes.size());
    }
}
#endif
