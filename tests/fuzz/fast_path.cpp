// SPDX-License-Identifier: MIT
//
// An index read by patterns (what is encoded like the object before is compared as a whole), and by what reads plain
// objects quickly, is what the general way makes of it: the same records, or the same refusal. As of 1.2, and of 0.1.
#include "fuzz/fuzzing.hpp"

#include "index/described.hpp"

#include <ztensor/detail/index/read.hpp>
#include <ztensor/detail/index/validate.hpp>

#include <cstring>
#include <string>

namespace detail = ztensor::detail;

const std::size_t fuzzing::working_bytes = std::size_t{1} << 20;

namespace {

constexpr std::uint64_t blobs_end = 1 << 20;

std::string read(ztensor::bytes_view encoded, bool is_0_1, bool uses_patterns) {
    detail::manifest index;
    if (!index.index.allocate(encoded.size(), detail::pattern::reach_bytes)) {
        return "no memory";
    }
    std::memcpy(index.index.data(), encoded.data(), encoded.size());
    const ztensor::read_options options;
    detail::manifest_reader reader(index, options, blobs_end, uses_patterns);
    ztensor::result<void> done = is_0_1 ? reader.read_0_1() : reader.read_1();
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
    for (const bool is_0_1 : {false, true}) {
        const std::string fast = read(input, is_0_1, true);
        const std::string general = read(input, is_0_1, false);
        require(fast == general, "patterns change nothing", fast + "\n" + general);
    }
}
