// SPDX-License-Identifier: MIT
//
// What a file holds, in memory: plain records over a private copy of its index, one model for every version, and what
// fills it object by object. SPEC.md section 3.
#ifndef ZTENSOR_DETAIL_INDEX_MODEL_HPP
#define ZTENSOR_DETAIL_INDEX_MODEL_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/index/scan.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/format.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Where an encoded item stands: in the index, which is at most 1 GiB, or behind its end in the items that were made of
/// it (see manifest::at). No item but the root's starts at 0, which stands for an absent one.
struct index_item {
    uint32_t position = 0;

    [[nodiscard]] constexpr bool is_present() const noexcept { return position != 0; }
};

/// std::optional<Enum> in one byte: there may be a record for every 20 bytes of index.
template <class Enum>
class known_word {
public:
    constexpr known_word() noexcept = default;
    constexpr known_word(Enum value) noexcept : value_(static_cast<uint8_t>(value)) {}
    constexpr known_word(optional<Enum> value) noexcept : known_word(value ? known_word(*value) : known_word()) {}

    [[nodiscard]] constexpr explicit operator bool() const noexcept { return value_ != unknown; }
    [[nodiscard]] constexpr Enum operator*() const noexcept { return static_cast<Enum>(value_); }
    constexpr operator optional<Enum>() const noexcept { return *this ? optional<Enum>(**this) : std::nullopt; }
    friend constexpr bool operator==(known_word a, Enum b) noexcept { return a.value_ == static_cast<uint8_t>(b); }
    friend constexpr bool operator!=(known_word a, Enum b) noexcept { return !(a == b); }

private:
    static constexpr uint8_t unknown = 0xff;
    uint8_t value_ = unknown;
};

/// What is known of a component's logical type: a row of `logical_types`, or one of these.
inline constexpr uint8_t plain_type = 0xff;   ///< none, or the storage type's own name
inline constexpr uint8_t unknown_type = 0xfe; ///< a word the specification does not define

/// One blob. Words stand beside what they were found to mean.
struct component_record {
    uint64_t offset = 0;
    uint64_t length = 0;
    uint64_t uncompressed_length = 0; ///< as the file states it, or as shape and type give it; see the flags
    index_item dtype_word;            ///< as the file spells it
    index_item role;
    index_item type_word;
    index_item encoding_word;
    index_item digest_text;
    known_word<ztensor::dtype> dtype;
    known_word<ztensor::encoding> encoding;
    uint8_t logical_type = plain_type;
    bool states_uncompressed_length : 1; ///< the field stands in the file
    bool knows_uncompressed_length : 1;  ///< stated or derived
    bool is_big_endian : 1;
    bool any_nonzero_is_true : 1; ///< how bool bytes are to be read
    bool holds_indices : 1;       ///< a sparse tensor of 0.1 as one blob, which is no array of its dtype
    bool has_no_byte_order : 1;   ///< big-endian in a layout of 0.1 for which that is not defined
    bool is_in_planes : 1;        ///< no blob, but the data of a planes_tensor

    constexpr component_record() noexcept
        : states_uncompressed_length(false), knows_uncompressed_length(false), is_big_endian(false),
          any_nonzero_is_true(false), holds_indices(false), has_no_byte_order(false), is_in_planes(false) {}

    /// Size in bytes after decoding, where it is known before decoding.
    [[nodiscard]] optional<uint64_t> decoded_length() const noexcept {
        if (encoding == ztensor::encoding::raw) {
            return length;
        }
        return encoding && knows_uncompressed_length ? optional(uncompressed_length) : std::nullopt;
    }
};

static_assert(sizeof(component_record) == 48, "what an open file holds is at most four times its index");

/// One object; its components are side by side.
struct object_record {
    index_item name;
    index_item format_word; ///< as the file spells it
    index_item shape;       ///< an encoded array of unsigned integers
    index_item attributes;  ///< an encoded map with definite text keys; in 0.1 the object's own map, see has_attributes
    uint32_t first_component = 0;
    uint32_t component_count = 0;
    known_word<ztensor::format> format;
    bool has_attributes = false;
    bool is_valid = false; ///< known to keep every rule of rules.hpp but that on overlaps
};

static_assert(sizeof(object_record) == 28, "what an open file holds is at most four times its index");

