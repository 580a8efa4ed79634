// SPDX-License-Identifier: MIT
//
// What one call may hold in memory of all that it makes, however many parts an object has and however they grow on
// their way: decoded, widened, converted, unpacked.
#ifndef ZTENSOR_DETAIL_READ_CALL_BUDGET_HPP
#define ZTENSOR_DETAIL_READ_CALL_BUDGET_HPP

#include <ztensor/detail/core/checked.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <cstdint>
#include <optional>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class call_budget {
public:
    explicit call_budget(const read_options& options) noexcept
        : most_(options.max_decoded_bytes_), left_(options.max_decoded_bytes_) {}

    /// Before that much memory is made. Errors: limit_exceeded, too_large_for_host.
    [[nodiscard]] ZTENSOR_COLD result<void> take(std::uint64_t elements, std::uint64_t element_bytes) noexcept {
        const std::optional<std::uint64_t> bytes = checked_multiply(elements, element_bytes);
        if (!bytes || *bytes > left_) {
            return fail(errc::limit_exceeded,
                        "{} elements of {} bytes would take the call beyond the {} of read_options::max_decoded_bytes",
                        {elements, element_bytes, most_});
        }
        if (!fits_address_space(*bytes)) {
            return fail(errc::too_large_for_host, "{} elements of {} bytes are more than this host can address",
                        {elements, element_bytes});
        }
        left_ -= *bytes;
        return {};
    }

private:
    std::uint64_t most_;
    std::uint64_t left_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
