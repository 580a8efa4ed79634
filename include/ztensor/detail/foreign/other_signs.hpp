// SPDX-License-Identifier: MIT
//
// Floats with other signs than they are stored with: conjugated and negated views.
#ifndef ZTENSOR_DETAIL_FOREIGN_OTHER_SIGNS_HPP
#define ZTENSOR_DETAIL_FOREIGN_OTHER_SIGNS_HPP

#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/read/assembled_source.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct sign_rule {
    std::size_t number_bytes = 0;
    bool is_big_endian = false;
    bool changes_first = false;  ///< of each pair of numbers
    bool changes_second = false; ///< likewise
};

class other_signs final : public made_bytes {
public:
    /// Checked before: from `offset` of `source` on lie as many bytes as are made.
    other_signs(const assembled_source& source, std::uint64_t offset, sign_rule rule)
        : source_(source), offset_(offset), rule_(rule) {}

    [[nodiscard]] result<void> make(span<std::byte> destination) const override {
        ZTENSOR_TRY(source_.read_at(offset_, destination));
        const std::size_t highest = rule_.is_big_endian ? 0 : rule_.number_bytes - 1;
        bool is_first = true;
        for (std::size_t at = 0; at < destination.size(); at += rule_.number_bytes) {
            if (is_first ? rule_.changes_first : rule_.changes_second) {
                destination[at + highest] ^= std::byte{0x80};
            }
            is_first = !is_first;
        }
        return {};
    }

private:
    const assembled_source& source_;
    std::uint64_t offset_;
    sign_rule rule_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
