// SPDX-License-Identifier: MIT
//
// Memory for records, bytes, statics that are never destroyed, sorting, and iterators over positions: leaner to compile
// than the standard library's containers and algorithms.
#ifndef ZTENSOR_DETAIL_BASE_ARRAY_HPP
#define ZTENSOR_DETAIL_BASE_ARRAY_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/span.hpp>
#include <ztensor/version.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- array
//
// Memory for many records, and for bytes that are about to be written. Leaner to compile than std::vector and
// std::unique_ptr, which took 40 ms of every file that opened another: what grows is compiled once for all records.

/// Owned bytes, of any content until they are written. Move-only. Aligned for every element type.
class byte_buffer {
public:
    byte_buffer() noexcept = default;
    byte_buffer(byte_buffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, size_t{0})) {}
    byte_buffer& operator=(byte_buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~byte_buffer() { ::operator delete(data_); }

    /// New bytes in place of the old ones, of which nothing is kept, and `zeros_behind` that don't count. False where
    /// memory runs out; then there are none.
    [[nodiscard]] ZTENSOR_COLD bool allocate(size_t size, size_t zeros_behind = 0) noexcept {
        ::operator delete(std::exchange(data_, nullptr));
        if (zeros_behind <= (std::numeric_limits<size_t>::max)() - size) {
            data_ = ::operator new(size + zeros_behind != 0 ? size + zeros_behind : 1, std::nothrow);
        }
        size_ = data_ != nullptr ? size : 0;
        if (data_ != nullptr) {
            std::memset(data() + size, 0, zeros_behind);
        }
        return data_ != nullptr;
    }

    /// The memory itself, which `::operator delete` frees, and a buffer of such memory.
    [[nodiscard]] void* release() noexcept {
        size_ = 0;
        return std::exchange(data_, nullptr);
    }
    [[nodiscard]] static byte_buffer adopt(void* memory, size_t size) noexcept {
        byte_buffer made;
        made.data_ = memory;
        made.size_ = size;
        return made;
    }

    [[nodiscard]] bool is_allocated() const noexcept { return data_ != nullptr; }
    [[nodiscard]] byte* data() const noexcept { return static_cast<byte*>(data_); }
    [[nodiscard]] size_t size() const noexcept { return size_; }
    [[nodiscard]] bytes_view bytes() const noexcept { return {data(), size_}; }
    [[nodiscard]] span<byte> writable_bytes() const noexcept { return {data(), size_}; }

private:
    void* data_ = nullptr;
    size_t size_ = 0;
};

/// What a record_array is without the type of its records.
class raw_array {
public:
    raw_array() noexcept = default;
    raw_array(const raw_array&) = delete;
    raw_array& operator=(const raw_array&) = delete;
    ~raw_array() { ::operator delete(data_); }

    [[nodiscard]] size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

    /// The memory itself, which `::operator delete` frees.
    [[nodiscard]] void* release() noexcept {
        size_ = capacity_ = 0;
        return std::exchange(data_, nullptr);
    }

protected:
    /// Room for `count` records of `record_bytes`, at least as many as there are. Throws std::bad_alloc.
    ZTENSOR_NOINLINE void reallocate(size_t count, size_t record_bytes) {
        if (count > static_cast<size_t>((std::numeric_limits<std::ptrdiff_t>::max)()) / record_bytes) {
            raise_out_of_memory();
        }
        void* const moved = ::operator new(count* record_bytes);
        if (size_ != 0) {
            std::memcpy(moved, data_, size_ * record_bytes);
        }
        ::operator delete(std::exchange(data_, moved));
        capacity_ = count;
    }

    void* data_ = nullptr;
    size_t size_ = 0; ///< in records, like the capacity
    size_t capacity_ = 0;
};

/// Records in a row, which may be moved as bytes.
template <class Record>
class record_array : public raw_array {
public:
    static_assert(std::is_trivially_copyable_v<Record>);

