// SPDX-License-Identifier: MIT
#include "support/scripted_sink.hpp"

#include <ztensor/error.hpp>

namespace support {

ztensor::result<void> scripted_sink::write(ztensor::bytes_view content) {
    log_.calls_after_failure += log_.has_failed ? 1 : 0;
    if (log_.writes++ == failing_write_) {
        log_.has_failed = true;
        return ztensor::error(ztensor::errc::io_error, "the disk is full");
    }
    log_.content.insert(log_.content.end(), content.begin(), content.end());
    return {};
}

ztensor::result<void> scripted_sink::finish() {
    log_.calls_after_failure += log_.has_failed ? 1 : 0;
    if (fails_to_finish_) {
        log_.has_failed = true;
        return ztensor::error(ztensor::errc::io_error, "the rename failed");
    }
    log_.is_published = true;
    return {};
}

} // namespace support
