// SPDX-License-Identifier: MIT
//
// A sink that notes everything, and fails when it is told to.
#ifndef ZTENSOR_TESTS_SUPPORT_SCRIPTED_SINK_HPP
#define ZTENSOR_TESTS_SUPPORT_SCRIPTED_SINK_HPP

#include "support/bytes.hpp"

#include <ztensor/io.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <limits>

namespace support {

struct sink_log {
    byte_vector content;
    std::size_t writes = 0;
    bool is_published = false;
    bool is_gone = false;
    bool has_failed = false;
    std::size_t calls_after_failure = 0;
};

class scripted_sink final : public ztensor::byte_sink {
public:
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

    explicit scripted_sink(sink_log& log, std::size_t failing_write = never, bool fails_to_finish = false)
        : log_(log), failing_write_(failing_write), fails_to_finish_(fails_to_finish) {}
    ~scripted_sink() override { log_.is_gone = true; }

    ztensor::result<void> write(ztensor::bytes_view content) override;
    ztensor::result<void> finish() override;

private:
    sink_log& log_;
    std::size_t failing_write_;
    bool fails_to_finish_;
};

} // namespace support

#endif
