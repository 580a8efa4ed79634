// SPDX-License-Identifier: MIT
//
// What a pattern keeps of the bytes that it was learned from, and what it leaves open: every byte of a run is given
// every value.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"

#include <ztensor/detail/index/pattern.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace {

using support::bytes;
namespace cbor = support::cbor;
namespace detail = ztensor::detail;

/// Bytes of an index, and what of them may be something else.
class run_to_learn {
public:
    void add_constant(const bytes& more) { add(more, std::vector<bool>(256)); }
    /// An item that nobody looks at; a payload that may be anything, and a head that states its size.
    void add_wide_number(std::uint64_t value, std::size_t size) {
        const bytes encoded = cbor::head_of_size(cbor::major::unsigned_integer, value, size);
        note(detail::pattern_field::number, encoded.size());
        add_constant(encoded.substr(0, 1));
        add(encoded.substr(1), std::vector<bool>(256, true));
    }
    /// One whose head holds it: of its kind, no more and no less.
    void add_small_number(unsigned major, unsigned value) {
        const unsigned head = major << 5 | value;
        note(detail::pattern_field::number, 1);
        std::vector<bool> allowed(256);
        for (unsigned i = 0; i < 24; ++i) {
            allowed[major << 5 | i] = true;
        }
        add(bytes(1, static_cast<char>(head)), allowed);
    }
    /// Any other of ASCII.
    void add_text(const bytes& text) {
        add_constant(cbor::head(cbor::major::text, text.size()));
        note(detail::pattern_field::text, text.size());
        std::vector<bool> allowed(256);
        for (unsigned i = 0; i < 128; ++i) {
            allowed[i] = true;
        }
        add(text, allowed);
    }

    [[nodiscard]] const bytes& content() const { return content_; }
    [[nodiscard]] const std::vector<detail::met_field>& fields() const { return fields_; }
    [[nodiscard]] bool may_be(std::size_t position, unsigned value) const { return allowed_[position][value]; }

private:
    void note(detail::pattern_field field, std::size_t size) {
        const auto begin = static_cast<std::uint32_t>(content_.size());
        fields_.push_back({field, begin, begin + static_cast<std::uint32_t>(size)});
    }
    void add(const bytes& more, std::vector<bool> allowed) {
        for (const char each : more) {
            content_ += each;
            allowed_.push_back(allowed);
            allowed_.back()[static_cast<unsigned char>(each)] = true;
        }
    }

    bytes content_;
    std::vector<std::vector<bool>> allowed_;
    std::vector<detail::met_field> fields_;
};

/// Whether the pattern takes the run that starts an index of this content.
bool is_taken(const detail::pattern& learned, bytes content, std::size_t run_bytes) {
    content.append(detail::pattern::reach_bytes, '\0');
    const auto* const index = reinterpret_cast<const std::byte*>(content.data());
    detail::pattern::places found{};
    const std::byte* const end = learned.pass(0, index, index, found);
    if (end == nullptr) {
        return false;
    }
    CHECK(end == index + run_bytes);
    return learned.has_right_items(found);
}

/// Some bytes, for no item starts an index, then of every kind what can be left open, where it does and does not end
/// with a word of the pattern.
run_to_learn make_run(std::size_t bytes_before, std::size_t text_bytes) {
    run_to_learn made;
    made.add_constant(bytes(bytes_before, 'k'));
    made.add_small_number(0, 5);
    made.add_constant("ab");
    made.add_small_number(1, 23);
    made.add_wide_number(0x1234, 2);
    made.add_text(bytes("odd, even: 0a1b2c3d4e5f").substr(0, text_bytes));
    made.add_constant("c");
    made.add_wide_number(0x123456789abcdef0, 8);
    made.add_small_number(7, 20); // which the general way does not leave open; a pattern would
    made.add_constant("end");
    return made;
}

} // namespace

TEST_CASE("a pattern takes every value of what it leaves open, and no other byte than it was learned from") {
    for (const std::size_t bytes_before : {1U, 2U, 7U, 13U, 29U, 31U, 32U}) {
        for (const std::size_t text_bytes : {1U, 7U, 8U, 9U, 15U, 16U, 17U, 23U}) {
            CAPTURE(bytes_before, text_bytes);
            const run_to_learn run = make_run(bytes_before, text_bytes);
            const std::size_t size = run.content().size();
            const bytes reached = run.content() + bytes(detail::pattern::reach_bytes, '\0');
            detail::pattern learned;
            const ztensor::bytes_view index(reinterpret_cast<const std::byte*>(reached.data()), reached.size());
            REQUIRE(learned.learn(index, 0, static_cast<std::uint32_t>(size), run.fields()));
            std::size_t wrong = 0;
            for (std::size_t position = 0; position < size; ++position) {
                for (unsigned value = 0; value < 256; ++value) {
                    bytes changed = run.content();
                    changed[position] = static_cast<char>(value);
                    wrong += is_taken(learned, std::move(changed), size) != run.may_be(position, value);
                }
            }
            CHECK(wrong == 0);
            // What stands behind the run is nothing to it.
            CHECK(is_taken(learned, run.content() + bytes(40, '\xff'), size));
        }
    }
}

TEST_CASE("a number that a pattern reads could not be shorter where there is no other form") {
    using number = detail::pattern::number;
    const auto read = [](const bytes& encoded, bool is_shortest, std::uint64_t& value) {
        const bytes content = encoded.substr(encoded.size() == 1 ? 0 : 1) + bytes(8, '\0');
        const std::size_t counted = encoded.size() == 1 ? 1 : encoded.size() - 1;
        const number place{0, static_cast<std::uint8_t>(64 - 8 * counted), encoded.size() == 1};
        return place.read(reinterpret_cast<const std::byte*>(content.data()), is_shortest, value);
    };
    for (const std::uint64_t value : {0ULL, 1ULL, 22ULL, 23ULL, 24ULL, 25ULL, 254ULL, 255ULL, 256ULL, 65535ULL,
                                      65536ULL, 0xffffffffULL, 0x100000000ULL, ~0ULL}) {
        for (const std::size_t size : {0U, 1U, 2U, 4U, 8U}) {
            if (size == 0 ? value > 23 : size < 8 && value >> (8 * size) != 0) {
                continue;
            }
            CAPTURE(value, size);
            const bytes encoded = cbor::head_of_size(cbor::major::unsigned_integer, value, size);
            std::uint64_t found = 1;
            CHECK(read(encoded, false, found));
            CHECK(found == value);
            CHECK(read(encoded, true, found) == (encoded == cbor::number(value)));
        }
    }
    for (unsigned head = 24; head < 256; ++head) { // no number that its head holds
        std::uint64_t found = 0;
        CHECK_FALSE(read(bytes(1, static_cast<char>(head)), false, found));
    }
}
