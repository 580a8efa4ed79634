// SPDX-License-Identifier: MIT
//
// CBOR to the model: what reading a manifest of any version keeps. SPEC.md section 3, section 8.
#ifndef ZTENSOR_DETAIL_INDEX_MANIFEST_READER_HPP
#define ZTENSOR_DETAIL_INDEX_MANIFEST_READER_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/pattern_book.hpp>
#include <ztensor/detail/index/plain_component.hpp>
#include <ztensor/detail/index/scanner.hpp>
#include <ztensor/detail/index/words.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
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

// -- counts
//
// How many records an index takes: walks ahead of what is read, so that records need not be moved to grow. SPEC.md
// section 3.

struct record_counts {
    std::uint64_t objects = 0;
    std::uint64_t components = 0;
};

/// Passes over what is left of a map: how many pairs that were.
inline std::uint64_t count_pairs(cbor_cursor& ahead, cbor_sequence pairs) noexcept {
    std::uint64_t count = 0;
    for (; ahead.next(pairs) && ahead.skip(); ++count) {
        ahead.skip();
    }
    return count;
}

/// Passes over the objects that are left of a map: how many, and their components.
[[nodiscard]] ZTENSOR_COLD inline record_counts count_records(cbor_cursor& ahead, cbor_sequence objects) {
    record_counts counts;
    for (; ahead.next(objects) && ahead.skip(); ++counts.objects) {
        cbor_sequence fields;
        for (ahead.enter_map(fields); ahead.next(fields);) {
            cbor_sequence components;
            if (!ahead.take_word("components") && take_text(ahead) != "components") {
                ahead.skip();
            } else if (ahead.enter_map(components)) {
                counts.components += count_pairs(ahead, components);
            }
        }
    }
    return counts;
}

/// The same of tensors in an array of 0.1, each of which has one component.
[[nodiscard]] ZTENSOR_COLD inline record_counts count_tensors(cbor_cursor& ahead, cbor_sequence tensors) noexcept {
    std::uint64_t count = 0;
    for (; ahead.next(tensors) && ahead.skip(); ++count) {
    }
    return {count, count};
}

/// The components from the first one of an object on: of what is left of the map of its components, of that of its
/// fields, and of that of objects.
[[nodiscard]] ZTENSOR_COLD inline std::uint64_t count_components(cbor_cursor ahead, cbor_sequence components,
                                                                 cbor_sequence fields, cbor_sequence objects) {
    const std::uint64_t own = count_pairs(ahead, components);
    count_pairs(ahead, fields);
    return own + count_records(ahead, objects).components;
}

// -- manifest reader
//
// CBOR -> the model: what reading a manifest of any version keeps, and how it goes from object to object. What stands
// in an object, and 0.1, is read in read.hpp. SPEC.md section 3 and section 8.

/// Fills a manifest from its index, in one pass over the bytes. Objects encoded like others before them are read by
/// pattern; where the version comes behind the objects, one pass over the records says afterwards what words mean.
class manifest_reader {
public:
    /// `index_offset` is the absolute position of the index, for errors and as the end of the blobs. Without patterns
    /// and what reads plain objects, which only take less time, tests see what these are to find.
    manifest_reader(manifest& into, const read_options& limits, std::uint64_t index_offset,
                    bool uses_patterns = true) noexcept
        : into_(into), limits_(limits), index_offset_(index_offset),
          scan_(into.index.writable_bytes(), into.is_foreign(), fields_), patterns_(into, index_offset),
          uses_patterns_(uses_patterns) {}

    /// 1.1 and later. Errors: the cbor_... and schema_... codes, duplicate_key, name_invalid, unsupported_version,
    /// limit_exceeded, shape_overflow, digest_format.
    [[nodiscard]] ZTENSOR_COLD result<void> read_1() {
        static constexpr std::string_view fields[] = {"version", "attributes", "objects"};
        static constexpr field_names known(fields);
        field_walk walk(known);
        constexpr std::uint32_t required = field_bits(fields, {"version", "objects"});
        if (!read_root(walk) || !require(walk, required) || !scan_.finish()) {
            return fault();
        }
        if (!generation_of(scan_.text(into_.version))) {
            return fail(errc::unsupported_version,
                        "the manifest is of version {}, where 0.1 and 1.x are known: get a newer version of this "
                        "library, or let the program that wrote the file write version 1.2",
                        {in_quotes(scan_.text(into_.version))})
                .at(index_offset_ + into_.version.position);
        }
        return finish();
    }

