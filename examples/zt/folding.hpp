// SPDX-License-Identifier: MIT
//
// Attributes in a line each: a vocabulary or a template of a chat has as much as a book.
#ifndef ZTENSOR_EXAMPLES_ZT_FOLDING_HPP
#define ZTENSOR_EXAMPLES_ZT_FOLDING_HPP

#include <ztensor/ztensor.hpp>

#include <string>

namespace zt {

/// The value of an attribute, printable. Folded: of arrays and maps the first items, of text the start, and how much
/// more there is.
std::string text_of_value(ztensor::bytes_view cbor, bool is_folded);

/// "key: value, key: value": some of them if they are folded.
std::string text_of(const ztensor::attributes& attributes, bool is_folded);

} // namespace zt

#endif
