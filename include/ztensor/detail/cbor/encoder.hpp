// SPDX-License-Identifier: MIT
//
// Writing CBOR as the reference does: shortest heads, shortest floats, definite lengths. SPEC.md section 10.
#ifndef ZTENSOR_DETAIL_CBOR_ENCODER_HPP
#define ZTENSOR_DETAIL_CBOR_ENCODER_HPP

#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/core/array.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Appends items to a buffer. A map or array is announced with its count; the caller then appends that many.
class cbor_encoder {
public:
    [[nodiscard]] bytes_view bytes() const noexcept { return {bytes_.data(), bytes_.size()}; }
    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
    [[nodiscard]] std::vector<std::byte> take() && { return {bytes_.begin(), bytes_.end()}; }
    /// Forgets all items; the memory stays.
    void clear() noexcept { truncate(0); }
    /// Forgets all but the first `size` bytes.
    void truncate(std::size_t size) noexcept { bytes_.truncate(size); }

    ZTENSOR_NOINLINE void unsigned_integer(std::uint64_t value) { head(cbor_major::unsigned_integer, value); }
    void integer(std::int64_t value) {
        if (value < 0) {
            negative_integer(~static_cast<std::uint64_t>(value)); // -1 - n, without overflow
        } else {
            unsigned_integer(static_cast<std::uint64_t>(value));
        }
    }
    /// -1 - `argument`, which may lie below every std::int64_t.
    void negative_integer(std::uint64_t argument) { head(cbor_major::negative_integer, argument); }
    ZTENSOR_NOINLINE void text(std::string_view value) {
        head(cbor_major::text, value.size());
        append(as_bytes(value));
    }
    void byte_string(bytes_view value) {
        head(cbor_major::bytes, value.size());
        encoded(value);
    }
    void boolean(bool value) { head(cbor_major::simple, value ? cbor_true : cbor_false); }
    void null() { head(cbor_major::simple, cbor_null); }
    void begin_array(std::uint64_t items) { head(cbor_major::array, items); }
    void begin_map(std::uint64_t pairs) { head(cbor_major::map, pairs); }

    /// A map of unannounced size, up to end_indefinite(): only what 0.1 wrote has these.
    void begin_indefinite_map() { first_byte(cbor_major::map, 31); }
    void end_indefinite() { bytes_.push_back(std::byte{0xff}); }

    /// In the shortest of 16, 32 and 64 bits that keeps the value; every NaN as f9 7e 00.
    ZTENSOR_COLD void number(double value) {
        if (value != value) { // <cmath> costs every file that includes it a tenth of a second
            float_bits(25, 0x7e00);
            return;
        }
        if (!is_exact_float(value)) {
            float_bits(27, bits_of<std::uint64_t>(value));
            return;
        }
        const auto single = static_cast<float>(value);
        const float16 half(single);
        if (static_cast<float>(half) == single) {
            float_bits(25, half.bits());
        } else {
            float_bits(26, bits_of<std::uint32_t>(single));
        }
    }

    /// Items that are encoded already.
    ZTENSOR_NOINLINE void encoded(bytes_view items) { append(items); }

private:
    template <class Bits, class Float>
    [[nodiscard]] static Bits bits_of(Float value) noexcept {
        static_assert(sizeof(Bits) == sizeof(Float));
        Bits bits;
        std::memcpy(&bits, &value, sizeof bits);
        return bits;
    }

    /// Converting a double beyond the range of float is undefined, so the range is looked at first.
    [[nodiscard]] static bool is_exact_float(double value) noexcept {
        constexpr double largest = (std::numeric_limits<float>::max)();
        const bool is_infinite =
            value == std::numeric_limits<double>::infinity() || value == -std::numeric_limits<double>::infinity();
        return is_infinite ||
               (-largest <= value && value <= largest && static_cast<double>(static_cast<float>(value)) == value);
    }

    void append(bytes_view bytes) {
        if (!bytes.empty()) {
            std::memcpy(bytes_.extend(bytes.size()), bytes.data(), bytes.size());
        }
    }

    void head(cbor_major major, std::uint64_t argument) {
        if (argument < 24) {
            first_byte(major, static_cast<unsigned>(argument));
        } else {
            long_head(major, argument);
        }
    }

    ZTENSOR_NOINLINE void long_head(cbor_major major, std::uint64_t argument) {
        const unsigned size_log2 = argument <= 0xff ? 0 : argument <= 0xffff ? 1 : argument <= 0xffffffff ? 2 : 3;
        first_byte(major, 24 + size_log2);
        big_endian(argument, std::size_t{1} << size_log2);
    }

    ZTENSOR_COLD void float_bits(unsigned info, std::uint64_t bits) {
        first_byte(cbor_major::simple, info);
        big_endian(bits, std::size_t{1} << (info - 24));
    }

    void first_byte(cbor_major major, unsigned info) {
        bytes_.push_back(static_cast<std::byte>(static_cast<unsigned>(major) << 5 | info));
    }

    void big_endian(std::uint64_t value, std::size_t size) {
        std::byte buffer[8];
        store_big(value, buffer, size);
        append({buffer, size});
    }

    record_array<std::byte> bytes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
