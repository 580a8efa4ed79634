// SPDX-License-Identifier: MIT
//
// The objects of a file that is being written, encoded as they come, and put in order at the end. SPEC.md section 8 and
// section 10.
#ifndef ZTENSOR_DETAIL_INDEX_ENCODED_OBJECTS_HPP
#define ZTENSOR_DETAIL_INDEX_ENCODED_OBJECTS_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Every object so far: its name and what stands for it in the manifest, all in one run of bytes. Of a file of 1.x
/// whose names came in order, that run is the manifest's.
class encoded_objects {
    struct name_of {
        const encoded_objects* all;
        std::string_view operator()(std::size_t position) const noexcept { return all->name(position); }
    };

public:
    [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }
    [[nodiscard]] bool contains(std::string_view name) const noexcept {
        return names_.find(name, name_of{this}) != name_table::absent;
    }

    /// Takes in an object of 0.1 to 1.2, of a name that is new. Throws std::bad_alloc, and then is of no use any more.
    ZTENSOR_NOINLINE void add(format_version version, const object_entry& object) {
        begin_object(version, object.name);
        encode_object_before_2(text_, version, object);
        end_object(version);
    }

    /// The same of any version, of which what stands for it is known.
    ZTENSOR_COLD void add_encoded(format_version version, std::string_view of_name, bytes_view value) {
        begin_object(version, of_name);
        text_.encoded(value);
        end_object(version);
    }

    /// Of one that is there: what it takes, and in 1.x what stands for it under another name that is new. Throws
    /// std::bad_alloc.
    [[nodiscard]] ZTENSOR_COLD std::uint64_t encoded_bytes_of(std::string_view of_name) const noexcept {
        const place& at = places_[names_.find(of_name, name_of{this})];
        return at.end - at.begin;
    }
    ZTENSOR_COLD void add_again(format_version version, std::string_view other_name, std::string_view of_name) {
        const place at = places_[names_.find(of_name, name_of{this})];
        const bytes_view value = text_.bytes().subspan(at.value, at.end - at.value);
        const std::vector<std::byte> copy(value.begin(), value.end()); // `text_` may move as it grows
        add_encoded(version, other_name, copy);
    }

    /// Calls `take(bytes) -> result<void>` for all objects as the manifest holds them, in pieces of any size, until one
    /// fails.
    template <class Take>
    [[nodiscard]] ZTENSOR_COLD result<void> hand_over(format_version version, const Take& take) const {
        if (is_sorted_ && version != format_version::v0_1) {
            return take(text_.bytes());
        }
        record_array<std::uint32_t> order;
        put_in_order(version, order);
        cbor_encoder piece;
        constexpr std::size_t piece_bytes = std::size_t{1} << 16;
        for (const std::uint32_t position : order) {
            piece.encoded(encoded(version, position));
            if (piece.size() >= piece_bytes || position == order.back()) {
                ZTENSOR_TRY(take(piece.bytes()));
                piece.clear();
            }
        }
        return {};
    }

    /// Of all objects as the manifest holds them.
    [[nodiscard]] std::uint64_t encoded_bytes() const noexcept { return encoded_bytes_; }

private:
    struct place {         // in text_
        std::size_t begin; ///< of the name, as an item
        std::size_t value; ///< where the name ends, and what stands for the object begins
        std::size_t end;
        std::size_t name_bytes;
    };

    void begin_object(format_version version, std::string_view of_name) {
        is_sorted_ = is_sorted_ && (size() == 0 || comes_before(version, name(size() - 1), of_name));
        place& added = *places_.extend(1);
        added.begin = text_.size();
        text_.text(of_name);
        added.value = text_.size();
        added.name_bytes = of_name.size();
    }
    void end_object(format_version version) {
        places_[size() - 1].end = text_.size();
        encoded_bytes_ += encoded(version, size() - 1).size();
        names_.add(name_of{this});
    }

