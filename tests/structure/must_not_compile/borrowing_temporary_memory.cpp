// SPDX-License-Identifier: MIT
//
// A container that dies with the line is no memory to read from.
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

template <class T>
struct other_allocator : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = other_allocator<U>;
    };
};
using other_vector = std::vector<std::byte, other_allocator<std::byte>>;

std::vector<float> values();
std::vector<std::uint64_t> indices();

void use() {
    const other_vector content;
    const std::vector<float> kept_values = values();
    const std::vector<std::uint64_t> kept = indices();
#if !defined(MISUSE)
    (void)ztensor::reader::from_bytes(content);
    (void)ztensor::reader::from_bytes(std::vector<std::byte>()); // which the reader takes over
    (void)ztensor::reader::from_bytes(ztensor::bytes_view(content));
    (void)ztensor::csr_view<float>::from_parts({1, 1}, kept_values, kept, kept);
    (void)ztensor::coo_view<float>::from_parts({64}, kept_values, ztensor::span<const std::uint64_t>(kept));
#elif MISUSE == 1
    (void)ztensor::reader::from_bytes(other_vector());
#elif MISUSE == 2
    (void)ztensor::reader::from_bytes(std::array<std::byte, 64>());
#elif MISUSE == 3
    (void)ztensor::reader::from_bytes(std::move(content));
#elif MISUSE == 4
    (void)ztensor::coo_view<float>::from_parts({64}, values(), indices());
#elif MISUSE == 5
    (void)ztensor::coo_view<float>::from_parts({64}, kept_values, indices());
#elif MISUSE == 6
    (void)ztensor::csr_view<float>::from_parts({1, 1}, kept_values, kept, indices());
#elif MISUSE == 7
    (void)ztensor::csr_view<float>::from_parts({1, 1}, values(), kept, kept);
#endif
}
