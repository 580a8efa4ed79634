// SPDX-License-Identifier: MIT
//
// How long the parts of dense objects must be, what those of sparse ones must be to each other, and which blobs may
// share bytes. SPEC.md section 2.3, section 4.3, section 5.2, section 5.3.
#ifndef ZTENSOR_DETAIL_INDEX_PART_RULES_HPP
#define ZTENSOR_DETAIL_INDEX_PART_RULES_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/layouts.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/error.hpp>
#include <ztensor/format.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- dense rules
//
// How long the data of a dense object must be, and a look that tells most of them to be valid. SPEC.md section 4.3.

/// Of a component whose type is known.
[[nodiscard]] inline uint64_t element_bytes(const component_record& component) noexcept {
    return width_bytes(*component.dtype) * storage_elements(component);
}

/// The same of any component; 0 if its words are not all known, its types do not fit each other, or its elements are
/// parts of bytes.
[[nodiscard]] ZTENSOR_COLD inline uint64_t known_element_bytes(const manifest& index,
                                                               const component_record& component) noexcept {
    const uint8_t type = component.logical_type;
    const bool is_known =
        component.dtype && component.encoding &&
        (!component.digest_text.is_present() || parse_digest(index.text(component.digest_text)).is_well_formed) &&
        (type == plain_type || (type < logical_types.size() && component.dtype == logical_types[type].storage));
    return is_known && packed_elements(component) == 1 ? element_bytes(component) : 0;
}

/// Whether a dense object with this data, of elements of so many bytes, keeps every rule: false if more has to be
/// looked at, as for one without elements.
[[nodiscard]] inline bool is_valid_dense(const manifest& index, const component_record& data, uint64_t element_count,
                                         uint64_t element_bytes) noexcept {
    const optional<uint64_t> size = checked_multiply(element_count, element_bytes);
    const bool is_raw = data.encoding == encoding::raw;
    const uint64_t decoded = is_raw ? data.length : data.uncompressed_length;
    const bool has_size = element_count != 0 && size == decoded && (is_raw || data.states_uncompressed_length) &&
                          (!data.states_uncompressed_length || data.uncompressed_length == decoded);
    return has_size && (data.offset & (index.alignment_bytes - 1)) == 0 && data.offset >= index.alignment_bytes &&
           fits(data.offset, data.length, index.blobs_end) && (is_raw || can_decode_to(decoded, data.length));
}

/// Of all elements of the shape, or nothing where 64 bits don't hold that: before version 2 whatever zero may hide it.
/// `type` is null for the storage type's own.
[[nodiscard]] inline optional<uint64_t> bytes_of_elements(const shape& dimensions, dtype storage,
                                                          const logical_type_facts* type,
                                                          bool zero_hides_overflow) noexcept {
    const uint64_t packed = type != nullptr ? type->packed_elements : 1;
    const uint64_t each = width_bytes(storage) * (type != nullptr ? type->storage_elements : 1);
    if (zero_hides_overflow && ends_in_zero(dimensions)) {
        return 0;
    }
    if (packed == 1) {
        return dense_bytes(dimensions, each);
    }
    const optional<uint64_t> count = dimensions.element_count();
    return count ? optional(*count / packed + (*count % packed != 0 ? 1u : 0u)) : std::nullopt;
}

/// The data of a dense object, of elements of a type that is known: for what is read and for what is to be written.
/// `found` is their size, if it is known before they are decoded.
/// Errors: shape_overflow, size_mismatch.
ZTENSOR_NOINLINE inline result<void> check_dense_size(const shape& dimensions, dtype storage,
                                                      const logical_type_facts* type, bool zero_hides_overflow,
                                                      optional<uint64_t> found) {
    const optional<uint64_t> expected = bytes_of_elements(dimensions, storage, type, zero_hides_overflow);
    if (!expected) {
        const uint64_t each = width_bytes(storage) * (type != nullptr ? type->storage_elements : 1);
        return fail(errc::shape_overflow, "shape {} of elements of {} bytes needs more than 2^64 bytes",
                    {to_string(dimensions), each});
    }
    if (found && *found != *expected) {
        return fail(errc::size_mismatch, "the data takes {} bytes, but shape {} of {} takes {}",
                    {*found, to_string(dimensions), type != nullptr ? type->name : name(storage), *expected});
    }
    return {};
}

