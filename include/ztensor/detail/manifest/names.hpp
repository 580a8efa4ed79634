// SPDX-License-Identifier: MIT
//
// What may be the name of an object, component or attribute. SPEC.md section 3.5, section 13.4.
#ifndef ZTENSOR_DETAIL_MANIFEST_NAMES_HPP
#define ZTENSOR_DETAIL_MANIFEST_NAMES_HPP

#include <ztensor/detail/core/utf8.hpp>
#include <ztensor/vocabulary.hpp>

#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What is wrong with a name that is known to be UTF-8, as a literal; nullptr if nothing is.
[[nodiscard]] inline const char* utf8_name_problem(std::string_view name) noexcept {
    if (name.empty()) {
        return "a name is empty";
    }
    if (name.size() > max_name_bytes) {
        return "a name is longer than 4,096 bytes";
    }
    if (name.find('\0') != std::string_view::npos) {
        return "a name holds the character U+0000";
    }
    return nullptr;
}

/// The same of any name.
[[nodiscard]] inline const char* name_problem(std::string_view name) noexcept {
    const char* const problem = utf8_name_problem(name);
    return problem != nullptr || is_utf8(name) ? problem : "a name is not UTF-8";
}

/// What is wrong with the name of an object, a part or an attribute, as a literal; nullptr if nothing is. It is UTF-8.
[[nodiscard]] inline const char* name_problem_2(std::string_view name) noexcept {
    if (name.empty()) {
        return "a name is empty";
    }
    if (name.size() > max_name_bytes_2) {
        return "a name is longer than 1,024 bytes";
    }
    return name.find('\0') != std::string_view::npos ? "a name holds the character U+0000" : nullptr;
}

/// The same of a shard, whose name may become part of a file's.
[[nodiscard]] inline const char* shard_name_problem(std::string_view name) noexcept {
    constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (name.empty() || name.size() > 64) {
        return "the name of a shard is not of 1 to 64 bytes";
    }
    if (name[0] == '.') {
        return "the name of a shard starts with a dot";
    }
    return name.find_first_not_of(allowed) != std::string_view::npos
               ? "the name of a shard holds something else than letters, digits, dots, hyphens and underscores"
               : nullptr;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
