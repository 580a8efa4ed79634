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
        std::string_view role;
        const bool may_fit = components_.is_worth_a_try() && into_.components.has_room();
        const std::byte* const behind_role = may_fit ? pass_word(begin_ + position, role) : nullptr;
        if (behind_role == nullptr) {
            return 0;
        }
        const std::byte* const behind = components_.read([&](const component_pattern& like) {
            const pattern::run_positions begins = {this->position(behind_role), 0, 0};
            const std::byte* const end = like.bytes.pass(0, behind_role);
            if (end == nullptr || end > end_ || !add_component(like.words, begins)) {
                return static_cast<const std::byte*>(nullptr);
            }
            component_record& component = into_.components.back();
            component.role = {static_cast<std::uint32_t>(position)};
            are_right_ = are_right_ && is_right_part(into_, component, like.words.element_bytes, blobs_end_);
            return end;
        });
        if (behind == nullptr) {
            return 0;
        }
        return static_cast<std::size_t>(behind - begin_);
    }

    /// Whether what comes by the general way is to be learned from.
    [[nodiscard]] bool learns() const noexcept { return objects_.was_tried(); }

    /// The components of an object that is learned from are all to come by the general way.
    static constexpr std::size_t most_components = object_pattern::most_components;

    /// Learns from an object that came by the general way: [begin, end) is what stands behind its name.
    ZTENSOR_COLD void learn(const object_record& object, std::size_t begin, std::size_t end, const met_fields& fields) {
        if (object.component_count > most_components || !objects_.was_tried()) {
            return;
        }
        object_pattern& like = objects_.next_to_learn();
        if (!like.bytes.learn(into_.bytes(), position(begin), position(end), fields.all())) {
            return;
        }
        like.record = object;
        like.format_word = like.bytes.place_of(object.format_word);
        like.attributes = like.bytes.place_of(object.attributes);
        const span<const component_record> components = into_.components_of(object);
        for (std::size_t i = 0; i < components.size(); ++i) {
            const std::uint32_t next = i + 1 < components.size() ? components[i + 1].role.position : position(end);
            if (!note_words(like.components[i], like.bytes, components[i], fields.all(), next)) {
                return;
            }
        }
        like.may_be_dense = object.format == format::dense && object.component_count == 1 &&
                            role_name(into_, components[0]) == "data";
        objects_.keep();
    }

    /// The same for a component: [begin, end) is what stands behind its role.
    ZTENSOR_COLD void learn(const component_record& component, std::size_t begin, std::size_t end,
                            const met_fields& fields) {
        if (!objects_.was_tried() || !components_.was_tried()) {
            return;
        }
        component_pattern& like = components_.next_to_learn();
        if (like.bytes.learn(into_.bytes(), position(begin), position(end), fields.all()) &&
            note_words(like.words, like.bytes, component, fields.all(), position(end))) {
            components_.keep();
        }
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
    [[nodiscard]] ZTENSOR_COLD bool is_right(const object_record& object, std::uint64_t element_count) const noexcept {
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
            into_.names_are_sorted = into_.names_are_sorted && is_in_order(name);
        }
        last_name_ = name;
    }