    void reserve(size_t count) {
        if (count > capacity_) {
            reallocate(count, sizeof(Record));
        }
    }
    void push_back(const Record& record) {
        if (size_ == capacity_) {
            reallocate(capacity_ < 4 ? 4 : 2 * capacity_, sizeof(Record));
        }
        ::new (static_cast<void*>(begin() + size_)) Record(record);
        ++size_;
    }
    [[nodiscard]] size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] bool has_room() const noexcept { return size_ != capacity_; }
    /// `count` more records at the end, of any content until they are written; gives the first of them.
    [[nodiscard]] Record* extend(size_t count) {
        if (count > capacity_ - size_) {
            if (count > (std::numeric_limits<size_t>::max)() - size_) {
                raise_out_of_memory();
            }
            reallocate(size_ + count > 2 * capacity_ ? size_ + count : 2 * capacity_, sizeof(Record));
        }
        size_ += count;
        return end() - count;
    }
    /// Takes in what was written at end(), where there is room for it.
    void take(size_t count) noexcept { size_ += count; }
    /// `count` records of zero bytes, in place of what there was.
    void assign_zeros(size_t count) {
        size_ = 0;
        reserve(count);
        std::memset(data_, 0, count * sizeof(Record));
        size_ = count;
    }
    void swap(record_array& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }
    /// Forgets all but the first `count`.
    void truncate(size_t count) noexcept { size_ = count; }

    [[nodiscard]] Record* data() noexcept { return begin(); }
    [[nodiscard]] const Record* data() const noexcept { return begin(); }
    [[nodiscard]] Record* begin() noexcept { return static_cast<Record*>(data_); }
    [[nodiscard]] const Record* begin() const noexcept { return static_cast<const Record*>(data_); }
    [[nodiscard]] Record* end() noexcept { return begin() + size_; }
    [[nodiscard]] const Record* end() const noexcept { return begin() + size_; }
    [[nodiscard]] Record& operator[](size_t i) noexcept { return begin()[i]; }
    [[nodiscard]] const Record& operator[](size_t i) const noexcept { return begin()[i]; }
    [[nodiscard]] Record& back() noexcept { return begin()[size_ - 1]; }
    [[nodiscard]] const Record& back() const noexcept { return begin()[size_ - 1]; }
};

// -- never destroyed
//
// Statics that outlive all code that may use them.

/// For a static in a function, of a type with a destructor: that would run while the program ends, and destructors of
/// other statics, functions given to atexit() and threads may ask for the object after it. What it holds on the heap
/// stays reachable, so that no search for leaks finds it.
template <class T>
class never_destroyed {
public:
    template <class... Arguments>
    explicit never_destroyed(Arguments&&... arguments) {
        ::new (static_cast<void*>(memory_)) T(std::forward<Arguments>(arguments)...);
    }
    never_destroyed(const never_destroyed&) = delete;
    never_destroyed& operator=(const never_destroyed&) = delete;

    [[nodiscard]] const T& get() const noexcept {
        return *std::launder(static_cast<const T*>(static_cast<const void*>(memory_)));
    }
    [[nodiscard]] T& get() noexcept { return *std::launder(static_cast<T*>(static_cast<void*>(memory_))); }

private:
    alignas(T) unsigned char memory_[sizeof(T)];
};

// -- sort
//
// std::sort takes 0.06 s to compile for each order that it is given; this is compiled once, and calls the order.

struct position_order {
    bool (*is_less)(const void* context, uint32_t a, uint32_t b);
    const void* context;
};

ZTENSOR_COLD inline void sort_in_order(span<uint32_t> positions, position_order order) {
    std::sort(positions.begin(), positions.end(),
              [order](uint32_t a, uint32_t b) { return order.is_less(order.context, a, b); });
}