    /// 1.0: `tensors` in place of `objects`, and the dtype at the tensor.
    [[nodiscard]] ZTENSOR_COLD result<void> read_1_0() {
        static constexpr std::string_view fields[] = {"version", "attributes", "tensors"};
        static constexpr field_names known(fields);
        into_.generation = generation::v1_0;
        knows_words_ = uses_patterns_;
        field_walk walk(known);
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
                                                : read_objects(walk.pairs);
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
            knows_words_ = knows_words_ || (uses_patterns_ && into_.objects.empty());
        }
        return true;
    }

    /// Where keys are sorted by their bytes, the version stands behind the objects, which are about to be read; of the
    /// root, `fields` are left.
    ZTENSOR_COLD void look_for_version(cbor_sequence fields) {
        cbor_cursor ahead = scan_.cursor();
        for (ahead.skip(); ahead.next(fields); ahead.skip()) {
            cbor_text version;
            if (!ahead.take_word("version")) {
                ahead.skip();
                continue;
            }
            if (ahead.read_text(version) && !version.is_chunked) {
                if (const std::optional<generation> known = generation_of(version.text)) {
                    into_.generation = *known;
                    knows_words_ = true;
                }
            }
            return;
        }
    }

    /// An explicit null stands for their absence.
    bool read_attributes(index_item& at, bool& has_attributes) {
        has_attributes = !scan_.take_null();
        return !has_attributes || scan_.read_attributes(at);
    }

    bool read_objects(const cbor_sequence& fields_left) {
        if (uses_patterns_ && !into_.version.is_present() && into_.generation != generation::v1_0) {
            look_for_version(fields_left);
        }
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
            if (!scan_.next_name(walk)) {
                break;
            }
            objects_left_ = walk.pairs;
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
        const std::uint64_t allowed =
            limits_.max_objects_ - (std::min<std::uint64_t>)(limits_.max_objects_, into_.objects.size());
        const bool may_be_plain = into_.generation != generation::v1_0 && limits_.max_components_per_object_ != 0;
        const std::uint64_t most = walk.pairs.is_indefinite ? allowed : (std::min)(allowed, walk.pairs.remaining);
        std::size_t at = scan_.cursor().position();
        std::uint64_t left = most;
        for (std::size_t behind = 0; left != 0; at = behind) {
            behind = patterns_.read_object(at);
            if (behind == 0 && may_be_plain && !patterns_.learns()) {
                behind = read_plain_object(at);
            }
            if (behind == 0) {
                break;
            }
            --left;
        }
        scan_.cursor().go_to(at);
        walk.pairs.remaining -= walk.pairs.is_indefinite ? 0 : most - left;
    }

    /// A dense object behind all others, if there is room for one: take_in() it, or it never was. What words mean is
    /// known by then. The records are made in their place: to copy what was just written stalls a processor.
    [[nodiscard]] bool has_room() noexcept {
        return into_.objects.has_room() && into_.components.has_room() && into_.objects.size() < limits_.max_objects_;
    }
    [[nodiscard]] plain_object next_object() noexcept {
        plain_object next = {*into_.objects.end(), *into_.components.room_for(1)};
        next.object = {};
        next.data = {};
        next.object.first_component = static_cast<std::uint32_t>(into_.components.size());
        return next;
    }
    ZTENSOR_NOINLINE void take_in(const plain_object& found) noexcept {
        found.object.is_checked =
            is_right_dense(into_, found.data, found.element_count, plain_element_bytes(found.data), index_offset_);
        into_.objects.take(1);
        into_.components.take(1);
        patterns_.note_name(found.name);
        patterns_.note_blob(found.data);
    }

    /// Room for as many objects as the next map or array announces, each with as many components as the first, within
    /// what its bytes can hold; where it announces nothing, for exactly what it holds.
    ZTENSOR_COLD void reserve_records() {
        const bool is_0_1 = into_.generation == generation::v0_1;
        const std::uint64_t smallest_object_bytes = is_0_1 ? 40 : 48, smallest_component_bytes = is_0_1 ? 40 : 20;
        cbor_cursor ahead = scan_.cursor();
        cbor_sequence all;
        if (!(is_0_1 ? ahead.enter_array(all) : ahead.enter_map(all))) {
            return; // whoever reads on meets the same fault
        }
        const std::uint64_t bytes = ahead.remaining();
        record_counts counts = {all.remaining, all.remaining};
        if (all.is_indefinite) {
            counts = is_0_1 ? count_tensors(ahead, all) : count_records(ahead, all);
        } else if (!is_0_1) {
            const std::uint64_t of_first = count_records(ahead, {1, false}).components;
            const std::uint64_t bytes_of_first = bytes - ahead.remaining();
            if (counts.objects * bytes_of_first <= 2 * bytes) { // else most are not like the first
                counts.components = (std::min)(counts.objects, limits_.max_objects_) * of_first;
            }
        }
        const std::uint64_t objects =
            (std::min)((std::min)(counts.objects, limits_.max_objects_), bytes / smallest_object_bytes);
        into_.objects.reserve(static_cast<std::size_t>(objects));
        into_.components.reserve(
            static_cast<std::size_t>((std::min)(counts.components, bytes / smallest_component_bytes)));
        advise_huge_pages(into_.objects.data(), into_.objects.capacity() * sizeof(object_record));
        into_.components.advise_huge_pages();
    }

    /// Room for the components of the object that is being read, none of which has been read yet; of its fields
    /// `fields` are left.
    ZTENSOR_COLD void make_room(const cbor_sequence& components, const cbor_sequence& fields) {
        cbor_cursor ahead = scan_.cursor();
        const std::uint64_t count = components.is_indefinite ? count_pairs(ahead, components) : components.remaining;
        if ((std::min<std::uint64_t>)(count, limits_.max_components_per_object_) > into_.components.room()) {
            const std::uint64_t allowed =
                limits_.max_objects_ - (std::min<std::uint64_t>)(limits_.max_objects_, into_.objects.size());
            const std::uint64_t announced = objects_left_.is_indefinite ? allowed : objects_left_.remaining;
            const std::uint64_t more =
                count_components(scan_.cursor(), components, fields, {(std::min)(announced, allowed), false});
            into_.components.reserve_beyond(static_cast<std::size_t>(more));
        }
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

    /// After the bytes: what the words mean, and that no name stands twice.
    [[nodiscard]] result<void> finish() {
        if (!knows_words_) {
            interpret_words(into_);
        }
        return check_object_names(into_, index_offset_);
    }

    // -- objects of 1.0 and later, in read.hpp

    bool read_object(object_record& object);
    void spread_dtype(const object_record& object, index_item dtype_of_all);
    bool read_and_learn(object_record& object);
    bool read_shape(object_record& object) noexcept;
    bool read_components(const cbor_sequence& fields_left);
    void read_components_like_before(name_walk& walk, std::size_t first);
    bool read_and_learn(component_record& component);
    std::size_t read_plain_object(std::size_t position);
    bool take_plain_component(component_record& component) noexcept;
    bool read_component(component_record& component);
    bool read_field(component_record& component, std::size_t field);
    bool read_number(std::uint64_t& value, pattern_field field) noexcept;
    bool read_digest(index_item& out);

    // -- 0.1, in read.hpp

    struct tensor_words_0_1 {
        index_item data_endianness;
        index_item sparse_format;
        index_item indptr; ///< if it is an array of non-negative integers; like the next two
        index_item indices;
        index_item coords;
    };

    bool take_plain_tensor_0_1();
    bool read_tensor_0_1();
    bool read_fields_0_1(object_record& object, component_record& component, tensor_words_0_1& words);
    bool read_field_0_1(std::size_t field, object_record& object, component_record& component, tensor_words_0_1& words);
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
        missing_field_ = walk.known.names[field];
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
        const char* const where = into_.is_foreign() ? "header" : "manifest";
        error why = missing_field_.empty()
                        ? fail(found.code, "in the {}, {}", {where, found.sentence})
                        : fail(found.code, "in the {}, {}: {}", {where, found.sentence, in_quotes(missing_field_)});
        if (!into_.is_foreign()) { // whose index stands in no file
            why = std::move(why).at(index_offset_ + found.position);
        }
        return std::move(why).in_object(scan_.text(object_name_)).in_component(scan_.text(component_name_));
    }

    manifest& into_;
    const read_options& limits_;
    std::uint64_t index_offset_;
    index_scanner scan_;
    pattern_book patterns_;
    bool uses_patterns_;
    bool knows_words_ = false;        ///< the version came before the objects
    cbor_sequence objects_left_;      ///< behind the object that is being read
    met_fields fields_;               ///< of the object or component that is being read and may be learned from
    bool are_few_ = false;            ///< its components: it is learned from as a whole
    std::uint64_t element_count_ = 0; ///< of the shape that was read last
    index_item object_name_;          ///< being read
    index_item component_name_;       ///< being read
    std::string_view missing_field_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
