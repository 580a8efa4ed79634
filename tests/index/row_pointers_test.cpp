// SPDX-License-Identifier: MIT
//
// Row pointers are checked from the first to the last, in whatever pieces they are looked at.
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/index/part_rules.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

template <class T>
ztensor::result<void> check_pointers(const std::vector<T>& pointers, ztensor::dtype type, std::uint64_t entries) {
    const ztensor::span<const T> all(pointers.data(), pointers.size());
    return ztensor::detail::check_indptr({ztensor::detail::as_bytes(all), type}, pointers.size() - 1, entries);
}

} // namespace

TEMPLATE_TEST_CASE("a row pointer that falls is found at every place of many", "", std::int16_t, std::uint16_t,
                   std::int64_t, std::uint64_t) {
    const ztensor::dtype type = ztensor::detail::integer_dtype<TestType>();
    std::vector<TestType> pointers(1200);
    for (std::size_t i = 0; i < pointers.size(); ++i) {
        pointers[i] = static_cast<TestType>(i / 2 * 2);
    }
    const auto entries = static_cast<std::uint64_t>(pointers.back());
    REQUIRE(check_pointers(pointers, type, entries));
    for (std::size_t place = 3; place < pointers.size(); ++place) {
        const TestType right = pointers[place];
        pointers[place] = static_cast<TestType>(pointers[place - 1] - 1);
        if (!(support::refusal(check_pointers(pointers, type, entries)) == ztensor::errc::sparse_indptr)) {
            FAIL(place);
        }
        pointers[place] = right;
    }
    for (const std::uint64_t wrong : {entries - 1, entries + 1, std::uint64_t{0}}) {
        CHECK(support::refusal(check_pointers(pointers, type, wrong)) == ztensor::errc::sparse_indptr);
    }
    pointers[0] = 1;
    CHECK(support::refusal(check_pointers(pointers, type, entries)) == ztensor::errc::sparse_indptr);
}

TEST_CASE("a blob of 0.1 that ends before its last row pointer has no entries to count") {
    using ztensor::detail::count_entries_0_1;
    constexpr auto csr = ztensor::format::sparse_csr;
    const ztensor::shape three_rows{3, 9};
    CHECK(count_entries_0_1(csr, three_rows, 4, 4 * 8).value() == 0);
    CHECK(count_entries_0_1(csr, three_rows, 4, 4 * 8 + 24).value() == 2);
    for (const std::uint64_t size : {0U, 24U, 28U, 31U}) { // 28 - 32 is, of 64 bits, a whole number of entries
        CHECK(support::refusal(count_entries_0_1(csr, three_rows, 4, size)) == ztensor::errc::sparse_size);
    }
}