/// Sorts positions by what stands there: `less(a, b)` says whether what stands at a comes before what stands at b.
template <class Less>
void sort_positions(span<uint32_t> positions, const Less& less) {
    const auto is_less = [](const void* context, uint32_t a, uint32_t b) {
        return static_cast<bool>((*static_cast<const Less*>(context))(a, b));
    };
    sort_in_order(positions, {is_less, &less});
}

/// The positions 0 to `count` - 1, sorted by what stands there. Throws std::bad_alloc.
template <class Less>
[[nodiscard]] vector<uint32_t> positions_in_order(size_t count, const Less& less) {
    vector<uint32_t> positions(count);
    for (uint32_t i = 0; i < count; ++i) {
        positions[i] = i;
    }
    sort_positions(positions, less);
    return positions;
}

/// Sorts records by way of their positions; those that are alike stay in their order. Throws std::bad_alloc.
template <class Record, class Less>
void sort_records(vector<Record>& records, const Less& is_before) {
    const vector<uint32_t> order = positions_in_order(records.size(), [&](uint32_t a, uint32_t b) {
        return is_before(records[a], records[b]) || (a < b && !is_before(records[b], records[a]));
    });
    vector<Record> sorted;
    sorted.reserve(records.size());
    for (const uint32_t at : order) {
        sorted.push_back(std::move(records[at]));
    }
    records.swap(sorted);
}

// -- position iterator
//
// Iterators over what is made when it is asked for, such as the views of objects: a position, and a value at each.

/// All of an iterator but what it gives: `Iterator` derives from it and has a `Value operator*() const`. C++20's
/// algorithms may jump; those before ask an iterator that may for references, and take it for one that only reads on.
template <class Iterator, class Value>
class position_iterator {
public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    using reference = Value;
    /// Keeps what `->` shows for as long as the expression takes.
    struct pointer {
        Value current;
        [[nodiscard]] const Value* operator->() const noexcept { return &current; }
    };

    [[nodiscard]] pointer operator->() const noexcept { return {*self()}; }
    [[nodiscard]] Value operator[](difference_type n) const noexcept { return *(self() + n); }

    Iterator& operator++() noexcept { return *this += 1; }
    Iterator& operator--() noexcept { return *this -= 1; }
    Iterator operator++(int) noexcept {
        const Iterator before = self();
        ++*this;
        return before;
    }
    Iterator operator--(int) noexcept {
        const Iterator before = self();
        --*this;
        return before;
    }
    Iterator& operator+=(difference_type n) noexcept {
        position_ += static_cast<size_t>(n);
        return static_cast<Iterator&>(*this);
    }
    Iterator& operator-=(difference_type n) noexcept {
        position_ -= static_cast<size_t>(n);
        return static_cast<Iterator&>(*this);
    }
    friend Iterator operator+(Iterator a, difference_type n) noexcept { return a += n; }
    friend Iterator operator+(difference_type n, Iterator a) noexcept { return a += n; }
    friend Iterator operator-(Iterator a, difference_type n) noexcept { return a -= n; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) noexcept {
        return static_cast<difference_type>(a.position_ - b.position_);
    }
    friend bool operator==(const Iterator& a, const Iterator& b) noexcept { return a.position_ == b.position_; }
    friend bool operator!=(const Iterator& a, const Iterator& b) noexcept { return a.position_ != b.position_; }
    friend bool operator<(const Iterator& a, const Iterator& b) noexcept { return a.position_ < b.position_; }
    friend bool operator>(const Iterator& a, const Iterator& b) noexcept { return a.position_ > b.position_; }
    friend bool operator<=(const Iterator& a, const Iterator& b) noexcept { return a.position_ <= b.position_; }
    friend bool operator>=(const Iterator& a, const Iterator& b) noexcept { return a.position_ >= b.position_; }

protected:
    position_iterator() noexcept = default;
    explicit position_iterator(size_t position) noexcept : position_(position) {}

    size_t position_ = 0;

private:
    [[nodiscard]] const Iterator& self() const noexcept { return static_cast<const Iterator&>(*this); }
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