/// Another file that a root of version 2 takes blobs from.
struct shard_record {
    index_item name;
    index_item digest_text;
    uint64_t size_bytes = 0;
    uint64_t base = 0; ///< components in it have this added to their offset: all files lie in one row
};
/// Where each file of that row may start.
inline constexpr uint64_t shard_alignment = 4096;

// -- block array

/// Records that never move, in blocks, each known by its address: for as many as an index may turn out to hold, which
/// takes room for hardly more than there are. Those that are added together lie side by side.
template <class Record>
class record_blocks {
    static constexpr unsigned block_bits = 12;
    static constexpr size_t block_records = size_t{1} << block_bits;
    static constexpr size_t most_in_a_shared_block = block_records / 16;
    static_assert(std::is_trivially_copyable_v<Record>);

public:
    class iterator {
    public:
        iterator(const record_blocks& all, size_t address) noexcept : all_(&all), address_(address) {}
        [[nodiscard]] const Record& operator*() const noexcept { return (*all_)[address_]; }
        iterator& operator++() noexcept { return ++address_, *this; }
        [[nodiscard]] bool operator!=(const iterator& other) const noexcept { return address_ != other.address_; }

    private:
        const record_blocks* all_;
        size_t address_;
    };

    record_blocks() = default;
    record_blocks(record_blocks&& other) noexcept { swap(other); }
    record_blocks& operator=(record_blocks&& other) noexcept { return swap(other), *this; }
    void swap(record_blocks& other) noexcept {
        blocks_.swap(other.blocks_);
        memory_.swap(other.memory_);
        std::swap(next_, other.next_);
        std::swap(end_, other.end_);
        std::swap(size_, other.size_);
        std::swap(expected_, other.expected_);
    }

    /// At least as many are expected. Called while there are none.
    void expect(size_t count) noexcept { expected_ = count; }

    [[nodiscard]] size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Behind every address; of records that were added one by one, the size.
    [[nodiscard]] size_t address_end() const noexcept { return blocks_.size() * block_records; }
    [[nodiscard]] Record& operator[](size_t address) noexcept {
        return blocks_[address >> block_bits][address & (block_records - 1)];
    }
    [[nodiscard]] const Record& operator[](size_t address) const noexcept {
        return blocks_[address >> block_bits][address & (block_records - 1)];
    }
    /// For records that were added one by one.
    [[nodiscard]] iterator begin() const noexcept { return {*this, 0}; }
    [[nodiscard]] iterator end() const noexcept { return {*this, size_}; }

    /// Room for `count` more, of any content until they are written: the address of the first. Throws std::bad_alloc.
    [[nodiscard]] size_t extend(size_t count) {
        size_ += count;
        if (count > end_ - next_) {
            return extend_by_block(count);
        }
        return std::exchange(next_, next_ + count);
    }
    void push_back(const Record& record) { (*this)[extend(1)] = record; }

private:
    /// Many get a block of their own: the ends of blocks that are left empty are a sixteenth of all at most.
    ZTENSOR_COLD size_t extend_by_block(size_t count) {
        if (count > most_in_a_shared_block) {
            return add_blocks(count);
        }
        if (end_ % block_records != 0) { // it was made for those that were expected, and becomes a whole one
            Record*& open = blocks_[end_ >> block_bits];
            Record* const whole = allocate(block_records);
            std::copy_n(open, next_ % block_records, whole);
            open = whole;
            end_ += block_records - end_ % block_records;
            if (count <= end_ - next_) {
                return std::exchange(next_, next_ + count);
            }
        }
        const size_t room = (std::max)(count, expected_ != 0 ? std::exchange(expected_, size_t{0}) : block_records);
        const size_t address = add_blocks(room);
        next_ = address + count;
        end_ = address + room;
        return address;
    }

    /// Room for `count` side by side: their first address.
    size_t add_blocks(size_t count) {
        const size_t address = address_end();
        Record* const first = allocate(count);
        for (size_t i = 0; i < count; i += block_records) {
            blocks_.push_back(first + i);
        }
        return address;
    }

    [[nodiscard]] Record* allocate(size_t count) {
        byte_buffer memory;
        if (count > (std::numeric_limits<size_t>::max)() / sizeof(Record) || !memory.allocate(count * sizeof(Record))) {
            raise_out_of_memory();
        }
        advise_huge_pages(memory.data(), memory.size());
        auto* const first = static_cast<Record*>(static_cast<void*>(memory.data()));
        memory_.push_back(std::move(memory));
        return first;
    }

