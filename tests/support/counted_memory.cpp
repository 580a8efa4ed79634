// SPDX-License-Identifier: MIT
#include "support/counted_memory.hpp"

#include <cstdlib>
#include <limits>
#include <new>

namespace support {

std::atomic<std::size_t> allocation_count{0};
std::atomic<std::size_t> bytes_held{0};
std::atomic<std::size_t> most_bytes_held{0};
std::atomic<std::size_t> allocations_before_failure{0};
std::atomic<bool> failures_go_on{false};
std::atomic<std::size_t> failed_allocations{0};

} // namespace support

#if !defined(ZTENSOR_TESTS_ARE_SANITIZED)

namespace {

constexpr std::size_t count_bytes = alignof(std::max_align_t); // before each block stands its size

void* counted_allocation(std::size_t size) noexcept {
    using namespace support;
    const bool fails = allocations_before_failure != 0 && --allocations_before_failure == 0;
    if (fails) {
        ++failed_allocations;
        allocations_before_failure = failures_go_on ? 1 : 0;
    }
    if (fails || size > std::numeric_limits<std::size_t>::max() - count_bytes) {
        return nullptr;
    }
    auto* const block = static_cast<std::byte*>(std::malloc(size + count_bytes));
    if (block == nullptr) {
        return nullptr;
    }
    ::new (block) std::size_t(size);
    ++allocation_count;
    const std::size_t held = bytes_held += size;
    std::size_t most = most_bytes_held;
    while (held > most && !most_bytes_held.compare_exchange_weak(most, held)) {
    }
    return block + count_bytes;
}

void counted_release(void* pointer) noexcept {
    if (pointer == nullptr) {
        return;
    }
    std::byte* const block = static_cast<std::byte*>(pointer) - count_bytes;
    support::bytes_held -= *std::launder(static_cast<std::size_t*>(static_cast<void*>(block)));
    std::free(block);
}

} // namespace

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11 // which at -O3 sees one half of a pair inlined
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
// The forms for larger alignments stay the library's own, and uncounted.
void* operator new(std::size_t size) {
    if (void* const pointer = counted_allocation(size)) {
        return pointer;
    }
    throw std::bad_alloc();
}
void* operator new[](std::size_t size) {
    return operator new(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return counted_allocation(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return counted_allocation(size);
}
void operator delete(void* pointer) noexcept {
    counted_release(pointer);
}
void operator delete[](void* pointer) noexcept {
    counted_release(pointer);
}
void operator delete(void* pointer, std::size_t) noexcept {
    counted_release(pointer);
}
void operator delete[](void* pointer, std::size_t) noexcept {
    counted_release(pointer);
}
void operator delete(void* pointer, const std::nothrow_t&) noexcept {
    counted_release(pointer);
}
void operator delete[](void* pointer, const std::nothrow_t&) noexcept {
    counted_release(pointer);
}

#endif
