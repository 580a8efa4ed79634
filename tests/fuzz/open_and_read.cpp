// SPDX-License-Identifier: MIT
//
// Any bytes as a file: refused with a sentence, or opened, and then everything in it can be asked for. The same
// outcome by positional reads of a source.
#include "fuzz/fuzzing.hpp"
#include "fuzz/memory_source.hpp"
#include "fuzz/walk.hpp"

#include <ztensor/reader.hpp>

#include <memory>

const std::size_t fuzzing::working_bytes = (std::size_t{1} << 20) + 16 * fuzzing::max_decoded_bytes;

void fuzzing::try_input(ztensor::bytes_view input) {
    const own_copy content(input);
    const auto file = ztensor::reader::from_bytes(content.bytes(), small_limits());
    const auto source = ztensor::reader::from_source(std::make_shared<memory_source>(content.bytes()), small_limits());
    walk_both(content.bytes(), file, source);
}
