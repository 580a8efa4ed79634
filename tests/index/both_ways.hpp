// SPDX-License-Identifier: MIT
//
// An index read twice: with the fast ways, and by the general way alone, which must come to the same.
#ifndef ZTENSOR_TESTS_MANIFEST_BOTH_WAYS_HPP
#define ZTENSOR_TESTS_MANIFEST_BOTH_WAYS_HPP

#include "index/described.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <ztensor/detail/index/parse.hpp>
#include <ztensor/detail/index/rules.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace both_ways {

constexpr std::uint64_t blobs_end = 1 << 20;

/// All that a manifest says, or why it is refused.
struct index_outcome {
    std::string text;
    std::string code = "ok";
    std::size_t checked = 0; ///< objects that need no other check
};

/// Of 1.1 and later, or of 0.1. The memory behind the index holds `behind`, as far as the parser may look there.
[[nodiscard]] inline index_outcome read(const support::bytes& encoded, bool uses_templates, bool is_0_1 = false,
                                        const support::bytes& behind = {}) {
    namespace detail = ztensor::detail;
    detail::manifest index;
    REQUIRE(index.index.allocate(encoded.size(), detail::scan_reach_bytes));
    std::memcpy(index.index.data(), encoded.data(), encoded.size());
    std::memcpy(index.index.data() + encoded.size(), behind.data(), std::min(behind.size(), detail::scan_reach_bytes));
    const ztensor::read_options options;
    const auto kind = is_0_1 ? detail::container::zt_0_1 : detail::container::zt_1;
    const detail::manifest_location at = {kind, blobs_end, encoded.size(), 0, false};
    auto done = detail::parse_index(index, at, blobs_end + encoded.size(), options, uses_templates);
    index_outcome answer;
    if (done) {
        for (const detail::object_record& object : index.objects) {
            answer.checked += object.is_valid ? 1 : 0;
        }
        done = detail::rulebook(index).check();
    }
    answer.code = support::outcome(done);
    answer.text = done ? described::describe(index) : done.error().what();
    return answer;
}

/// The same with and without fast ways; how many objects one of them has read and checked.
inline std::size_t check_equal(const support::bytes& encoded, bool is_0_1 = false) {
    const index_outcome fast = read(encoded, true, is_0_1);
    const index_outcome general = read(encoded, false, is_0_1);
    REQUIRE(general.checked == 0);
    CHECK(fast.text == general.text);
    return fast.checked;
}

} // namespace both_ways

#endif