// -- integers
//
// Integers of any width as numbers of 64 bits, block by block: what is done with them is compiled once for all of
// their types.

/// Numbers that fit the innermost cache. Signed ones are in two's complement.
struct integer_block {
    static constexpr size_t max_count = 512;
    uint64_t numbers[max_count];
    size_t count = 0;

    [[nodiscard]] uint64_t* begin() noexcept { return numbers; }
    [[nodiscard]] uint64_t* end() noexcept { return numbers + count; }
};

/// Fills a block whose count is set. Copied first, so that a compiler knows that nothing else points there; of full
/// blocks it knows the length, too, and vectorises.
template <class Stored>
void widen_each(const byte* stored, integer_block& out) noexcept {
    Stored narrow[integer_block::max_count];
    if (out.count == integer_block::max_count) {
        std::memcpy(narrow, stored, sizeof narrow);
        for (size_t i = 0; i < integer_block::max_count; ++i) {
            out.numbers[i] = static_cast<uint64_t>(narrow[i]);
        }
        return;
    }
    std::memcpy(narrow, stored, out.count * sizeof(Stored));
    for (size_t i = 0; i < out.count; ++i) {
        out.numbers[i] = static_cast<uint64_t>(narrow[i]);
    }
}

template <class Stored>
void narrow_each(const integer_block& block, byte* stored) noexcept {
    Stored narrow[integer_block::max_count];
    for (size_t i = 0; i < block.count; ++i) {
        narrow[i] = static_cast<Stored>(block.numbers[i]);
    }
    std::memcpy(stored, narrow, block.count * sizeof(Stored));
}

/// Stores the numbers in `width` bytes each, in host byte order: what these can't hold of them is cut off.
inline void narrow_integers(const integer_block& block, size_t width, byte* stored) noexcept {
    switch (width) {
    case 1:
        return narrow_each<uint8_t>(block, stored);
    case 2:
        return narrow_each<uint16_t>(block, stored);
    case 4:
        return narrow_each<uint32_t>(block, stored);
    default:
        std::memcpy(stored, block.numbers, block.count * sizeof(uint64_t));
    }
}

/// Where the first number stands that is not below `limit`; `count` if all are. On its own because it passes over all
/// indices of an object, and takes half the time that widening them does.
template <class Unsigned>
[[nodiscard]] size_t find_not_below(uint64_t limit, const byte* stored, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
        Unsigned number;
        std::memcpy(&number, stored + i * sizeof number, sizeof number);
        if (number >= limit) {
            return i;
        }
    }
    return count;
}

/// Borrowed integers, in host byte order, at any address.
class integers_view {
public:
    /// `type` is one of the eight integer types, and `bytes` are a whole number of them.
    integers_view(bytes_view bytes, dtype type) noexcept : bytes_(bytes), type_(type) {}

    [[nodiscard]] size_t size() const noexcept { return bytes_.size() / width_bytes(type_); }
    [[nodiscard]] bool is_signed() const noexcept { return facts(type_).category == dtype_class::signed_integer; }
    /// The largest number that the type can hold.
    [[nodiscard]] uint64_t largest() const noexcept { return ~uint64_t{0} >> (64 - bits()); }
    [[nodiscard]] integers_view subview(size_t from, size_t count) const noexcept {
        return {bytes_.subspan(from * width_bytes(type_), count * width_bytes(type_)), type_};
    }

