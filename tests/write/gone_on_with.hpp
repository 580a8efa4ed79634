// SPDX-License-Identifier: MIT
//
// Small files that are appended to and edited, and what is in them afterwards.
#ifndef ZTENSOR_TESTS_WRITE_GONE_ON_WITH_HPP
#define ZTENSOR_TESTS_WRITE_GONE_ON_WITH_HPP

#include <ztensor/options.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace gone_on_with {

/// A file of tensors "a" (3 floats, a digest), "b" (5 bytes) and "z" (zstd), and an attribute of the file (but in 0.1).
void write_old(const std::filesystem::path& path, ztensor::format_version version = ztensor::format_version::v1_2);

/// Every object's elements as bytes, by name; empty with a note on stderr if the file does not open or read.
[[nodiscard]] std::map<std::string, std::vector<std::byte>> content_of(const std::filesystem::path& path);

/// The elements as content_of() has them: as a file holds them, whatever this host's byte order.
[[nodiscard]] std::vector<std::byte> stored(const std::vector<float>& elements);

/// What undo records and temporary files are called, of those in the directory.
[[nodiscard]] std::vector<std::string> leftovers(const std::vector<std::string>& names);

} // namespace gone_on_with

#endif
