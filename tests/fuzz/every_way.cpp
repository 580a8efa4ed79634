// SPDX-License-Identifier: MIT
#include "fuzz/every_way.hpp"

#include "fuzz/fuzzing.hpp"

#include <ztensor/array.hpp>
#include <ztensor/error.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_view.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fuzzing {
namespace {

using ztensor::component_view;
using ztensor::errc;
using ztensor::object_view;
using ztensor::result;

/// What one way of asking ended with: elements as bytes, or a code.
struct outcome {
    std::vector<std::byte> bytes;
    std::optional<errc> code;
};

template <class Elements>
outcome of(const result<Elements>& asked) {
    outcome made;
    if (!asked) {
        made.code = asked.error().code();
        return made;
    }
    if constexpr (std::is_same_v<Elements, std::vector<bool>>) {
        for (const bool each : *asked) {
            made.bytes.push_back(each ? std::byte{1} : std::byte{0});
        }
    } else if (asked->size() != 0) {
        made.bytes.resize(asked->size() * sizeof(*asked->data()));
        std::memcpy(made.bytes.data(), asked->data(), made.bytes.size());
    }
    return made;
}

template <class Asked, class T>
outcome of(const result<Asked>& asked, const std::vector<T>& destination) {
    return of(asked ? result<std::vector<T>>(destination) : asked.error());
}

bool are_same(const outcome& first, const outcome& second) {
    return first.code == second.code && (first.code || first.bytes == second.bytes);
}

std::string told(const outcome& way) {
    return way.code ? std::string(ztensor::name(*way.code)) : std::to_string(way.bytes.size()) + " bytes";
}

void require_same(const outcome& first, const outcome& second, const char* promise) {
    if (!are_same(first, second)) {
        require(false, promise, told(first) + ", " + told(second));
    }
}

/// That only part is looked at where a part is asked for, so that damage elsewhere is not seen.
bool may_hide_from_parts(const outcome& whole) {
    for (const errc each : {errc::digest_mismatch, errc::decode_failed, errc::decode_size, errc::bad_bool,
                            errc::bad_padding, errc::limit_exceeded}) {
        if (whole.code == each) {
            return true;
        }
    }
    return false;
}

ztensor::load_options one_thread() {
    return ztensor::load_options().threads(1).max_staging_bytes(max_decoded_bytes);
}

// As elements of one type.

template <class T>
void ask_for_parts(const component_view& component, const outcome& whole) {
    const outcome one = of(component.part(0, 1, 1).read<T>());
    if (!may_hide_from_parts(whole)) {
        require_same(whole, one, "the only part is the whole");
    }
    const std::uint64_t count = whole.bytes.size() / sizeof(T);
    if (whole.code || count == 0) {
        return;
    }
    const std::uint64_t middle = count - count / 3;
    outcome joined = of(component.part(0, middle, count).read<T>());
    const outcome rest = of(component.part(middle, count, count).read<T>());
    joined.bytes.insert(joined.bytes.end(), rest.bytes.begin(), rest.bytes.end());
    joined.code = joined.code ? joined.code : rest.code;
    require_same(whole, joined, "the parts are the whole");
}

template <class T>
void ask_for(const component_view& component) {
    const outcome whole = of(component.read<T>());
    require_same(whole, of(component.load<T>()), "an array and a vector are the same");
    ask_for_parts<T>(component, whole);
    if constexpr (!std::is_same_v<T, bool>) {
        if (const auto view = component.view<T>(); view && !may_hide_from_parts(whole)) {
            require_same(whole, of(view), "what is viewed is what is read");
        }
        std::vector<T> memory(whole.bytes.size() / sizeof(T));
        const outcome filled = of(component.read_into(memory), memory);
        if (!whole.code) {
            require_same(whole, filled, "what is read can be read into memory of its size");
            memory.resize(memory.size() + 1);
            const auto too_long = component.read_into(memory);
            require(!too_long && (too_long.error().code() == errc::size_mismatch ||
                                  too_long.error().code() == errc::decode_size),
                    "memory of another size is refused");
        } else {
            require(filled.code.has_value(), "what can't be read can't be read into memory");
        }
    }
}

template <class Number>
void ask_for_numbers(const component_view& component) {
    const outcome whole = of(component.read_as<Number>());
    std::vector<Number> memory(whole.bytes.size() / sizeof(Number));
    const outcome filled = of(component.read_as_into(memory), memory);
    if (whole.code) {
        require(filled.code.has_value(), "what can't be converted can't be converted into memory");
    } else {
        require_same(whole, filled, "what is converted can be converted into memory of its size");
    }
}

// As what a dense object holds.

/// Each element of the slice, picked from all of them.
template <class T>
outcome picked(const outcome& whole, const ztensor::shape& shape, const std::vector<ztensor::index_range>& ranges) {
    outcome made;
    std::vector<std::uint64_t> at;
    for (const ztensor::index_range& each : ranges) {
        at.push_back(each.begin);
        if (each.begin == each.end) {
            return made;
        }
    }
    for (;;) {
        std::uint64_t position = 0;
        for (std::size_t i = 0; i < at.size(); ++i) {
            position = position * shape[i] + at[i];
        }
        const auto start = whole.bytes.begin() + static_cast<std::ptrdiff_t>(position * sizeof(T));
        made.bytes.insert(made.bytes.end(), start, start + static_cast<std::ptrdiff_t>(sizeof(T)));
        std::size_t i = at.size();
        while (i != 0 && ++at[i - 1] == ranges[i - 1].end) {
            at[i - 1] = ranges[i - 1].begin;
            --i;
        }
        if (i == 0) {
            return made;
        }
    }
}

template <class T>
outcome by_plan(const ztensor::reader& file, std::string_view name, std::size_t count) {
    std::vector<T> memory(count);
    const auto report = ztensor::load_plan(file).add(name, memory).run(one_thread());
    return of(report, memory);
}

template <class T>
void ask_for_dense(const ztensor::reader& file, const object_view& object) {
    const outcome whole = of(object.read<T>());
    const std::size_t count = whole.bytes.size() / sizeof(T);
    const outcome planned = by_plan<T>(file, object.name(), count);
    if (whole.code) {
        require(planned.code.has_value(), "what can't be read can't be planned");
        return;
    }
    require_same(whole, planned, "a plan gives what is read");
    const ztensor::shape shape = object.shape();
    if (count != object.element_count() || count == 0) { // several may share a byte
        return;
    }
    std::vector<ztensor::index_range> ranges;
    for (const std::uint64_t size : shape) {
        ranges.push_back({size / 3, size - size / 4});
    }
    const outcome expected = picked<T>(whole, shape, ranges);
    require_same(expected, of(object.slice(ztensor::slice(ranges)).template read<T>()), "a slice is of the whole");
    std::vector<T> memory(expected.bytes.size() / sizeof(T));
    const auto report = ztensor::load_plan(file).add(object.slice(ztensor::slice(ranges)), memory).run(one_thread());
    require_same(expected, of(report, memory), "a plan gives the slice");
    for (std::size_t i = 1; i < ranges.size(); ++i) {
        ranges[i] = {0, shape[i]};
    }
    if (shape.rank() != 0) {
        require_same(picked<T>(whole, shape, ranges), of(object.rows(ranges[0].begin, ranges[0].end).read<T>()),
                     "rows are of the whole");
    }
}

/// Bit for bit but for the bits of a NaN, of which there is no promise.
void ask_for_dense_numbers(const ztensor::reader& file, const object_view& object) {
    const outcome whole = of(object.read_as<float>());
    std::vector<float> memory(whole.bytes.size() / sizeof(float));
    const auto report = ztensor::load_plan(file).add_as(object.name(), memory).run(one_thread());
    const outcome planned = of(report, memory);
    if (whole.code) {
        require(planned.code.has_value(), "what can't be converted can't be planned");
    } else {
        require_same(whole, planned, "a plan converts as one read does");
    }
}

} // namespace

