// SPDX-License-Identifier: MIT
//
// CBOR → the model, for 1.0, 1.1 and 1.2: where their differences end. SPEC.md §3 and §8.
#ifndef ZTENSOR_DETAIL_MANIFEST_READ_HPP
#define ZTENSOR_DETAIL_MANIFEST_READ_HPP

#include <ztensor/detail/index_scanner.hpp>
#include <ztensor/detail/manifest_words.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/manifest.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace v0 {
namespace detail {

/// Fills a manifest from its index. One pass over the bytes, then one over the records to say what the words mean.
class manifest_reader {
public:
    /// `index_offset` is the absolute position of the index, for errors.
    manifest_reader(manifest& into, const read_options& limits, std::uint64_t index_offset) noexcept
        : into_(into), limits_(limits), index_offset_(index_offset), scan_({into.index.get(), into.index_bytes}) {}

    /// 1.1 and later. Errors: the cbor_… and schema_… codes, duplicate_key, name_invalid, unsupported_version,
    /// limit_exceeded, shape_overflow, digest_format.
    [[nodiscard]] result<void> read_1() {
        static constexpr std::array<std::string_view, 3> fields = {"version", "attributes", "objects"};
        std::uint32_t seen = 0;
        const bool read = scan_.read_fields(fields, seen, [&](std::size_t field) {
            switch (field) {
            case 0:
                return scan_.read_text(into_.version);
            case 1:
                into_.has_attributes = !scan_.take_null();
                return !into_.has_attributes || scan_.read_attributes(into_.attributes);
            default:
                return read_objects();
            }
        });
        constexpr std::uint32_t required = field_bits(fields, {"version", "objects"});
        if (!read || !require(seen, fields, required) || !scan_.finish()) {
            return fault();
        }
        return set_generation().and_then([this] { return finish(); });
    }

    /// 1.0: `tensors` in place of `objects`, and the dtype at the tensor.
    [[nodiscard]] result<void> read_1_0() {
        static constexpr std::array<std::string_view, 3> fields = {"version", "attributes", "tensors"};
        into_.generation = generation::v1_0;
        std::uint32_t seen = 0;
        const bool read = scan_.read_fields(fields, seen, [&](std::size_t field) {
            switch (field) {
            case 0:
                return scan_.read_text(into_.version);
            case 1:
                into_.has_attributes = !scan_.take_null();
                return !into_.has_attributes || scan_.read_attributes(into_.attributes);
            default:
                return read_objects();
            }
        });
        if (!read || !scan_.finish()) {
            return fault();
        }
        return finish();
    }

    /// 0.1: an array of maps, one per tensor. An index of no bytes has no tensors.
    [[nodiscard]] result<void> read_0_1();

private:
    static constexpr std::array<std::string_view, 4> object_fields = {"shape", "format", "components", "attributes"};
    static constexpr std::array<std::string_view, 4> tensor_fields_1_0 = {"shape", "format", "components", "dtype"};
    static constexpr std::array<std::string_view, 7> component_fields = {
        "dtype", "type", "offset", "length", "uncompressed_length", "encoding", "digest"};
    static constexpr std::array<std::string_view, 4> component_fields_1_0 = {"offset", "length", "encoding", "digest"};

    bool read_objects() {
        reserve_records();
        return scan_.read_entries([&](index_item name) { return read_object(name); });
    }

