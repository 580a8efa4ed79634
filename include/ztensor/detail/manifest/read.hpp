// SPDX-License-Identifier: MIT
//
// CBOR → the model, for 1.0, 1.1 and 1.2: where their differences end. SPEC.md §3 and §8.
#ifndef ZTENSOR_DETAIL_MANIFEST_READ_HPP
#define ZTENSOR_DETAIL_MANIFEST_READ_HPP

#include <ztensor/detail/codec/digest_text.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/manifest/counts.hpp>
#include <ztensor/detail/manifest/meaning.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/manifest/pattern_book.hpp>
#include <ztensor/detail/manifest/scanner.hpp>
#include <ztensor/detail/manifest/words.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Fills a manifest from its index. One pass over the bytes, then one over the records to say what the words mean.
class manifest_reader {
public:
    /// `index_offset` is the absolute position of the index, for errors and as the end of the blobs. Without patterns,
    /// which only take less time, tests see what they are to find.
    manifest_reader(manifest& into, const read_options& limits, std::uint64_t index_offset,
                    bool uses_patterns = true) noexcept
        : into_(into), limits_(limits), index_offset_(index_offset), scan_(into.index.writable_bytes()),
          patterns_(into, index_offset), uses_patterns_(uses_patterns) {}

    /// 1.1 and later. Errors: the cbor_… and schema_… codes, duplicate_key, name_invalid, unsupported_version,
    /// limit_exceeded, shape_overflow, digest_format.
    [[nodiscard]] ZTENSOR_COLD result<void> read_1() {
        static constexpr std::string_view fields[] = {"version", "attributes", "objects"};
        field_walk walk(fields);
        if (!read_root(walk) || !require(walk, field_bits(fields, {"version", "objects"})) || !scan_.finish()) {
            return fault();
        }
        if (!generation_of(scan_.text(into_.version))) {
            return fail(errc::unsupported_version, "the manifest is of version {}; this library reads 0.1 and 1.x",
                        {in_quotes(scan_.text(into_.version))})
                .at(index_offset_ + into_.version.position);
        }
        return finish();
    }

    /// 1.0: `tensors` in place of `objects`, and the dtype at the tensor.
    [[nodiscard]] ZTENSOR_COLD result<void> read_1_0() {
        static constexpr std::string_view fields[] = {"version", "attributes", "tensors"};
        into_.generation = generation::v1_0;
        field_walk walk(fields);
        if (!read_root(walk) || !scan_.finish()) {
            return fault();
        }
        return finish();
    }

    /// 0.1: an array of maps, one per tensor. An index of no bytes has no tensors.
    [[nodiscard]] result<void> read_0_1();

private:
    /// The fields in the order version, attributes, objects.
    bool read_root(field_walk& walk) {
        if (!scan_.enter(walk)) {
            return false;
        }
        while (scan_.next_field(walk)) {
            const bool read = walk.field == 0   ? read_version()
                              : walk.field == 1 ? read_attributes(into_.attributes, into_.has_attributes)
                                                : read_objects();
            if (!read) {
                return false;
            }
        }
        return scan_.leave(walk);
    }

    /// Most files state their version before their objects. Only then words have a meaning at once, and patterns too.
    ZTENSOR_COLD bool read_version() {
        if (!scan_.read_text(into_.version)) {
            return false;
        }
        const std::optional<generation> known = generation_of(scan_.text(into_.version));
        if (known && into_.generation != generation::v1_0) { // which is known beforehand
            into_.generation = *known;
            knows_words_ = uses_patterns_ && into_.objects.empty();
        }
        return true;
    }

    /// An explicit null stands for their absence.
    bool read_attributes(index_item& at, bool& has_attributes) {
        has_attributes = !scan_.take_null();
        return !has_attributes || scan_.read_attributes(at);
    }

    bool read_objects() {
        reserve_records();
        name_walk walk;
        if (!scan_.enter(walk)) {
            return false;
        }
        for (;;) {
            if (knows_words_) {
                read_like_before(walk);
            }
            object_record object;
            objects_left_ = walk.pairs;
            object_position_ = scan_.cursor().position();
            if (!scan_.next_name(walk)) {
                break;
            }
            object.name = object_name_ = walk.name;
            object.first_component = static_cast<std::uint32_t>(into_.components.size());
            if (!(knows_words_ ? read_and_learn(object) : read_object(object)) || !add_object(object)) {
                return false;
            }
        }
        return !scan_.cursor().failed(); // finish() sees to it that names are distinct
    }

