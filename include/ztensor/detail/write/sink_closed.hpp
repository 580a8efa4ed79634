// SPDX-License-Identifier: MIT
//
// The error of those who write to what is over.
#ifndef ZTENSOR_DETAIL_WRITE_SINK_CLOSED_HPP
#define ZTENSOR_DETAIL_WRITE_SINK_CLOSED_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/error.hpp>
#include <ztensor/version.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] inline error sink_closed() {
    return fail(errc::writer_closed, "nothing more can be written: the output was finished, or failed before");
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