    [[nodiscard]] std::string_view name(std::size_t position) const noexcept {
        const place& at = places_[position];
        return as_text(text_.bytes().subspan(at.value - at.name_bytes, at.name_bytes));
    }
    /// In 1.x with its name before it.
    [[nodiscard]] bytes_view encoded(format_version version, std::size_t position) const noexcept {
        const place& at = places_[position];
        const std::size_t begin = version == format_version::v0_1 ? at.value : at.begin;
        return text_.bytes().subspan(begin, at.end - begin);
    }
    [[nodiscard]] static bool comes_before(format_version version, std::string_view a, std::string_view b) noexcept {
        return version == format_version::v2 ? is_before_by_length(a, b) : a < b;
    }
    /// In 0.1 as they came, in 1.x by the bytes of their names, in 2 by those of their keys.
    ZTENSOR_COLD void put_in_order(format_version version, record_array<std::uint32_t>& order) const {
        order.reserve(size());
        for (std::uint32_t i = 0; i < size(); ++i) {
            order.push_back(i);
        }
        if (version == format_version::v0_1) {
            return;
        }
        record_array<std::uint64_t> keys;
        find_sort_keys(keys);
        const bool is_2 = version == format_version::v2;
        record_array<std::uint32_t> scratch;
        sort_positions({order.data(), order.size()}, {scratch.extend(size()), size()},
                       [&](std::uint32_t a, std::uint32_t b) {
                           const std::string_view one = name(a), other = name(b);
                           if (is_2 && one.size() != other.size()) {
                               return one.size() < other.size();
                           }
                           return keys[a] != keys[b] ? keys[a] < keys[b] : one < other;
                       });
    }

    /// Of each name the eight bytes behind what all names start with, as a number that compares as they do: most names
    /// are then looked at but once, and finish() takes half the instructions.
    ZTENSOR_COLD void find_sort_keys(record_array<std::uint64_t>& keys) const {
        const std::string_view first = name(0);
        std::size_t common = first.size();
        for (std::size_t i = 1; i < size() && common != 0; ++i) {
            const std::string_view other = name(i);
            common = (std::min)(common, other.size());
            common = static_cast<std::size_t>(std::mismatch(first.data(), first.data() + common, other.data()).first -
                                              first.data());
        }
        keys.reserve(size());
        for (std::size_t i = 0; i < size(); ++i) {
            const std::string_view rest = name(i).substr(common, sizeof(std::uint64_t));
            const std::uint64_t bytes = load_big(as_bytes(rest).data(), rest.size());
            keys.push_back(rest.empty() ? 0 : bytes << (sizeof bytes - rest.size()) * 8);
        }
    }

    cbor_encoder text_; ///< of each object its name, and what stands for it
    record_array<place> places_;
    growing_name_table names_;
    std::uint64_t encoded_bytes_ = 0;
    bool is_sorted_ = true;
};

/// No set of attributes takes more in a manifest.
[[nodiscard]] ZTENSOR_COLD inline std::uint64_t most_encoded_bytes(const attributes& source) noexcept {
    constexpr std::uint64_t item_bytes = 9;
    std::uint64_t sum = item_bytes;
    for (const attributes::entry& each : source.values()) {
        sum += item_bytes + each.key.size() + each.cbor.size();
    }
    return sum;
}

/// No object takes more, wherever its blobs will lie and whatever they will take: what is not known before it is
/// written are numbers and digests.
[[nodiscard]] inline std::uint64_t most_encoded_bytes(const object_entry& object) noexcept {
    constexpr std::uint64_t item_bytes = 9, object_keys_bytes = 100, component_keys_bytes = 300;
    std::uint64_t sum = object_keys_bytes + object.name.size() + object.format.size() +
                        object.shape->rank() * item_bytes +
                        (object.attributes != nullptr ? most_encoded_bytes(*object.attributes) : 0);
    for (const component_entry& each : object.components) {
        sum += component_keys_bytes + each.role.size() + each.dtype.size() + each.type.value_or("").size() +
               each.encoding.size() + each.digest().size();
    }
    return sum;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
