// SPDX-License-Identifier: MIT
//
// What is in files, as JSON for programs.
#ifndef ZTENSOR_EXAMPLES_ZT_JSON_INFO_HPP
#define ZTENSOR_EXAMPLES_ZT_JSON_INFO_HPP

#include "selection.hpp"

#include <ztensor/ztensor.hpp>

namespace zt {

/// What the index of a file says of it and of the objects that are taken. With digests everything is read: the state of
/// the stated ones, SHA-256 of what is stored and of what it decodes to, and instead of these, for what is damaged, the
/// error; then `is_damaged` becomes true.
nlohmann::ordered_json json_of(const ztensor::reader& file, const selection& taken, bool has_digests, bool& is_damaged);

/// The values; what JSON does not hold in hex, as it is encoded. Null if there are none.
nlohmann::ordered_json json_of(const ztensor::attributes_view& attributes);

nlohmann::ordered_json json_of(const ztensor::error& why);

/// On the standard output, in ASCII.
void print_json(const nlohmann::ordered_json& content);

} // namespace zt

#endif