    /// Those from `first` on, as many as a block takes.
    void widen(size_t first, integer_block& out) const noexcept {
        const byte* const stored = bytes_.data() + first * width_bytes(type_);
        out.count = size() - first < integer_block::max_count ? size() - first : integer_block::max_count;
        switch (type_) {
        case dtype::i32:
            return widen_each<int32_t>(stored, out);
        case dtype::i16:
            return widen_each<int16_t>(stored, out);
        case dtype::i8:
            return widen_each<int8_t>(stored, out);
        case dtype::u32:
            return widen_each<uint32_t>(stored, out);
        case dtype::u16:
            return widen_each<uint16_t>(stored, out);
        case dtype::u8:
            return widen_each<uint8_t>(stored, out);
        default:
            std::memcpy(out.numbers, stored, out.count * sizeof(uint64_t));
        }
    }

    /// One of them, i < size().
    [[nodiscard]] uint64_t operator[](size_t i) const noexcept {
        integer_block one;
        subview(i, 1).widen(0, one);
        return one.numbers[0];
    }

    /// Where the first one stands that is negative or not below `limit`; size() if none is.
    [[nodiscard]] size_t find_outside(uint64_t limit) const noexcept {
        // Read as unsigned ones, negative numbers are those above the largest.
        const uint64_t first_outside = is_signed() && limit > largest() ? largest() + 1 : limit;
        switch (width_bytes(type_)) {
        case 1:
            return find_not_below<uint8_t>(first_outside, bytes_.data(), size());
        case 2:
            return find_not_below<uint16_t>(first_outside, bytes_.data(), size());
        case 4:
            return find_not_below<uint32_t>(first_outside, bytes_.data(), size());
        default:
            return find_not_below<uint64_t>(first_outside, bytes_.data(), size());
        }
    }

    [[nodiscard]] bool is_negative(uint64_t number) const noexcept { return is_signed() && (number >> 63) != 0; }
    /// A number of this type as a sentence shows it.
    [[nodiscard]] piece text_of(uint64_t number) const noexcept {
        return is_signed() ? piece(static_cast<int64_t>(number)) : piece(number);
    }

private:
    [[nodiscard]] size_t bits() const noexcept { return 8 * width_bytes(type_) - (is_signed() ? 1 : 0); }

    bytes_view bytes_;
    dtype type_;
};

// -- sparse rules
//
// What the numbers in a sparse object must be to each other: each check once, linear, on plain memory. For reading
// and for writing. SPEC.md section 5.2 and section 5.3.

[[nodiscard]] ZTENSOR_COLD inline error wrong_count(uint64_t found, uint64_t expected, const char* what) {
    return fail(errc::sparse_size, "there are {} {}, but {} belong to the object", {found, what, expected});
}

/// Errors: sparse_shape.
inline result<void> check_csr_shape(const shape& dimensions) {
    if (dimensions.rank() == 2) {
        return {};
    }
    return fail(errc::sparse_shape, "a sparse_csr object has 2 dimensions, not {}", {dimensions.rank()});
}

/// Errors: sparse_shape.
inline result<void> check_coo_shape(const shape& dimensions) {
    if (!dimensions.empty()) {
        return {};
    }
    return fail(errc::sparse_shape, "a sparse_coo object has at least one dimension");
}

/// Entries in the one blob in which 0.1 keeps a sparse tensor: csr has rows + 1 row pointers before them; each is one
/// u64 for every index and a value. Errors: sparse_size. SPEC.md section 8.3.
ZTENSOR_COLD inline result<uint64_t> count_entries_0_1(format layout, const shape& dimensions, uint64_t value_bytes,
                                                       uint64_t blob_bytes) {
    constexpr uint64_t index_bytes = sizeof(uint64_t);
    const bool is_csr = layout == format::sparse_csr;
    if (is_csr && dimensions[0] >= blob_bytes / index_bytes) {
        return fail(errc::sparse_size, "the blob decodes to {} bytes, but the pointers of {} rows take more",
                    {blob_bytes, dimensions[0]});
    }
    const uint64_t pointer_bytes = is_csr ? (dimensions[0] + 1) * index_bytes : 0;
    const uint64_t entry_bytes = (is_csr ? 1 : dimensions.rank()) * index_bytes + value_bytes;
    if ((blob_bytes - pointer_bytes) % entry_bytes != 0) {
        return fail(errc::sparse_size,
                    "the blob decodes to {} bytes, which is no whole number of entries of {} bytes{}",
                    {blob_bytes, entry_bytes, is_csr ? " behind the row pointers" : ""});
    }
    return (blob_bytes - pointer_bytes) / entry_bytes;
}

