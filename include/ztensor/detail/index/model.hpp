// SPDX-License-Identifier: MIT
//
// The manifest in memory: one plain model for every version. SPEC.md section 3.
#ifndef ZTENSOR_DETAIL_INDEX_MODEL_HPP
#define ZTENSOR_DETAIL_INDEX_MODEL_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/index/records.hpp>
#include <ztensor/detail/index/scan.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- fields 0 1
//
// The fields of a 0.1 tensor. Every other key of its map is a custom one: an attribute. SPEC.md section 8.3.

/// In an order in which the fields of every layout stand side by side: see field_keys_0_1.
inline constexpr std::array<std::string_view, 13> fields_0_1 = {
    "indptr", "indices",  "sparse_format",   "name",     "offset", "size", "dtype", "layout",
    "shape",  "encoding", "data_endianness", "checksum", "coords",
};
/// Where a field stands there.
[[nodiscard]] constexpr std::size_t field_0_1(std::string_view name) noexcept {
    std::size_t place = 0;
    while (fields_0_1[place] != name) {
        ++place;
    }
    return place;
}

inline constexpr std::string_view spelled_sparse_0_1 = "sparse";

/// The keys that are fields. What only some layouts have is a custom key elsewhere: sparse_format beside any other
/// layout than "sparse" or with a word that is unknown, the index arrays wherever the blob holds the indices itself.
[[nodiscard]] inline span<const std::string_view>
field_keys_0_1(std::string_view layout_word, std::optional<format> layout, bool blob_holds_indices) noexcept {
    const bool has_sparse_format = layout_word == spelled_sparse_0_1 && layout;
    const bool has_index_arrays = has_sparse_format && !blob_holds_indices;
    const std::size_t begin = has_index_arrays && layout == format::sparse_csr ? 0 : has_sparse_format ? 2 : 3;
    const std::size_t end = has_index_arrays && layout == format::sparse_coo ? 13 : 12;
    return span<const std::string_view>(fields_0_1).subspan(begin, end - begin);
}

/// How many items an encoded array of non-negative integers has; nothing for any other item.
[[nodiscard]] ZTENSOR_COLD inline std::optional<std::uint64_t> count_numbers(cbor_cursor array) noexcept {
    cbor_sequence items;
    std::uint64_t count = 0;
    std::uint64_t number = 0;
    for (array.enter_array(items); array.next(items) && array.read_unsigned(number);) {
        ++count;
    }
    return array.failed() ? std::nullopt : std::optional(count);
}

// -- model
//
// Flat records over a private copy of the index, in which all text stands: opening a file allocates nothing for each
// object. SPEC.md section 3.

/// The whole index of an open file. Built once by a parser, then never changed: any number of threads may ask.
class manifest {
public:
    manifest() = default;
    manifest(const manifest&) = delete;
    manifest& operator=(const manifest&) = delete;
    ~manifest() { delete name_table_.load(std::memory_order_acquire); }

    byte_buffer index;            ///< private copy of the encoded manifest, which stays as it is
    record_array<std::byte> made; ///< items that stand in no index as they are to be: see at()
    ztensor::generation generation = ztensor::generation::v1_2;
    container_kind container = container_kind::zt;  ///< others: the index was made of a foreign header
    std::uint64_t alignment_bytes = blob_alignment; ///< every blob starts at a multiple of this, which is not 0
    std::uint64_t blobs_end = 0;                    ///< and ends here at the latest
    bool blobs_may_overlap = false;
    std::uint64_t manifest_offset = 0; ///< of version 2, where it is a blob among others; 0 for none
    bool is_data_shard = false;        ///< of version 2, without any manifest
    index_item version;                ///< the file's own text; absent in 0.1
    index_item attributes;             ///< as in object_record
    bool has_attributes = false;
    bool names_are_sorted = true;
    bool blobs_are_in_order = true; ///< each component's behind the one before, so that none overlap
    record_blocks<object_record> objects;
    record_blocks<component_record> components;
    record_array<shard_record> shards; ///< by name, and so by base

