// SPDX-License-Identifier: MIT
//
// The fast way through an index. SPEC.md section 3.
#ifndef ZTENSOR_DETAIL_INDEX_PATTERN_BOOK_HPP
#define ZTENSOR_DETAIL_INDEX_PATTERN_BOOK_HPP

#include <ztensor/detail/base/checked.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/fields.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/index/pattern.hpp>
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

// -- right
//
// A quick look that tells most objects to be right, so that manifest_validator need not look at them: it says of the
// others what is wrong, if anything is. SPEC.md section 2.3, section 4.3, section 5.1, section 6.2.

/// Of a component whose type is known.
[[nodiscard]] inline std::uint64_t element_bytes(const component_record& component) noexcept {
    return width_bytes(*component.dtype) * storage_elements(component);
}

/// The same of one whose words are all known; 0 if its types do not fit each other, or its elements are parts of bytes.
[[nodiscard]] inline std::uint64_t plain_element_bytes(const component_record& component) noexcept {
    const std::uint8_t type = component.logical_type;
    const bool fits_storage =
        type == plain_type || (type < logical_types.size() && component.dtype == logical_types[type].storage);
    return fits_storage && packed_elements(component) == 1 ? element_bytes(component) : 0;
}

/// The same of any component; 0, too, if its words are not all known.
[[nodiscard]] ZTENSOR_NOINLINE inline std::uint64_t known_element_bytes(const manifest& index,
                                                                        const component_record& component) noexcept {
    const bool is_known =
        component.dtype && component.encoding &&
        (!component.digest_text.is_present() || parse_digest(index.text(component.digest_text)).is_well_formed);
    return is_known ? plain_element_bytes(component) : 0;
}

/// Its blob lies where one may.
[[nodiscard]] inline bool has_right_place(const manifest& index, const component_record& component,
                                          std::uint64_t blobs_end) noexcept {
    return (component.offset & (index.alignment_bytes - 1)) == 0 && component.offset >= index.alignment_bytes &&
           fits(component.offset, component.length, blobs_end);
}

/// The data of a dense object, of elements of so many bytes; 0, if that is not known. Of an empty one more has to be
/// said.
[[nodiscard]] inline bool is_right_dense(const manifest& index, const component_record& data,
                                         std::uint64_t element_count, std::uint64_t element_bytes,
                                         std::uint64_t blobs_end) noexcept {
    const std::optional<std::uint64_t> size = checked_multiply(element_count, element_bytes);
    const bool is_raw = data.encoding == encoding::raw;
    const std::uint64_t decoded = is_raw ? data.length : data.uncompressed_length;
    const bool has_size = element_bytes != 0 && element_count != 0 && size == decoded &&
                          (is_raw || data.states_uncompressed_length) &&
                          (!data.states_uncompressed_length || data.uncompressed_length == decoded);
    return has_size && has_right_place(index, data, blobs_end) && (is_raw || can_decode_to(decoded, data.length));
}

/// A part of any object: whole elements of so many bytes, stored as they are; 0, if that is not known.
[[nodiscard]] inline bool is_right_part(const manifest& index, const component_record& part,
                                        std::uint64_t element_bytes, std::uint64_t blobs_end) noexcept {
    return element_bytes != 0 && part.encoding == encoding::raw && !part.states_uncompressed_length &&
           part.length % element_bytes == 0 && has_right_place(index, part, blobs_end);
}

/// A sparse_csr object whose parts, no two of which have one role, are right each by itself.
[[nodiscard]] ZTENSOR_COLD inline bool is_right_csr(const manifest& index, const object_record& object) noexcept {
    static constexpr std::string_view roles[] = {"values", "indices", "indptr"};
    constexpr std::size_t values = 0, indices = 1, indptr = 2;
    std::uint64_t counts[] = {0, 0, 0};
    for (const component_record& part : index.components_of(object)) {
        const std::size_t role = place_of(index.text(part.role), roles);
        const bool has_type = role == values || (part.dtype == dtype::u64 && part.logical_type == plain_type);
        if (role > indptr || !has_type) {
            return false;
        }
        counts[role] = part.length / element_bytes(part);
    }
    constexpr std::byte two_dimensions{0x82};
    const std::byte* const shape = index.from(object.shape).data();
    std::uint64_t rows = 0;
    return object.component_count == indptr + 1 && *shape == two_dimensions &&
           pass_unsigned(shape + 1, rows) != nullptr && counts[values] == counts[indices] && counts[indptr] != 0 &&
           counts[indptr] - 1 == rows;
}

