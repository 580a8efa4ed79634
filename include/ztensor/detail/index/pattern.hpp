// SPDX-License-Identifier: MIT
//
// How objects are encoded, to read others that are encoded alike at once. SPEC.md section 3.
#ifndef ZTENSOR_DETAIL_INDEX_PATTERN_HPP
#define ZTENSOR_DETAIL_INDEX_PATTERN_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/index/fields.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- pattern
//
// How an object or a component is encoded, but for a name, a shape and a few numbers: runs of bytes that are the same
// every time, compared at once instead of parsed, and the fields between them. SPEC.md section 3.

#if defined(__GNUC__)
using two_words = std::uint64_t __attribute__((vector_size(16)));
#else
/// What other compilers have as a type of their own.
struct two_words {
    std::uint64_t of[2];

    [[nodiscard]] std::uint64_t operator[](std::size_t i) const noexcept { return of[i]; }
    friend two_words operator|(const two_words& a, const two_words& b) noexcept {
        return {{a.of[0] | b.of[0], a.of[1] | b.of[1]}};
    }
    friend two_words operator^(const two_words& a, const two_words& b) noexcept {
        return {{a.of[0] ^ b.of[0], a.of[1] ^ b.of[1]}};
    }
    friend two_words operator&(const two_words& a, const two_words& b) noexcept {
        return {{a.of[0] & b.of[0], a.of[1] & b.of[1]}};
    }
};
#endif

/// Constant bytes in front of a shape and behind it, in which numbers and digits are left open. A number that takes
/// more or fewer bytes is of another pattern: then all are at the same distance each time, and nothing is looked for.
class pattern {
public:
    static constexpr std::size_t run_count = 2;

    /// A pattern and a shape, and what is looked at to see that they fit, take fewer bytes than this. So many can be
    /// read behind the index.
    static constexpr std::size_t reach_bytes = 2048;

    /// Where its runs were found, and how much farther behind than when it was learned; by no more for what is absent.
    struct places {
        const std::byte* begins[run_count];
        std::uint32_t shifts[run_count + 1];

        /// The item of the learned one in that run.
        [[nodiscard]] index_item shifted(index_item learned, std::size_t run) const noexcept {
            return {learned.position + shifts[run]};
        }
    };

    /// The place of an unsigned integer that takes as many bytes each time.
    struct number {
        std::uint16_t first_byte = 0; ///< of those that count, at this distance from the start of a run
        std::uint8_t unused_bits = 0; ///< of the 64 that stand there
        bool is_in_head = false;

        /// The number in the run at `run`. False if it is none, or `is_shortest` and it could be shorter.
        [[nodiscard]] bool read(const std::byte* run, bool is_shortest, std::uint64_t& value) const noexcept {
            value = load_big_64(run + first_byte) >> unused_bits;
            if (is_in_head) {
                return value < 24;
            }
            const unsigned bits = 64u - unused_bits;
            return !is_shortest || (bits == 8 ? value >= 24 : value >> (bits / 2) != 0);
        }
    };

    /// Behind the run, if it stands at `at` in that index; else nullptr.
    [[nodiscard]] const std::byte* pass(std::size_t run, const std::byte* index, const std::byte* at,
                                        places& found) const noexcept {
        const run_of_words& expected = runs_[run];
        found.begins[run] = at;
        found.shifts[run] = static_cast<std::uint32_t>(at - index) - expected.begin;
        const std::byte* const end = at + expected.size_bytes;
        const word* const last = words_ + expected.last_word;
        for (const word* each = words_ + expected.first_word; each != last; each += words_at_once) {
            two_words first, second; // which no call takes or gives: how it would differs among processors
            std::memcpy(&first, at, sizeof first);
            std::memcpy(&second, at + sizeof first, sizeof second);
            const two_words difference =
                ((first ^ each[0].bits) & each[0].kept) | ((second ^ each[1].bits) & each[1].kept);
            if ((difference[0] | difference[1]) != 0) {
                return nullptr;
            }
            at += words_at_once * sizeof first;
        }
        return end;
    }

