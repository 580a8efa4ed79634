// SPDX-License-Identifier: MIT
//
// What is odd about a file that is valid: findings for people and for gates in front of a store of models, and the
// strict mode of reading, which refuses some of them. SPEC.md section 10.2.
#ifndef ZTENSOR_LINT_HPP
#define ZTENSOR_LINT_HPP

#include <ztensor/format.hpp>
#include <ztensor/fwd.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <string_view>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// "zip_end_record", ...
[[nodiscard]] std::string_view name(lint_kind kind) noexcept;

/// Looks at the index and at what lies between the blobs, and at no blob. Of findings of the first two kinds, and of
/// missing digests, only the first is told, and how many there are where that is more. Errors: unsupported_container of
/// a file that is no .zt; out_of_memory; what the source says.
result<std::vector<lint_finding>> lint(const reader& file);

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/read/lint_definitions.hpp>
#endif

#endif
