// SPDX-License-Identifier: MIT
//
// A component of an open file as the writing side sees it: where its blob lies, and what is said of it.
#ifndef ZTENSOR_DETAIL_CORE_STORED_COMPONENT_HPP
#define ZTENSOR_DETAIL_CORE_STORED_COMPONENT_HPP

#include <ztensor/result.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {

class byte_source;
class component_view;

namespace detail {

struct opened_file;
struct object_record;
struct component_record;

/// Borrowed from the reader, like the component. Words are those of 1.2; unknown ones pass through.
struct stored_component {
    const byte_source* source = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::string_view dtype;
    std::string_view type;
    std::string_view encoding;
    std::string_view digest;
    std::optional<std::uint64_t> decoded_bytes;       ///< where it is known
    std::optional<std::uint64_t> uncompressed_length; ///< as the file states it
    std::optional<ztensor::digest> new_digest; ///< of the blob, instead of its own; none: the version's usual one
    ztensor::generation generation = ztensor::generation::v1_2;
    bool has_type = false;
    bool has_digest = false;
    bool is_raw = false;
    bool is_big_endian = false;

    /// Whether the bytes match their digest. Null: there is none, or the reader is to check none. Errors:
    /// digest_mismatch, and what the source says.
    result<void> (*check_digest)(const stored_component& stored) = nullptr;
    const opened_file* file = nullptr; ///< for that
    const detail::object_record* object_record = nullptr;
    const detail::component_record* component_record = nullptr;

    std::string_view path; ///< of the file, for messages; and where in it the component is
    std::string_view object;
    std::string_view role;
};

/// Defined where component_view is.
[[nodiscard]] stored_component describe_stored(const component_view& component) noexcept;

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
