// SPDX-License-Identifier: MIT
#include "fuzz/foreign.hpp"

#include "fuzz/every_way.hpp"
#include "fuzz/fuzzing.hpp"
#include "fuzz/memory_source.hpp"
#include "fuzz/walk.hpp"

#include <ztensor/import.hpp>
#include <ztensor/pieces.hpp>

#include <cstdint>
#include <memory>

// A reader of JSON keeps its text and a stack, zlib a window, the search for an archive's end 64 KiB.
const std::size_t fuzzing::working_bytes = (std::size_t{1} << 20) + 16 * fuzzing::max_decoded_bytes;

void fuzzing::try_foreign(ztensor::bytes_view input, const char* name) {
    const own_copy content(input);
    const auto open = [&](bool is_mapped) {
        return ztensor::open_any(std::make_shared<memory_source>(content.bytes(), is_mapped), name, small_limits());
    };
    const auto file = open(true);
    const auto source = open(false);
    walk_both(content.bytes(), file, source);
    if (!source) {
        return;
    }
    ask_every_way(*file);
    ask_every_way(*source);
    std::size_t count = 0;
    for (const ztensor::object_view object : *source) {
        const auto weights = object.read_as<float>();
        require(!weights || weights->size() == object.element_count(), "there are as many weights as elements");
        auto pieces = ztensor::component_pieces::open_as(object, ztensor::dtype::f32);
        std::uint64_t bytes = 0;
        ztensor::result<ztensor::bytes_view> piece = pieces ? pieces->next() : pieces.error();
        for (; piece && !piece->empty(); piece = pieces->next()) {
            bytes += piece->size();
        }
        require(!piece || bytes == object.element_count() * sizeof(float), "pieces give as many weights as elements");
        if (++count == 8) {
            break;
        }
    }
}