    record_array<Record*> blocks_; ///< where each block_records addresses begin
    vector<byte_buffer> memory_;
    size_t next_ = 0; ///< address, in the block that is being filled
    size_t end_ = 0;  ///< of that block
    size_t size_ = 0;
    size_t expected_ = 0;
};

// -- fields 0 1
//
// The fields of a 0.1 tensor. Every other key of its map is a custom one: an attribute. SPEC.md section 8.3.

/// In an order in which the fields of every layout stand side by side: see field_keys_0_1.
inline constexpr std::array<string_view, 13> fields_0_1 = {
    "indptr", "indices",  "sparse_format",   "name",     "offset", "size", "dtype", "layout",
    "shape",  "encoding", "data_endianness", "checksum", "coords",
};
/// Where a field stands there.
[[nodiscard]] constexpr size_t field_0_1(string_view name) noexcept {
    size_t place = 0;
    while (fields_0_1[place] != name) {
        ++place;
    }
    return place;
}

inline constexpr string_view spelled_sparse_0_1 = "sparse";

/// The keys that are fields. What only some layouts have is a custom key elsewhere: sparse_format beside any other
/// layout than "sparse" or with a word that is unknown, the index arrays wherever the blob holds the indices itself.
[[nodiscard]] inline span<const string_view> field_keys_0_1(string_view layout_word, optional<format> layout,
                                                            bool blob_holds_indices) noexcept {
    const bool has_sparse_format = layout_word == spelled_sparse_0_1 && layout;
    const bool has_index_arrays = has_sparse_format && !blob_holds_indices;
    const size_t begin = has_index_arrays && layout == format::sparse_csr ? 0 : has_sparse_format ? 2 : 3;
    const size_t end = has_index_arrays && layout == format::sparse_coo ? 13 : 12;
    return span<const string_view>(fields_0_1).subspan(begin, end - begin);
}

