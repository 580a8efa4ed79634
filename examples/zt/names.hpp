// SPDX-License-Identifier: MIT
//
// Names cut to the columns of a table.
#ifndef ZTENSOR_EXAMPLES_ZT_NAMES_HPP
#define ZTENSOR_EXAMPLES_ZT_NAMES_HPP

#include <cstddef>
#include <string>
#include <vector>

namespace zt {

/// Each name in at most so many columns, and no two different ones alike. What fits stays as it is. Of the others the
/// middle is cut where that tells them apart; else components are shortened to as much as tells them from others at
/// their place, from the first on: "m.l.10.self_attn.q_proj.weight". What is still too long or alike gets a number.
std::vector<std::string> shortened(const std::vector<std::string>& names, std::size_t columns);

} // namespace zt

#endif
