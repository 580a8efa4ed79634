// SPDX-License-Identifier: MIT
//
// An index read by patterns (what is encoded like the object before is compared as a whole) is what the general way
// makes of it: the same records, or the same refusal.
#include "fuzz/fuzzing.hpp"

#include "manifest/described.hpp"

#include <ztensor/detail/manifest/read.hpp>
#include <ztensor/detail/manifest/validate.hpp>

#include <cstring>
#include <string>

namespace detail = ztensor::detail;

const std::size_t fuzzing::working_bytes = std::size_t{1} << 20;

namespace {

constexpr std::uint64_t blobs_end = 1 << 20;

std::string read(ztensor::bytes_view encoded, bool uses_patterns) {
    detail::manifest index;
    if (!index.index.allocate(encoded.size(), detail::pattern::reach_bytes)) {
        return "no memory";
    }
    std::memcpy(index.index.data(), encoded.data(), encoded.size());
    const ztensor::read_options options;
    ztensor::result<void> done = detail::manifest_reader(index, options, blobs_end, uses_patterns).read_1();
    if (done) {
        done = detail::manifest_validator(index, blobs_end).validate();
    }
    return done ? described::describe(index) : std::string(done.error().what());
}

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    if (input.empty()) {
        return;
    }
    const std::string fast = read(input, true);
    const std::string general = read(input, false);
    require(fast == general, "patterns change nothing", fast + "\n" + general);
}