/// The row pointers of `rows` rows and `entries` entries. Errors: sparse_size, sparse_indptr.
inline result<void> check_indptr(const integers_view& indptr, uint64_t rows, uint64_t entries) {
    if (indptr.size() == 0 || indptr.size() - 1 != rows) {
        return wrong_count(indptr.size(), checked_add(rows, 1).value_or(rows), "row pointers");
    }
    if (const uint64_t first = indptr[0]; first != 0) {
        return fail(errc::sparse_indptr, "the first row pointer is {}, not 0", {indptr.text_of(first)});
    }
    const uint64_t sign = indptr.is_signed() ? uint64_t{1} << 63 : 0; // turned over, numbers compare as signed
    uint64_t last = 0;
    integer_block block;
    for (size_t done = 0; done < indptr.size(); done += block.count) {
        indptr.widen(done, block);
        for (size_t i = 0; i < block.count; ++i) {
            if ((last ^ sign) > (block.numbers[i] ^ sign)) { // so that none is negative: the first is 0
                return fail(errc::sparse_indptr, "the pointers of row {} fall from {} to {}",
                            {done + i - 1, indptr.text_of(last), indptr.text_of(block.numbers[i])});
            }
            last = block.numbers[i];
        }
    }
    if (last != entries) {
        return fail(errc::sparse_indptr, "the last row pointer is {}, but there are {} entries",
                    {indptr.text_of(last), entries});
    }
    return {};
}

/// Every index is below `limit`. Errors: sparse_index.
inline result<void> check_indices(const integers_view& indices, uint64_t limit, const char* what) {
    const size_t outside = indices.find_outside(limit);
    if (outside == indices.size()) {
        return {};
    }
    return fail(errc::sparse_index, "{} {} of entry {} is not below {}",
                {what, indices.text_of(indices[outside]), outside, limit});
}

/// All of a CSR object, its indices and row pointers being of the integer type `index`, in host byte order.
/// Errors: sparse_shape, sparse_size, sparse_indptr, sparse_index.
inline result<void> check_csr(const shape& dimensions, uint64_t values, bytes_view indices, bytes_view indptr,
                              dtype index) {
    ZTENSOR_TRY(check_csr_shape(dimensions));
    const integers_view columns(indices, index);
    if (columns.size() != values) {
        return wrong_count(columns.size(), values, "column indices");
    }
    ZTENSOR_TRY(check_indptr({indptr, index}, dimensions[0], values));
    return check_indices(columns, dimensions[1], "column");
}

/// For strict reading and version 2: the columns of every row rise, in parts that were checked. Errors: `code`.
ZTENSOR_COLD inline result<void> check_rising_columns(bytes_view indices, bytes_view indptr, dtype index,
                                                      errc code = errc::strict_order) {
    const integers_view columns(indices, index);
    const integers_view pointers(indptr, index);
    for (size_t row = 0; row + 1 < pointers.size(); ++row) {
        for (uint64_t entry = pointers[row] + 1; entry < pointers[row + 1]; ++entry) {
            const auto at = static_cast<size_t>(entry);
            if (columns[at - 1] >= columns[at]) {
                return fail(code, "the columns of row {} do not rise at entry {}", {row, entry});
            }
        }
    }
    return {};
}