/// How many items an encoded array of non-negative integers has; nothing for any other item.
[[nodiscard]] ZTENSOR_COLD inline optional<uint64_t> count_numbers(cbor_cursor array) noexcept {
    cbor_sequence items;
    uint64_t count = 0;
    uint64_t number = 0;
    for (array.enter_array(items); array.next(items) && array.read_unsigned(number);) {
        ++count;
    }
    return array.failed() ? std::nullopt : optional(count);
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

    byte_buffer index;       ///< private copy of the encoded manifest, which stays as it is
    record_array<byte> made; ///< items that stand in no index as they are to be: see at()
    ztensor::version version = ztensor::version::v1_2;
    container_kind container = container_kind::zt; ///< others: the index was made of a foreign header
    uint64_t alignment_bytes = blob_alignment;     ///< every blob starts at a multiple of this, which is not 0
    uint64_t blobs_end = 0;                        ///< and ends here at the latest
    bool blobs_may_overlap = false;
    uint64_t manifest_offset = 0; ///< of version 2, where it is a blob among others; 0 for none
    bool is_data_shard = false;   ///< of version 2, without any manifest
    index_item version_text;      ///< the file's own text; absent in 0.1
    index_item attributes;        ///< as in object_record
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
    [[nodiscard]] const byte* at(index_item item) const noexcept {
        return item.position < index.size() ? index.data() + item.position
                                            : made.data() + (item.position - index.size());
    }
    /// Where it, or what it was made of, stands in the index.
    [[nodiscard]] ZTENSOR_COLD uint32_t position_of(index_item item) const noexcept {
        return item.position < index.size() ? item.position
                                            : static_cast<uint32_t>(load_little(at(item) - origin_bytes, origin_bytes));
    }
    /// Room for an item of `size` bytes that is made of the one at `origin`; the place of its first byte.
    [[nodiscard]] ZTENSOR_COLD index_item make(size_t origin, size_t size) {
        store_little(origin, made.extend(origin_bytes + size), origin_bytes);
        return {static_cast<uint32_t>(index.size() + made.size() - size)};
    }
    [[nodiscard]] byte* made_at(index_item item) noexcept { return made.data() + (item.position - index.size()); }

    /// "" for an absent one.
    [[nodiscard]] string_view text(index_item item) const noexcept {
        return item.is_present() ? text_at(at(item)) : string_view();
    }
    /// What stands there and behind it.
    [[nodiscard]] bytes_view from(index_item item) const noexcept {
        const byte* const end = item.position < index.size() ? index.data() + index.size() : made.end();
        return {at(item), static_cast<size_t>(end - at(item))};
    }
    [[nodiscard]] string_view name_of(size_t object) const noexcept { return text(objects[object].name); }
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
        uint64_t dimension = 0;
        for (cursor.enter_array(items); cursor.next(items) && cursor.read_unsigned(dimension);) {
            dimensions.push_back(dimension);
        }
        return dimensions;
    }

    /// The product of the dimensions, which was found to fit 64 bits.
    [[nodiscard]] ZTENSOR_NOINLINE uint64_t element_count_of(const object_record& object) const noexcept {
        cbor_cursor cursor(from(object.shape));
        cbor_sequence items;
        element_counter counter;
        uint64_t dimension = 0;
        for (cursor.enter_array(items); cursor.next(items) && cursor.read_unsigned(dimension);) {
            static_cast<void>(counter.multiply(dimension));
        }
        return counter.count();
    }

    /// What the table asks: its places are those of the names in the index.
    struct name_at {
        const manifest& index;
        string_view operator()(uint32_t place) const noexcept { return index.text({place}); }
    };

    /// The object of that name, or null. The table is built by the first call that needs it: a caller that only
    /// iterates does not pay for it. Threads that meet here build one each, and all but the first drop theirs.
    [[nodiscard]] const object_record* find(string_view name) const {
        const name_table* table = name_table_.load(std::memory_order_acquire);
        if (table == nullptr) {
            static_cast<void>(index_names()); // distinct: checked when the file was opened
            table = name_table_.load(std::memory_order_acquire);
        }
        const uint32_t found = table->find(name, name_at{*this});
        return found != name_table::absent ? &objects[found] : nullptr;
    }

    /// Takes the other objects out. Their components stay, and so do the addresses of all components.
    ZTENSOR_COLD void keep_objects(const vector<bool>& is_kept) {
        record_blocks<object_record> kept;
        for (size_t i = 0; i < objects.size(); ++i) {
            if (is_kept[i]) {
                kept.push_back(objects[i]);
            }
        }
        objects = std::move(kept);
        delete name_table_.exchange(nullptr); // which has positions among all of them
    }

    /// Makes the table of names. Finds the first object whose name another one before it has: then there is none; or
    /// name_table::absent, if all names are distinct.
    ZTENSOR_COLD uint32_t index_names() const {
        auto* const built = new name_table(objects.size());
        const uint32_t twin = built->insert_all(
            static_cast<uint32_t>(objects.size()), [this](uint32_t object) { return objects[object].name.position; },
            name_at{*this});
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
    static constexpr size_t origin_bytes = 4;

    mutable std::atomic<const name_table*> name_table_{nullptr};
};

/// The component's storage type in the words of 1.2, or the file's own word for one that is unknown.
[[nodiscard]] inline string_view dtype_name(const manifest& index, const component_record& component) noexcept {
    return component.dtype ? name(*component.dtype) : index.text(component.dtype_word);
}

/// The shard that the blob lies in, or null for the file itself.
[[nodiscard]] inline const shard_record* shard_of(const manifest& index, const component_record& component) noexcept {
    const shard_record* const behind =
        std::upper_bound(index.shards.begin(), index.shards.end(), component.offset,
                         [](uint64_t offset, const shard_record& each) { return offset < each.base; });
    return behind == index.shards.begin() ? nullptr : behind - 1;
}

/// The component's logical type in the words of 1.2; "" for none.
[[nodiscard]] inline string_view type_name(const manifest& index, const component_record& component) noexcept {
    return component.logical_type < logical_types.size() ? logical_types[component.logical_type].name
                                                         : index.text(component.type_word);
}

/// What the component is in its object. The one component of a 0.1 tensor has no name of its own.
[[nodiscard]] inline string_view role_name(const manifest& index, const component_record& component) noexcept {
    return component.role.is_present() ? index.text(component.role) : "data";
}