    /// Where its runs were found, what may be anything there is something of its kind.
    [[nodiscard]] bool has_right_items(const places& found) const noexcept {
        for (std::size_t i = 0; i < item_count_; ++i) {
            if (!items_[i].is_right(found.begins[items_[i].run])) {
                return false;
            }
        }
        return true;
    }

    /// Takes [begin, end) of the index apart, at `fields`. False if it is too long.
    ZTENSOR_COLD bool learn(bytes_view index, std::uint32_t begin, std::uint32_t end, span<const met_field> fields) {
        std::uint32_t shape_begin = end, shape_end = end;
        for (const met_field& each : fields) {
            if (each.field == pattern_field::shape) {
                shape_begin = each.begin;
                shape_end = each.end;
            }
        }
        if (!learn_run(0, index, begin, shape_begin) || !learn_run(1, index, shape_end, end)) {
            return false;
        }
        item_count_ = 0;
        for (const met_field& each : fields) {
            if (each.field != pattern_field::shape) {
                leave_open(each);
            }
        }
        return true;
    }

    /// The run that an item is in, of those that were learned from.
    [[nodiscard]] ZTENSOR_COLD std::size_t run_of(index_item item) const noexcept {
        return !item.is_present() ? run_count : item.position >= runs_[1].begin ? 1 : 0;
    }
    /// How far from its start.
    [[nodiscard]] ZTENSOR_COLD std::uint16_t distance_of(index_item item) const noexcept {
        return static_cast<std::uint16_t>(item.position - runs_[run_of(item)].begin);
    }
    /// The same of a number, which is an item.
    [[nodiscard]] ZTENSOR_COLD number number_of(const met_field& field) const noexcept {
        const std::uint32_t bytes = field.end - field.begin;
        const std::uint32_t head = bytes == 1 ? 0 : 1;
        return {distance_of({field.begin + head}), static_cast<std::uint8_t>(64 - 8 * (bytes - head)), bytes == 1};
    }

private:
    static constexpr std::uint32_t words_at_once = 2;
    static constexpr std::uint32_t most_words = 40; // so that all runs and a shape are below reach_bytes

    static constexpr std::uint32_t word_bytes = sizeof(two_words);

    /// Some bytes of a run, and the bits of them that are the same each time.
    struct word {
        two_words bits;
        two_words kept;
    };

    struct run_of_words {
        std::uint32_t begin; ///< where it stood when it was learned
        std::uint32_t size_bytes;
        std::uint32_t first_word;
        std::uint32_t last_word; ///< the first that is not its own
    };

    /// A number in its head, or a text of ASCII.
    struct passed_item {
        std::uint16_t run;
        std::uint16_t distance;   ///< of what is left open
        std::uint32_t text_bytes; ///< 0 for a number

        [[nodiscard]] bool is_right(const std::byte* run_begin) const noexcept {
            const std::byte* const at = run_begin + distance;
            std::uint64_t wrong = 0;
            for (std::uint32_t i = 0; i < text_bytes; i += 8) {
                const std::uint32_t beyond = text_bytes - i < 8 ? 64 - 8 * (text_bytes - i) : 0;
                wrong |= load_big_64(at + i) >> beyond;
            }
            return text_bytes != 0 ? (wrong & 0x8080808080808080u) == 0 : (std::to_integer<unsigned>(*at) & 31) < 24;
        }
    };