/// The same of coordinates: entries stand in row-major order, none twice. Errors: strict_order.
ZTENSOR_COLD inline result<void> check_rising_coords(const shape& dimensions, bytes_view coords, dtype index) {
    const integers_view coordinates(coords, index);
    const size_t entries = coordinates.size() / dimensions.rank();
    for (size_t entry = 1; entry < entries; ++entry) {
        bool rises = false;
        bool falls = false;
        for (size_t axis = 0; axis < dimensions.rank() && !rises && !falls; ++axis) {
            const uint64_t before = coordinates[axis * entries + entry - 1];
            const uint64_t here = coordinates[axis * entries + entry];
            rises = before < here;
            falls = before > here;
        }
        if (!rises) {
            return fail(errc::strict_order, "entry {} does not stand behind the one before it", {entry});
        }
    }
    return {};
}

/// Of version 2: no cell is named twice, in coordinates that were checked, so that cells can be counted in 64 bits.
/// Errors: sparse_order. Throws std::bad_alloc.
ZTENSOR_COLD inline result<void> check_distinct_coords(const shape& dimensions, bytes_view coords, dtype index) {
    if (check_rising_coords(dimensions, coords, index)) {
        return {};
    }
    const integers_view coordinates(coords, index);
    const size_t entries = coordinates.size() / dimensions.rank();
    vector<uint64_t> cells(entries);
    for (size_t axis = 0; axis < dimensions.rank(); ++axis) {
        for (size_t entry = 0; entry < entries; ++entry) {
            cells[entry] = cells[entry] * dimensions[axis] + coordinates[axis * entries + entry];
        }
    }
    std::sort(cells.begin(), cells.end());
    if (std::adjacent_find(cells.begin(), cells.end()) == cells.end()) {
        return {};
    }
    return fail(errc::sparse_order, "two entries name the same cell");
}

/// All of a COO object; `coords` holds all coordinates of dimension 0, then of dimension 1, and so on, of the integer
/// type `index`, in host byte order. Errors: sparse_shape, sparse_size, sparse_index, shape_overflow.
inline result<void> check_coo(const shape& dimensions, uint64_t values, bytes_view coords, dtype index) {
    ZTENSOR_TRY(check_coo_shape(dimensions));
    const optional<uint64_t> expected = checked_multiply(values, dimensions.rank());
    if (!expected) {
        return fail(errc::shape_overflow, "values times dimensions need more than 64 bits");
    }
    const integers_view coordinates(coords, index);
    if (coordinates.size() != *expected) {
        return wrong_count(coordinates.size(), *expected, "coordinates");
    }
    const auto entries = static_cast<size_t>(values);
    for (size_t axis = 0; axis < dimensions.rank(); ++axis) {
        const integers_view of_axis = coordinates.subview(axis * entries, entries);
        ZTENSOR_TRY(check_indices(of_axis, dimensions[axis], "coordinate"));
    }
    return {};
}

// -- overlap
//
// Blobs among each other: two are the same bytes or share none; an empty one shares none. SPEC.md section 2.3.

struct blob_range {
    uint64_t offset;
    uint64_t length;
};

/// By offset, digit by digit from the last one on, in a time that no order and no lengths make worse: std::sort took as
/// long as all else that opening does. `most` bounds the offsets. `scratch` has room for as many; what is given lies
/// there or in place of the blobs.
[[nodiscard]] ZTENSOR_COLD inline span<blob_range> sorted_by_offset(span<blob_range> blobs, span<blob_range> scratch,
                                                                    uint64_t most) noexcept {
    constexpr unsigned digit_bits = 11;
    constexpr size_t digits = size_t{1} << digit_bits;
    for (unsigned shift = 0; shift < 64 && most >> shift != 0; shift += digit_bits) {
        uint32_t begins[digits] = {};
        for (const blob_range& each : blobs) {
            ++begins[each.offset >> shift & (digits - 1)];
        }
        uint32_t before = 0;
        for (uint32_t& begin : begins) {
            before += std::exchange(begin, before);
        }
        for (const blob_range& each : blobs) {
            scratch[begins[each.offset >> shift & (digits - 1)]++] = each;
        }
        std::swap(blobs, scratch);
    }
    return blobs;
}