    /// Reads objects for as long as they are like those before.
    void read_like_before(name_walk& walk) {
        cbor_cursor& cursor = scan_.cursor();
        while (!walk.pairs.is_indefinite && walk.pairs.remaining != 0 && into_.objects.size() < limits_.max_objects_) {
            const std::size_t behind = patterns_.read_object(cursor.position());
            if (behind == 0) {
                break;
            }
            cursor.go_to(behind);
            --walk.pairs.remaining;
        }
    }

    /// Room for as many objects as the next map or array announces, each with one component, within what its bytes can
    /// hold; where it announces nothing, for exactly what it holds.
    ZTENSOR_COLD void reserve_records() {
        const std::size_t smallest_object_bytes = into_.generation == generation::v0_1 ? 40 : 48;
        cbor_cursor ahead = scan_.cursor();
        cbor_head head;
        if (!ahead.read_head(head)) {
            return;
        }
        record_counts counts = {head.argument, head.argument};
        if (head.is_indefinite()) {
            counts = count_records(into_.bytes(), {0, true}, ahead.position());
        }
        const std::uint64_t most =
            std::min<std::uint64_t>(ahead.remaining() / smallest_object_bytes, limits_.max_objects_);
        into_.objects.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(counts.objects, most)));
        into_.components.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(counts.components, most)));
        advise_huge_pages(into_.objects.data(), into_.objects.capacity() * sizeof(object_record));
        into_.components.advise_huge_pages();
    }

    /// Room for one more component of the object that is being read.
    void make_room_for_component(std::size_t first_of_object) {
        if (!into_.components.has_room()) {
            const record_counts left = count_records(into_.bytes(), objects_left_, object_position_);
            into_.components.reserve_beyond(first_of_object, static_cast<std::size_t>(left.components));
        }
    }

    /// What stands behind an object's name.
    bool read_object(object_record& object) {
        static constexpr std::string_view fields[] = {"shape", "format", "attributes", "components"};
        static constexpr std::string_view fields_1_0[] = {"shape", "format", "dtype", "components"};
        const bool is_1_0 = into_.generation == generation::v1_0;
        field_walk walk(is_1_0 ? span<const std::string_view>(fields_1_0) : span<const std::string_view>(fields));
        index_item dtype_of_all;
        if (!scan_.enter(walk)) {
            return false;
        }
        while (scan_.next_field(walk)) {
            const bool read = walk.field == 0   ? read_shape(object)
                              : walk.field == 1 ? scan_.read_text(object.format_word)
                              : walk.field == 3 ? read_components()
                              : is_1_0          ? scan_.read_text(dtype_of_all)
                                                : read_attributes(object.attributes, object.has_attributes);
            if (!read) {
                return false;
            }
        }
        constexpr std::uint32_t required = field_bits(fields, {"shape", "format", "components"});
        if (!scan_.leave(walk) || !require(walk, is_1_0 ? required | field_bits(fields_1_0, {"dtype"}) : required)) {
            return false;
        }
        if (is_1_0) {
            spread_dtype(object, dtype_of_all);
        }
        object.component_count = static_cast<std::uint32_t>(into_.components.size()) - object.first_component;
        return object.component_count != 0 || fail_missing("an object has no components");
    }

    /// 1.0 gives the dtype once: of the values. Indices are uint64 and say so nowhere, and of other roles nothing is
    /// known.
    ZTENSOR_COLD void spread_dtype(const object_record& object, index_item dtype_of_all) {
        for (std::size_t i = object.first_component; i < into_.components.size(); ++i) {
            component_record& component = into_.components[i];
            const std::string_view role = scan_.text(component.role);
            if (role == "indices" || role == "indptr" || role == "coords") {
                component.dtype = ztensor::dtype::u64;
            } else if (role == "data" || role == "values") {
                component.dtype_word = dtype_of_all;
            }
        }
    }

    /// An object whose words can be given their meaning at once.
    bool read_and_learn(object_record& object) {
        object_fields_.clear();
        const std::size_t begin = scan_.cursor().position();
        const std::size_t changes = scan_.changes();
        if (!read_object(object)) {
            return false;
        }
        object.format = find_format(scan_.text(object.format_word));
        if (changes == scan_.changes()) { // else the index no longer holds what was read
            patterns_.learn(object, begin, scan_.cursor().position(), object_fields_, component_fields_);
        }
        return true;
    }

    bool add_object(const object_record& object) {
        if (into_.objects.size() >= limits_.max_objects_) {
            return fail_limit("more objects than read_options::max_objects allows");
        }
        patterns_.note_name(scan_.text(object.name));
        into_.objects.push_back(object);
        for (const component_record& component : into_.components_of(object)) {
            patterns_.note_blob(component);
        }
        object_name_ = {};
        return true;
    }

    bool read_shape(object_record& object) noexcept {
        cbor_cursor& cursor = scan_.cursor();
        const std::size_t start = cursor.position();
        cbor_sequence items;
        cursor.enter_array(items);
        element_counter counter;
        std::size_t rank = 0;
        for (std::uint64_t dimension = 0; cursor.next(items) && cursor.read_unsigned(dimension);) {
            if (++rank > max_rank) {
                return cursor.fail(errc::limit_exceeded, start, "a shape has more than 64 dimensions");
            }
            if (!counter.multiply(dimension)) {
                return cursor.fail(errc::shape_overflow, start,
                                   "the product of the dimensions of a shape needs more than 64 bits");
            }
        }
        object.shape = {static_cast<std::uint32_t>(start)};
        object_fields_.add(pattern_field::shape, start, cursor.position());
        return !cursor.failed();
    }

    bool read_components() {
        const std::size_t first = into_.components.size();
        name_walk walk;
        if (!scan_.enter(walk)) {
            return false;
        }
        const std::size_t begin = scan_.cursor().position();
        while (scan_.next_name(walk)) {
            scan_.note_name(walk);
            component_name_ = walk.name;
            if (into_.components.size() - first >= limits_.max_components_per_object_) {
                return fail_limit("more components than read_options::max_components_per_object allows");
            }
            make_room_for_component(first);
            component_record component;
            component.role = walk.name;
            if (!(knows_words_ ? read_and_learn(component) : read_component(component))) {
                return false;
            }
            into_.components.push_back(component);
            component_name_ = {};
        }
        const std::size_t break_bytes = walk.pairs.is_indefinite ? 1 : 0;
        object_fields_.add(pattern_field::components, begin, scan_.cursor().position() - break_bytes);
        return scan_.leave(walk);
    }

    /// A component whose words can be given their meaning at once.
    bool read_and_learn(component_record& component) {
        component_fields_.clear();
        const std::size_t changes = scan_.changes();
        if (!read_component(component)) {
            return false;
        }
        interpret(into_, component);
        if (changes == scan_.changes()) { // else the index no longer holds what was read
            patterns_.learn(component, scan_.cursor().position(), component_fields_);
        }
        return true;
    }

    bool read_component(component_record& component) {
        static constexpr std::string_view fields[] = {"dtype",    "type",  "offset", "length", "uncompressed_length",
                                                      "encoding", "digest"};
        static constexpr std::string_view fields_1_0[] = {"offset", "length", "encoding", "digest"};
        static constexpr std::size_t place_of_1_0[] = {2, 3, 5, 6}; // among the fields of later versions
        const bool is_1_0 = into_.generation == generation::v1_0;
        field_walk walk(is_1_0 ? span<const std::string_view>(fields_1_0) : span<const std::string_view>(fields));
        if (!scan_.enter(walk)) {
            return false;
        }
        while (scan_.next_field(walk)) {
            if (!read_field(component, is_1_0 ? place_of_1_0[walk.field] : walk.field)) {
                return false;
            }
        }
        return scan_.leave(walk) && require(walk, is_1_0 ? field_bits(fields_1_0, {"offset", "length"})
                                                         : field_bits(fields, {"dtype", "offset", "length"}));
    }

    bool read_field(component_record& component, std::size_t field) {
        switch (field) {
        case 0:
            return scan_.read_text(component.dtype_word);
        case 1:
            return scan_.read_text_or_null(component.type_word);
        case 2:
            return read_number(component.offset, pattern_field::offset);
        case 3:
            return read_number(component.length, pattern_field::length);
        case 4:
            if (scan_.take_null()) {
                return true;
            }
            component.states_uncompressed_length = component.knows_uncompressed_length = true;
            return read_number(component.uncompressed_length, pattern_field::uncompressed_length);
        case 5:
            return scan_.read_text_or_null(component.encoding_word);
        default:
            return read_digest(component.digest_text);
        }
    }

    bool read_number(std::uint64_t& value, pattern_field field) noexcept {
        const std::size_t begin = scan_.cursor().position();
        const bool read = scan_.cursor().read_unsigned(value);
        component_fields_.add(field, begin, scan_.cursor().position());
        return read;
    }

    bool read_digest(index_item& out) {
        if (!scan_.read_text_or_null(out)) {
            return false;
        }
        const digest_parts parts = parse_digest(scan_.text(out));
        if (parts.algorithm != digest::none && parts.is_well_formed) {
            const std::size_t end = scan_.cursor().position();
            component_fields_.add(pattern_field::digits, end - parts.digits.size(), end);
        }
        return true;
    }

    /// After the bytes: what the words mean, and that no name stands twice.
    [[nodiscard]] result<void> finish() {
        if (!knows_words_) {
            interpret_words(into_);
        }
        return check_object_names(into_, index_offset_);
    }

    // -- 0.1, in read_0_1.hpp

    struct tensor_words_0_1 {
        index_item data_endianness;
        index_item sparse_format;
        index_item indptr; ///< if it is an array of non-negative integers; like the next two
        index_item indices;
        index_item coords;
    };

    bool read_tensor_0_1();
    bool read_fields_0_1(object_record& object, component_record& component, tensor_words_0_1& words);
    bool read_field_0_1(std::string_view field, object_record& object, component_record& component,
                        tensor_words_0_1& words);
    bool interpret_words_0_1(const tensor_words_0_1& words, object_record& object, component_record& component);

    // -- faults

    /// Every bit of `required` has been seen; each stands for one of the walk's fields.
    bool require(const field_walk& walk, std::uint32_t required) noexcept {
        const std::uint32_t missing = required & ~walk.seen;
        if (missing == 0) {
            return true;
        }
        std::size_t field = 0;
        while ((missing >> field & 1) == 0) {
            ++field;
        }
        missing_field_ = walk.names[field];
        return fail_missing("a required field is missing");
    }

    ZTENSOR_COLD bool fail_missing(const char* sentence) noexcept {
        return scan_.cursor().fail(errc::schema_missing, scan_.cursor().position(), sentence);
    }
    ZTENSOR_COLD bool fail_limit(const char* sentence) noexcept {
        return scan_.cursor().fail(errc::limit_exceeded, scan_.cursor().position(), sentence);
    }

    /// The cursor's fault as an error, with the object and component it was met in.
    [[nodiscard]] ZTENSOR_COLD error fault() const {
        const cbor_fault& found = scan_.cursor().fault();
        error why = missing_field_.empty()
                        ? fail(found.code, "in the manifest, {}", {found.sentence})
                        : fail(found.code, "in the manifest, {}: {}", {found.sentence, in_quotes(missing_field_)});
        return std::move(why)
            .at(index_offset_ + found.position)
            .in_object(scan_.text(object_name_))
            .in_component(scan_.text(component_name_));
    }

    manifest& into_;
    const read_options& limits_;
    std::uint64_t index_offset_;
    index_scanner scan_;
    pattern_book patterns_;
    bool uses_patterns_;
    bool knows_words_ = false;   ///< the version came before the objects
    cbor_sequence objects_left_; ///< before the object that is being read, which starts there
    std::size_t object_position_ = 0;
    met_fields object_fields_;
    met_fields component_fields_;
    index_item object_name_;    ///< being read
    index_item component_name_; ///< being read
    std::string_view missing_field_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
