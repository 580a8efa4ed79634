// SPDX-License-Identifier: MIT
//
// The fast way through an index: nearly all objects of a file are encoded like one before them, but for a name, a
// shape, a few numbers and the digits of a digest. What lies between these is compared with that one's instead of
// parsed. All else is left to the parser, which gives the same records and from which this learns. SPEC.md section 3.
#ifndef ZTENSOR_DETAIL_INDEX_RECORD_TEMPLATE_HPP
#define ZTENSOR_DETAIL_INDEX_RECORD_TEMPLATE_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/index/part_rules.hpp>
#include <ztensor/detail/index/scan.hpp>
#include <ztensor/span.hpp>

#include <algorithm>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A value that may differ in the next object, [begin, end) of the index: an `item` is any short one that the
/// model does not keep.
struct template_gap {
    enum kind : uint8_t { name, shape, offset, length, uncompressed_length, digits, item };

    kind what;
    uint8_t part; ///< of the object, that it belongs to
    uint32_t begin;
    uint32_t end;
};

/// How an object is encoded: where its gaps lie, and what the records of one like it hold.
struct record_template {
    static constexpr size_t most_parts = 8;
    static constexpr size_t most_gaps = 2 + 4 * most_parts;
    static constexpr size_t most_bytes = 1024; ///< between gaps, in one piece

    /// Of the runs of bytes between the gaps the one that each word of a part stands in; of the gaps that of each
    /// number.
    struct places_of_part {
        uint8_t dtype, role, type, encoding, digest;
        uint8_t offset, length, uncompressed_length;
    };

    uint32_t begin; ///< of the object that was learned from
    uint32_t end;
    template_gap gaps[most_gaps];
    size_t gap_count;
    object_record object;
    uint8_t name, shape; ///< gaps
    uint8_t format_run, attributes_run;
    component_record parts[most_parts]; ///< their offsets as the file states them
    places_of_part places[most_parts];
    uint64_t element_bytes; ///< of a dense object, where it is known; else 0
};

/// What the parser meets of an object that could become a template.
class met_gaps {
public:
    void clear() noexcept { count_ = 0; }
    void add(template_gap::kind what, size_t part, size_t begin, size_t end) noexcept {
        if (count_ < record_template::most_gaps && part < record_template::most_parts) {
            gaps_[count_++] = {what, static_cast<uint8_t>(part), static_cast<uint32_t>(begin),
                               static_cast<uint32_t>(end)};
        }
    }
    [[nodiscard]] span<const template_gap> all() const noexcept { return {gaps_, count_}; }

private:
    template_gap gaps_[record_template::most_gaps];
    size_t count_ = 0;
};

/// Whether the same bytes stand at both places. 8 bytes of anything can be read behind them.
[[nodiscard]] inline bool are_same_bytes(const byte* a, const byte* b, size_t size) noexcept {
    for (; size >= 8; size -= 8, a += 8, b += 8) {
        if (load_little_64(a) != load_little_64(b)) {
            return false;
        }
    }
    return size == 0 || (load_little_64(a) ^ load_little_64(b)) << (64 - 8 * size) == 0;
}

/// The templates of one index, which scan_reach_bytes of anything follow. `IsDeterministic`: of version 2.
template <bool IsDeterministic>
class template_cache {
public:
    explicit template_cache(manifest& into) noexcept : into_(into) {}

    /// The object that stands at `position`, where its name comes first but in 0.1. If a template fits, it is in the
    /// model then, the last of all, and ends at `end`; else null is returned, and nothing has changed.
    [[nodiscard]] const record_template* read(size_t position, size_t& end) {
        if (!is_worth_a_try()) {
            return nullptr;
        }
        for (size_t i = 0; i < templates_.size(); ++i) {
            const size_t next = i == 0 ? last_ : i - (i <= last_ ? 1 : 0); // the last one first, then all others
            if (const byte* const behind = read_like(templates_[next], into_.index.data() + position)) {
                end = static_cast<size_t>(behind - into_.index.data());
                last_ = next;
                trust_ += trust_ < most_trust ? 1 : 0;
                return &templates_[next];
            }
        }
        trust_ -= trust_ > 0 ? 1 : 0;
        return nullptr;
    }

