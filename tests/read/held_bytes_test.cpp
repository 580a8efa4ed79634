// SPDX-License-Identifier: MIT
//
// Bytes that are used where they lie, under a lease: who may hold them, who gets them back, and that what is read is
// the same with and without.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/faulty_os.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"

#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/read/assembled_source.hpp>
#include <ztensor/detail/read/held_bytes.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <fcntl.h>
#include <unistd.h>
#endif

namespace {

namespace holding {

using support::faulty_os;
using ztensor::io_mode;
using ztensor::detail::held_bytes;
using ztensor::detail::open_source;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// A file of 2 MiB through a system that grants leases, or does not.
struct held_file {
    support::temp_dir directory;
    support::bytes content = support::as_string(support::noise(2 * mebibyte));
    faulty_os os;
    std::shared_ptr<const ztensor::byte_source> source;

    explicit held_file(io_mode mode = io_mode::mapped) {
        support::write_file(directory / "f", content);
        os.grants_leases = true;
        source = open_source(directory / "f", mode, os).value();
    }
};

} // namespace holding

} // namespace

TEST_CASE("a range of a mapped file is held under a lease, which ends with the last that is held") {
    holding::held_file file;
    {
        const holding::held_bytes first(*file.source, 3, holding::mebibyte);
        REQUIRE(first);
        CHECK(support::as_string(*first) == file.content.substr(3, holding::mebibyte));
        CHECK(file.os.open_leases == 1);
        {
            const holding::held_bytes second(*file.source, 0, 2 * holding::mebibyte);
            REQUIRE(second);
            CHECK(support::as_string(*second) == file.content);
            CHECK(file.os.open_leases == 1); // which they share
        }
        CHECK(file.os.open_leases == 1);
    }
    CHECK(file.os.open_leases == 0);
    const holding::held_bytes nothing;
    CHECK(!nothing);
}

TEST_CASE("nothing is held that others may change or cut off, that lies on the disk alone, or that is small") {
    const auto is_held = [](holding::held_file& file, std::uint64_t offset, std::uint64_t length) {
        const bool held = static_cast<bool>(holding::held_bytes(*file.source, offset, length));
        CHECK(file.os.open_leases == 0); // afterwards
        return held;
    };
    constexpr std::uint64_t all = 2 * holding::mebibyte;
    holding::held_file file;
    CHECK(is_held(file, 0, all));
    CHECK(!is_held(file, 1, all));
    CHECK(!is_held(file, ~std::uint64_t{0}, all));
    CHECK(!is_held(file, 0, ~std::uint64_t{0}));
    CHECK(!is_held(file, 0, 1000));
    CHECK(!is_held(file, 0, 0));

    file.os.cached_bytes = all - 1;
    CHECK(!is_held(file, 0, all));
    CHECK(is_held(file, 0, all - 1));
    file.os.cached_bytes = all;

    file.os.grants_leases = false;
    CHECK(!is_held(file, 0, all));
    file.os.grants_leases = true;

    file.os.failing_name = "status of handle";
    CHECK(!is_held(file, 0, all));
    file.os.failing_name.clear();

    holding::held_file unmapped(holding::io_mode::positional);
    CHECK(!is_held(unmapped, 0, all));

    if (support::cuts_mapped_files) {
        std::filesystem::resize_file(file.directory / "f", all - 1);
        CHECK(!is_held(file, 0, holding::mebibyte));

        constexpr std::uint64_t most = 256 * holding::mebibyte; // for which others may wait
        std::filesystem::resize_file(file.directory / "f", most + 1);
        file.source = holding::open_source(file.directory / "f", holding::io_mode::mapped, file.os).value();
        file.os.cached_bytes = most + 1;
        CHECK(is_held(file, 1, most));
        CHECK(!is_held(file, 0, most + 1));
    }
}

TEST_CASE("while somebody waits to write, those who hold a file go on, and nobody else begins") {
    holding::held_file file;
    const holding::held_bytes first(*file.source, 0, holding::mebibyte);
    REQUIRE(first);
    file.os.is_lease_awaited = true;
    CHECK(!holding::held_bytes(*file.source, 0, holding::mebibyte));
    CHECK(file.os.open_leases == 1);
}

TEST_CASE("memory that was lent is held where it lies, without a lease") {
    const support::bytes content = support::as_string(support::noise(1000));
    const ztensor::detail::memory_source source(support::bytes_of(content));
    const holding::held_bytes held(source, 10, 990);
    REQUIRE(held);
    CHECK((*held).data() == support::bytes_of(content).data() + 10);
    CHECK(!holding::held_bytes(source, 11, 990));
}

