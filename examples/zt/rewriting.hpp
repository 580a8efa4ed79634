// SPDX-License-Identifier: MIT
//
// From any file into a .zt writer: blobs as they are stored, or every tensor anew, a piece at a time.
#ifndef ZTENSOR_EXAMPLES_ZT_REWRITING_HPP
#define ZTENSOR_EXAMPLES_ZT_REWRITING_HPP

#include "selection.hpp"

#include <ztensor/import.hpp>
#include <ztensor/ztensor.hpp>

#include <CLI/CLI.hpp>

#include <map>
#include <optional>
#include <string>

namespace zt {

/// The versions of the format that can be written, as --version calls them.
const std::map<std::string, ztensor::format_version>& versions();
void add_version_option(CLI::App& command, std::string& version, const std::string& by_default = "1.2");
/// That of a file, or the nearest that can be written; 1.2 of other formats.
ztensor::format_version version_like(const ztensor::reader& file);

/// What --dtype is about: floats, and numbers narrower than a byte.
[[nodiscard]] bool is_floating(const ztensor::component_view& part);

/// Gives the error back, and adds the option that makes other floats where a format lacks these, or another name where
/// the format has no place for one.
[[nodiscard]] ztensor::error with_way_out(ztensor::error why, const ztensor::reader& from);

/// How objects are stored in the new file. What is not asked for stays as it was.
struct rewriting {
    std::optional<int> zstd_level;
    bool planes = false; ///< floats, where that pays
    bool plain = false;  ///< neither in planes nor compressed
    std::string digest;
    std::string dtype;
    bool drops_file_attributes = false;

    void add_options(CLI::App& command);
    [[nodiscard]] bool changes_blobs() const {
        return zstd_level || planes || plain || !digest.empty() || !dtype.empty();
    }
    /// Of --zstd, --planes and --plain no two go together. Throws usage_error.
    void check() const;
    /// What floating-point tensors become. Throws usage_error.
    [[nodiscard]] std::optional<ztensor::dtype> floats_as() const;
    /// Whether that makes a dense tensor of the object, which is quantized weights with their scales.
    [[nodiscard]] bool dequantizes(const ztensor::object_view& object) const;
};

/// Adds the objects of `from` that are selected, and the attributes of the file. Throws ztensor::exception.
void add_objects(const ztensor::reader& from, ztensor::writer& to, const selection& selected,
                 const rewriting& how = {});

} // namespace zt

#endif
