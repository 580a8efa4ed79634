// SPDX-License-Identifier: MIT
//
// Everything that an open file offers, asked for.
#ifndef ZTENSOR_TESTS_FUZZ_WALK_HPP
#define ZTENSOR_TESTS_FUZZ_WALK_HPP

#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

namespace fuzzing {

/// Asks `file`, opened from the memory `content`, for everything: attributes, components as every kind of element,
/// rows, slices, sparse and quantized views, JSON, digests, a plan. Views must lie in `content`, and what is read must
/// be what is viewed.
void walk(ztensor::bytes_view content, const ztensor::reader& file);

/// Walks `file`, opened from the memory `content`, and compares it with `source`, the same by positional reads: both
/// open or are refused alike, and hold the same.
void walk_both(ztensor::bytes_view content, const ztensor::result<ztensor::reader>& file,
               const ztensor::result<ztensor::reader>& source);

/// The sparse and quantized views of one object.
void walk_layouts(const ztensor::object_view& object);

} // namespace fuzzing

#endif
