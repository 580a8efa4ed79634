// SPDX-License-Identifier: MIT
//
// Files that the library's own writer makes in memory, and what must come of a call that it refuses.
#ifndef ZTENSOR_TESTS_SUPPORT_WRITING_HPP
#define ZTENSOR_TESTS_SUPPORT_WRITING_HPP

#include "support/bytes.hpp"

#include <ztensor/error.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/writer.hpp>

#include <functional>

namespace support {

[[nodiscard]] ztensor::writer to_memory(ztensor::format_version version = ztensor::format_version::v1_2);

/// The file that `to` has made in memory.
[[nodiscard]] bytes finished(ztensor::writer& to);

/// A file in memory: what `fill(writer&)` puts into it.
using fill_function = std::function<void(ztensor::writer&)>;
[[nodiscard]] byte_vector written(const ztensor::write_options& options, const fill_function& fill);
[[nodiscard]] ztensor::reader reopened(const ztensor::write_options& options, const fill_function& fill);

/// With zstd, or as it is.
[[nodiscard]] ztensor::store stored(bool is_zstd);

using write_call = std::function<ztensor::result<void>(ztensor::writer&)>;

/// Nothing of a call that was refused is in the file, the error names `object`, and the next call works.
void check_refused(const char* object, ztensor::format_version version, ztensor::errc code, const char* rule,
                   const write_call& call);

} // namespace support

#endif
