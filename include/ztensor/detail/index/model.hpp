// SPDX-License-Identifier: MIT
//
// The manifest in memory: one plain model for every version. SPEC.md section 3.
#ifndef ZTENSOR_DETAIL_INDEX_MODEL_HPP
#define ZTENSOR_DETAIL_INDEX_MODEL_HPP

#include <ztensor/attributes_view.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/index/fields.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- component array
//
// The components of all objects in a row, those of one object side by side. Does not move them to grow: that would take
// room for all of them twice, in an index that is nothing but components several times the index itself.

/// Two arrays that look like one: what was expected, and what came beyond that.
template <class Record>
class component_array {
public:
    [[nodiscard]] std::size_t size() const noexcept { return first_.size() + second_.size(); }
    [[nodiscard]] Record& operator[](std::size_t i) noexcept {
        return i < first_.size() ? first_[i] : second_[i - first_.size()];
    }
    [[nodiscard]] const Record& operator[](std::size_t i) const noexcept {
        return i < first_.size() ? first_[i] : second_[i - first_.size()];
    }
    /// `count` of one object from `first` on.
    [[nodiscard]] span<const Record> of(std::size_t first, std::size_t count) const noexcept {
        return {count == 0 ? nullptr : &(*this)[first], count};
    }
    [[nodiscard]] Record& back() noexcept { return (*this)[size() - 1]; }

    /// Room for as many as are expected. Called once, while there are none.
    void reserve(std::size_t count) { first_.reserve(count); }
    /// Room for `count` more, which are not in what reserve() has made room for. Called between objects, once.
    ZTENSOR_COLD void reserve_beyond(std::size_t count) {
        second_.reserve(count);
        is_divided_ = true;
    }

    /// For what reserve() has made room for.
    void advise_huge_pages() noexcept { detail::advise_huge_pages(first_.data(), first_.capacity() * sizeof(Record)); }

    [[nodiscard]] bool has_room() const noexcept { return is_divided_ ? second_.has_room() : first_.has_room(); }
    [[nodiscard]] std::size_t room() const noexcept {
        return is_divided_ ? second_.capacity() - second_.size() : first_.capacity() - first_.size();
    }
    /// Where `count` more of one object may be written, which take() then takes in; null where there is no room.
    [[nodiscard]] Record* room_for(std::size_t count) noexcept { return count <= room() ? last().end() : nullptr; }
    void take(std::size_t count) noexcept { last().take(count); }
    void push_back(const Record& record) { is_divided_ ? second_.push_back(record) : first_.push_back(record); }
    /// Forgets all but the first `count`.
    void truncate(std::size_t count) noexcept {
        if (count < first_.size()) {
            first_.truncate(count);
            second_.truncate(0);
        } else {
            second_.truncate(count - first_.size());
        }
    }

private:
    [[nodiscard]] record_array<Record>& last() noexcept { return is_divided_ ? second_ : first_; }

