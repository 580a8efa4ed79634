// SPDX-License-Identifier: MIT
//
// The records that a model of a file consists of, and the arrays that hold them. SPEC.md section 3.
#ifndef ZTENSOR_DETAIL_INDEX_RECORDS_HPP
#define ZTENSOR_DETAIL_INDEX_RECORDS_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Where an encoded item stands: in the index, which is at most 1 GiB, or behind its end in the items that were made of
/// it (see manifest::at). No item but the root's starts at 0, which stands for an absent one.
struct index_item {
    std::uint32_t position = 0;

    [[nodiscard]] constexpr bool is_present() const noexcept { return position != 0; }
};

/// std::optional<Enum> in one byte: there may be a record for every 20 bytes of index.
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
    bool has_no_byte_order : 1;   ///< big-endian in a layout of 0.1 for which that is not defined

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

/// One object; its components are side by side.
struct object_record {
    index_item name;
    index_item format_word; ///< as the file spells it
    index_item shape;       ///< an encoded array of unsigned integers
    index_item attributes;  ///< an encoded map with definite text keys; in 0.1 the object's own map, see has_attributes
    std::uint32_t first_component = 0;
    std::uint32_t component_count = 0;
    known_word<ztensor::format> format;
    bool has_attributes = false;
    bool is_valid = false; ///< known to keep every rule of rules.hpp but that on overlaps
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

// -- block array

/// Records that never move, in blocks, each known by its address: for as many as an index may turn out to hold, which
/// takes room for hardly more than there are. Those that are added together lie side by side.
template <class Record>
class record_blocks {
    static constexpr unsigned block_bits = 12;
    static constexpr std::size_t block_records = std::size_t{1} << block_bits;
    static constexpr std::size_t most_in_a_shared_block = block_records / 16;
    static_assert(std::is_trivially_copyable_v<Record>);

public:
    class iterator {
    public:
        iterator(const record_blocks& all, std::size_t address) noexcept : all_(&all), address_(address) {}
        [[nodiscard]] const Record& operator*() const noexcept { return (*all_)[address_]; }
        iterator& operator++() noexcept { return ++address_, *this; }
        [[nodiscard]] bool operator!=(const iterator& other) const noexcept { return address_ != other.address_; }

    private:
        const record_blocks* all_;
        std::size_t address_;
    };

    /// At least as many are expected. Called while there are none.
    void expect(std::size_t count) noexcept { expected_ = count; }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Behind every address; of records that were added one by one, the size.
    [[nodiscard]] std::size_t address_end() const noexcept { return blocks_.size() * block_records; }
    [[nodiscard]] Record& operator[](std::size_t address) noexcept {
        return blocks_[address >> block_bits][address & (block_records - 1)];
    }
    [[nodiscard]] const Record& operator[](std::size_t address) const noexcept {
        return blocks_[address >> block_bits][address & (block_records - 1)];
    }
    /// For records that were added one by one.
    [[nodiscard]] iterator begin() const noexcept { return {*this, 0}; }
    [[nodiscard]] iterator end() const noexcept { return {*this, size_}; }

    /// Room for `count` more, of any content until they are written: the address of the first. Throws std::bad_alloc.
    [[nodiscard]] std::size_t extend(std::size_t count) {
        size_ += count;
        if (count > end_ - next_) {
            return extend_by_block(count);
        }
        return std::exchange(next_, next_ + count);
    }
    void push_back(const Record& record) { (*this)[extend(1)] = record; }

private:
    /// Many get a block of their own: the ends of blocks that are left empty are a sixteenth of all at most.
    ZTENSOR_COLD std::size_t extend_by_block(std::size_t count) {
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
        const std::size_t room =
            (std::max)(count, expected_ != 0 ? std::exchange(expected_, std::size_t{0}) : block_records);
        const std::size_t address = add_blocks(room);
        next_ = address + count;
        end_ = address + room;
        return address;
    }

    /// Room for `count` side by side: their first address.
    std::size_t add_blocks(std::size_t count) {
        const std::size_t address = address_end();
        Record* const first = allocate(count);
        for (std::size_t i = 0; i < count; i += block_records) {
            blocks_.push_back(first + i);
        }
        return address;
    }

    [[nodiscard]] Record* allocate(std::size_t count) {
        byte_buffer memory;
        if (count > (std::numeric_limits<std::size_t>::max)() / sizeof(Record) ||
            !memory.allocate(count * sizeof(Record))) {
            raise_out_of_memory();
        }
        advise_huge_pages(memory.data(), memory.size());
        auto* const first = static_cast<Record*>(static_cast<void*>(memory.data()));
        memory_.push_back(std::move(memory));
        return first;
    }

    record_array<Record*> blocks_; ///< where each block_records addresses begin
    std::vector<byte_buffer> memory_;
    std::size_t next_ = 0; ///< address, in the block that is being filled
    std::size_t end_ = 0;  ///< of that block
    std::size_t size_ = 0;
    std::size_t expected_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
