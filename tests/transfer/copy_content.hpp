// SPDX-License-Identifier: MIT
//
// Files made by hand to be copied, and copies of them.
#ifndef ZTENSOR_TESTS_WRITE_COPY_CONTENT_HPP
#define ZTENSOR_TESTS_WRITE_COPY_CONTENT_HPP

#include "support/bytes.hpp"
#include "support/cbor.hpp"

#include <ztensor/attributes.hpp>
#include <ztensor/copy.hpp>
#include <ztensor/error.hpp>
#include <ztensor/format.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace things {

using support::bytes;
using support::integers;

constexpr ztensor::format_version versions[] = {ztensor::format_version::v0_1, ztensor::format_version::v1_1,
                                                ztensor::format_version::v1_2};

constexpr std::string_view name_of(ztensor::format_version version) {
    constexpr std::string_view names[] = {"0.1", "1.1", "1.2"};
    return names[static_cast<std::size_t>(version)];
}

bytes copied(const bytes& file, ztensor::format_version version, const ztensor::copy_options& options = {});
/// The error of a copy that must fail.
ztensor::error failed_copy(const bytes& file, ztensor::format_version version,
                           const ztensor::copy_options& options = {});
ztensor::copy_options only(std::string name);

/// A component of a file made here.
struct piece {
    std::string role;
    std::string dtype;
    bytes stored;
    support::cbor::map more = {};
};

struct thing {
    std::string name;
    std::string format;
    integers shape;
    std::vector<piece> pieces;
    bytes attributes = {}; ///< encoded; none if empty
};

/// 1.0, 1.1 or 1.2.
bytes file_of_things(ztensor::version from, const std::vector<thing>& things, bytes attributes = {});

support::cbor::map zstd_of(std::uint64_t decoded_bytes);
bytes u64(const integers& numbers);
bytes f32_bits(const integers& patterns);

bytes stored_of(const ztensor::component_view& component);
bytes decoded_of(const ztensor::component_view& component);
bytes decoded_of(const bytes& file, std::string_view object, std::string_view role = "data");

/// Values that JSON, and most libraries of CBOR, have no place for.
extern const std::vector<std::pair<std::string, bytes>> odd_values;
bytes odd_attributes();
void check_odd_attributes(const ztensor::attributes_view& found);

/// Every object of the file is in the copy, its components stored as they were.
void check_verbatim(const bytes& file, const bytes& copy);

extern const thing small;
extern const thing csr_thing;
extern const thing coo_thing;

} // namespace things

#endif