TEST_CASE("of several sources in one row that is held which the range lies in") {
    holding::held_file file;
    holding::held_file other;
    ztensor::detail::assembled_source all(file.source, 0);
    const std::uint64_t second = all.add(other.source, 64, holding::mebibyte).value();
    {
        const holding::held_bytes held(all, second + 5, holding::mebibyte - 5);
        REQUIRE(held);
        CHECK(support::as_string(*held) == other.content.substr(64 + 5, holding::mebibyte - 5));
        CHECK(file.os.open_leases == 0);
        CHECK(other.os.open_leases == 1);
    }
    CHECK(other.os.open_leases == 0);
    CHECK(!holding::held_bytes(all, second, holding::mebibyte + 1));
    CHECK(!holding::held_bytes(all, holding::mebibyte, second - holding::mebibyte + 1)); // two of them
    CHECK(!holding::held_bytes(all, all.size(), holding::mebibyte));
}

TEST_CASE("large reads are the same where the file is held, where it is not, and where it is held no longer") {
    const std::size_t size = 19 * holding::mebibyte + 777;
    const support::bytes content = support::as_string(support::noise(size));
    const support::temp_dir directory;
    support::write_file(directory / "f", content);
    std::vector<std::byte> memory(size + 64);
    struct way {
        bool grants_leases;
        std::uint64_t cached_bytes;
        bool reads;
    };
    for (const way& each : {way{false, size, true}, way{true, size, false}, way{true, 10 * holding::mebibyte, true}}) {
        CAPTURE(each.grants_leases, each.cached_bytes);
        support::faulty_os os;
        os.grants_leases = each.grants_leases;
        os.cached_bytes = each.cached_bytes;
        const auto source = holding::open_source(directory / "f", holding::io_mode::mapped, os).value();
        for (const std::size_t misaligned : {std::size_t{0}, std::size_t{1}, std::size_t{16}, std::size_t{63}}) {
            for (const std::size_t offset : {std::size_t{0}, std::size_t{64}, std::size_t{777}}) {
                CAPTURE(misaligned, offset);
                const ztensor::span<std::byte> place =
                    ztensor::span<std::byte>(memory).subspan(misaligned, size - offset);
                std::fill(memory.begin(), memory.end(), std::byte{0});
                const std::size_t reads_before = os.count("read");
                REQUIRE(ztensor::detail::read_bulk(*source, offset, place).has_value());
                CHECK(support::as_string(place) == content.substr(offset));
                CHECK((os.count("read") != reads_before) == each.reads);
                CHECK((misaligned == 0 || memory[misaligned - 1] == std::byte{0}));
                CHECK(memory[misaligned + place.size()] == std::byte{0});
                CHECK(os.open_leases == 0);

                ztensor::detail::byte_buffer fresh; // whose pages nobody has written to
                REQUIRE(fresh.allocate(size + 64));
                const ztensor::span<std::byte> new_place = fresh.writable_bytes().subspan(misaligned, size - offset);
                REQUIRE(ztensor::detail::read_bulk(*source, offset, new_place).has_value());
                CHECK(std::equal(new_place.begin(), new_place.end(), place.begin()));
            }
        }
        CHECK(support::outcome(ztensor::detail::read_bulk(*source, 1, ztensor::span<std::byte>(memory).first(size))) ==
              "out_of_bounds");
        ztensor::detail::byte_buffer fresh;
        REQUIRE(fresh.allocate(size));
        CHECK(support::outcome(ztensor::detail::read_bulk(*source, 1, fresh.writable_bytes())) == "out_of_bounds");
    }
}

#if defined(__linux__)

TEST_CASE("the system tells whether a mapped file is in its memory") {
    auto& os = ztensor::detail::operating_system();
    const support::temp_dir directory;
    const std::size_t size = 20 * holding::mebibyte + 5; // more than it is asked about at once
    support::write_file(directory / "f", support::bytes(size, 'x'));
    const auto reading = os.open_existing((directory / "f").native()).value;
    const ztensor::bytes_view mapped = os.map(reading, size).value;
    unsigned sum = 0;
    for (const std::byte each : mapped) {
        sum += std::to_integer<unsigned>(each);
    }
    CHECK(sum == size * 'x');
    CHECK(os.is_cached(mapped));
    CHECK(os.is_cached(mapped.subspan(4095, 2)));
    CHECK(os.is_cached(mapped.last(1)));
    ::fsync(reading);
    ztensor::detail::forget_pages(mapped, 0, size);
    os.advise(reading, 0, size, false);
    if (os.is_cached(mapped.subspan(9 * holding::mebibyte, 4096))) { // as of a file that lies in memory alone
        std::cerr << "SKIPPED: this system keeps what it was told to forget\n";
    } else {
        CHECK(!os.is_cached(mapped));
    }
    os.unmap(mapped);
    os.close(reading);
}