    bool learn_run(std::size_t run, bytes_view index, std::uint32_t begin, std::uint32_t end) noexcept {
        const std::uint32_t first = run == 0 ? 0 : runs_[run - 1].last_word, size = end - begin;
        constexpr std::uint32_t bytes_at_once = word_bytes * words_at_once;
        const std::uint32_t last = first + (size + bytes_at_once - 1) / bytes_at_once * words_at_once;
        if (size > word_bytes * most_words || last > most_words) {
            return false;
        }
        runs_[run] = {begin, size, first, last};
        for (std::uint32_t i = first, at = 0; i != last; ++i, at += word_bytes) {
            const std::uint32_t own = at >= size ? 0 : size - at < word_bytes ? size - at : word_bytes;
            std::memset(&words_[i], 0, sizeof words_[i]);
            std::memcpy(&words_[i].bits, index.data() + begin + at, own);
            std::memset(&words_[i].kept, 0xff, own);
        }
        return true;
    }

    /// What may be anything there. A head that holds its number is still that of one.
    void leave_open(const met_field& field) noexcept {
        const std::size_t run = run_of({field.begin});
        const std::uint32_t size = field.end - field.begin;
        const bool is_text = field.field == pattern_field::digits || field.field == pattern_field::text;
        for (std::uint32_t i = is_text || size == 1 ? 0 : 1; i < size; ++i) {
            const std::uint32_t at = distance_of({field.begin + i});
            auto& open = words_[runs_[run].first_word + at / word_bytes].kept;
            auto* const kept = static_cast<unsigned char*>(static_cast<void*>(&open));
            kept[at % word_bytes] &= !is_text && size == 1 ? 0xe0 : 0;
        }
        if (field.field == pattern_field::text || (field.field == pattern_field::number && size == 1)) {
            items_[item_count_++] = {static_cast<std::uint16_t>(run), distance_of({field.begin}), is_text ? size : 0};
        }
    }

    word words_[most_words];
    passed_item items_[met_fields::most_passed];
    std::size_t item_count_ = 0;
    run_of_words runs_[run_count];
};

// -- fields: each returns where it ends, or nullptr if the general way must look.

[[nodiscard]] inline const std::byte* pass_unsigned(const std::byte* at, std::uint64_t& value) noexcept {
    const auto first = std::to_integer<std::uint8_t>(*at);
    if (first < 24) {
        value = first;
        return at + 1;
    }
    const std::uint64_t behind = load_big_64(at + 1);
    switch (first) { // branches, not a shift by a size: a processor goes on before it has seen the head (1.4 times)
    case 0x18:
        value = behind >> 56;
        return at + 2;
    case 0x19:
        value = behind >> 48;
        return at + 3;
    case 0x1a:
        value = behind >> 32;
        return at + 5;
    case 0x1b:
        value = behind;
        return at + 9;
    default:
        return nullptr;
    }
}

/// The same of a head that could not be shorter.
[[nodiscard]] inline const std::byte* pass_shortest_unsigned(const std::byte* at, std::uint64_t& value) noexcept {
    const std::byte* const end = pass_unsigned(at, value);
    const std::ptrdiff_t size = end == nullptr ? 0 : end - at - 1;
    const bool fits_in_less = size == 1 ? value < 24 : size > 1 && value >> (4 * size) == 0;
    return fits_in_less ? nullptr : end;
}

template <bool IsDeterministic>
[[nodiscard]] inline const std::byte* pass_shape(const std::byte* at, std::uint64_t& element_count) noexcept {
    std::size_t rank = std::to_integer<std::size_t>(*at++) - 0x80;
    if (rank == 0x18) {
        rank = std::to_integer<std::size_t>(*at++);
        if ((IsDeterministic && rank < 24) || rank > max_rank) {
            return nullptr;
        }
    } else if (rank >= 24) { // a wider head, or that of something else
        return nullptr;
    }
    element_counter counter;
    constexpr std::uint64_t eight_ones = 0x0101010101010101u;
    for (std::uint64_t dimension = 0; rank != 0; --rank) {
        for (; rank > 8 && load_little_64(at) == eight_ones; rank -= 8) { // what most of very many dimensions are
            at += 8;
        }
        at = IsDeterministic ? pass_shortest_unsigned(at, dimension) : pass_unsigned(at, dimension);
        if (at == nullptr || !counter.multiply(dimension)) {
            return nullptr;
        }
    }
    element_count = counter.count();
    return at;
}

