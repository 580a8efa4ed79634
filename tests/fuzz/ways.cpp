// SPDX-License-Identifier: MIT
//
// Any bytes as a file whose elements are asked for in every way that there is, mapped and by positional reads.
#include "fuzz/every_way.hpp"
#include "fuzz/fuzzing.hpp"
#include "fuzz/memory_source.hpp"

#include <ztensor/reader.hpp>

#include <memory>

const std::size_t fuzzing::working_bytes = (std::size_t{1} << 20) + 16 * fuzzing::max_decoded_bytes;

void fuzzing::try_input(ztensor::bytes_view input) {
    const own_copy content(input);
    for (const bool is_mapped : {true, false}) {
        const auto source = std::make_shared<memory_source>(content.bytes(), is_mapped);
        if (const auto file = ztensor::reader::from_source(source, small_limits())) {
            ask_every_way(*file);
        }
    }
}
