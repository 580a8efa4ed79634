// SPDX-License-Identifier: MIT
//
// The fast way through an index. Nearly all objects of a file are encoded like one before them, but for a name, a shape
// and a few numbers. What differs in any other way is left to the general way in manifest/read.hpp, which gives the
// same records and from which the patterns are learned. SPEC.md §3.
#ifndef ZTENSOR_DETAIL_MANIFEST_PATTERN_BOOK_HPP
#define ZTENSOR_DETAIL_MANIFEST_PATTERN_BOOK_HPP

#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/detail/manifest/footer.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/manifest/pattern.hpp>
#include <ztensor/detail/manifest/right.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What was met in an object or a component on the general way, in the order of the index.
class met_fields {
public:
    void clear() noexcept { count_ = 0; }
    void add(const met_field& field) noexcept {
        if (count_ < most) {
            fields_[count_++] = field;
        }
    }
    void add(pattern_field field, std::size_t begin, std::size_t end) noexcept {
        add({field, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
    }
    [[nodiscard]] span<const met_field> all() const noexcept { return {fields_, count_}; }

private:
    static constexpr std::size_t most = pattern::most_runs; // one more than a pattern has
    met_field fields_[most];
    std::size_t count_ = 0;
};

/// What is the same in every component that is encoded alike, and where its words are in the runs of a pattern.
struct component_words {
    component_record record;
    pattern::place role, dtype_word, type_word, encoding_word, digest_text;
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
    pattern bytes; ///< from behind the name on
    object_record record;
    pattern::place format_word, shape, attributes;
    component_words only;      ///< of an object that has one component, in the object's runs
    bool may_be_dense = false; ///< has the parts that a dense object must have
};

/// Patterns and which of them came after which: that one is tried first.
template <class Pattern, std::size_t Most>
class pattern_shelf {
public:
    /// Room for another pattern, in place of the oldest.
    [[nodiscard]] Pattern& next_to_learn() noexcept { return patterns_[learned_ % Most]; }
    /// What follows is the first of a row.
    void start() noexcept { last_ = Most; }
    /// Keeps what was put there; it is what came after the last one.
    ZTENSOR_COLD void keep() noexcept { follow(learned_++ % Most); }

    /// What `read` answers for the pattern that fits: the first answer that is not null.
    template <class Read>
    [[nodiscard]] const std::byte* read(const Read& read) noexcept {
        const std::size_t guess = after_[last_];
        for (std::size_t i = 0; i < Most && i < learned_; ++i) {
            const std::size_t next = i == 0 ? guess : i == guess ? 0 : i;
            if (const std::byte* const end = read(patterns_[next])) {
                follow(next);
                return end;
            }
        }
        return nullptr;
    }

private:
    void follow(std::size_t i) noexcept {
        after_[last_] = static_cast<std::uint8_t>(i);
        last_ = i;
    }

    Pattern patterns_[Most];
    std::uint8_t after_[Most + 1] = {};
    std::size_t last_ = Most;
    std::size_t learned_ = 0;
};

/// Reads objects by pattern. Its patterns hold for one manifest. `IsDeterministic`: of version 2, of which nothing else
/// is taken, and where blobs of several files lie in one row.
template <bool IsDeterministic>
class basic_pattern_book {
public:
    /// No blob may reach beyond `blobs_end`: where the manifest starts, or in version 2 the end of the row.
    basic_pattern_book(manifest& into, std::uint64_t blobs_end) noexcept
        : into_(into), begin_(into.index.data()), end_(begin_ + into.index.size()), blobs_end_(blobs_end) {}

    /// Of version 2: how long the file itself is, and where the row of it and its shards ends.
    void set_row(std::uint64_t first_file_bytes, std::uint64_t row_end) noexcept {
        first_file_bytes_ = first_file_bytes;
        blobs_end_ = row_end;
    }
    /// Where the last blob ends.
    [[nodiscard]] std::uint64_t blobs_reach() const noexcept { return blobs_reach_; }
    /// Of the object that came last.
    [[nodiscard]] std::string_view last_name() const noexcept { return last_name_; }

    /// Reads the object whose name stands at `position`, if a pattern fits: takes it into the manifest and returns the
    /// position behind it; else changes nothing and returns 0. pattern::reach_bytes of anything follow the index.
    [[nodiscard]] std::size_t read_object(std::size_t position) {
        std::string_view name;
        if (!into_.objects.has_room() || !into_.components.has_room()) {
            return 0;
        }
        const std::byte* const behind_name = pass_word(begin_ + position, name);
        if (behind_name == nullptr || (IsDeterministic && !is_in_order(name))) {
            return 0;
        }
        const std::byte* const behind =
            objects_.read([&](const object_pattern& like) { return read_object(like, position, behind_name); });
        if (behind == nullptr) {
            return 0;
        }
        into_.names_are_sorted = into_.names_are_sorted && (IsDeterministic || is_in_order(name));
        last_name_ = name;
        return static_cast<std::size_t>(behind - begin_);
    }

    /// The same for a component whose role stands at `position`; that no other has this role, the caller sees to.
    [[nodiscard]] std::size_t read_component(std::size_t position) {
        const std::byte* const behind = read_component(begin_ + position);
        return behind != nullptr ? static_cast<std::size_t>(behind - begin_) : 0;
    }

    /// Learns from an object that came by the general way, and from its last component: [begin, end) is what stands
    /// behind its name.
    ZTENSOR_COLD void learn(const object_record& object, std::size_t begin, std::size_t end, const met_fields& fields,
                            const met_fields& fields_of_component, const shard_record* shard = nullptr) {
        met_fields all;
        for (const met_field& each : fields.all()) {
            if (each.field != pattern_field::components || object.component_count != 1) {
                all.add(each);
                continue;
            }
            for (const met_field& inner : fields_of_component.all()) {
                all.add(inner);
            }
        }
        object_pattern& like = objects_.next_to_learn();
        if (object.component_count > most_components || is_full() ||
            !like.bytes.learn(into_.bytes(), position(begin), position(end), all.all())) {
            return;
        }
        like.record = object;
        like.format_word = like.bytes.place_of(object.format_word);
        like.shape = like.bytes.place_of(object.shape);
        like.attributes = like.bytes.place_of(object.attributes);
        note_words(like.only, like.bytes, into_.components.back(), shard);
        like.may_be_dense = object.format == format::dense && object.component_count == 1 &&
                            role_name(into_, into_.components.back()) == "data";
        objects_.keep();
    }

    /// The same for a component: [begin, end) is what stands behind its role.
    ZTENSOR_COLD void learn(const component_record& component, std::size_t begin, std::size_t end,
                            const met_fields& fields, const shard_record* shard = nullptr) {
        component_pattern& like = components_.next_to_learn();
        if (is_full() || !like.bytes.learn(into_.bytes(), position(begin), position(end), fields.all())) {
            return;
        }
        note_words(like.words, like.bytes, component, shard);
        components_.keep();
    }

    /// Notes a component's blob, whichever way it came.
    void note_blob(const component_record& component) noexcept {
        if (component.length != 0) {
            into_.blobs_are_in_order = into_.blobs_are_in_order && component.offset >= blobs_reach_;
            blobs_reach_ = component.offset + component.length; // if that wraps, its bounds will be refused
        }
    }

    /// Notes the name of an object that comes by the general way.
    void note_name(std::string_view name) noexcept {
        if (!IsDeterministic) { // whose reader has seen to it
            into_.names_are_sorted = into_.names_are_sorted && (last_name_.empty() || last_name_ < name);
        }
        last_name_ = name;
    }

private:
    static constexpr std::uint32_t most_components = 8;
    static constexpr int most_learned = 100; ///< where little is alike, learning more would only take time

    /// The numbers that a pattern leaves open.
    struct numbers {
        std::uint64_t element_count = 0;
        std::uint64_t offset = 0;
        std::uint64_t length = 0;
        std::uint64_t uncompressed_length = 0;
    };

    [[nodiscard]] bool is_full() noexcept { return ++learned_ > most_learned; }
    [[nodiscard]] static std::uint32_t position(std::size_t at) noexcept { return static_cast<std::uint32_t>(at); }

    /// A name that has a name behind it, in the index.
    [[nodiscard]] bool is_in_order(std::string_view name) const noexcept {
        return IsDeterministic ? last_name_.empty() || is_name_before_2(last_name_, name)
                               : is_name_before(last_name_, name);
    }

    ZTENSOR_COLD void note_words(component_words& like, const pattern& bytes, const component_record& component,
                                 const shard_record* shard) {
        like.record = component;
        if (IsDeterministic) {
            like.base = shard != nullptr ? shard->base : 0;
            like.data_end = (shard != nullptr ? shard->size_bytes : first_file_bytes_) - footer_bytes_2;
        }
        like.role = bytes.place_of(component.role);
        like.dtype_word = bytes.place_of(component.dtype_word);
        like.type_word = bytes.place_of(component.type_word);
        like.encoding_word = bytes.place_of(component.encoding_word);
        like.digest_text = bytes.place_of(component.digest_text);
        const bool has_width = is_known(into_, component) && packed_elements(component) == 1;
        like.element_bytes = has_width ? element_bytes(component) : 0;
    }

    const std::byte* read_object(const object_pattern& like, std::size_t name, const std::byte* at) {
        const std::size_t components_before = into_.components.size();
        pattern::run_positions begins;
        numbers found;
        at = pass_runs(like.bytes, at, begins, found, like.record.component_count);
        if (at == nullptr || (like.record.component_count == 1 && !has_place(like.only, found))) {
            into_.components.truncate(components_before);
            return nullptr;
        }
        into_.objects.push_back(like.record); // and made there: to copy what was just written stalls a processor
        object_record& object = into_.objects.back();
        object.name = {position(name)};
        object.format_word = like.format_word.in(begins);
        object.shape = like.shape.in(begins);
        object.attributes = like.attributes.in(begins);
        object.first_component = position(components_before);
        if (like.record.component_count == 1) {
            const component_record& component = add_component(like.only, begins, found);
            object.is_checked = like.may_be_dense && is_right_dense(into_, component, found.element_count,
                                                                    like.only.element_bytes, blobs_end_);
            note_blob(component);
        } else if (!take_parts(object)) {
            into_.objects.truncate(into_.objects.size() - 1);
            return nullptr;
        }
        return at;
    }

    /// Keeps the components that have been read of an object of several, or drops them all if a role stands twice: the
    /// general way says so. They are few.
    ZTENSOR_NOINLINE bool take_parts(object_record& object) {
        const span<const component_record> parts = into_.components_of(object);
        std::string_view roles[most_components];
        for (std::size_t i = 0; i < parts.size(); ++i) {
            roles[i] = into_.text(parts[i].role);
            const bool is_new = IsDeterministic ? i == 0 || is_name_before_2(roles[i - 1], roles[i])
                                                : place_of(roles[i], span<const std::string_view>(roles, i)) == i;
            if (!is_new) {
                into_.components.truncate(object.first_component);
                return false;
            }
        }
        for (const component_record& part : parts) {
            note_blob(part);
        }
        object.is_checked =
            object.format == format::sparse_csr && are_known_ && is_right_csr(into_, object, blobs_end_);
        return true;
    }

    const std::byte* read_components(std::uint32_t count, const std::byte* at) {
        components_.start();
        are_known_ = true;
        for (; count != 0 && at != nullptr; --count) {
            at = read_component(at);
        }
        return at;
    }

    ZTENSOR_NOINLINE const std::byte* read_component(const std::byte* role) {
        std::string_view name;
        const std::byte* const behind_role = into_.components.has_room() ? pass_word(role, name) : nullptr;
        if (behind_role == nullptr) {
            return nullptr;
        }
        return components_.read([&](const component_pattern& like) {
            pattern::run_positions begins;
            numbers found;
            const std::byte* const behind = pass_runs(like.bytes, behind_role, begins, found, 0);
            if (behind != nullptr && !has_place(like.words, found)) {
                return static_cast<const std::byte*>(nullptr);
            }
            if (behind != nullptr) {
                are_known_ = are_known_ && like.words.element_bytes != 0;
                add_component(like.words, begins, found).role = {position(static_cast<std::size_t>(role - begin_))};
            }
            return behind;
        });
    }

    /// Of version 2, where it is not looked at again. Offsets of blobs count from the start of their own file.
    [[nodiscard]] static bool has_place(const component_words& like, const numbers& found) noexcept {
        return !IsDeterministic || (found.offset % blob_alignment_2 == 0 && found.offset != 0 &&
                                    fits(found.offset, found.length, like.data_end));
    }

    [[nodiscard]] static const std::byte* pass_word(const std::byte* at, std::string_view& name) noexcept {
        return IsDeterministic ? pass_shortest_name(at, name) : pass_name(at, name);
    }
    [[nodiscard]] static const std::byte* pass_number(const std::byte* at, std::uint64_t& value) noexcept {
        return IsDeterministic ? pass_shortest_unsigned(at, value) : pass_unsigned(at, value);
    }

    /// Behind the pattern, if it fits; `begins` are then those of its runs, and `components` have been taken in, if
    /// they are one of its fields.
    ZTENSOR_NOINLINE const std::byte* pass_runs(const pattern& like, const std::byte* at,
                                                pattern::run_positions& begins, numbers& found,
                                                std::uint32_t components) {
        begins[pattern::most_runs] = 0;
        std::uint32_t* begin = begins;
        for (const pattern::run* run = like.runs().begin();; ++run) {
            *begin++ = position(static_cast<std::size_t>(at - begin_));
            at = like.pass(*run, at);
            if (at == nullptr) {
                return nullptr;
            }
            switch (run->then) {
            case pattern_field::shape:
                at = pass_shape<IsDeterministic>(at, found.element_count);
                break;
            case pattern_field::offset:
                at = pass_number(at, found.offset);
                break;
            case pattern_field::length:
                at = pass_number(at, found.length);
                break;
            case pattern_field::uncompressed_length:
                at = pass_number(at, found.uncompressed_length);
                break;
            case pattern_field::digits:
                at = pass_digits(at, run->digits, false);
                break;
            case pattern_field::lower_digits:
                at = pass_digits(at, run->digits, true);
                break;
            case pattern_field::components:
                at = read_components(components, at);
                break;
            case pattern_field::end:
                return at <= end_ ? at : nullptr;
            }
            if (at == nullptr) {
                return nullptr;
            }
        }
    }

    component_record& add_component(const component_words& like, const pattern::run_positions& begins,
                                    const numbers& found) {
        into_.components.push_back(like.record);
        component_record& component = into_.components.back();
        component.offset = found.offset + like.base;
        component.length = found.length;
        component.uncompressed_length = found.uncompressed_length;
        component.role = like.role.in(begins);
        component.dtype_word = like.dtype_word.in(begins);
        component.type_word = like.type_word.in(begins);
        component.encoding_word = like.encoding_word.in(begins);
        component.digest_text = like.digest_text.in(begins);
        return component;
    }

    manifest& into_;
    const std::byte* begin_;
    const std::byte* end_;
    std::uint64_t blobs_end_;
    std::uint64_t first_file_bytes_ = 0;
    std::uint64_t blobs_reach_ = 0;
    std::string_view last_name_;
    int learned_ = 0;
    bool are_known_ = true; ///< the components of the object that is being read
    pattern_shelf<object_pattern, 8> objects_;
    pattern_shelf<component_pattern, 8> components_;
};

using pattern_book = basic_pattern_book<false>;

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