    [[nodiscard]] bool is_foreign() const noexcept { return container != container_kind::zt; }
    [[nodiscard]] bytes_view bytes() const noexcept { return index.bytes(); }

    /// Where an item that is present stands: in the index, or among those that were made of it, which are text and maps
    /// whose text was in chunks. Before one of these stands, in four bytes, the position of what it was made of.
    [[nodiscard]] const std::byte* at(index_item item) const noexcept {
        return item.position < index.size() ? index.data() + item.position
                                            : made.data() + (item.position - index.size());
    }
    /// Where it, or what it was made of, stands in the index.
    [[nodiscard]] ZTENSOR_COLD std::uint32_t position_of(index_item item) const noexcept {
        return item.position < index.size()
                   ? item.position
                   : static_cast<std::uint32_t>(load_little(at(item) - origin_bytes, origin_bytes));
    }
    /// Room for an item of `size` bytes that is made of the one at `origin`; the place of its first byte.
    [[nodiscard]] ZTENSOR_COLD index_item make(std::size_t origin, std::size_t size) {
        store_little(origin, made.extend(origin_bytes + size), origin_bytes);
        return {static_cast<std::uint32_t>(index.size() + made.size() - size)};
    }
    [[nodiscard]] std::byte* made_at(index_item item) noexcept { return made.data() + (item.position - index.size()); }

    /// "" for an absent one.
    [[nodiscard]] std::string_view text(index_item item) const noexcept {
        return item.is_present() ? text_at(at(item)) : std::string_view();
    }
    /// What stands there and behind it.
    [[nodiscard]] bytes_view from(index_item item) const noexcept {
        const std::byte* const end = item.position < index.size() ? index.data() + index.size() : made.end();
        return {at(item), static_cast<std::size_t>(end - at(item))};
    }
    [[nodiscard]] std::string_view name_of(std::size_t object) const noexcept { return text(objects[object].name); }
    [[nodiscard]] span<const component_record> components_of(const object_record& object) const noexcept {
        return {object.component_count == 0 ? nullptr : &components[object.first_component], object.component_count};
    }
    [[nodiscard]] span<component_record> components_of(const object_record& object) noexcept {
        return {object.component_count == 0 ? nullptr : &components[object.first_component], object.component_count};
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
        const manifest& index;
        std::string_view operator()(std::uint32_t place) const noexcept { return index.text({place}); }
    };

    /// The object of that name, or null. The table is built by the first call that needs it: a caller that only
    /// iterates does not pay for it. Threads that meet here build one each, and all but the first drop theirs.
    [[nodiscard]] const object_record* find(std::string_view name) const {
        const name_table* table = name_table_.load(std::memory_order_acquire);
        if (table == nullptr) {
            static_cast<void>(index_names()); // distinct: checked when the file was opened
            table = name_table_.load(std::memory_order_acquire);
        }
        const std::uint32_t found = table->find(name, name_at{*this});
        return found != name_table::absent ? &objects[found] : nullptr;
    }

    /// Makes the table of names. Finds the first object whose name another one before it has: then there is none; or
    /// name_table::absent, if all names are distinct.
    ZTENSOR_COLD std::uint32_t index_names() const {
        auto* const built = new name_table(objects.size());
        const std::uint32_t twin = built->insert_all(
            static_cast<std::uint32_t>(objects.size()),
            [this](std::uint32_t object) { return objects[object].name.position; }, name_at{*this});
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
    static constexpr std::size_t origin_bytes = 4;

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
/// Whether a known logical type stands over another storage type than its own.
[[nodiscard]] inline bool has_foreign_storage(const component_record& component) noexcept {
    return component.logical_type < logical_types.size() && component.dtype &&
           component.dtype != logical_types[component.logical_type].storage;
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