/// It has what its format, which is known, needs.
[[nodiscard]] ZTENSOR_COLD inline bool has_required_roles(const manifest& index, const object_record& object) noexcept {
    for (const std::string_view role : facts(*object.format).required_roles) {
        if (!role.empty() && find_component(index, object, role) == nullptr) {
            return false;
        }
    }
    return true;
}

// -- pattern book
//
// The fast way through an index. Nearly all objects of a file are encoded like one before them, but for a name, a shape
// and a few numbers. What differs in any other way is left to the general way in index/read.hpp, which gives the
// same records and from which the patterns are learned. SPEC.md section 3.

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
        if (!objects_.is_worth_a_try() || !into_.objects.has_room()) {
            return 0;
        }
        const std::byte* const behind_name = pass_name_at(position, name);
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
            pattern::places found = {};
            const std::byte* const end = like.bytes.pass(0, begin_, behind_role, found);
            component_record* const component = into_.components.room_for(1);
            if (end == nullptr || end > end_ || !like.bytes.has_right_items(found) ||
                !read_component(like.words, found, *component)) {
                return static_cast<const std::byte*>(nullptr);
            }
            component->role = {static_cast<std::uint32_t>(position)};
            into_.components.take(1);
            are_right_ = are_right_ && is_right_part(into_, *component, like.words.element_bytes, blobs_end_);
            return end;
        });
        return behind != nullptr ? static_cast<std::size_t>(behind - begin_) : 0;
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
        object_pattern like;
        if (!like.bytes.learn(into_.bytes(), position(begin), position(end), fields.all())) {
            return;
        }
        like.record = object;
        like.format_run = like.bytes.run_of(object.format_word);
        like.attributes_run = like.bytes.run_of(object.attributes);
        const span<const component_record> components = into_.components_of(object);
        for (std::size_t i = 0; i < components.size(); ++i) {
            const std::uint32_t next = i + 1 < components.size() ? components[i + 1].role.position : position(end);
            if (!note_words(like.components[i], like.bytes, components[i], fields.all(), next)) {
                return;
            }
        }
        like.is_raw = components[0].encoding == encoding::raw && !components[0].states_uncompressed_length;
        like.may_be_dense =
            object.format == format::dense && object.component_count == 1 && role_name(into_, components[0]) == "data";
        objects_.keep(like);
    }

    /// The same for a component: [begin, end) is what stands behind its role.
    ZTENSOR_COLD void learn(const component_record& component, std::size_t begin, std::size_t end,
                            const met_fields& fields) {
        if (!components_.was_tried()) {
            return;
        }
        component_pattern like;
        if (like.bytes.learn(into_.bytes(), position(begin), position(end), fields.all()) &&
            note_words(like.words, like.bytes, component, fields.all(), position(end))) {
            components_.keep(like);
        }
    }

    /// What follows are the components of another object.
    void start_components() noexcept {
        components_.start();
        are_right_ = true;
    }

    /// Notes a component that came by another way, of elements of so many bytes; 0, if that is not known.
    void note_component(const component_record& component, std::uint64_t element_bytes) noexcept {
        are_right_ = are_right_ && is_right_part(into_, component, element_bytes, blobs_end_);
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

    /// Behind the object's name at `position`; nullptr if the general way must look.
    [[nodiscard]] const std::byte* pass_name_at(std::size_t position, std::string_view& name) const noexcept {
        const std::byte* const end = pass_word(begin_ + position, name);
        return end == nullptr && !IsDeterministic ? pass_unusual_name(position, name) : end;
    }

    /// Notes the name of an object that comes by another way.
    void note_name(std::string_view name) noexcept {
        if (!IsDeterministic) { // whose reader has seen to it
            into_.names_are_sorted = into_.names_are_sorted && is_in_order(name);
        }
        last_name_ = name;
    }

private:
    [[nodiscard]] static std::uint32_t position(std::size_t at) noexcept { return static_cast<std::uint32_t>(at); }
    [[nodiscard]] std::uint32_t position(const std::byte* at) const noexcept {
        return static_cast<std::uint32_t>(at - begin_);
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
            if (each.begin < component.role.position || each.begin >= end) {
                continue;
            }
            switch (each.field) {
            case pattern_field::offset:
                has_offset = true;
                like.run = static_cast<std::uint32_t>(bytes.run_of({each.begin}));
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
            case pattern_field::digits:
                like.digits_at = bytes.distance_of({each.begin});
                like.digits = static_cast<std::uint8_t>(each.end - each.begin);
                break;
            default:
                break;
            }
        }
        like.record = component;
        if (IsDeterministic) {
            const shard_record* const shard = shard_of(into_, component);
            like.base = shard != nullptr ? shard->base : 0;
            like.data_end = (shard != nullptr ? shard->size_bytes : first_file_bytes_) - footer_bytes_2;
        }
        const auto bits_of = [](index_item item) { return item.is_present() ? ~std::uint32_t{0} : 0; };
        like.dtype_run = static_cast<std::uint16_t>(bytes.run_of(component.dtype_word));
        like.role = bits_of(component.role);
        like.type_word = bits_of(component.type_word);
        like.encoding_word = bits_of(component.encoding_word);
        like.digest_text = bits_of(component.digest_text);
        like.element_bytes = known_element_bytes(into_, component);
        return has_offset && has_length && has_decoded_length == component.states_uncompressed_length;
    }

    const std::byte* read_object(const object_pattern& like, std::size_t name, const std::byte* at) {
        pattern::places found;
        found.shifts[pattern::run_count] = 0;
        const std::byte* const shape = like.bytes.pass(0, begin_, at, found);
        std::uint64_t element_count = 0;
        at = shape != nullptr ? pass_shape<IsDeterministic>(shape, element_count) : nullptr;
        at = at != nullptr ? like.bytes.pass(1, begin_, at, found) : nullptr;
        component_record* const components = into_.components.room_for(like.record.component_count);
        if (at == nullptr || at > end_ || components == nullptr || !like.bytes.has_right_items(found)) {
            return nullptr;
        }
        object_record& object = *into_.objects.end(); // made there: to copy what was just written stalls a processor
        object = like.record;
        object.name = {position(name)};
        object.format_word = found.shifted(like.record.format_word, like.format_run);
        object.shape = {position(shape)};
        object.attributes = found.shifted(like.record.attributes, like.attributes_run);
        object.first_component = position(into_.components.size());
        const bool is_read = like.may_be_dense ? read_data(like, found, element_count, object, *components)
                                               : read_parts(like, found, object, components);
        if (!is_read) {
            return nullptr;
        }
        into_.objects.take(1);
        return at;
    }

    /// The component of a dense object.
    bool read_data(const object_pattern& like, const pattern::places& found, std::uint64_t element_count,
                   object_record& object, component_record& data) noexcept {
        const component_words& words = like.components[0];
        if (!read_component(words, found, data)) {
            return false;
        }
        into_.components.take(1);
        note_blob(data);
        object.is_checked = like.is_raw ? element_count != 0 && words.element_bytes != 0 &&
                                              checked_multiply(element_count, words.element_bytes) == data.length &&
                                              has_right_place(into_, data, blobs_end_)
                                        : is_right_dense(into_, data, element_count, words.element_bytes, blobs_end_);
        return true;
    }

    /// Those of another one: its own but for their numbers, so no role stands twice.
    ZTENSOR_NOINLINE bool read_parts(const object_pattern& like, const pattern::places& found, object_record& object,
                                     component_record* parts) noexcept {
        for (std::size_t i = 0; i < object.component_count; ++i) {
            if (!read_component(like.components[i], found, parts[i])) {
                return false;
            }
        }
        into_.components.take(object.component_count);
        start_components();
        for (std::size_t i = 0; i < object.component_count; ++i) {
            note_blob(parts[i]);
            are_right_ = are_right_ && is_right_part(into_, parts[i], like.components[i].element_bytes, blobs_end_);
        }
        object.is_checked = has_right_parts(object);
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

    /// Puts together what stands in the runs that were found; false if its numbers or digits are none.
    [[nodiscard]] bool read_component(const component_words& like, const pattern::places& found,
                                      component_record& component) const noexcept {
        const std::byte* const run = found.begins[like.run];
        const std::uint32_t shift = found.shifts[like.run];
        component = like.record;
        component.dtype_word = found.shifted(like.record.dtype_word, like.dtype_run);
        component.role.position = like.record.role.position + (shift & like.role);
        component.type_word.position = like.record.type_word.position + (shift & like.type_word);
        component.encoding_word.position = like.record.encoding_word.position + (shift & like.encoding_word);
        component.digest_text.position = like.record.digest_text.position + (shift & like.digest_text);
        const bool has_numbers =
            like.offset.read(run, IsDeterministic, component.offset) &&
            like.length.read(run, IsDeterministic, component.length) &&
            (!like.record.states_uncompressed_length ||
             like.uncompressed_length.read(run, IsDeterministic, component.uncompressed_length)) &&
            (like.digits == 0 || pass_digits(run + like.digits_at, like.digits, IsDeterministic) != nullptr);
        const bool is_right = has_numbers && has_place(like, component);
        component.offset += like.base;
        return is_right;
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
