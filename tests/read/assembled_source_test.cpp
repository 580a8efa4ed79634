// SPDX-License-Identifier: MIT
//
// One source made of several: offsets, ranges in memory, and what is made when it is read.
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/detail/read/sources.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using support::refusal;
using ztensor::errc;
using ztensor::detail::assembled_source;
using ztensor::detail::made_bytes;
using ztensor::detail::memory_source;
using ztensor::detail::source_access;

namespace {

std::shared_ptr<const memory_source> source_of(const std::string& text) {
    std::vector<std::byte> content;
    for (const char c : text) {
        content.push_back(static_cast<std::byte>(c));
    }
    return std::make_shared<memory_source>(std::move(content));
}

/// So many of one letter; counts how often it was asked.
class letters final : public made_bytes {
public:
    letters(char letter, std::atomic<int>& asked) : letter_(letter), asked_(asked) {}
    [[nodiscard]] ztensor::result<void> make(ztensor::span<std::byte> destination) const override {
        ++asked_;
        if (letter_ == '!') {
            return ztensor::error(errc::decode_failed, "it can't be made");
        }
        for (std::byte& each : destination) {
            each = static_cast<std::byte>(letter_);
        }
        return {};
    }

private:
    char letter_;
    std::atomic<int>& asked_;
};

ztensor::result<std::string> assembled_text(const assembled_source& all, std::uint64_t offset, std::size_t size) {
    std::vector<std::byte> content(size, std::byte{'?'});
    if (auto read = all.read_at(offset, content); !read) {
        return read.error();
    }
    std::string text;
    for (const std::byte each : content) {
        text += each == std::byte{0} ? '.' : static_cast<char>(each);
    }
    return text;
}

} // namespace

TEST_CASE("ranges of several sources lie in one row, with zeros between") {
    std::atomic<int> asked{0};
    assembled_source all(source_of("first"), 1000);
    const std::uint64_t second = all.add(source_of("the second"), 4, 6).value();
    const std::uint64_t made = all.add(std::make_unique<letters>('x', asked), 3).value();
    CHECK(second == 4096);
    CHECK(made == 8192);
    CHECK(all.size() == 8195);
    CHECK(assembled_text(all, 0, 5).value() == "first");
    CHECK(assembled_text(all, 4096, 6).value() == "second");
    CHECK(assembled_text(all, 4098, 2).value() == "co");
    CHECK(assembled_text(all, 8192, 3).value() == "xxx");
    CHECK(assembled_text(all, 4, 8195 - 4).value() ==
          "t" + std::string(4091, '.') + "second" + std::string(4090, '.') + "xxx");
    CHECK(assembled_text(all, 10, 4).value() == "....");
    CHECK(assembled_text(all, 8195, 0).value().empty());
    CHECK(refusal(assembled_text(all, 8194, 2)) == errc::out_of_bounds);
    CHECK(refusal(assembled_text(all, ~std::uint64_t{0}, 2)) == errc::out_of_bounds);
    CHECK(refusal(all.add(source_of("abc"), 1, 3)) == errc::out_of_bounds);
    CHECK(refusal(all.add(std::make_unique<letters>('x', asked), ~std::uint64_t{0})) == errc::out_of_bounds);
    CHECK(all.size() == 8195);
}

TEST_CASE("a range is viewed where it lies, if one source holds it") {
    std::atomic<int> asked{0};
    const support::temp_dir folder;
    support::write_file(folder / "file", "of a file");
    const auto file = ztensor::detail::open_source(folder / "file", ztensor::read_options()).value();
    assembled_source all(file, 1000);
    const std::uint64_t memory = all.add(source_of("memory"), 0, 6).value();
    const std::uint64_t made = all.add(std::make_unique<letters>('x', asked), 3).value();
    CHECK(source_access::mapped_range(all, 3, 6)->data() == file->mapped().data() + 3);
    CHECK_FALSE(source_access::stable_range(all, 3, 6)); // others may write to a file
    CHECK(source_access::stable_range(all, memory, 6));
    CHECK_FALSE(source_access::mapped_range(all, 3, 7));
    CHECK_FALSE(source_access::mapped_range(all, made, 3));
    CHECK_FALSE(source_access::is_made(all, 0, 3));
    CHECK(source_access::is_made(all, made + 1, 2));
    CHECK(source_access::is_mapped(all));
    CHECK(source_access::is_file(all));
    CHECK(all.check_unchanged());
    for (const std::uint64_t offset : {std::uint64_t{0}, memory, made, memory + 4}) { // and across the end of one
        all.prefetch(offset, 3);
        all.evict(offset, 3);
    }
    CHECK_FALSE(source_access::is_made(all, memory + 4, 3));
    CHECK(asked == 0);
}