/// Hexadecimal, in either case, or in lower case alone.
[[nodiscard]] inline const std::byte* pass_digits(const std::byte* at, std::size_t count, bool is_lower) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101u;
    constexpr std::uint64_t high = 0x80 * ones;
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < count; i += 8) { // eight digits at once, each in its byte
        const std::uint64_t digits = load_little_64(at + i);
        const std::uint64_t lower = digits | 0x20 * ones;
        const std::uint64_t is_digit = (lower + (0x80 - '0') * ones) & ~(lower + (0x80 - '9' - 1) * ones);
        const std::uint64_t is_letter = (lower + (0x80 - 'a') * ones) & ~(lower + (0x80 - 'f' - 1) * ones);
        // The bit 0x20 turns letters into small ones; of the digits it must have been there.
        wrong |= digits | ~((is_digit & digits << 2) | is_letter) | (is_lower ? ~digits << 2 : 0);
    }
    return (wrong & high) == 0 ? at + count : nullptr;
}

/// A name of at most 255 bytes that is ASCII without U+0000.
[[nodiscard]] inline const std::byte* pass_name(const std::byte* at, std::string_view& name) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101u;
    std::size_t size = std::to_integer<std::size_t>(*at++) - 0x60;
    if (size == 0x18) {
        size = std::to_integer<std::size_t>(*at++);
    } else if (size >= 24) {
        return nullptr;
    }
    name = as_text({at, size});
    const std::byte* const end = at + size;
    std::uint64_t wrong = 0; // a byte above 0x7f, or 0, leaves a high bit
    for (; end - at > 16; at += 16) {
        const std::uint64_t word = load_little_64(at), next = load_little_64(at + 8);
        wrong |= word | (word - ones) | next | (next - ones);
    }
    if (size >= 16) { // the last, some of which may have been seen
        const std::uint64_t word = load_little_64(end - 16), next = load_little_64(end - 8);
        wrong |= word | (word - ones) | next | (next - ones);
        return (wrong & 0x80 * ones) == 0 ? end : nullptr;
    }
    if (size >= 8) {
        const std::uint64_t word = load_little_64(at);
        wrong |= word | (word - ones);
        at += 8;
    }
    const std::uint64_t beyond = ~std::uint64_t{0} << 8 * (end - at);
    const std::uint64_t last = (load_little_64(at) & ~beyond) | (ones & beyond);
    wrong |= last | (last - ones);
    return (wrong & 0x80 * ones) == 0 && size != 0 ? end : nullptr;
}

/// The same with a head that could not be shorter.
[[nodiscard]] inline const std::byte* pass_shortest_name(const std::byte* at, std::string_view& name) noexcept {
    constexpr std::byte one_byte_more{0x78};
    const std::byte* const end = pass_name(at, name);
    return *at == one_byte_more && name.size() < 24 ? nullptr : end;
}

/// a < b; both can be read 8 bytes beyond their ends.
[[nodiscard]] inline bool is_name_before(std::string_view a, std::string_view b) noexcept {
    const std::size_t common = a.size() < b.size() ? a.size() : b.size();
    const std::byte* const left = as_bytes(a).data();
    const std::byte* const right = as_bytes(b).data();
    std::size_t i = 0;
    while (i < common && load_little_64(left + i) == load_little_64(right + i)) {
        i += 8;
    }
    if (i >= common) {
        return a.size() < b.size();
    }
    const std::size_t beyond = common - i < 8 ? 64 - 8 * (common - i) : 0;
    const std::uint64_t x = load_big_64(left + i) >> beyond;
    const std::uint64_t y = load_big_64(right + i) >> beyond;
    return x != y ? x < y : a.size() < b.size();
}

