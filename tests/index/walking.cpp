// SPDX-License-Identifier: MIT
#include "index/walking.hpp"

#include "support/catch.hpp"
#include "support/counted_memory.hpp"

#include <ztensor/attributes.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstdint>
#include <utility>
#include <vector>

#if defined(_WIN32)
#include <thread>
#else
#include <climits>
#include <pthread.h>
#endif

namespace walking {
namespace {

#if !defined(_WIN32)
constexpr std::size_t stack_bytes = support::counts_memory ? 64 * 1024 : mebibyte;
#endif

/// True if `inner` lies in `outer`; an empty one may lie anywhere.
bool lies_in(ztensor::bytes_view outer, const void* inner, std::size_t size) {
    const auto* const start = static_cast<const std::byte*>(inner);
    const std::less_equal<const std::byte*> not_behind;
    return size == 0 || (not_behind(outer.begin(), start) && not_behind(start + size, outer.end()));
}

template <class T>
bool view_lies_in(ztensor::bytes_view file, const ztensor::component_view& component) {
    const ztensor::result<ztensor::span<const T>> view = component.view<T>();
    return !view || (lies_in(file, view->data(), view->size_bytes()) && view->size_bytes() == component.stored_bytes());
}

std::atomic<std::size_t> sum_of_all_read{0}; // so that no compiler leaves a read out

/// Reads every byte of all attributes, and asks for each as everything it could be.
void walk_attributes(ztensor::attributes_view attributes) {
    std::size_t seen = 0;
    for (const ztensor::attribute& each : attributes) {
        seen += each.key.size() + each.cbor.size();
        for (const std::byte byte : each.cbor) {
            seen += std::to_integer<std::size_t>(byte);
        }
    }
    for (const ztensor::attribute& each : attributes) {
        seen += attributes.contains(each.key) ? 1 : 0;
        seen += attributes.integer(each.key).has_value() + attributes.number(each.key).has_value() +
                attributes.boolean(each.key).has_value() + attributes.text(each.key).has_value() +
                attributes.byte_string(each.key).has_value();
    }
    sum_of_all_read += seen;
}

/// Everything a component offers. False if a view leaves the file.
bool walk_component(ztensor::bytes_view file, const ztensor::component_view& component) {
    const ztensor::result<ztensor::bytes_view> stored = component.bytes();
    const bool is_inside =
        stored && stored->size() == component.stored_bytes() && lies_in(file, stored->data(), stored->size()) &&
        view_lies_in<std::byte>(file, component) && view_lies_in<std::uint8_t>(file, component) &&
        view_lies_in<std::int16_t>(file, component) && view_lies_in<float>(file, component) &&
        view_lies_in<double>(file, component) && view_lies_in<std::uint64_t>(file, component) &&
        view_lies_in<ztensor::bfloat16>(file, component) && view_lies_in<std::complex<float>>(file, component);
    const ztensor::result<std::vector<std::byte>> decoded = component.read<std::byte>();
    const bool is_whole = !decoded || decoded->size() == component.decoded_bytes().value_or(decoded->size());
    static_cast<void>(component.read<float>());
    static_cast<void>(component.read<bool>());
    static_cast<void>(component.read_as<float>());
    static_cast<void>(component.verify());
    return is_inside && is_whole;
}

/// Everything there is in an open file. False if something of it is not in the file's memory.
bool walk(ztensor::bytes_view content, const ztensor::reader& file) {
    bool is_sound = true;
    walk_attributes(file.attributes());
    for (const ztensor::object_view object : file) {
        is_sound = is_sound && file.find(object.name()).has_value() && object.shape().rank() <= ztensor::max_rank;
        walk_attributes(object.attributes());
        for (const ztensor::component_view component : object) {
            is_sound = is_sound && walk_component(content, component);
        }
        static_cast<void>(object.rows(0, 1).read<float>());
    }
    return is_sound;
}

} // namespace

void on_little_stack(std::function<void()> work) {
#if defined(_WIN32)
    std::thread(std::move(work)).join();
#else
    const auto run = [](void* argument) -> void* {
        (*static_cast<std::function<void()>*>(argument))();
        return nullptr;
    };
    pthread_attr_t attributes;
    pthread_t thread;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    const long least = PTHREAD_STACK_MIN; // of which some systems make a call, and on 64-bit ARM it is 128 KiB
    const std::size_t size = std::max(stack_bytes, static_cast<std::size_t>(least));
    REQUIRE(pthread_attr_setstacksize(&attributes, size) == 0);
    REQUIRE(pthread_create(&thread, &attributes, run, &work) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
#endif
}

outcome open_and_walk(ztensor::bytes_view content) {
    const ztensor::result<ztensor::reader> file =
        ztensor::reader::from_bytes(content, ztensor::read_options().max_decoded_bytes(64 * 1024));
    if (!file) {
        return file.error().what().empty() ? outcome::unsound : outcome::refused;
    }
    return walk(content, *file) ? outcome::walked : outcome::unsound;
}

} // namespace walking