TEST_CASE("under a lease nobody opens the file for writing, and who waits is seen") {
    using ztensor::detail::operating_system;
    const support::temp_dir directory;
    support::write_file(directory / "f", "0123456789");
    auto& os = operating_system();
    const auto reading = os.open_existing((directory / "f").native()).value;
    CHECK(!os.has_lease(reading));
    if (!os.take_lease(reading)) {
        std::cerr << "SKIPPED: this system grants no lease\n";
        os.close(reading);
        return;
    }
    CHECK(os.has_lease(reading));
    CHECK(::open((directory / "f").c_str(), O_WRONLY | O_NONBLOCK) == -1);
    CHECK(errno == EWOULDBLOCK);
    CHECK(!os.has_lease(reading)); // for others
    os.end_lease(reading);

    const int writing = ::open((directory / "f").c_str(), O_WRONLY | O_NONBLOCK);
    REQUIRE(writing >= 0);
    CHECK(!os.take_lease(reading));
    ::close(writing);

    REQUIRE(os.take_lease(reading)); // and our own writers wait for it
    std::atomic<bool> is_ended{false};
    bool has_waited = false;
    std::error_code failure;
    std::thread editor([&] {
        const auto folder = os.open_directory(directory.path().native(), false).value;
        const auto opened = os.open_in(folder, "f", true);
        has_waited = is_ended;
        failure = opened.failure;
        os.close(opened.value);
        os.release_directory(folder);
    });
    while (os.has_lease(reading)) {
        std::this_thread::yield();
    }
    is_ended = true;
    os.end_lease(reading);
    editor.join();
    CHECK(has_waited);
    CHECK_FALSE(failure);
    os.close(reading);
}

#endif

TEST_CASE("files that are cut off and written while they are read give values or errors") {
    if (!support::cuts_mapped_files) {
        return;
    }
    constexpr std::size_t elements = 3 * holding::mebibyte;
    const std::vector<float> floats(elements, 1.5F);
    const std::vector<ztensor::bfloat16> narrow(elements, ztensor::bfloat16(1.5F));
    const auto written = support::written(ztensor::write_options(), [&](ztensor::writer& to) {
        to.add("raw", {elements}, floats).value();
        to.add("narrow", {elements}, narrow).value();
        to.add("zstd", {elements}, floats, ztensor::store().zstd()).value();
    });
    const support::bytes content = support::as_string(ztensor::bytes_view(written));
    const support::temp_dir directory;
    support::write_file(directory / "f.zt", content);
    const auto file = ztensor::reader::open(directory / "f.zt", ztensor::read_options().mode(ztensor::io_mode::mapped));
    REQUIRE(file.has_value());

    std::atomic<bool> is_over{false};
    std::thread vandal([&] {
        for (std::size_t i = 0; !is_over; ++i) {
            std::filesystem::resize_file(directory / "f.zt", (i * 7919) % content.size());
            support::write_file(directory / "f.zt", content);
            std::this_thread::sleep_for(std::chrono::milliseconds(i % 5)); // somebody may be in the middle of it then
        }
    });
    const std::set<std::string> expected = {"ok", "file_changed", "decode_failed", "decode_size"};
    std::vector<float> into(elements);
    std::size_t whole = 0;
    for (int i = 0; i < 5000 && whole < 100; ++i) {
        ztensor::load_plan plan(*file);
        plan.add("raw", into);
        const std::string outcomes[] = {support::outcome(file->read_into("raw", into)),
                                        support::outcome(file->read_as_into("narrow", into)),
                                        support::outcome(file->read_into("zstd", into)),
                                        support::outcome(plan.run(ztensor::load_options().threads(2)))};
        for (const std::string& each : outcomes) {
            CHECK(expected.count(each) == 1);
            whole += each == "ok" ? 1 : 0;
        }
    }
    is_over = true;
    vandal.join();
    for (const char* const name : {"raw", "zstd"}) { // now that nobody writes
        std::fill(into.begin(), into.end(), 0.0F);
        REQUIRE(file->read_into(name, into).has_value());
        CHECK(into == floats);
    }
}