    /// Learns from an object that was parsed, [begin, end) of the index, with the gaps that were met.
    ZTENSOR_COLD void learn(const object_record& object, size_t begin, size_t end, span<const template_gap> gaps) {
        constexpr size_t most_templates = 8;
        if (!was_tried_ || object.component_count > record_template::most_parts || !has_all_gaps(object, gaps)) {
            return;
        }
        if (templates_.size() < most_templates) {
            static_cast<void>(templates_.extend(1));
            last_ = templates_.size() - 1;
        } else {
            last_ = ++learned_ % most_templates; // in place of the oldest
        }
        fill(templates_[last_], object, begin, end, gaps);
    }

private:
    static constexpr unsigned most_trust = 16;

    /// Where few objects are like others, looking costs more than it saves.
    [[nodiscard]] bool is_worth_a_try() noexcept {
        constexpr unsigned seldom = 64;
        was_tried_ = trust_ != 0 || ++passed_over_ % seldom == 0;
        return was_tried_;
    }

    /// A name, a shape, and of each part its numbers: else something stands twice, or there are too many.
    [[nodiscard]] bool has_all_gaps(const object_record& object, span<const template_gap> gaps) const noexcept {
        size_t expected = 2 + 2 * size_t{object.component_count}, found = 0;
        for (const component_record& part : as_const().components_of(object)) {
            expected += part.states_uncompressed_length ? 1 : 0;
        }
        for (const template_gap& gap : gaps) {
            found += gap.what < template_gap::digits ? 1 : 0;
        }
        return found == expected;
    }

    [[nodiscard]] const manifest& as_const() const noexcept { return into_; }

    ZTENSOR_COLD void fill(record_template& like, const object_record& object, size_t begin, size_t end,
                           span<const template_gap> gaps) const noexcept {
        like.begin = static_cast<uint32_t>(begin);
        like.end = static_cast<uint32_t>(end);
        like.gap_count = gaps.size();
        std::copy(gaps.begin(), gaps.end(), like.gaps);
        like.object = object;
        like.object.is_valid = false;
        like.format_run = run_of(like, object.format_word);
        like.attributes_run = run_of(like, object.attributes);
        const span<const component_record> parts = as_const().components_of(object);
        for (size_t i = 0; i < parts.size(); ++i) {
            const component_record& part = parts[i];
            constexpr uint8_t no_gap = record_template::most_gaps;
            like.parts[i] = part;
            like.places[i] = {run_of(like, part.dtype_word),
                              run_of(like, part.role),
                              run_of(like, part.type_word),
                              run_of(like, part.encoding_word),
                              run_of(like, part.digest_text),
                              no_gap,
                              no_gap,
                              no_gap};
        }
        for (uint8_t i = 0; i < like.gap_count; ++i) {
            note_gap(like, like.gaps[i], i);
        }
        const bool is_dense =
            object.format == format::dense && parts.size() == 1 && role_name(into_, parts[0]) == "data";
        like.element_bytes = is_dense ? known_element_bytes(into_, parts[0]) : 0;
    }

    static void note_gap(record_template& like, const template_gap& gap, uint8_t number) noexcept {
        record_template::places_of_part& places = like.places[gap.part];
        switch (gap.what) {
        case template_gap::name:
            like.name = number;
            return;
        case template_gap::shape:
            like.shape = number;
            return;
        case template_gap::offset:
            places.offset = number;
            return;
        case template_gap::length:
            places.length = number;
            return;
        case template_gap::uncompressed_length:
            places.uncompressed_length = number;
            return;
        default:
            return;
        }
    }

    /// The run that an item stands in; behind all for an absent one.
    [[nodiscard]] static uint8_t run_of(const record_template& like, index_item item) noexcept {
        size_t run = 0;
        while (run < like.gap_count && item.position >= like.gaps[run].begin) {
            ++run;
        }
        return static_cast<uint8_t>(item.is_present() ? run : like.gap_count + 1);
    }

    /// Where the gaps of an object like another were found, and what stands there.
    struct found_gaps {
        uint32_t shifts[record_template::most_gaps + 2]; ///< of each run: how much farther behind; of no run: 0
        uint64_t values[record_template::most_gaps + 1]; ///< a number, or the position of what is none; of no gap: 0
        string_view name;
        uint64_t element_count = 0;
    };

