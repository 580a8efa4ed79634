// SPDX-License-Identifier: MIT
//
// An index read by templates (what is encoded like an object before is compared as a whole) is what the parser makes of
// it: the same records, or the same refusal. As of 1.2, and of 0.1.
#include "fuzz/fuzzing.hpp"

#include "index/described.hpp"

#include <ztensor/detail/index/parse.hpp>
#include <ztensor/detail/index/rules.hpp>

#include <cstring>
#include <string>

namespace detail = ztensor::detail;

const std::size_t fuzzing::working_bytes = std::size_t{1} << 20;

namespace {

constexpr std::uint64_t blobs_end = 1 << 20;

std::string read(ztensor::bytes_view encoded, bool is_0_1, bool uses_templates) {
    detail::manifest index;
    if (!index.index.allocate(encoded.size(), detail::scan_reach_bytes)) {
        return "no memory";
    }
    std::memcpy(index.index.data(), encoded.data(), encoded.size());
    const ztensor::read_options options;
    const auto kind = is_0_1 ? detail::container::zt_0_1 : detail::container::zt_1;
    const detail::manifest_location at = {kind, blobs_end, encoded.size(), 0, false};
    ztensor::result<void> done = detail::parse_index(index, at, blobs_end + encoded.size(), options, uses_templates);
    if (done) {
        done = detail::rulebook(index).check();
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
        require(fast == general, "templates change nothing", fast + "\n" + general);
    }
}