/// Looks at blobs in the order of their offsets.
class overlap_search {
public:
    /// True if the blob overlaps one before it. An equal one does not.
    [[nodiscard]] bool next(const blob_range& blob) noexcept {
        const bool overlaps = blob.offset - before_.offset < before_.length &&
                              (blob.offset != before_.offset || blob.length != before_.length);
        if (!overlaps) {
            before_ = blob;
        }
        return overlaps;
    }
    /// The one that the last blob overlaps.
    [[nodiscard]] const blob_range& before() const noexcept { return before_; }

private:
    blob_range before_ = {0, 0};
};

/// Calls `take(range, number)` for each blob that is not empty: the number of one of a component is its address + 1. In
/// version 2 the manifest is a blob, too, of the number 0.
template <class Take>
void for_each_blob(const manifest& index, const Take& take) {
    if (index.manifest_offset != 0) {
        take(blob_range{index.manifest_offset, index.index.size()}, uint32_t{0});
    }
    for (const object_record& object : index.objects) {
        uint32_t number = object.first_component;
        for (const component_record& each : index.components_of(object)) {
            ++number;
            if (each.length != 0) {
                take(blob_range{each.offset, each.length}, number);
            }
        }
    }
}

/// True, and which, if two blobs overlap. Their bounds have been checked. Throws std::bad_alloc.
[[nodiscard]] ZTENSOR_COLD inline bool find_overlap(const manifest& index, blob_range& first, blob_range& second) {
    overlap_search search;
    const auto overlaps = [&](const blob_range& blob) {
        first = search.before();
        second = blob;
        return search.next(blob);
    };
    const size_t most = index.components.size() + 1;
    const bool has_memory_to_spare = most <= index.index.size() / (2 * sizeof(blob_range));
    if (has_memory_to_spare) {
        record_array<blob_range> memory;
        const span<blob_range> room(memory.extend(2 * most), 2 * most);
        advise_huge_pages(room.data(), room.size_bytes());
        size_t filled = 0;
        for_each_blob(index, [&](const blob_range& blob, uint32_t) { room[filled++] = blob; });
        const span<blob_range> blobs =
            sorted_by_offset(room.first(filled), room.subspan(most, filled), index.blobs_end);
        return std::any_of(blobs.begin(), blobs.end(), overlaps);
    }
    record_array<uint32_t> numbers; // of an index that is nothing but components
    numbers.reserve(most);
    for_each_blob(index, [&](const blob_range&, uint32_t number) { numbers.push_back(number); });
    const auto blob_at = [&](uint32_t number) {
        return number == 0 ? blob_range{index.manifest_offset, index.index.size()}
                           : blob_range{index.components[number - 1].offset, index.components[number - 1].length};
    };
    sort_positions(span<uint32_t>(numbers), [&](uint32_t a, uint32_t b) {
        const uint64_t one = blob_at(a).offset, other = blob_at(b).offset;
        return one != other ? one < other : a < b;
    });
    return std::any_of(numbers.begin(), numbers.end(), [&](uint32_t number) { return overlaps(blob_at(number)); });
}

/// The error for two blobs that overlap, with the object and component that the second one belongs to.
[[nodiscard]] ZTENSOR_COLD inline error describe_overlap(const manifest& index, const blob_range& first,
                                                         const blob_range& second) {
    error overlap =
        fail(errc::blob_overlap,
             "two blobs share bytes without being the same: {} bytes at offset {} and {} bytes at offset {}",
             {first.length, first.offset, second.length, second.offset});
    for (const object_record& object : index.objects) {
        for (const component_record& component : index.components_of(object)) {
            if (component.offset == second.offset && component.length == second.length) {
                return std::move(overlap).in_object(index.text(object.name)).in_component(role_name(index, component));
            }
        }
    }
    return overlap;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
