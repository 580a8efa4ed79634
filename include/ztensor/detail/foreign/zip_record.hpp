// SPDX-License-Identifier: MIT
//
// What the records of a ZIP archive are made of: numbers, those of 64 bits that stand elsewhere, and names.
#ifndef ZTENSOR_DETAIL_FOREIGN_ZIP_RECORD_HPP
#define ZTENSOR_DETAIL_FOREIGN_ZIP_RECORD_HPP

#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/utf8.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The little-endian numbers of a record, which was found to hold them.
class zip_record {
public:
    explicit zip_record(bytes_view bytes) noexcept : bytes_(bytes) {}
    [[nodiscard]] std::uint16_t u16(std::size_t at) const noexcept {
        return static_cast<std::uint16_t>(load_little(bytes_.data() + at, 2));
    }
    [[nodiscard]] std::uint32_t u32(std::size_t at) const noexcept {
        return static_cast<std::uint32_t>(load_little(bytes_.data() + at, 4));
    }
    [[nodiscard]] std::uint64_t u64(std::size_t at) const noexcept { return load_little(bytes_.data() + at, 8); }
    [[nodiscard]] bool starts_with(std::string_view magic) const noexcept {
        return as_text(bytes_).substr(0, magic.size()) == magic;
    }

private:
    bytes_view bytes_;
};

inline constexpr std::uint16_t zip_unknown_16 = 0xffff;     ///< the number stands in a ZIP64 record
inline constexpr std::uint32_t zip_unknown_32 = 0xffffffff; ///< likewise

/// The numbers of 64 bits that an entry's extra fields give in place of those of 32. False if they lack one.
[[nodiscard]] inline bool take_zip64(bytes_view extra, std::initializer_list<std::uint64_t*> wanted) noexcept {
    constexpr std::uint16_t zip64_field = 1;
    bool lacks_any = false;
    for (std::uint64_t* const each : wanted) {
        lacks_any = lacks_any || *each == zip_unknown_32;
    }
    while (lacks_any && extra.size() >= 4) {
        const zip_record field(extra);
        const std::size_t size = field.u16(2);
        if (size > extra.size() - 4) {
            return false;
        }
        bytes_view numbers = extra.subspan(4, size);
        extra = extra.subspan(4 + size);
        if (field.u16(0) != zip64_field) {
            continue;
        }
        for (std::uint64_t* const each : wanted) {
            if (*each != zip_unknown_32) {
                continue;
            }
            if (numbers.size() < 8) {
                return false;
            }
            *each = load_little(numbers.data(), 8);
            numbers = numbers.subspan(8);
        }
        return true;
    }
    return !lacks_any;
}

/// A name that leads nowhere else: UTF-8, relative, without `..`.
[[nodiscard]] inline bool is_plain_path(std::string_view name) noexcept {
    if (name.empty() || name.size() > max_name_bytes || name[0] == '/' || !is_utf8(name) ||
        name.find_first_of(std::string_view("\\\0", 2)) != std::string_view::npos) {
        return false;
    }
    while (!name.empty()) {
        const std::string_view step = name.substr(0, name.find('/'));
        if (step == "..") {
            return false;
        }
        name.remove_prefix((std::min)(step.size() + 1, name.size()));
    }
    return true;
}

/// Likewise on every system: no drive of Windows, nor a stream of a file there.
[[nodiscard]] inline bool is_path_below(std::string_view name) noexcept {
    return is_plain_path(name) && name.find(':') == std::string_view::npos;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
