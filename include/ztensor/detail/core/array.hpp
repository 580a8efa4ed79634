// SPDX-License-Identifier: MIT
//
// Memory for many records, and for bytes that are about to be written. Leaner to compile than std::vector and
// std::unique_ptr, which took 40 ms of every file that opened another: what grows is compiled once for all records.
#ifndef ZTENSOR_DETAIL_CORE_ARRAY_HPP
#define ZTENSOR_DETAIL_CORE_ARRAY_HPP

#include <ztensor/detail/core/out_of_memory.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Owned bytes, of any content until they are written. Move-only. Aligned for every element type.
class byte_buffer {
public:
    byte_buffer() noexcept = default;
    byte_buffer(byte_buffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, std::size_t{0})) {}
    byte_buffer& operator=(byte_buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~byte_buffer() { ::operator delete(data_); }

    /// New bytes in place of the old ones, of which nothing is kept, and `zeros_behind` that don't count. False where
    /// memory runs out; then there are none.
    [[nodiscard]] ZTENSOR_COLD bool allocate(std::size_t size, std::size_t zeros_behind = 0) noexcept {
        ::operator delete(std::exchange(data_, nullptr));
        if (zeros_behind <= (std::numeric_limits<std::size_t>::max)() - size) {
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
    [[nodiscard]] static byte_buffer adopt(void* memory, std::size_t size) noexcept {
        byte_buffer made;
        made.data_ = memory;
        made.size_ = size;
        return made;
    }

    [[nodiscard]] bool is_allocated() const noexcept { return data_ != nullptr; }
    [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bytes_view bytes() const noexcept { return {data(), size_}; }
    [[nodiscard]] span<std::byte> writable_bytes() const noexcept { return {data(), size_}; }

private:
    void* data_ = nullptr;
    std::size_t size_ = 0;
};

/// What a record_array is without the type of its records.
class raw_array {
public:
    raw_array() noexcept = default;
    raw_array(const raw_array&) = delete;
    raw_array& operator=(const raw_array&) = delete;
    ~raw_array() { ::operator delete(data_); }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

protected:
    /// Room for `count` records of `record_bytes`, at least as many as there are. Throws std::bad_alloc.
    ZTENSOR_NOINLINE void reallocate(std::size_t count, std::size_t record_bytes) {
        if (count > static_cast<std::size_t>((std::numeric_limits<std::ptrdiff_t>::max)()) / record_bytes) {
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
    std::size_t size_ = 0; ///< in records, like the capacity
    std::size_t capacity_ = 0;
};

/// Records in a row, which may be moved as bytes.
template <class Record>
class record_array : public raw_array {
public:
    static_assert(std::is_trivially_copyable_v<Record>);

    void reserve(std::size_t count) {
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
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] bool has_room() const noexcept { return size_ != capacity_; }
    /// `count` more records at the end, of any content until they are written; gives the first of them.
    [[nodiscard]] Record* extend(std::size_t count) {
        if (count > capacity_ - size_) {
            if (count > (std::numeric_limits<std::size_t>::max)() - size_) {
                raise_out_of_memory();
            }
            reallocate(size_ + count > 2 * capacity_ ? size_ + count : 2 * capacity_, sizeof(Record));
        }
        size_ += count;
        return end() - count;
    }
    /// Takes in what was written at end(), where there is room for it.
    void take(std::size_t count) noexcept { size_ += count; }
    /// `count` records of zero bytes, in place of what there was.
    void assign_zeros(std::size_t count) {
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
    void truncate(std::size_t count) noexcept { size_ = count; }

    [[nodiscard]] Record* data() noexcept { return begin(); }
    [[nodiscard]] const Record* data() const noexcept { return begin(); }
    [[nodiscard]] Record* begin() noexcept { return static_cast<Record*>(data_); }
    [[nodiscard]] const Record* begin() const noexcept { return static_cast<const Record*>(data_); }
    [[nodiscard]] Record* end() noexcept { return begin() + size_; }
    [[nodiscard]] const Record* end() const noexcept { return begin() + size_; }
    [[nodiscard]] Record& operator[](std::size_t i) noexcept { return begin()[i]; }
    [[nodiscard]] const Record& operator[](std::size_t i) const noexcept { return begin()[i]; }
    [[nodiscard]] Record& back() noexcept { return begin()[size_ - 1]; }
    [[nodiscard]] const Record& back() const noexcept { return begin()[size_ - 1]; }
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