TEST_CASE("what is read in pieces is made once, what is read whole straight into its place") {
    std::atomic<int> asked{0};
    assembled_source all(source_of("first"), 1000);
    const std::uint64_t made = all.add(std::make_unique<letters>('x', asked), 300).value();
    CHECK(assembled_text(all, made, 300).value() == std::string(300, 'x'));
    CHECK(assembled_text(all, made, 300).value() == std::string(300, 'x'));
    CHECK(asked == 2);
    for (std::uint64_t at = 0; at < 300; at += 10) {
        CHECK(assembled_text(all, made + at, 10).value() == "xxxxxxxxxx");
    }
    CHECK(asked == 3);
    const std::uint64_t broken = all.add(std::make_unique<letters>('!', asked), 300).value();
    CHECK(refusal(assembled_text(all, broken, 300)) == errc::decode_failed);
    CHECK(refusal(assembled_text(all, broken + 1, 3)) == errc::decode_failed);
    const std::uint64_t large = all.add(std::make_unique<letters>('x', asked), 1001).value();
    CHECK(refusal(assembled_text(all, large, 10)) == errc::limit_exceeded);
}

TEST_CASE("many threads read pieces of what is made") {
    std::atomic<int> asked{0};
    assembled_source all(source_of("first"), 100000);
    std::vector<std::uint64_t> offsets;
    for (const char letter : {'a', 'b', 'c', 'd'}) {
        offsets.push_back(all.add(std::make_unique<letters>(letter, asked), 5000).value());
    }
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (std::size_t at = 0; at < 400; ++at) {
                const std::size_t which = at % offsets.size();
                const auto text = assembled_text(all, offsets[which] + at, 7);
                wrong += !text || *text != std::string(7, static_cast<char>('a' + which)) ? 1 : 0;
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    CHECK(wrong == 0);
    CHECK(asked <= 16);
}

TEST_CASE("a source may give several ranges of one row, and is asked once whether it changed") {
    const auto twice = source_of("twice");
    assembled_source all(twice, 1000);
    const std::uint64_t second = all.add(twice, 2, 3).value();
    CHECK(assembled_text(all, second, 3).value() == "ice");
    const auto other = source_of("other");
    const std::uint64_t third = all.add(other, 0, 2).value(), fourth = all.add(other, 2, 3).value();
    CHECK(assembled_text(all, third, 2).value() == "ot");
    CHECK(assembled_text(all, fourth, 3).value() == "her");
    CHECK(all.check_unchanged());
}

TEST_CASE("of what is made and read in pieces the newest is kept, and no more than 64 MiB") {
    class zeros final : public made_bytes {
    public:
        explicit zeros(int& asked) : asked_(asked) {}
        [[nodiscard]] ztensor::result<void> make(ztensor::span<std::byte> destination) const override {
            ++asked_;
            std::memset(destination.data(), 0, destination.size());
            return {};
        }

    private:
        int& asked_;
    };
    constexpr std::uint64_t length = std::uint64_t{33} << 20;
    int asked = 0;
    assembled_source all(source_of("first"), length);
    const std::uint64_t one = all.add(std::make_unique<zeros>(asked), length).value();
    const std::uint64_t other = all.add(std::make_unique<zeros>(asked), length).value();
    const std::uint64_t small = all.add(std::make_unique<zeros>(asked), 10).value();
    const auto asked_after = [&](std::uint64_t at) {
        CHECK(assembled_text(all, at, 1).value() == ".");
        return asked;
    };
    CHECK(asked_after(one) == 1);
    CHECK(asked_after(one) == 1);
    CHECK(asked_after(small) == 2);
    CHECK(asked_after(one) == 2);
    CHECK(asked_after(other) == 3); // for which the first has to go, though the small one may stay
    CHECK(asked_after(other) == 3);
    CHECK(asked_after(one) == 4);
}

TEST_CASE("a range too large to keep beside others is kept until another one is made, whatever is made of it") {
    std::atomic<int> asked{0};
    constexpr std::uint64_t large = (std::uint64_t{64} << 20) + 1;
    assembled_source all(source_of("first"), large);
    const std::uint64_t one = all.add(std::make_unique<letters>('a', asked), large).value();
    const std::uint64_t other = all.add(std::make_unique<letters>('b', asked), large).value();
    const std::uint64_t small = all.add(std::make_unique<letters>('c', asked), 100).value();
    const auto lent = all.lend(one + 7, 3, large).value();
    REQUIRE(lent);
    CHECK(lent->bytes.size() == 3);
    CHECK(static_cast<char>(lent->bytes[0]) == 'a');
    CHECK(asked == 1);
    CHECK(assembled_text(all, small, 10).value() == "cccccccccc"); // as what is gathered of it is, later
    CHECK(assembled_text(all, one, 5).value() == "aaaaa");
    CHECK(asked == 2);
    CHECK(assembled_text(all, other, 5).value() == "bbbbb");
    CHECK(asked == 3);
    CHECK(assembled_text(all, one, 5).value() == "aaaaa");
    CHECK(asked == 4);
    CHECK(assembled_text(all, small, 100).value() == std::string(100, 'c')); // whole, but it is there
    CHECK(asked == 4);
    CHECK(static_cast<char>(lent->bytes[2]) == 'a');
    CHECK(refusal(all.lend(one, 3, large - 1)) == errc::limit_exceeded);
    CHECK_FALSE(all.lend(0, 3, large).value());
    CHECK_FALSE(all.lend(small + 90, 20, large).value());
}
