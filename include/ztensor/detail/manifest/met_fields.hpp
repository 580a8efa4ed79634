// SPDX-License-Identifier: MIT
//
// What the general way meets in an object that may differ in others which are encoded alike. SPEC.md section 3.
#ifndef ZTENSOR_DETAIL_MANIFEST_MET_FIELDS_HPP
#define ZTENSOR_DETAIL_MANIFEST_MET_FIELDS_HPP

#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What may differ from one object to the next that is encoded alike.
enum class pattern_field : std::uint8_t { shape, offset, length, uncompressed_length, digits, text, number };

/// Where the general way met a field's value in the index: [begin, end).
struct met_field {
    pattern_field field;
    std::uint32_t begin;
    std::uint32_t end;
};

/// What was met in an object on the general way, and in its components.
class met_fields {
public:
    static constexpr std::size_t most_passed = 8;

    void clear() noexcept { count_ = passed_ = 0; }
    /// An item that nobody looks at: where a number or a text stands, others may.
    void add_passed(bytes_view index, std::size_t begin, std::size_t end) noexcept {
        if (passed_ == most_passed) {
            return;
        }
        const auto head = std::to_integer<unsigned>(index[begin]);
        const unsigned major = head >> 5, info = head & 31;
        if (major < 2 || (major == 7 && info > 24 && info < 28)) {
            add_passed(pattern_field::number, begin, end);
        } else if (major == 3 && info <= 24) {
            add_passed(pattern_field::text, begin + (info < 24 ? 1 : 2), end);
        }
    }
    void add_passed(pattern_field field, std::size_t begin, std::size_t end) noexcept {
        if (passed_ < most_passed && begin != end) {
            ++passed_;
            add(field, begin, end);
        }
    }
    void add(pattern_field field, std::size_t begin, std::size_t end) noexcept {
        if (count_ < most) {
            fields_[count_++] = {field, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
        }
    }
    [[nodiscard]] span<const met_field> all() const noexcept { return {fields_, count_}; }

private:
    static constexpr std::size_t most = 33 + most_passed; // of eight components, and a shape
    met_field fields_[most];
    std::size_t count_ = 0;
    std::size_t passed_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
