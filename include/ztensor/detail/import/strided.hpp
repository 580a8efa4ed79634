// SPDX-License-Identifier: MIT
//
// Elements that lie in a storage at strides, or with other signs than they are wanted: put right when they are read.
#ifndef ZTENSOR_DETAIL_IMPORT_STRIDED_HPP
#define ZTENSOR_DETAIL_IMPORT_STRIDED_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/shared.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Sizes and strides in elements, outermost first, as many of one as of the other.
struct strided_shape {
    vector<uint64_t> sizes;
    vector<uint64_t> strides;

    [[nodiscard]] bool is_empty() const noexcept {
        return std::find(sizes.begin(), sizes.end(), uint64_t{0}) != sizes.end();
    }

    /// Elements of storage from the first that is used to the last. Nothing if 64 bits can't count them.
    [[nodiscard]] optional<uint64_t> reach() const noexcept {
        optional<uint64_t> elements = is_empty() ? 0 : 1;
        for (size_t i = 0; elements && *elements != 0 && i < sizes.size(); ++i) {
            const optional<uint64_t> way = checked_multiply(sizes[i] - 1, strides[i]);
            elements = way ? checked_add(*elements, *way) : std::nullopt;
        }
        return elements;
    }

    /// In row-major order without gaps. Checked before: they can be counted.
    [[nodiscard]] bool is_contiguous() const noexcept {
        uint64_t expected = 1;
        for (size_t i = sizes.size(); i-- != 0;) {
            if (sizes[i] > 1 && strides[i] != expected) {
                return is_empty();
            }
            expected *= sizes[i] != 0 ? sizes[i] : 1;
        }
        return true;
    }

    /// Makes the first dimension the fastest, as Fortran has it. Checked before: they can be counted.
    void use_fortran_order() {
        uint64_t next = 1;
        for (const uint64_t size : sizes) {
            strides.push_back(next);
            next *= size;
        }
    }
};

/// Elements of a shape that is not contiguous.
class strided_elements final : public made_bytes {
public:
    /// Checked before: from `offset` of `source` on lie shape.reach() elements, of which none is missing; there is at
    /// least one, and their number fits 64 bits. No more than source.max_made_bytes() are held at once, what is made
    /// included. What is made of a storage with other views stays for these.
    strided_elements(const assembled_source& source, uint64_t offset, strided_shape shape, size_t element_bytes,
                     bool has_other_views)
        : source_(source), offset_(offset), shape_(std::move(shape)), element_bytes_(element_bytes),
          has_other_views_(has_other_views) {}

    result<void> make(span<byte> destination) const override {
        const uint64_t reach = *shape_.reach() * element_bytes_, most_bytes = source_.max_made_bytes();
        if (destination.size() > most_bytes) {
            return too_much(destination.size());
        }
        if (has_other_views_) {
            ZTENSOR_TRY_ASSIGN(const optional<assembled_source::lent_bytes> lent,
                               source_.lend(offset_, reach, most_bytes - destination.size()));
            if (lent) {
                return gather(lent->bytes, destination), result<void>();
            }
        }
        // Elements that lie close together are read at once, others in windows: the work is that of what is made.
        constexpr uint64_t most_gaps = 16;
        if (reach / most_gaps > destination.size()) {
            return gather_by_windows(destination, reach);
        }
        if (reach > most_bytes - destination.size()) {
            return too_much(reach);
        }
        byte_buffer storage;
        ZTENSOR_TRY(allocate(storage, reach, "storage"));
        ZTENSOR_TRY(source_.read_at(offset_, storage.writable_bytes()));
        return gather(storage.bytes(), destination), result<void>();
    }

private:
    [[nodiscard]] error too_much(uint64_t bytes) const {
        return fail(errc::limit_exceeded,
                    "the elements lie in {} bytes of storage, more than read_options::max_decoded_bytes, {}, leaves",
                    {bytes, source_.max_made_bytes()});
    }

    void gather(bytes_view storage, span<byte> destination) const {
        byte* const to_begin = destination.data();
        const byte* const from_begin = storage.data();
        // Pointers by value: for all that the compiler knows, bytes that are written may be anything else.
        with_width([this, to_begin, from_begin](auto width) {
            for_each_element(width, [to_begin, from_begin, width](size_t to, uint64_t from) {
                std::memcpy(to_begin + to, from_begin + static_cast<size_t>(from), width);
            });
        });
    }

    result<void> gather_by_windows(span<byte> destination, uint64_t reach) const {
        std::array<byte, 4096> window;
        uint64_t begin = 0, end = 0;
        result<void> read;
        with_width([&](auto width) {
            for_each_element(width, [&](size_t to, uint64_t from) {
                if (read && (from < begin || from + width > end)) {
                    begin = from;
                    end = from + (std::min<uint64_t>)(window.size(), reach - from);
                    read = source_.read_at(offset_ + begin, {window.data(), static_cast<size_t>(end - begin)});
                }
                if (read) {
                    std::memcpy(destination.data() + to, window.data() + static_cast<size_t>(from - begin), width);
                }
            });
        });
        return read;
    }