    record_array<Record> first_;
    record_array<Record> second_;
    bool is_divided_ = false;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

namespace ztensor {
inline namespace ZTENSOR_MODE {

// -- model
//
// The manifest in memory: one plain model for every version. Flat records over a private copy of the index; all text
// is a range of that copy, so opening a file allocates nothing per object. SPEC.md section 3.

namespace detail {

/// Where an item of the index starts: the index is at most 1 GiB. Only the root item starts at 0, so no field's does.
struct index_item {
    std::uint32_t position = 0;

    [[nodiscard]] constexpr bool is_present() const noexcept { return position != 0; }
};

/// The text behind a head of more than two bytes.
[[nodiscard]] ZTENSOR_COLD inline std::string_view long_text_at(const std::byte* head) noexcept {
    const std::size_t size_bytes = std::size_t{1} << ((std::to_integer<std::size_t>(*head) & 31) - 24);
    return as_text({head + 1 + size_bytes, static_cast<std::size_t>(load_big(head + 1, size_bytes))});
}

/// The text at `item`, which was validated and is definite; "" for an absent one.
[[nodiscard]] inline std::string_view text_at(bytes_view index, index_item item) noexcept {
    if (!item.is_present()) {
        return {};
    }
    const std::byte* const head = index.data() + item.position;
    const std::size_t info = std::to_integer<std::size_t>(*head) & 31;
    if (info < 24) {
        return as_text({head + 1, info});
    }
    return info == 24 ? as_text({head + 2, std::to_integer<std::size_t>(head[1])}) : long_text_at(head);
}

/// std::optional<Enum> in one byte: there may be a record for every 18 bytes of index.
template <class Enum>
class known_word {
public:
    constexpr known_word() noexcept = default;
    constexpr known_word(Enum value) noexcept : value_(static_cast<std::uint8_t>(value)) {}
    constexpr known_word(std::optional<Enum> value) noexcept : known_word(value ? known_word(*value) : known_word()) {}

    [[nodiscard]] constexpr explicit operator bool() const noexcept { return value_ != unknown; }
    [[nodiscard]] constexpr Enum operator*() const noexcept { return static_cast<Enum>(value_); }
    constexpr operator std::optional<Enum>() const noexcept {
        return *this ? std::optional<Enum>(**this) : std::nullopt;
    }
    friend constexpr bool operator==(known_word a, Enum b) noexcept { return a.value_ == static_cast<std::uint8_t>(b); }
    friend constexpr bool operator!=(known_word a, Enum b) noexcept { return !(a == b); }

private:
    static constexpr std::uint8_t unknown = 0xff;
    std::uint8_t value_ = unknown;
};

/// What is known of a component's logical type: a row of `logical_types`, or one of these.
inline constexpr std::uint8_t plain_type = 0xff;   ///< none, or the storage type's own name
inline constexpr std::uint8_t unknown_type = 0xfe; ///< a word the specification does not define

/// One blob. Words stand beside what they were found to mean.
struct component_record {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::uint64_t uncompressed_length = 0; ///< as the file states it, or as shape and type give it; see the flags
    index_item dtype_word;                 ///< as the file spells it
    index_item role;
    index_item type_word;
    index_item encoding_word;
    index_item digest_text;
    known_word<ztensor::dtype> dtype;
    known_word<ztensor::encoding> encoding;
    std::uint8_t logical_type = plain_type;
    bool states_uncompressed_length : 1; ///< the field stands in the file
    bool knows_uncompressed_length : 1;  ///< stated or derived
    bool is_big_endian : 1;
    bool any_nonzero_is_true : 1; ///< how bool bytes are to be read
    bool holds_indices : 1;       ///< a sparse tensor of 0.1 as one blob, which is no array of its dtype
    bool has_no_byte_order : 1;   ///< big-endian in a layout of 0.1 for which nobody says what that means

    component_record() noexcept
        : states_uncompressed_length(false), knows_uncompressed_length(false), is_big_endian(false),
          any_nonzero_is_true(false), holds_indices(false), has_no_byte_order(false) {}

    /// Size in bytes after decoding, where it is known before decoding.
    [[nodiscard]] std::optional<std::uint64_t> decoded_length() const noexcept {
        if (encoding == ztensor::encoding::raw) {
            return length;
        }
        return encoding && knows_uncompressed_length ? std::optional(uncompressed_length) : std::nullopt;
    }
};

static_assert(sizeof(component_record) == 48, "what an open file holds is at most four times its index");

/// One object; its components are consecutive.
struct object_record {
    index_item name;
    index_item format_word; ///< as the file spells it
    index_item shape;       ///< an encoded array of unsigned integers
    index_item attributes;  ///< an encoded map with definite text keys; in 0.1 the object's own map, see has_attributes
    std::uint32_t first_component = 0;
    std::uint32_t component_count = 0;
    known_word<ztensor::format> format;
    bool has_attributes = false;
    bool is_checked = false; ///< against every rule of validate.hpp but that on overlaps
};

static_assert(sizeof(object_record) == 28, "what an open file holds is at most four times its index");

/// Another file that a root of version 2 takes blobs from.
struct shard_record {
    index_item name;
    index_item digest_text;
    std::uint64_t size_bytes = 0;
    std::uint64_t base = 0; ///< components in it have this added to their offset: all files lie in one row
};
/// Where each file of that row may start.
inline constexpr std::uint64_t shard_alignment = 4096;

/// The whole index of an open file. Built once by manifest_read, then never changed: any number of threads may ask.
class manifest {
public:
    manifest() = default;
    manifest(const manifest&) = delete;
    manifest& operator=(const manifest&) = delete;
    ~manifest() { delete name_table_.load(std::memory_order_acquire); }

    byte_buffer index; ///< private copy of the encoded manifest
    ztensor::generation generation = ztensor::generation::v1_2;
    container_kind container = container_kind::zt;  ///< others: the index was made of a foreign header
    std::uint64_t alignment_bytes = blob_alignment; ///< every blob starts at a multiple of this, which is not 0
    bool blobs_may_overlap = false;
    std::uint64_t manifest_offset = 0; ///< of version 2, where it is a blob among others; 0 for none
    bool is_data_shard = false;        ///< of version 2, without any manifest
    index_item version;                ///< the file's own text; absent in 0.1
    index_item attributes;             ///< as in object_record
    bool has_attributes = false;
    bool names_are_sorted = true;
    bool blobs_are_in_order = true; ///< each component's behind the one before, so that none overlap
    record_array<object_record> objects;
    component_array<component_record> components;
    record_array<shard_record> shards; ///< by name, and so by base

    [[nodiscard]] bool is_foreign() const noexcept { return container != container_kind::zt; }
    [[nodiscard]] bytes_view bytes() const noexcept { return index.bytes(); }
    [[nodiscard]] std::string_view text(index_item item) const noexcept { return text_at(bytes(), item); }
    /// The index from that item on.
    [[nodiscard]] bytes_view from(index_item item) const noexcept { return bytes().subspan(item.position); }
    [[nodiscard]] std::string_view name_of(std::size_t object) const noexcept { return text(objects[object].name); }
    [[nodiscard]] span<const component_record> components_of(const object_record& object) const noexcept {
        return components.of(object.first_component, object.component_count);
    }

    [[nodiscard]] ZTENSOR_NOINLINE ztensor::shape shape_of(const object_record& object) const noexcept {
        ztensor::shape dimensions;
        cbor_cursor cursor(from(object.shape));
        cbor_sequence items;
        std::uint64_t dimension = 0;
        for (cursor.enter_array(items); cursor.next(items) && cursor.read_unsigned(dimension);) {
            dimensions.push_back(dimension);
        }
        return dimensions;
    }

    /// The product of the dimensions, which was found to fit 64 bits.
    [[nodiscard]] ZTENSOR_NOINLINE std::uint64_t element_count_of(const object_record& object) const noexcept {
        cbor_cursor cursor(from(object.shape));
        cbor_sequence items;
        element_counter counter;
        std::uint64_t dimension = 0;
        for (cursor.enter_array(items); cursor.next(items) && cursor.read_unsigned(dimension);) {
            static_cast<void>(counter.multiply(dimension));
        }
        return counter.count();
    }

    /// What the table asks: its places are those of the names in the index.
    struct name_at {
        bytes_view index;
        std::string_view operator()(std::uint32_t place) const noexcept { return text_at(index, {place}); }
    };

    /// The object of that name, or null. The table is built by the first call that needs it: a caller that only
    /// iterates does not pay for it. Threads that meet here build one each, and all but the first drop theirs.
    [[nodiscard]] const object_record* find(std::string_view name) const {
        const name_table* table = name_table_.load(std::memory_order_acquire);
        if (table == nullptr) {
            static_cast<void>(index_names()); // distinct: checked when the file was opened
            table = name_table_.load(std::memory_order_acquire);
        }
        const std::uint32_t found = table->find(name, name_at{bytes()});
        return found != name_table::absent ? &objects[found] : nullptr;
    }

    /// Makes the table of names. Finds the first object whose name another one before it has: then there is none; or
    /// name_table::absent, if all names are distinct.
    ZTENSOR_COLD std::uint32_t index_names() const {
        auto* const built = new name_table(objects.size());
        const std::uint32_t twin = built->insert_all(
            static_cast<std::uint32_t>(objects.size()),
            [this](std::uint32_t object) { return objects[object].name.position; }, name_at{bytes()});
        if (twin != name_table::absent) {
            delete built;
            return twin;
        }
        const name_table* expected = nullptr;
        if (!name_table_.compare_exchange_strong(expected, built, std::memory_order_acq_rel)) {
            delete built;
        }
        return name_table::absent;
    }

private:
    mutable std::atomic<const name_table*> name_table_{nullptr};
};

/// The component's storage type in the words of 1.2, or the file's own word for one that is unknown.
[[nodiscard]] inline std::string_view dtype_name(const manifest& index, const component_record& component) noexcept {
    return component.dtype ? name(*component.dtype) : index.text(component.dtype_word);
}

/// The shard that the blob lies in, or null for the file itself.
[[nodiscard]] inline const shard_record* shard_of(const manifest& index, const component_record& component) noexcept {
    const shard_record* const behind =
        std::upper_bound(index.shards.begin(), index.shards.end(), component.offset,
                         [](std::uint64_t offset, const shard_record& each) { return offset < each.base; });
    return behind == index.shards.begin() ? nullptr : behind - 1;
}

/// The component's logical type in the words of 1.2; "" for none.
[[nodiscard]] inline std::string_view type_name(const manifest& index, const component_record& component) noexcept {
    return component.logical_type < logical_types.size() ? logical_types[component.logical_type].name
                                                         : index.text(component.type_word);
}

/// What the component is in its object. The one component of a 0.1 tensor has no name of its own.
[[nodiscard]] inline std::string_view role_name(const manifest& index, const component_record& component) noexcept {
    return component.role.is_present() ? index.text(component.role) : "data";
}

/// The object's component of that role, or null.
[[nodiscard]] inline const component_record* find_component(const manifest& index, const object_record& object,
                                                            std::string_view role) noexcept {
    for (const component_record& component : index.components_of(object)) {
        if (role_name(index, component) == role) {
            return &component;
        }
    }
    return nullptr;
}

/// The object's format in the words of 1.2, or the file's own word for one that is unknown, and in version 2.
[[nodiscard]] inline std::string_view format_name(const manifest& index, const object_record& object) noexcept {
    return object.format && index.generation != generation::v2 ? name(*object.format) : index.text(object.format_word);
}

/// The object's attributes; in 0.1 what is left of its map without the fields.
[[nodiscard]] inline attributes_view attributes_of(const manifest& index, const object_record& object) noexcept {
    if (index.generation == generation::v0_1) {
        const bool blob_holds_indices = index.components_of(object).data()[0].holds_indices;
        return attributes_view(index.from(object.attributes),
                               field_keys_0_1(index.text(object.format_word), object.format, blob_holds_indices));
    }
    return object.has_attributes ? attributes_view(index.from(object.attributes)) : attributes_view();
}

/// Of a 0.1 tensor whose blob does not hold its indices: where the index array of that name stands, which was
/// validated.
[[nodiscard]] inline cbor_cursor index_array_0_1(const manifest& index, const object_record& object,
                                                 std::string_view field) {
    const attributes_view fields(index.from(object.attributes));
    return cbor_cursor(fields.find(field)->cbor);
}

/// Of a logical type that is known.
[[nodiscard]] inline bool has_logical_type(const component_record& component, std::string_view name) noexcept {
    return component.logical_type < logical_types.size() && logical_types[component.logical_type].name == name;
}
/// Bytes that must be 0 or 1: a storage type before version 2, and a logical one there.
[[nodiscard]] inline bool holds_bools(const component_record& component) noexcept {
    return component.dtype == dtype::boolean || has_logical_type(component, "bool");
}

/// Elements of the object's shape that share one element of storage: more than one if they are packed.
[[nodiscard]] inline std::uint64_t packed_elements(const component_record& component) noexcept {
    return component.logical_type < logical_types.size() ? logical_types[component.logical_type].packed_elements : 1;
}

/// Elements of storage that make up one element of the object's shape, or several that are packed.
[[nodiscard]] inline std::uint64_t storage_elements(const component_record& component) noexcept {
    return component.logical_type < logical_types.size() ? logical_types[component.logical_type].storage_elements : 1;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