/// The same in the order of deterministic CBOR, whose heads come first.
[[nodiscard]] inline bool is_name_before_2(std::string_view a, std::string_view b) noexcept {
    return a.size() != b.size() ? a.size() < b.size() : is_name_before(a, b);
}

// -- pattern shelf
//
// What is kept of objects and components that were read, to read others that are encoded alike by pattern. SPEC.md
// section 3.

/// What is the same in every component that is encoded alike, and where the rest is in the runs of a pattern.
struct component_words {
    component_record record;
    pattern::number offset, length, uncompressed_length;
    std::uint32_t role = 0, type_word = 0, encoding_word = 0, digest_text = 0; ///< all bits of what is present, or none
    std::uint32_t run = 0;       ///< all are in, and the digits of a digest
    std::uint16_t dtype_run = 0; ///< in 1.0 it is the object's
    std::uint16_t digits_at = 0;
    std::uint8_t digits = 0;
    std::uint64_t element_bytes = 0; ///< of a known type that is not packed, else 0
    std::uint64_t base = 0;          ///< of the file that the blob lies in, and where its blobs end
    std::uint64_t data_end = ~std::uint64_t{0};
};

/// How a component is encoded.
struct component_pattern {
    pattern bytes; ///< from behind the role on
    component_words words;
};

/// How an object is encoded.
struct object_pattern {
    static constexpr std::size_t most_components = 8;

    pattern bytes; ///< from behind the name on
    object_record record;
    std::size_t format_run = 0, attributes_run = 0;
    component_words components[most_components];
    bool may_be_dense = false; ///< has the parts that a dense object must have
    bool is_raw = false;       ///< and they are as long as its elements
};

/// Patterns and which of them came after which: that one is tried first. Where little is alike, they are seldom tried,
/// and new ones seldom learned: both would take longer than the general way.
template <class Pattern, std::size_t Most>
class pattern_shelf {
public:
    /// What follows is the first of a row.
    void start() noexcept { last_ = Most; }
    /// Keeps another pattern, in place of the oldest; it is what came after the last one.
    ZTENSOR_COLD void keep(const Pattern& learned) noexcept {
        ::new (&patterns_.all[learned_ % Most]) Pattern(learned);
        follow(learned_++ % Most);
    }
    /// Whether to look for what fits what follows, and to learn from it if nothing does.
    [[nodiscard]] bool is_worth_a_try() noexcept {
        was_tried_ = trust_ != 0 || ++passed_over_ % 64 == 0;
        return was_tried_ && learned_ != 0;
    }
    [[nodiscard]] bool was_tried() const noexcept { return was_tried_; }

    /// What `read` answers for the pattern that fits: the first answer that is not null. Some have been learned.
    template <class Read>
    [[nodiscard]] const std::byte* read(const Read& read) noexcept {
        const std::size_t guess = after_[last_];
        std::size_t i = 0, next = guess;
        do {
            if (const std::byte* const end = read(patterns_.all[next])) {
                follow(next);
                trust_ += trust_ < most_trust ? 1 : 0;
                return end;
            }
            ++i;
            next = i == guess ? 0 : i;
        } while (i < Most && i < learned_);
        trust_ -= trust_ > 0 ? 1 : 0;
        return nullptr;
    }

private:
    static constexpr unsigned most_trust = 16;

    void follow(std::size_t i) noexcept {
        after_[last_] = static_cast<std::uint8_t>(i);
        last_ = i;
    }

    union slots { ///< nothing is put into one before it is needed: there are few in small files
        slots() noexcept {}
        Pattern all[Most];
    };

    slots patterns_;
    std::uint8_t after_[Most + 1] = {};
    std::size_t last_ = Most;
    std::size_t learned_ = 0;
    unsigned trust_ = most_trust; ///< more of what came last fitted than not
    unsigned passed_over_ = 0;
    bool was_tried_ = true;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
