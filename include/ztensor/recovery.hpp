// SPDX-License-Identifier: MIT
//
// What came of bringing back a file's last complete state; recover() says it.
#ifndef ZTENSOR_RECOVERY_HPP
#define ZTENSOR_RECOVERY_HPP

#include <ztensor/version.hpp>

#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// What recover() found.
enum class recovery : std::uint8_t {
    not_needed, ///< no undo record, or one of a change that had not begun
    kept_new,   ///< the change was complete: the file is as it was to become
    undone,     ///< the file is as it was before the change
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
