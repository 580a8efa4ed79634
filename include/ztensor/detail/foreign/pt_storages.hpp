// SPDX-License-Identifier: MIT
//
// What finds the storages of a checkpoint in the container that it is in.
#ifndef ZTENSOR_DETAIL_FOREIGN_PT_STORAGES_HPP
#define ZTENSOR_DETAIL_FOREIGN_PT_STORAGES_HPP

#include <ztensor/detail/foreign/pickled.hpp>
#include <ztensor/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Where the bytes of a storage lie.
struct placed_storage {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::string digest; ///< of all of them; "" for none
};

class storage_finder {
public:
    virtual ~storage_finder() = default;
    /// `key` is the storage's. Errors: schema_missing, size_mismatch; what the container says.
    [[nodiscard]] virtual result<placed_storage> find(const pickle_storage& storage, std::string_view key) = 0;
    /// Where the pickle itself lies. Errors: what the container says.
    [[nodiscard]] virtual result<std::uint64_t> place_pickle() = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
