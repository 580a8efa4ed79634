// SPDX-License-Identifier: MIT
//
// Any bytes as a file whose components are gone through in pieces, as they are stored and converted: together the
// pieces are what is read at once, from memory and by positional reads.
#include "fuzz/fuzzing.hpp"
#include "fuzz/memory_source.hpp"

#include <ztensor/pieces.hpp>
#include <ztensor/reader.hpp>

#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

const std::size_t fuzzing::working_bytes = (std::size_t{8} << 20) + 16 * fuzzing::max_decoded_bytes;

namespace {

/// Nothing if they end with an error.
ztensor::result<std::vector<std::byte>> join(ztensor::result<ztensor::component_pieces> pieces) {
    if (!pieces) {
        return std::move(pieces).error();
    }
    std::vector<std::byte> joined;
    for (;;) {
        const auto piece = pieces->next();
        if (!piece) {
            const auto again = pieces->next();
            fuzzing::require(!again && again.error().code() == piece.error().code(), "an error stays");
            return piece.error();
        }
        if (piece->empty()) {
            fuzzing::require(pieces->next().value().empty(), "the end stays");
            return joined;
        }
        fuzzing::require(joined.size() + piece->size() <= 16 * fuzzing::max_decoded_bytes, "pieces come to an end");
        joined.insert(joined.end(), piece->begin(), piece->end());
    }
}

template <class T>
bool are_same(const std::vector<std::byte>& bytes, const std::vector<T>& elements) {
    return bytes.size() == elements.size() * sizeof(T) &&
           (elements.empty() || std::memcmp(bytes.data(), elements.data(), bytes.size()) == 0);
}

/// The same numbers, bit for bit but for the bits of a NaN, of which there is no promise.
bool are_same_numbers(const std::vector<std::byte>& bytes, const std::vector<float>& numbers) {
    if (bytes.size() != numbers.size() * sizeof(float)) {
        return false;
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        float other = 0;
        std::memcpy(&other, bytes.data() + i * sizeof(float), sizeof(other));
        const bool is_same = std::memcmp(&other, &numbers[i], sizeof(other)) == 0;
        if (!is_same && !(std::isnan(other) && std::isnan(numbers[i]))) {
            return false;
        }
    }
    return true;
}

/// Of what can be had in pieces.
template <class T>
bool is_whole(const ztensor::result<T>& at_once) {
    return at_once || at_once.error().code() == ztensor::errc::limit_exceeded;
}

void go_through(const ztensor::component_view& component) {
    const auto stored = join(ztensor::component_pieces::open(component));
    const auto whole = component.read_little_endian();
    const bool is_bool = component.dtype() == ztensor::dtype::boolean;
    fuzzing::require(!stored || !whole || is_bool || are_same(*stored, *whole), "the pieces are the whole");
    fuzzing::require(!whole || is_bool || stored.has_value(), "what can be read can be read in pieces");
    fuzzing::require(!stored || is_whole(whole), "what can be read in pieces can be read");
    const auto singles = join(ztensor::component_pieces::open_as(component, ztensor::dtype::f32));
    const auto numbers = component.read_as<float>();
    fuzzing::require(!singles || !numbers || are_same_numbers(*singles, *numbers),
                     "the pieces are converted as the whole is");
    fuzzing::require(!numbers || singles.has_value(), "what can be converted can be converted in pieces");
    fuzzing::require(!singles || is_whole(numbers), "what can be converted in pieces can be converted");
    static_cast<void>(join(ztensor::component_pieces::open_as(component, ztensor::dtype::bf16)));
}

void go_through(const ztensor::result<ztensor::reader>& file) {
    if (!file) {
        return;
    }
    std::size_t count = 0;
    for (const ztensor::object_view object : *file) {
        for (const ztensor::component_view component : object) {
            go_through(component);
        }
        if (const auto data = object.data(); data && object.size() > 1) { // in planes
            go_through(*data);
        }
        if (++count == 8) {
            return;
        }
    }
}

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    const own_copy content(input);
    go_through(ztensor::reader::from_bytes(content.bytes(), small_limits()));
    go_through(ztensor::reader::from_source(std::make_shared<memory_source>(content.bytes()), small_limits()));
}