private:
    [[nodiscard]] static std::uint32_t position(std::size_t at) noexcept { return static_cast<std::uint32_t>(at); }
    [[nodiscard]] std::uint32_t position(const std::byte* at) const noexcept {
        return position(static_cast<std::size_t>(at - begin_));
    }

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

    /// Of what was met between a component's role and `end`. False if that is not all of its numbers.
    ZTENSOR_COLD bool note_words(component_words& like, const pattern& bytes, const component_record& component,
                                 span<const met_field> fields, std::uint32_t end) {
        bool has_offset = false, has_length = false, has_decoded_length = false;
        for (const met_field& each : fields) {
            if (each.begin < component.role.position || each.begin >= end || each.field == pattern_field::shape) {
                continue;
            }
            const pattern::place place = bytes.place_of({each.begin});
            like.run = place.run;
            switch (each.field) {
            case pattern_field::offset:
                has_offset = true;
                like.offset = bytes.number_of(each);
                break;
            case pattern_field::length:
                has_length = true;
                like.length = bytes.number_of(each);
                break;
            case pattern_field::uncompressed_length:
                has_decoded_length = true;
                like.uncompressed_length = bytes.number_of(each);
                break;
            default:
                like.digits_at = place.distance;
                like.digits = static_cast<std::uint8_t>(each.end - each.begin);
                break;
            }
        }
        like.record = component;
        if (IsDeterministic) {
            const shard_record* const shard = shard_of(into_, component);
            like.base = shard != nullptr ? shard->base : 0;
            like.data_end = (shard != nullptr ? shard->size_bytes : first_file_bytes_) - footer_bytes_2;
        }
        like.role = bytes.place_of(component.role);
        like.dtype_word = bytes.place_of(component.dtype_word);
        like.type_word = bytes.place_of(component.type_word);
        like.encoding_word = bytes.place_of(component.encoding_word);
        like.digest_text = bytes.place_of(component.digest_text);
        like.element_bytes = known_element_bytes(into_, component);
        return has_offset && has_length && has_decoded_length == component.states_uncompressed_length;
    }

    const std::byte* read_object(const object_pattern& like, std::size_t name, const std::byte* at) {
        pattern::run_positions begins = {position(at), 0, 0};
        const std::byte* const shape = like.bytes.pass(0, at);
        std::uint64_t element_count = 0;
        at = shape != nullptr ? pass_shape<IsDeterministic>(shape, element_count) : nullptr;
        if (at == nullptr) {
            return nullptr;
        }
        begins[1] = position(at);
        at = like.bytes.pass(1, at);
        if (at == nullptr || at > end_ || !add_components(like, begins)) {
            return nullptr;
        }
        into_.objects.push_back(like.record); // and made there: to copy what was just written stalls a processor
        object_record& object = into_.objects.back();
        object.name = {position(name)};
        object.format_word = like.format_word.in(begins);
        object.shape = {position(shape)};
        object.attributes = like.attributes.in(begins);
        object.first_component = position(into_.components.size()) - like.record.component_count;
        const component_record& last = into_.components.back();
        object.is_checked = like.may_be_dense ? is_right_dense(into_, last, element_count,
                                                               like.components[0].element_bytes, blobs_end_)
                                              : has_right_parts(object);
        return at;
    }

    /// Whether the components of the object could be taken in; else there are none. They are those of another one but
    /// for their numbers, so no role stands twice.
    bool add_components(const object_pattern& like, const pattern::run_positions& begins) {
        const std::size_t before = into_.components.size();
        const std::size_t count = like.record.component_count;
        for (std::size_t i = 0; i < count; ++i) {
            if (!into_.components.has_room() || !add_component(like.components[i], begins)) {
                into_.components.truncate(before);
                return false;
            }
        }
        start_components();
        for (std::size_t i = 0; i < count; ++i) {
            const component_record& component = into_.components[before + i];
            note_blob(component);
            are_right_ = are_right_ && !like.may_be_dense &&
                         is_right_part(into_, component, like.components[i].element_bytes, blobs_end_);
        }
        return true;
    }

    /// Of an object that has other parts than a dense one.
    [[nodiscard]] ZTENSOR_NOINLINE bool has_right_parts(const object_record& object) const noexcept {
        if (!are_right_ || object.format == format::dense) {
            return false;
        }
        if (object.format == format::sparse_csr) {
            return is_right_csr(into_, object);
        }
        if (IsDeterministic || object.format == format::sparse_coo) { // of which more is asked
            return false;
        }
        return !object.format || has_required_roles(into_, object);
    }

    /// Of version 2, where it is not looked at again. Offsets of blobs count from the start of their own file.
    [[nodiscard]] static bool has_place(const component_words& like, const component_record& found) noexcept {
        return !IsDeterministic || (found.offset % blob_alignment_2 == 0 && found.offset != 0 &&
                                    fits(found.offset, found.length, like.data_end));
    }

    [[nodiscard]] static const std::byte* pass_word(const std::byte* at, std::string_view& name) noexcept {
        return IsDeterministic ? pass_shortest_name(at, name) : pass_name(at, name);
    }

    /// Takes in what stands in runs that begin at `begins`; false, and nothing, if its numbers or digits are none.
    bool add_component(const component_words& like, const pattern::run_positions& begins) {
        const std::byte* const run = begin_ + begins[like.run];
        into_.components.push_back(like.record);
        component_record& component = into_.components.back();
        const bool has_numbers =
            like.offset.read(run, IsDeterministic, component.offset) &&
            like.length.read(run, IsDeterministic, component.length) &&
            (!like.record.states_uncompressed_length ||
             like.uncompressed_length.read(run, IsDeterministic, component.uncompressed_length)) &&
            (like.digits == 0 || pass_digits(run + like.digits_at, like.digits, IsDeterministic) != nullptr);
        if (!has_numbers || !has_place(like, component)) {
            into_.components.truncate(into_.components.size() - 1);
            return false;
        }
        component.offset += like.base;
        component.role = like.role.in(begins);
        component.dtype_word = like.dtype_word.in(begins);
        component.type_word = like.type_word.in(begins);
        component.encoding_word = like.encoding_word.in(begins);
        component.digest_text = like.digest_text.in(begins);
        return true;
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