/// The object's component of that role, or null.
[[nodiscard]] inline const component_record* find_component(const manifest& index, const object_record& object,
                                                            string_view role) noexcept {
    for (const component_record& component : index.components_of(object)) {
        if (role_name(index, component) == role) {
            return &component;
        }
    }
    return nullptr;
}

/// The object's format in the words of 1.2, or the file's own word for one that is unknown, and in version 2.
[[nodiscard]] inline string_view format_name(const manifest& index, const object_record& object) noexcept {
    return object.format && index.version != version::v2 ? name(*object.format) : index.text(object.format_word);
}

/// The object's attributes; in 0.1 what is left of its map without the fields.
[[nodiscard]] inline attributes_view attributes_of(const manifest& index, const object_record& object) noexcept {
    if (index.version == version::v0_1) {
        const bool blob_holds_indices = index.components_of(object).data()[0].holds_indices;
        return attributes_view(index.from(object.attributes),
                               field_keys_0_1(index.text(object.format_word), object.format, blob_holds_indices));
    }
    return object.has_attributes ? attributes_view(index.from(object.attributes)) : attributes_view();
}

/// Of a 0.1 tensor whose blob does not hold its indices: where the index array of that name stands, which was
/// validated.
[[nodiscard]] inline cbor_cursor index_array_0_1(const manifest& index, const object_record& object,
                                                 string_view field) {
    const attributes_view fields(index.from(object.attributes));
    return cbor_cursor(fields.find(field)->cbor);
}

/// Of a logical type that is known.
[[nodiscard]] inline bool has_logical_type(const component_record& component, string_view name) noexcept {
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
[[nodiscard]] inline uint64_t packed_elements(const component_record& component) noexcept {
    return component.logical_type < logical_types.size() ? logical_types[component.logical_type].packed_elements : 1;
}

/// Elements of storage that make up one element of the object's shape, or several that are packed.
[[nodiscard]] inline uint64_t storage_elements(const component_record& component) noexcept {
    return component.logical_type < logical_types.size() ? logical_types[component.logical_type].storage_elements : 1;
}

// -- model builder
/// What objects and their components take as records.
[[nodiscard]] inline uint64_t bytes_of_records(const record_blocks<object_record>& objects,
                                               const record_blocks<component_record>& components) noexcept {
    return uint64_t{objects.size()} * sizeof(object_record) + uint64_t{components.size()} * sizeof(component_record);
}

/// What no index says, such as another format's header: items, and records whose names, words, shapes and attributes
/// are such by their positions. No item stands at 0.
struct model_draft {
    byte_buffer items; ///< scan_reach_bytes of anything follow
    record_blocks<object_record> objects;
    record_blocks<component_record> components;
    index_item attributes; ///< of the file
};

/// Adds objects to a model, and sees whether names and blobs come in order: then none stands twice, and none overlap.
class model_builder {
public:
    explicit model_builder(manifest& into) noexcept : into_(into) {}

    /// An object whose components are in the model.
    void add(const object_record& object) {
        into_.objects.push_back(object);
        note_last();
    }
    /// The same of the last one in the model, where it was put by others.
    void note_last() noexcept { note(into_.objects[into_.objects.size() - 1]); }
    /// The same of the one behind the one before.
    void note(const object_record& object) noexcept {
        into_.names_are_sorted = into_.names_are_sorted && (!last_name_.is_present() || is_behind_last(object.name));
        last_name_ = object.name;
        for (const component_record& each : static_cast<const manifest&>(into_).components_of(object)) {
            note_blob(each);
        }
    }

    /// Where the last blob ends, if all have come in order.
    [[nodiscard]] uint64_t blobs_reach() const noexcept { return blobs_reach_; }

private:
    [[nodiscard]] bool is_behind_last(index_item name) const noexcept {
        const string_view last = into_.text(last_name_), next = into_.text(name);
        const bool are_in_index = last_name_.position < into_.index.size() && name.position < into_.index.size();
        return are_in_index ? is_name_before(last, next) : last < next;
    }

    void note_blob(const component_record& component) noexcept {
        if (component.length != 0) {
            into_.blobs_are_in_order = into_.blobs_are_in_order && component.offset >= blobs_reach_;
            blobs_reach_ = component.offset + component.length; // if that wraps, its bounds will be refused
        }
    }

    manifest& into_;
    index_item last_name_;
    uint64_t blobs_reach_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
