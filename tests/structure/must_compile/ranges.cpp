// SPDX-License-Identifier: MIT
//
// What the library lends, as C++20's algorithms and views see it.
#include <ztensor/import.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <ranges>
#include <span>

namespace ranges = std::ranges;

static_assert(ranges::view<ztensor::span<const float>> && ranges::borrowed_range<ztensor::span<float>>);
static_assert(ranges::contiguous_range<ztensor::span<float>> && ranges::contiguous_range<const ztensor::shape&>);
static_assert(ranges::random_access_range<ztensor::reader> && ranges::sized_range<const ztensor::reader&>);
static_assert(ranges::common_range<ztensor::reader> && !ranges::borrowed_range<ztensor::reader>);
static_assert(ranges::random_access_range<ztensor::object_view> && ranges::view<ztensor::object_view>);
static_assert(ranges::borrowed_range<ztensor::object_view>);
static_assert(ranges::forward_range<ztensor::attributes_view> && ranges::view<ztensor::attributes_view>);
static_assert(ranges::borrowed_range<ztensor::attributes_view>);

bool holds(const ztensor::reader& model, ztensor::span<float> numbers) {
    const std::span<const float> constant = numbers;
    const std::span<float> standard(numbers);
    const std::span<const float> of_temporary = ztensor::span<const float>(numbers);
    const ztensor::span<const float> ours = standard;
#if !defined(__clang__) || __clang_major__ > 15 // older ones can't read the views of libstdc++
    for (const auto name : model | std::views::filter(&ztensor::object_view::has_attributes) |
                               std::views::transform(&ztensor::object_view::name)) {
        static_cast<void>(name);
    }
#endif
    return ranges::find(model, "weight", &ztensor::object_view::name) != model.end() &&
           constant.size() == of_temporary.size() && ours.size() == standard.size();
}