    /// Room for as many objects as the next map or array announces (none, if its length is indefinite), within what
    /// its bytes can hold.
    void reserve_records() {
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

    bool read_object(index_item name) {
        object_record object;
        object.name = object_name_ = name;
        object.first_component = static_cast<std::uint32_t>(into_.components.size());
        index_item dtype_of_all;
        const bool is_1_0 = into_.generation == generation::v1_0;
        const auto& fields = is_1_0 ? tensor_fields_1_0 : object_fields;
        std::uint32_t seen = 0;
        const bool read = scan_.read_fields(fields, seen, [&](std::size_t field) {
            switch (field) {
            case 0:
                return read_shape(object);
            case 1:
                return scan_.read_text(object.format_word);
            case 2:
                return read_components();
            default:
                if (is_1_0) {
                    return scan_.read_text(dtype_of_all);
                }
                object.has_attributes = !scan_.take_null();
                return !object.has_attributes || scan_.read_attributes(object.attributes);
            }
        });
        constexpr std::uint32_t required = field_bits(object_fields, {"shape", "format", "components"});
        constexpr std::uint32_t required_in_1_0 =
            field_bits(tensor_fields_1_0, {"shape", "format", "components", "dtype"});
        if (!read || !require(seen, fields, is_1_0 ? required_in_1_0 : required)) {
            return false;
        }
        object.component_count = static_cast<std::uint32_t>(into_.components.size()) - object.first_component;
        if (object.component_count == 0) {
            return fail_missing("an object has no components");
        }
        if (is_1_0) {
            spread_dtype(object, dtype_of_all);
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
        const bool read = scan_.read_named([&](index_item role) {
            component_name_ = role;
            if (into_.components.size() - first >= limits_.max_components_per_object_) {
                return fail_limit("more components than read_options::max_components_per_object allows");
            }
            component_record component;
            component.role = role;
            if (!read_component(component)) {
                return false;
            }
            into_.components.push_back(component);
            component_name_ = {};
            return true;
        });
        return read;
    }

    bool read_component(component_record& component) {
        std::uint32_t seen = 0;
        if (into_.generation == generation::v1_0) {
            constexpr std::uint32_t required = field_bits(component_fields_1_0, {"offset", "length"});
            return scan_.read_fields(component_fields_1_0, seen,
                                     [&](std::size_t field) {
                                         return read_component_field(component_fields_1_0[field], component);
                                     }) &&
                   require(seen, component_fields_1_0, required);
        }
        constexpr std::uint32_t required = field_bits(component_fields, {"dtype", "offset", "length"});
        return scan_.read_fields(component_fields, seen,
                                 [&](std::size_t field) {
                                     return read_component_field(component_fields[field], component);
                                 }) &&
               require(seen, component_fields, required);
    }

    /// The first letters tell the fields apart.
    bool read_component_field(std::string_view field, component_record& component) {
        switch (field[0] == 'd' ? field[1] : field[0]) {
        case 't':
            return field[0] == 'd' ? scan_.read_text(component.dtype_word)
                                   : scan_.read_text_or_null(component.type_word);
        case 'o':
            return scan_.cursor().read_unsigned(component.offset);
        case 'l':
            return scan_.cursor().read_unsigned(component.length);
        case 'u':
            if (scan_.take_null()) {
                return true;
            }
            component.states_uncompressed_length = component.knows_uncompressed_length = true;
            return scan_.cursor().read_unsigned(component.uncompressed_length);
        case 'e':
            return scan_.read_text_or_null(component.encoding_word);
        default:
            return scan_.read_text_or_null(component.digest_text);
        }
    }

    /// 1.0 gives the dtype once: of the values. Indices are uint64 and say so nowhere, and of other roles nothing is
    /// known.
    void spread_dtype(const object_record& object, index_item dtype_of_all) {
        for (std::size_t i = object.first_component; i < into_.components.size(); ++i) {
            component_record& component = into_.components[i];
            const std::string_view role = scan_.text(component.role);
            if (role == "indices" || role == "indptr" || role == "coords") {
                component.dtype_word = {};
                component.dtype = ztensor::dtype::u64;
            } else if (role == "data" || role == "values") {
                component.dtype_word = dtype_of_all;
            } else {
                component.dtype_word = {}; // unknown: the bytes alone are there
            }
        }
    }

    [[nodiscard]] result<void> set_generation() {
        const std::string_view version = scan_.text(into_.version);
        const std::optional<generation> known = generation_of(version);
        if (!known) {
            return error(errc::unsupported_version,
                         "the manifest is of version " + quote(version) + "; this library reads 0.1 and 1.x")
                .at(index_offset_ + into_.version.position);
        }
        into_.generation = *known;
        return {};
    }

    /// After the bytes: what the words mean, and that no name stands twice.
    [[nodiscard]] result<void> finish() {
        into_.objects.shrink_to_fit();
        into_.components.shrink_to_fit();
        for (component_record& component : into_.components) {
            interpret_dtype(into_.generation, scan_.text(component.dtype_word), component);
            interpret_type(scan_.text(component.type_word), scan_.text(component.dtype_word), component);
            component.encoding = component.encoding_word.is_present()
                                     ? find_encoding(scan_.text(component.encoding_word))
                                     : ztensor::encoding::raw;
        }
        if (into_.generation != generation::v0_1) { // 0.1 has words of its own
            for (object_record& object : into_.objects) {
                object.format = find_format(scan_.text(object.format_word));
            }
        }
        return check_object_names();
    }

    /// Sorted names are distinct. Others go into the table that look-ups will use: it finds a twin without sorting.
    [[nodiscard]] result<void> check_object_names() {
        if (into_.names_are_sorted) {
            return {};
        }
        const auto name_at = [this](std::size_t object) { return into_.name_of(object); };
        auto table = std::make_unique<name_table>(into_.objects.size());
        for (std::uint32_t object = 0; object < into_.objects.size(); ++object) {
            if (!table->insert(object, name_at)) {
                return error(errc::duplicate_key, "two objects have this name")
                    .in_object(into_.name_of(object))
                    .at(index_offset_ + into_.objects[object].name.position);
            }
        }
        into_.publish(std::move(table));
        return {};
    }

    // -- 0.1, in manifest_read_0_1.hpp

    struct tensor_words_0_1 {
        index_item data_endianness;
        index_item sparse_format;
        index_item indptr; ///< if it is an array of non-negative integers; like the next two
        index_item indices;
        index_item coords;
    };

    bool read_tensor_0_1();
    bool read_field_0_1(std::string_view field, object_record& object, component_record& component,
                        tensor_words_0_1& words);
    bool interpret_words_0_1(const tensor_words_0_1& words, object_record& object, component_record& component);

    // -- faults

    /// Every bit of `required` is in `seen`; each stands for one of `fields`.
    template <std::size_t Count>
    bool require(std::uint32_t seen, const std::array<std::string_view, Count>& fields,
                 std::uint32_t required) noexcept {
        const std::uint32_t missing = required & ~seen;
        for (std::size_t field = 0; missing != 0 && field < Count; ++field) {
            if ((missing >> field & 1) != 0) {
                missing_field_ = fields[field];
                return fail_missing("a required field is missing");
            }
        }
        return true;
    }

    bool fail_missing(const char* sentence) noexcept {
        return scan_.cursor().fail(errc::schema_missing, scan_.cursor().position(), sentence);
    }
    bool fail_limit(const char* sentence) noexcept {
        return scan_.cursor().fail(errc::limit_exceeded, scan_.cursor().position(), sentence);
    }

    /// The cursor's fault as an error, with the object and component it was met in.
    [[nodiscard]] error fault() const {
        const cbor_fault& found = scan_.cursor().fault();
        std::string sentence = found.sentence;
        if (!missing_field_.empty()) {
            sentence += ": " + quote(missing_field_);
        }
        return error(found.code, "in the manifest, " + sentence)
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
[[nodiscard]] inline std::string take_text(cbor_cursor& cursor) {
    std::string text;
    cbor_cursor ahead = cursor;
    static_cast<void>(cursor.skip() && ahead.read_joined(cbor_major::text, text));
    return text;
}

/// True if the index is a map with `version` "1.0" or "1.0.…" and `tensors`, and nothing follows it: what tells a file
/// of 1.0, which has no magic at its end, from a later one that was cut off.
[[nodiscard]] inline bool is_manifest_1_0(bytes_view index) {
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
} // namespace v0
} // namespace ztensor

#endif
