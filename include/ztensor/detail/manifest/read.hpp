// SPDX-License-Identifier: MIT
//
// CBOR → the model, for 1.0, 1.1 and 1.2: where their differences end. SPEC.md §3 and §8.
#ifndef ZTENSOR_DETAIL_MANIFEST_READ_HPP
#define ZTENSOR_DETAIL_MANIFEST_READ_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/manifest/model.hpp>
#include <ztensor/detail/manifest/scanner.hpp>
#include <ztensor/detail/manifest/words.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Fills a manifest from its index. One pass over the bytes, then one over the records to say what the words mean.
class manifest_reader {
public:
    /// `index_offset` is the absolute position of the index, for errors.
    manifest_reader(manifest& into, const read_options& limits, std::uint64_t index_offset) noexcept
        : into_(into), limits_(limits), index_offset_(index_offset), scan_(into.index.writable_bytes()) {}

    /// 1.1 and later. Errors: the cbor_… and schema_… codes, duplicate_key, name_invalid, unsupported_version,
    /// limit_exceeded, shape_overflow, digest_format.
    [[nodiscard]] ZTENSOR_COLD result<void> read_1() {
        static constexpr std::string_view fields[] = {"version", "attributes", "objects"};
        field_walk walk(fields);
        if (!read_root(walk) || !require(walk, field_bits(fields, {"version", "objects"})) || !scan_.finish()) {
            return fault();
        }
        const std::string_view version = scan_.text(into_.version);
        const std::optional<generation> known = generation_of(version);
        if (!known) {
            return fail(errc::unsupported_version, "the manifest is of version {}; this library reads 0.1 and 1.x",
                        {in_quotes(version)})
                .at(index_offset_ + into_.version.position);
        }
        into_.generation = *known;
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
            const bool read = walk.field == 0   ? scan_.read_text(into_.version)
                              : walk.field == 1 ? read_attributes(into_.attributes, into_.has_attributes)
                                                : read_objects();
            if (!read) {
                return false;
            }
        }
        return scan_.leave(walk);
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
        while (scan_.next_name(walk)) {
            object_record object;
            object.name = object_name_ = walk.name;
            object.first_component = static_cast<std::uint32_t>(into_.components.size());
            if (!read_object(object) || !complete(object)) {
                return false;
            }
        }
        return !scan_.cursor().failed(); // finish() sees to it that names are distinct
    }

    /// Room for as many objects as the next map or array announces (none, if its length is indefinite), within what
    /// its bytes can hold.
    ZTENSOR_COLD void reserve_records() {
        constexpr std::size_t smallest_object_bytes = 40; // an object's required fields alone take more
        cbor_cursor ahead = scan_.cursor();
        cbor_head head;
        if (ahead.read_head(head) && !head.is_indefinite()) {
            const std::uint64_t count =
                std::min<std::uint64_t>(head.argument, ahead.remaining() / smallest_object_bytes);
            into_.objects.reserve(static_cast<std::size_t>(count));
            into_.components.reserve(static_cast<std::size_t>(count));
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
        return true;
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

    /// Takes in an object all of whose components have been.
    bool complete(object_record& object) {
        object.component_count = static_cast<std::uint32_t>(into_.components.size()) - object.first_component;
        if (object.component_count == 0) {
            return fail_missing("an object has no components");
        }
        return add_object(object);
    }

    bool add_object(const object_record& object) {
        if (into_.objects.size() >= limits_.max_objects_) {
            return fail_limit("more objects than read_options::max_objects allows");
        }
        if (!into_.objects.empty() && into_.names_are_sorted) {
            into_.names_are_sorted = scan_.text(into_.objects.back().name) < scan_.text(object.name);
        }
        into_.objects.push_back(object);
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
        object.element_count = counter.count();
        return !cursor.failed();
    }

    bool read_components() {
        const std::size_t first = into_.components.size();
        name_walk walk;
        if (!scan_.enter(walk)) {
            return false;
        }
        while (scan_.next_name(walk)) {
            scan_.note_name(walk);
            component_name_ = walk.name;
            if (into_.components.size() - first >= limits_.max_components_per_object_) {
                return fail_limit("more components than read_options::max_components_per_object allows");
            }
            component_record component;
            component.role = walk.name;
            if (!read_component(component)) {
                return false;
            }
            into_.components.push_back(component);
            component_name_ = {};
        }
        return scan_.leave(walk);
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
            return scan_.cursor().read_unsigned(component.offset);
        case 3:
            return scan_.cursor().read_unsigned(component.length);
        case 4:
            if (scan_.take_null()) {
                return true;
            }
            component.states_uncompressed_length = component.knows_uncompressed_length = true;
            return scan_.cursor().read_unsigned(component.uncompressed_length);
        case 5:
            return scan_.read_text_or_null(component.encoding_word);
        default:
            return scan_.read_text_or_null(component.digest_text);
        }
    }

    /// After the bytes: what the words mean, and that no name stands twice.
    [[nodiscard]] result<void> finish() {
        into_.objects.shrink_to_fit();
        into_.components.shrink_to_fit();
        interpret_words();
        return check_object_names();
    }

    /// Most components of a file have the words of the one before them, and then mean the same.
    void interpret_words() {
        const component_record* before = nullptr;
        for (component_record& component : into_.components) {
            if (before != nullptr && has_words_of(*before, component)) {
                component.dtype = before->dtype;
                component.encoding = before->encoding;
            } else {
                interpret(component);
            }
            before = component.type_word.is_present() || component.logical_type != plain_type ? nullptr : &component;
        }
        if (into_.generation == generation::v0_1) { // which has words of its own for the format
            return;
        }
        std::string_view word;
        known_word<format> meaning;
        for (object_record& object : into_.objects) {
            if (const std::string_view next = scan_.text(object.format_word); next != word) {
                word = next;
                meaning = find_format(next);
            }
            object.format = meaning;
        }
    }

    /// Neither has a logical type, and the other words are the same.
    [[nodiscard]] bool has_words_of(const component_record& a, const component_record& b) const noexcept {
        return !b.type_word.is_present() && a.dtype_word.is_present() && b.dtype_word.is_present() &&
               a.encoding_word.is_present() == b.encoding_word.is_present() &&
               scan_.text(a.dtype_word) == scan_.text(b.dtype_word) &&
               scan_.text(a.encoding_word) == scan_.text(b.encoding_word);
    }

    ZTENSOR_COLD void interpret(component_record& component) {
        interpret_dtype(into_.generation, scan_.text(component.dtype_word), component);
        interpret_type(scan_.text(component.type_word), scan_.text(component.dtype_word), component);
        component.encoding = component.encoding_word.is_present() ? find_encoding(scan_.text(component.encoding_word))
                                                                  : ztensor::encoding::raw;
    }

    /// Sorted names are distinct. Others go into the table that look-ups will use: it finds a twin without sorting.
    [[nodiscard]] ZTENSOR_COLD result<void> check_object_names() {
        if (into_.names_are_sorted) {
            return {};
        }
        auto* const table = new name_table(into_.objects.size());
        for (std::uint32_t object = 0; object < into_.objects.size(); ++object) {
            if (!table->insert(object, manifest::name_at{&into_})) {
                delete table;
                return fail(errc::duplicate_key, "two objects have this name")
                    .in_object(into_.name_of(object))
                    .at(index_offset_ + into_.objects[object].name.position);
            }
        }
        into_.publish(table);
        return {};
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
    index_item object_name_;    ///< being read
    index_item component_name_; ///< being read
    std::string_view missing_field_;
};

/// Passes over the next item; its text, if it is one.
[[nodiscard]] ZTENSOR_COLD inline std::string take_text(cbor_cursor& cursor) {
    std::string text;
    cbor_cursor ahead = cursor;
    static_cast<void>(cursor.skip() && ahead.read_joined(cbor_major::text, text));
    return text;
}

/// True if the index is a map with `version` "1.0" or "1.0.…" and `tensors`, and nothing follows it: what tells a file
/// of 1.0, which has no magic at its end, from a later one that was cut off.
[[nodiscard]] ZTENSOR_COLD inline bool is_manifest_1_0(bytes_view index) {
    cbor_cursor cursor(index);
    cbor_sequence pairs;
    bool has_version = false;
    bool has_tensors = false;
    for (cursor.enter_map(pairs); cursor.next(pairs);) {
        const std::string key = take_text(cursor);
        has_tensors = has_tensors || key == "tensors";
        const std::string value = take_text(cursor);
        has_version = has_version || (key == "version" && (value == "1.0" || value.substr(0, 4) == "1.0."));
    }
    return has_version && has_tensors && !cursor.failed() && cursor.remaining() == 0;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
