// SPDX-License-Identifier: MIT
//
// Rules of the format as rows of tables: what is done to a good file, and the one error that must come of it, however
// the file is reached.
#ifndef ZTENSOR_TESTS_MANIFEST_RULES_HPP
#define ZTENSOR_TESTS_MANIFEST_RULES_HPP

#include "support/bytes.hpp"
#include "support/cbor.hpp"
#include "support/openings.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/error.hpp>
#include <ztensor/format.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rules {

using support::bytes;
using support::largest;
using support::opening;
using support::part;
using support::sample;
using support::temp_dir;
using support::two_to_63;
using ztensor::errc;
using ztensor::error;
using ztensor::read_options;
using ztensor::reader;
using ztensor::result;
using ztensor::version;
namespace cbor = support::cbor;
namespace zstd = support::zstd;

constexpr std::uint64_t two_to_32 = std::uint64_t{1} << 32;
constexpr std::uint64_t two_to_61 = std::uint64_t{1} << 61;

// Generations that a row is about, as a set.
constexpr unsigned in_0_1 = 1, in_1_0 = 2, in_1_1 = 4, in_1_2 = 8;
constexpr unsigned since_1_1 = in_1_1 | in_1_2;
constexpr unsigned since_1_0 = in_1_0 | since_1_1;
constexpr unsigned before_1_2 = in_0_1 | in_1_0 | in_1_1;
constexpr unsigned in_all = in_0_1 | since_1_0;
/// A 1.0 file whose index is not well-formed can't be told from a later one that was cut off.
constexpr unsigned in_all_but_1_0 = in_0_1 | since_1_1;

constexpr std::nullopt_t accepted = std::nullopt;

/// Changes that one file is made with.
using change = std::function<void(sample&)>;

/// A rule, what is done to a good file, and what comes of it.
struct row {
    std::string rule;
    change make;
    std::optional<errc> refusal;
    std::string where = {}; ///< "", "object" or "object/component"
    unsigned generations = in_all;
    read_options options = {};
};

std::vector<ztensor::version> generations_in(unsigned set);

/// What must come of a file that breaks a rule.
void check_refusal(const opening& opened, errc code, const std::string& where, ztensor::version from, std::size_t size);
void check_rows(const std::vector<row>& rows);

/// The same for whole files.
struct file_row {
    std::string rule;
    bytes content;
    std::optional<errc> refusal;
};

void check_files(const std::vector<file_row>& rows);

// -- what rows do to a file

change root(std::string key, bytes value);
change object(std::string key, bytes value);
change component(std::string key, bytes value);
change without(std::string key);
/// The value of an attribute of the file, in 0.1 of the tensor.
change attribute_value(bytes value);
change attribute_key(bytes encoded_key);
/// Pairs appended to the maps of the sample.
change pair_in_root(bytes key, bytes value = cbor::null);
change pair_in_object(bytes key, bytes value = cbor::null);
change pair_in_component(bytes key, bytes value = cbor::null);
change both(change first, change second);
change shaped(std::vector<std::uint64_t> dimensions);
/// u8 of that shape, with its blob anywhere.
change placed(std::uint64_t offset, std::uint64_t length, std::vector<std::uint64_t> dimensions);
/// Objects of these encoded names, each like the sample's own.
change named(std::vector<bytes> encoded_names);

/// An item inside `levels` others.
bytes nested(std::size_t levels, std::string_view start, std::string_view end = {});

// -- what is refused only when it is used

using use = result<void> (*)(const reader&);

/// A rule that does not keep a file from opening, and the calls that it stops.
struct use_row {
    std::string rule;
    change make;
    std::vector<use> uses;
    std::optional<errc> refusal;
    unsigned generations = in_all;
    read_options options = {};
    std::string where = "w/data";
};

void check_uses(const std::vector<use_row>& rows);

} // namespace rules

#endif