    /// Calls `use` with the bytes of an element: the common numbers are known when this is compiled.
    template <class Use>
    void with_width(const Use& use) const {
        switch (element_bytes_) {
        case 1:
            return use(std::integral_constant<size_t, 1>());
        case 2:
            return use(std::integral_constant<size_t, 2>());
        case 4:
            return use(std::integral_constant<size_t, 4>());
        case 8:
            return use(std::integral_constant<size_t, 8>());
        case 16:
            return use(std::integral_constant<size_t, 16>());
        default:
            return use(element_bytes_);
        }
    }

    /// A dimension that is counted through, and what its next index adds, in bytes.
    struct counter {
        uint64_t size;
        size_t to;
        uint64_t from;
        uint64_t index;
    };

    /// Calls copy(to, from) for each element: the byte where it is wanted, and the one of the storage where it lies.
    /// Where the elements of the last dimension lie apart, it and the one whose elements lie closest together are gone
    /// through in squares that fit the first-level cache. The others are counted through, the last of them first.
    template <class Width, class Copy>
    void for_each_element(Width width, const Copy& copy) const {
        const vector<uint64_t>& sizes = shape_.sizes;
        const vector<uint64_t>& strides = shape_.strides;
        const size_t last = sizes.size() - 1; // a scalar is contiguous, so there is a last one
        size_t closest = last;
        for (size_t i = 0; i < last && strides[last] > 1; ++i) {
            closest = sizes[i] > 1 && strides[i] < strides[closest] ? i : closest;
        }
        vector<counter> others;
        counter row = {1, 0, 0, 0};
        size_t step = width;
        for (size_t i = sizes.size(); i-- != 0; step *= static_cast<size_t>(sizes[i])) {
            const counter each = {sizes[i], step, strides[i] * width, 0};
            if (i == closest && i != last) {
                row = each;
            } else if (i != last) {
                others.push_back(each);
            }
        }
        const auto columns = static_cast<size_t>(sizes[last]), rows = static_cast<size_t>(row.size);
        const uint64_t column_from = strides[last] * width;
        size_t to = 0, changed = 0;
        uint64_t from = 0;
        do {
            if (rows == 1) {
                copy_square(width, copy, to, from, {1, 0, 0, 0}, {columns, width, column_from, 0});
            }
            constexpr size_t side = 32;
            for (size_t i = 0; i < rows && rows != 1; i += side) {
                for (size_t j = 0; j < columns; j += side) {
                    copy_square(width, copy, to + i * row.to + j * width, from + i * row.from + j * column_from,
                                {(std::min)(rows - i, side), row.to, row.from, 0},
                                {(std::min)(columns - j, side), width, column_from, 0});
                }
            }
            for (changed = 0; changed < others.size(); ++changed) {
                counter& each = others[changed];
                to += each.to;
                from += each.from;
                if (++each.index != each.size) {
                    break;
                }
                to -= each.to * static_cast<size_t>(each.size);
                from -= each.from * each.size;
                each.index = 0;
            }
        } while (changed != others.size());
    }

    template <class Width, class Copy>
    static void copy_square(Width width, const Copy& copy, size_t to, uint64_t from, const counter& row,
                            const counter& column) {
        for (uint64_t i = 0; i < row.size; ++i, to += row.to, from += row.from) {
            size_t to_element = to;
            uint64_t from_element = from;
            for (uint64_t j = 0; j < column.size; ++j, to_element += width, from_element += column.from) {
                copy(to_element, from_element);
            }
        }
    }

    const assembled_source& source_;
    uint64_t offset_;
    strided_shape shape_;
    size_t element_bytes_;
    bool has_other_views_;
};

/// Which of floats have other signs than they are stored with: those of conjugated and negated views.
struct sign_rule {
    size_t number_bytes = 0;
    bool is_big_endian = false;
    bool changes_first = false;  ///< of each pair of numbers
    bool changes_second = false; ///< likewise
};

class other_signs final : public made_bytes {
public:
    /// Checked before: from `offset` of `source` on lie as many bytes as are made.
    other_signs(const assembled_source& source, uint64_t offset, sign_rule rule)
        : source_(source), offset_(offset), rule_(rule) {}

    result<void> make(span<byte> destination) const override {
        ZTENSOR_TRY(source_.read_at(offset_, destination));
        const size_t highest = rule_.is_big_endian ? 0 : rule_.number_bytes - 1;
        bool is_first = true;
        for (size_t at = 0; at < destination.size(); at += rule_.number_bytes) {
            if (is_first ? rule_.changes_first : rule_.changes_second) {
                destination[at + highest] ^= byte{0x80};
            }
            is_first = !is_first;
        }
        return {};
    }

private:
    const assembled_source& source_;
    uint64_t offset_;
    sign_rule rule_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
