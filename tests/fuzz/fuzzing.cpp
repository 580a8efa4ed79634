// SPDX-License-Identifier: MIT
#include "fuzz/fuzzing.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <sanitizer/allocator_interface.h>

namespace fuzzing {
namespace {

thread_local std::size_t most_bytes = ~std::size_t{0}; ///< that one allocation may take

void look_at_allocation(const volatile void*, std::size_t size) {
    if (size > most_bytes) {
        most_bytes = ~std::size_t{0}; // what reports it allocates, too
        require(false, "no allocation is larger than eight times the input and what a target needs anyway",
                std::to_string(size) + " bytes were asked for");
    }
}

/// While it lives, the cap holds.
class allocation_cap {
public:
    explicit allocation_cap(std::size_t input_bytes) noexcept { most_bytes = 8 * input_bytes + working_bytes; }
    allocation_cap(const allocation_cap&) = delete;
    allocation_cap& operator=(const allocation_cap&) = delete;
    ~allocation_cap() { most_bytes = ~std::size_t{0}; }
};

} // namespace

void require(bool holds, const char* promise) noexcept {
    require(holds, promise, {});
}

void require(bool holds, const char* promise, const std::string& detail) noexcept {
    if (!holds) {
        std::fprintf(stderr, "BROKEN PROMISE: %s\n%s\n", promise, detail.c_str());
        std::abort();
    }
}

ztensor::read_options small_limits() {
    return ztensor::read_options().max_decoded_bytes(max_decoded_bytes).threads(1);
}

// Aligned as a blob is in memory that is mapped.
own_copy::own_copy(ztensor::bytes_view input)
    : begin_(static_cast<std::byte*>(::operator new (input.size(), std::align_val_t{64}))), size_(input.size()) {
    if (size_ != 0) {
        std::memcpy(begin_, input.data(), size_);
    }
}

own_copy::~own_copy() {
    ::operator delete (begin_, std::align_val_t{64});
}

} // namespace fuzzing

extern "C" {

int LLVMFuzzerInitialize(int*, char***);
int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t);

int LLVMFuzzerInitialize(int*, char***) {
    __sanitizer_install_malloc_and_free_hooks(fuzzing::look_at_allocation, [](const volatile void*) {});
    return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzzing::allocation_cap cap(size);
    fuzzing::try_input({static_cast<const std::byte*>(static_cast<const void*>(data)), size});
    return 0;
}
}
