// SPDX-License-Identifier: MIT
//
// Much memory at once: how it is copied, and what the system tells of it.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/executors.hpp"

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace {

using ztensor::bytes_view;
using ztensor::span;

constexpr std::byte unwritten{0xee};

/// All of `from` stands in `memory` from `begin` on, and nothing beside it was written.
bool holds_only(const std::vector<std::byte>& memory, std::size_t begin, bytes_view from) {
    const auto first = memory.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = first + static_cast<std::ptrdiff_t>(from.size());
    const auto is_unwritten = [](std::byte each) { return each == unwritten; };
    return std::equal(first, last, from.begin(), from.end()) && std::all_of(memory.begin(), first, is_unwritten) &&
           std::all_of(last, memory.end(), is_unwritten);
}

} // namespace

TEST_CASE("what is copied by lines arrives whole, and nothing beside it") {
    const std::vector<std::byte> content = support::noise(9000);
    for (const auto copy : {&ztensor::detail::copy_lines<true>, &ztensor::detail::copy_lines<false>}) {
        for (std::size_t size = 0; size <= 300; ++size) {
            for (std::size_t misaligned = 0; misaligned <= 64; misaligned += size % 7 == 0 ? 1 : 13) {
                CAPTURE(size, misaligned);
                std::vector<std::byte> memory(400, unwritten);
                const bytes_view from = bytes_view(content).subspan(misaligned % 5, size);
                copy(from, span<std::byte>(memory).subspan(misaligned));
                CHECK(holds_only(memory, misaligned, from));
            }
        }
    }
    for (const std::size_t size : {0u, 1u, 63u, 4095u, 4096u, 4097u, 8191u}) {
        CAPTURE(size);
        std::vector<std::byte> memory(9000, unwritten);
        const bytes_view from = bytes_view(content).subspan(7, size);
        ztensor::detail::copy_through_cache(from, span<std::byte>(memory).subspan(3));
        CHECK(holds_only(memory, 3, from));
    }
}

TEST_CASE("much memory is copied whole, whether it was written to before or not") {
    constexpr std::size_t mebibyte = std::size_t{1} << 20;
    const std::vector<std::byte> content = support::noise(5 * mebibyte);
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, 2 * mebibyte, 2 * mebibyte + 1, 5 * mebibyte - 9}) {
        for (const std::size_t misaligned : {0u, 1u, 4095u}) {
            const bool goes_past_cache = misaligned != 1;
            CAPTURE(size, misaligned);
            const bytes_view from = bytes_view(content).subspan(misaligned % 5, size);
            std::vector<std::byte> memory(6 * mebibyte, unwritten);
            ztensor::detail::copy_much(from, span<std::byte>(memory).subspan(misaligned), goes_past_cache);
            CHECK(holds_only(memory, misaligned, from));

            ztensor::detail::byte_buffer fresh;
            REQUIRE(fresh.allocate(6 * mebibyte));
            const span<std::byte> place = fresh.writable_bytes().subspan(misaligned, size);
            ztensor::detail::copy_much(from, place, goes_past_cache);
            CHECK(std::equal(place.begin(), place.end(), from.begin(), from.end()));
        }
    }
}

#if defined(__linux__)

TEST_CASE("memory that nobody has written to is told from other memory, and comes when it is asked for") {
    using ztensor::detail::is_untouched;
    using ztensor::detail::make_pages;
    const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t size = 16 * page_bytes;
    void* const address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(address != MAP_FAILED);
    const span<std::byte> memory(static_cast<std::byte*>(address), size);
    if (!is_untouched(memory)) {
        std::cerr << "SKIPPED: this system does not tell which memory was written to\n";
    } else {
        CHECK(is_untouched(memory.subspan(1)));
        CHECK(!is_untouched({}));
        CHECK(!is_untouched(memory.first(page_bytes - 1))); // no whole page
        CHECK(!is_untouched(memory.subspan(1, page_bytes)));
        memory[3 * page_bytes] = std::byte{1};
        CHECK(is_untouched(memory));
        CHECK(!is_untouched(memory.first(4 * page_bytes)));
        CHECK(!is_untouched(memory.first(5 * page_bytes - 1))); // of which the last whole page is that one
        CHECK(is_untouched(memory.first(5 * page_bytes)));

        make_pages(memory.subspan(8 * page_bytes - 1, 2 * page_bytes)); // one whole page
        if (is_untouched(memory.first(9 * page_bytes))) {
            std::cerr << "SKIPPED: on this system pages do not come before they are written to\n";
        } else {
            CHECK(is_untouched(memory.first(8 * page_bytes)));
            CHECK(is_untouched(memory.first(10 * page_bytes)));
            make_pages({});
            make_pages(memory.first(page_bytes - 1));
            CHECK(is_untouched(memory.first(page_bytes)));
            make_pages(memory);
            CHECK(!is_untouched(memory.first(page_bytes)));
            CHECK(!is_untouched(memory));
        }
        CHECK(memory[3 * page_bytes] == std::byte{1});
        CHECK(std::count(memory.begin(), memory.end(), std::byte{0}) == static_cast<std::ptrdiff_t>(size - 1));
    }
    ::munmap(address, size);
}