void ask_every_way(const ztensor::reader& file) {
    std::size_t objects = 0;
    for (const object_view object : file) {
        std::size_t components = 0;
        for (const component_view component : object) {
            ask_for<std::byte>(component);
            ask_for<std::uint8_t>(component);
            ask_for<bool>(component);
            ask_for<std::int16_t>(component);
            ask_for<float>(component);
            ask_for<std::uint64_t>(component);
            ask_for<std::complex<float>>(component);
            ask_for<ztensor::float8_e4m3fn>(component);
            ask_for_numbers<float>(component);
            ask_for_numbers<double>(component);
            if (++components == 4) {
                break;
            }
        }
        if (const auto data = object.data(); data && object.size() > 1) { // in planes
            ask_for<std::byte>(*data);
            ask_for<float>(*data);
            ask_for<ztensor::bfloat16>(*data);
            ask_for<ztensor::float16>(*data);
            ask_for_numbers<float>(*data);
            ask_for_numbers<ztensor::float16>(*data);
        }
        ask_for_dense<ztensor::bfloat16>(file, object);
        ask_for_dense<ztensor::float16>(file, object);
        ask_for_dense<std::uint8_t>(file, object);
        ask_for_dense<float>(file, object);
        ask_for_dense<std::uint64_t>(file, object);
        ask_for_dense_numbers(file, object);
        if (++objects == 8) {
            return;
        }
    }
}

} // namespace fuzzing
