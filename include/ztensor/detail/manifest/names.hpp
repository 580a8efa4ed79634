// SPDX-License-Identifier: MIT
//
// What may be the name of an object, component or attribute. SPEC.md §3.5.
#ifndef ZTENSOR_DETAIL_MANIFEST_NAMES_HPP
#define ZTENSOR_DETAIL_MANIFEST_NAMES_HPP

#include <ztensor/detail/core/utf8.hpp>
#include <ztensor/vocabulary.hpp>

#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What is wrong with a name, as a literal; nullptr if nothing is.
[[nodiscard]] inline const char* name_problem(std::string_view name) noexcept {
    if (name.empty()) {
        return "a name is empty";
    }
    if (name.size() > max_name_bytes) {
        return "a name is longer than 4,096 bytes";
    }
    if (name.find('\0') != std::string_view::npos) {
        return "a name holds the character U+0000";
    }
    return is_utf8(name) ? nullptr : "a name is not UTF-8";
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