namespace {

/// Memory that nobody has written to.
class new_memory {
public:
    explicit new_memory(std::size_t size)
        : address_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), size_(size) {
        REQUIRE(address_ != MAP_FAILED);
    }
    new_memory(const new_memory&) = delete;
    new_memory& operator=(const new_memory&) = delete;
    ~new_memory() { ::munmap(address_, size_); }

    [[nodiscard]] span<std::byte> bytes() const { return {static_cast<std::byte*>(address_), size_}; }

private:
    void* address_;
    std::size_t size_;
};

/// Whether this system tells what was written to, and makes pages before that.
bool pages_can_be_made() {
    const new_memory some(std::size_t{1} << 20);
    const bool is_told = ztensor::detail::is_untouched(some.bytes());
    ztensor::detail::make_pages(some.bytes());
    return is_told && !ztensor::detail::is_untouched(some.bytes());
}

constexpr std::size_t mebibyte = std::size_t{1} << 20;

} // namespace

TEST_CASE("a second thread makes the pages of new memory from its end, until it meets who fills it") {
    if (!pages_can_be_made()) {
        std::cerr << "SKIPPED: on this system pages do not come before they are written to\n";
        return;
    }
    support::late_executor threads;
    const support::used_executor used(&threads);
    const new_memory memory(40 * mebibyte);
    const std::size_t huge = ztensor::detail::huge_page_bytes;
    const std::size_t first = static_cast<std::size_t>(-ztensor::detail::address_of(memory.bytes().data())) % huge;
    const span<std::byte> filled = memory.bytes().first(first + 7 * huge);
    const span<std::byte> rest = memory.bytes().subspan(filled.size());
    {
        const ztensor::detail::prefault ahead(memory.bytes(), 0);
        REQUIRE(threads.tasks.size() == 1);
        std::fill(filled.begin(), filled.end(), unwritten);
        CHECK(ztensor::detail::is_untouched(rest.first(huge)));
        std::thread([&] { threads.run_all(); }).join();
        for (std::size_t at = 0; at < rest.size(); at += huge) {
            CHECK_FALSE(ztensor::detail::is_untouched(rest.subspan(at, std::min(huge, rest.size() - at))));
        }
    }
    CHECK(std::all_of(filled.begin(), filled.end(), [](std::byte each) { return each == unwritten; }));
    CHECK(std::all_of(rest.begin(), rest.end(), [](std::byte each) { return each == std::byte{0}; }));
}

TEST_CASE("a thread that comes when the memory is filled makes nothing, and neither does the one that fills it") {
    support::late_executor threads;
    support::prompt_executor prompt;
    const new_memory memory(16 * mebibyte);
    const bool is_told = ztensor::detail::is_untouched(memory.bytes());
    {
        const support::used_executor used(&prompt);
        static_cast<void>(ztensor::detail::prefault(memory.bytes(), 2));
        CHECK(ztensor::detail::is_untouched(memory.bytes()) == is_told);
    }
    const support::used_executor used(&threads);
    static_cast<void>(ztensor::detail::prefault(memory.bytes(), 2));
    CHECK(threads.tasks.size() == (is_told ? 1 : 0));
    threads.run_all();
    CHECK(ztensor::detail::is_untouched(memory.bytes()) == is_told);
}

TEST_CASE("no thread is asked for little memory, nor for what was written to, nor by who may take but one") {
    support::late_executor threads;
    const support::used_executor used(&threads);
    const new_memory memory(16 * mebibyte);
    static_cast<void>(ztensor::detail::prefault(memory.bytes(), 1));
    static_cast<void>(ztensor::detail::prefault(memory.bytes().first(8 * mebibyte - 1), 0));
    static_cast<void>(ztensor::detail::prefault({}, 0));
    {
        const ztensor::detail::at_work here;
        static_cast<void>(ztensor::detail::prefault(memory.bytes(), 0));
    }
    std::fill(memory.bytes().begin(), memory.bytes().end(), unwritten);
    static_cast<void>(ztensor::detail::prefault(memory.bytes(), 0));
    CHECK(threads.tasks.empty());
    threads.accepts = false; // or there is none
    const new_memory other(16 * mebibyte);
    static_cast<void>(ztensor::detail::prefault(other.bytes(), 0));
    CHECK(threads.tasks.empty());
}

#endif