    /// Behind the object, which is in the model then; nullptr if it is not like that one.
    const byte* read_like(const record_template& like, const byte* at) {
        found_gaps gaps;
        const byte* const end = pass_gaps(like, at, gaps);
        if (end == nullptr) {
            return nullptr;
        }
        gaps.values[record_template::most_gaps] = 0;
        const size_t first = into_.components.extend(like.object.component_count);
        component_record* const parts = &into_.components[first];
        for (size_t i = 0; i < like.object.component_count; ++i) {
            fill(parts[i], like.parts[i], like.places[i], gaps);
        }
        object_record& object = into_.objects[into_.objects.extend(1)];
        object = like.object;
        object.name = {static_cast<uint32_t>(gaps.values[like.name])};
        object.shape = {static_cast<uint32_t>(gaps.values[like.shape])};
        object.format_word.position += gaps.shifts[like.format_run];
        object.attributes.position += gaps.shifts[like.attributes_run];
        object.first_component = static_cast<uint32_t>(first);
        object.is_valid =
            like.element_bytes != 0 && is_valid_dense(into_, parts[0], gaps.element_count, like.element_bytes);
        return end;
    }

    static void fill(component_record& part, const component_record& like,
                     const record_template::places_of_part& places, const found_gaps& gaps) noexcept {
        part = like;
        part.offset = gaps.values[places.offset];
        part.length = gaps.values[places.length];
        part.uncompressed_length = gaps.values[places.uncompressed_length];
        part.dtype_word.position += gaps.shifts[places.dtype];
        part.role.position += gaps.shifts[places.role];
        part.type_word.position += gaps.shifts[places.type];
        part.encoding_word.position += gaps.shifts[places.encoding];
        part.digest_text.position += gaps.shifts[places.digest];
    }

    /// Behind the object that stands at `at`, if all but its gaps is the same as in that one; else nullptr.
    [[nodiscard]] const byte* pass_gaps(const record_template& like, const byte* at, found_gaps& found) const noexcept {
        const byte* const index = into_.index.data();
        const byte* const end = index + into_.index.size();
        const byte* learned = index + like.begin;
        for (size_t i = 0; at != nullptr; ++i) {
            const bool is_last = i == like.gap_count;
            const size_t size = static_cast<size_t>(index + (is_last ? like.end : like.gaps[i].begin) - learned);
            if (at > end || size > record_template::most_bytes || !are_same_bytes(at, learned, size)) {
                return nullptr;
            }
            found.shifts[i] = static_cast<uint32_t>(at - learned);
            at += size;
            if (is_last) {
                found.shifts[i + 1] = 0;
                return at <= end ? at : nullptr;
            }
            at = pass_gap(like.gaps[i], at, found.values[i], found);
            learned = index + like.gaps[i].end;
        }
        return nullptr;
    }

    [[nodiscard]] const byte* pass_gap(const template_gap& gap, const byte* at, uint64_t& value,
                                       found_gaps& found) const noexcept {
        switch (gap.what) {
        case template_gap::name:
            value = static_cast<uint64_t>(at - into_.index.data());
            return IsDeterministic ? pass_shortest_name(at, found.name) : pass_any_name(at, found.name);
        case template_gap::shape:
            value = static_cast<uint64_t>(at - into_.index.data());
            return pass_shape<IsDeterministic>(at, found.element_count);
        case template_gap::digits:
            return pass_digits(at, gap.end - gap.begin, IsDeterministic);
        case template_gap::item: { // before version 2
            const size_t size = short_item_bytes(*at);
            return size != 0 ? at + size : nullptr;
        }
        default:
            return IsDeterministic ? pass_shortest_unsigned(at, value) : pass_unsigned(at, value);
        }
    }

    [[nodiscard]] const byte* pass_any_name(const byte* at, string_view& name) const noexcept {
        const byte* const end = pass_name(at, name);
        return end != nullptr ? end : pass_unusual_name(at, name);
    }
    /// One that is long or not ASCII.
    [[nodiscard]] ZTENSOR_COLD const byte* pass_unusual_name(const byte* at, string_view& name) const noexcept {
        const byte* const index = into_.index.data();
        cbor_cursor cursor(into_.bytes(), 0, static_cast<size_t>(at - index));
        cbor_text key;
        if (at >= index + into_.index.size() || !cursor.read_key(key) || key.is_chunked ||
            utf8_name_problem(key.text) != nullptr) {
            return nullptr;
        }
        name = key.text;
        return index + cursor.position();
    }

    manifest& into_;
    record_array<record_template> templates_;
    size_t last_ = 0; ///< the one that fitted last
    size_t learned_ = 0;
    unsigned trust_ = most_trust; ///< more of what came last fitted than not
    unsigned passed_over_ = 0;
    bool was_tried_ = false;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
