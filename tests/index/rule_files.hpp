// SPDX-License-Identifier: MIT
//
// The tables of rules as files, for other implementations: tests/corpus/rules. With ZTENSOR_WRITE_RULE_FILES naming a
// folder, the tests of this wing write them anew.
#ifndef ZTENSOR_TESTS_MANIFEST_RULE_FILES_HPP
#define ZTENSOR_TESTS_MANIFEST_RULE_FILES_HPP

#include "support/bytes.hpp"

#include <ztensor/error.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace rules {

/// Writes one file of the generation `from` and its line of rules.tsv, if that is asked for and the file is small.
void keep_file(const std::string& rule, std::string_view from, const support::bytes& content,
               std::optional<ztensor::errc> refusal);

} // namespace rules

#endif
