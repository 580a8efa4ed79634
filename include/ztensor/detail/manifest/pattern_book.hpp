// SPDX-License-Identifier: MIT
//
// The fast way through an index. Nearly all objects of a file are encoded like one before them, but for a name, a shape
// and a few numbers. What differs in any other way is left to the general way in manifest/read.hpp, which gives the
// same records and from which the patterns are learned. SPEC.md §3.
#ifndef ZTENSOR_DETAIL_MANIFEST_PATTERN_BOOK_HPP
#define ZTENSOR_DETAIL_MANIFEST_PATTERN_BOOK_HPP

#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/detail/manifest/footer.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/manifest/names.hpp>
#include <ztensor/detail/manifest/pattern.hpp>
#include <ztensor/detail/manifest/pattern_shelf.hpp>
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
        if (!objects_.is_worth_a_try() || !into_.objects.has_room() || !into_.components.has_room()) {
            return 0;
        }
        const std::byte* behind_name = pass_word(begin_ + position, name);
        if (behind_name == nullptr && !IsDeterministic) {
            behind_name = pass_unusual_name(position, name);
        }
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

    /// Whether what comes by the general way is to be learned from.
    [[nodiscard]] bool learns() const noexcept { return objects_.was_tried(); }

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
        if (object.component_count > most_components || !objects_.was_tried() ||
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
        if (!objects_.was_tried() || !components_.was_tried() ||
            !like.bytes.learn(into_.bytes(), position(begin), position(end), fields.all())) {
            return;
        }
        note_words(like.words, like.bytes, component, shard);
        components_.keep();
    }

    /// What follows are the components of another object.
    void start_components() noexcept {
        components_.start();
        are_right_ = true;
    }

    /// Notes a component that came by the general way.
    void note_component(const component_record& component) noexcept {
        are_right_ = are_right_ && is_right_part(into_, component, known_element_bytes(into_, component), blobs_end_);
    }

    /// Whether an object that came by the general way, and whose components were noted, needs no other check.
    [[nodiscard]] ZTENSOR_NOINLINE bool is_right(const object_record& object,
                                                 std::uint64_t element_count) const noexcept {
        const component_record& last = into_.components.back();
        if (object.format == format::dense && object.component_count == 1) {
            return role_name(into_, last) == "data" &&
                   is_right_dense(into_, last, element_count, known_element_bytes(into_, last), blobs_end_);
        }
        return has_right_parts(object);
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

    /// The numbers that a pattern leaves open.
    struct numbers {
        std::uint64_t element_count = 0;
        std::uint64_t offset = 0;
        std::uint64_t length = 0;
        std::uint64_t uncompressed_length = 0;
    };

    [[nodiscard]] static std::uint32_t position(std::size_t at) noexcept { return static_cast<std::uint32_t>(at); }

    /// A name that has a name behind it, in the index.
    [[nodiscard]] bool is_in_order(std::string_view name) const noexcept {
        return IsDeterministic ? last_name_.empty() || is_name_before_2(last_name_, name)
                               : is_name_before(last_name_, name);
    }

    /// A name that is long or not ASCII.
    ZTENSOR_COLD const std::byte* pass_unusual_name(std::size_t position, std::string_view& name) const noexcept {
        cbor_cursor cursor(into_.bytes(), 0, position);
        cbor_text key;
        if (!cursor.read_key(key) || key.is_chunked || utf8_name_problem(key.text) != nullptr) {
            return nullptr;
        }
        name = key.text;
        return begin_ + cursor.position();
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
        like.element_bytes = known_element_bytes(into_, component);
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
        object.is_checked = has_right_parts(object);
        return true;
    }

    /// Of an object that has other parts than a dense one.
    [[nodiscard]] bool has_right_parts(const object_record& object) const noexcept {
        if (!are_right_ || object.format == format::dense) {
            return false;
        }
        if (object.format == format::sparse_csr) {
            return is_right_csr(into_, object, blobs_end_);
        }
        if (IsDeterministic) { // of which more is asked
            return false;
        }
        return !object.format ||
               (object.format == format::sparse_coo ? is_right_coo(into_, object) : has_required_roles(into_, object));
    }

    const std::byte* read_components(std::uint32_t count, const std::byte* at) {
        start_components();
        for (; count != 0 && at != nullptr; --count) {
            at = read_component(at);
        }
        return at;
    }

    ZTENSOR_NOINLINE const std::byte* read_component(const std::byte* role) {
        std::string_view name;
        const bool may_fit = components_.is_worth_a_try() && into_.components.has_room();
        const std::byte* const behind_role = may_fit ? pass_word(role, name) : nullptr;
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
                component_record& component = add_component(like.words, begins, found);
                component.role = {position(static_cast<std::size_t>(role - begin_))};
                are_right_ = are_right_ && is_right_part(into_, component, like.words.element_bytes, blobs_end_);
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
    bool are_right_ = true; ///< the components of the object that is being read
    pattern_shelf<object_pattern, 8> objects_;
    pattern_shelf<component_pattern, 8> components_;
};

using pattern_book = basic_pattern_book<false>;

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
