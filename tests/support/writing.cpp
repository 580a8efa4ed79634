// SPDX-License-Identifier: MIT
#include "support/writing.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <vector>

namespace support {

ztensor::writer to_memory(ztensor::format_version version) {
    return ztensor::writer::to_memory(ztensor::write_options().version(version)).value();
}

bytes finished(ztensor::writer& to) {
    to.finish().value();
    return as_string(to.take_bytes());
}

byte_vector written(const ztensor::write_options& options, const fill_function& fill) {
    ztensor::writer out = ztensor::writer::to_memory(options).value();
    fill(out);
    out.finish().value();
    return out.take_bytes();
}

ztensor::reader reopened(const ztensor::write_options& options, const fill_function& fill) {
    return ztensor::reader::from_bytes(written(options, fill)).value();
}

ztensor::store stored(bool is_zstd) {
    return is_zstd ? ztensor::store().zstd() : ztensor::store();
}

void check_refused(const char* object, ztensor::format_version version, ztensor::errc code, const char* rule,
                   const write_call& call) {
    CAPTURE(rule);
    ztensor::writer untouched = to_memory(version);
    ztensor::writer to = to_memory(version);
    const ztensor::result<void> done = call(to);
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().code() == code);
    CHECK(done.error().object() == object);
    for (ztensor::writer* const each : {&untouched, &to}) {
        each->add("after", {2}, std::vector<float>{1, 2}).value();
    }
    CHECK(finished(to) == finished(untouched));
}

} // namespace support
