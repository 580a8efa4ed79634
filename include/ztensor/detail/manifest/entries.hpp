// SPDX-License-Identifier: MIT
//
// What the manifest of a file that is written will say of its objects.
#ifndef ZTENSOR_DETAIL_MANIFEST_ENTRIES_HPP
#define ZTENSOR_DETAIL_MANIFEST_ENTRIES_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What the manifest will say of one blob, in the words of 1.2, or of version 2 in a file of that; unknown words pass
/// through. Borrows what the caller said of it; only for the length of a call.
struct component_entry {
    std::string_view role;
    std::string_view dtype;
    std::optional<std::string_view> type;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::optional<std::uint64_t> uncompressed_length; ///< of blobs that are not raw
    std::string_view encoding = "raw";
    std::optional<std::string_view> copied_digest; ///< of a blob that is copied as it is
    std::string own_digest;                        ///< of one that was written; "" for none
    bool is_big_endian = false;
    std::uint32_t shard = 0; ///< the number of the shard that it lies in; 0, the file itself

    [[nodiscard]] bool has_digest() const noexcept { return copied_digest.has_value() || !own_digest.empty(); }
    [[nodiscard]] std::string_view digest() const noexcept {
        return copied_digest ? *copied_digest : std::string_view(own_digest);
    }
};

/// What it will say of one object. Borrows; only for the length of a call.
struct object_entry {
    std::string_view name;
    const ztensor::shape* shape = nullptr;
    std::string_view format;
    const ztensor::attributes* attributes = nullptr; ///< null: none, which differs from an empty map
    span<const component_entry> components;          ///< in any order
    bool is_copy = false;                            ///< some of its blobs are copied from another file as they are
    bool is_copy_of_0_1 = false;                     ///< ... and that file is of 0.1
    bool is_copy_of_2 = false;                       ///< ... or of version 2
    bool keeps_word = false; ///< the format is a word of 0.1 that means nothing there, though it does in later versions
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
