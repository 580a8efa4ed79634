// SPDX-License-Identifier: MIT
//
// Elements in memory as floating-point numbers: those that share bytes, and those of every storage and logical type.
#ifndef ZTENSOR_DETAIL_READ_CONVERT_HPP
#define ZTENSOR_DETAIL_READ_CONVERT_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- narrow
//
// Numbers of fewer than eight bits, whose elements share bytes: their values, and how many bytes so many take. Knows no
// files. SPEC.md section 13.5.

/// The values of all bit patterns of a type.
using narrow_values = std::array<float, 64>;

/// A float of `mantissa_bits` below an exponent below a sign, whose top exponent is one as all others.
[[nodiscard]] constexpr float narrow_float(unsigned pattern, unsigned bits, unsigned mantissa_bits) noexcept {
    const unsigned magnitude = pattern & ((1U << (bits - 1)) - 1);
    const unsigned exponent = magnitude >> mantissa_bits;
    const unsigned mantissa = magnitude & ((1U << mantissa_bits) - 1);
    const unsigned bias = (1U << (bits - 2 - mantissa_bits)) - 1;
    const unsigned significand = exponent != 0 ? mantissa + (1U << mantissa_bits) : mantissa;
    const unsigned shift = exponent != 0 ? exponent - 1 : 0;
    const auto unit = static_cast<float>(1U << (bias + mantissa_bits - 1)); // 1 / the smallest value
    const float value = static_cast<float>(significand << shift) / unit;
    return pattern != magnitude ? -value : value;
}

[[nodiscard]] constexpr float narrow_value(const narrow_type_facts& type, unsigned pattern) noexcept {
    if (type.category == dtype_class::floating) {
        return narrow_float(pattern, type.bits, type.mantissa_bits);
    }
    const bool is_negative = type.category == dtype_class::signed_integer && pattern >> (type.bits - 1) != 0;
    return static_cast<float>(pattern) - (is_negative ? static_cast<float>(1U << type.bits) : 0.0F);
}

[[nodiscard]] constexpr narrow_values values_of(const narrow_type_facts& type) noexcept {
    narrow_values values{};
    for (unsigned pattern = 0; pattern < 1U << type.bits; ++pattern) {
        values[pattern] = narrow_value(type, pattern);
    }
    return values;
}

[[nodiscard]] constexpr std::array<narrow_values, narrow_types.size()> values_of_narrow_types() noexcept {
    std::array<narrow_values, narrow_types.size()> all{};
    for (size_t row = 0; row < all.size(); ++row) {
        all[row] = values_of(narrow_types[row]);
    }
    return all;
}

/// By the rows of `narrow_types`.
inline constexpr std::array<narrow_values, narrow_types.size()> all_narrow_values = values_of_narrow_types();

/// Of a row of `narrow_types`.
[[nodiscard]] inline const narrow_values& find_narrow_values(const narrow_type_facts& type) noexcept {
    return all_narrow_values[static_cast<size_t>(&type - narrow_types.data())];
}

/// Bytes that hold so many elements, the last of them as far as needed.
[[nodiscard]] constexpr uint64_t bytes_of_narrow(const narrow_type_facts& type, uint64_t count) noexcept {
    return count / 8 * type.bits + (count % 8 * type.bits + 7) / 8; // does not overflow
}

/// Elements that so many bytes have room for, which are of memory.
[[nodiscard]] constexpr uint64_t narrow_in_bytes(const narrow_type_facts& type, uint64_t bytes) noexcept {
    return bytes / type.bits * 8 + bytes % type.bits * 8 / type.bits;
}

/// The bits of one element; there are bytes for it.
[[nodiscard]] inline unsigned pattern_at(const narrow_type_facts& type, bytes_view packed, uint64_t at) noexcept {
    const auto first = static_cast<size_t>(at / 8 * type.bits + at % 8 * type.bits / 8);
    const auto shift = static_cast<unsigned>(at % 8 * type.bits % 8);
    unsigned bits = std::to_integer<unsigned>(packed[first]);
    if (shift + type.bits > 8) {
        bits |= std::to_integer<unsigned>(packed[first + 1]) << 8;
    }
    return bits >> shift & ((1U << type.bits) - 1);
}

/// As many as `numbers` has room for, from the first on.
template <class To>
void expand_narrow(const narrow_type_facts& type, bytes_view packed, span<To> numbers) noexcept {
    const narrow_values& values = find_narrow_values(type);
    size_t position = 0;
    for (To& each : numbers) {
        each = static_cast<To>(values[pattern_at(type, packed, position++)]);
    }
}

// -- packed
//
// Components whose elements share bytes: how many there are, and what their last byte holds. SPEC.md section 13.5.

/// What of `narrow_types` the elements of a component are; nullptr for elements of whole bytes.
[[nodiscard]] inline const narrow_type_facts* find_narrow_type(const manifest& index,
                                                               const component_record& component) noexcept {
    const bool has_type = component.dtype == dtype::u8 && component.logical_type != plain_type;
    return has_type ? ztensor::find_narrow_type(type_name(index, component)) : nullptr;
}

/// Whether the bits behind the last element must be zero, as version 2 has it of its own type.
[[nodiscard]] inline bool has_checked_padding(const component_record& component) noexcept {
    return packed_elements(component) != 1;
}

/// How many elements the index part of a sparse object of version 2 counts.
[[nodiscard]] inline optional<uint64_t> count_entries(const manifest& index, const object_record& object,
                                                      string_view role, uint64_t of_each) noexcept {
    const component_record* const indices = find_component(index, object, role);
    const bool is_known = indices != nullptr && indices->dtype && of_each != 0;
    const optional<uint64_t> bytes = is_known ? indices->decoded_length() : std::nullopt;
    return bytes ? optional(*bytes / (width_bytes(*indices->dtype) * of_each)) : std::nullopt;
}

/// How many elements a part holds, where its layout says so.
[[nodiscard]] inline optional<uint64_t> stated_elements(const manifest& index, const object_record& object,
                                                        const component_record& part) noexcept {
    const string_view role = role_name(index, part);
    if (role == "data" && (object.format == format::dense || object.format == format::mx)) {
        return index.element_count_of(object);
    }
    if (role == "values" && object.format == format::sparse_csr) {
        return count_entries(index, object, "indices", 1);
    }
    if (role == "values" && object.format == format::sparse_coo) {
        return count_entries(index, object, "coords", index.shape_of(object).rank());
    }
    return std::nullopt;
}

/// The same of packed elements; all that there is room for, where nobody says how many.
[[nodiscard]] inline uint64_t count_packed(const manifest& index, const object_record& object,
                                           const component_record& part, const narrow_type_facts& type,
                                           uint64_t bytes) noexcept {
    return stated_elements(index, object, part).value_or(narrow_in_bytes(type, bytes));
}

/// Errors: size_mismatch.
inline result<void> check_packed_size(const narrow_type_facts& type, uint64_t bytes, uint64_t count) {
    return bytes == bytes_of_narrow(type, count)
               ? result<void>()
               : fail(errc::size_mismatch, "{} bytes don't hold {} packed elements", {bytes, count});
}

/// Nothing stands behind the last of `count` elements, where that is not to be. Errors: size_mismatch, bad_padding.
inline result<void> check_packed(const component_record& part, const narrow_type_facts& type, bytes_view packed,
                                 uint64_t count) {
    ZTENSOR_TRY(check_packed_size(type, packed.size(), count));
    const bool has_padding = count < narrow_in_bytes(type, packed.size());
    if (has_checked_padding(part) && has_padding && pattern_at(type, packed, count) != 0) {
        return fail(errc::bad_padding, "the bits behind the last of {} packed elements are not zero", {count});
    }
    return {};
}

// -- convert
//
// Stored elements of any type as floating-point numbers: what stands behind read_as<float>. Knows neither files nor
// byte orders other than the host's. SPEC.md section 4.1, section 4.2 and section 4.5.

/// A stored bool, which is no C++ bool: its byte may hold anything.
struct bool_byte {
    uint8_t byte = 0;
    explicit operator float() const noexcept { return byte != 0 ? 1.0F : 0.0F; }
    explicit operator double() const noexcept { return byte != 0 ? 1.0 : 0.0; }
};

/// Checked before: source.size() is destination.size() x the size of a Stored.
/// A block of known length that nothing else can point to is what GCC vectorises at -O2; larger ones gain nothing.
template <class Stored, class To>
void convert_each(bytes_view source, span<To> destination) noexcept {
    constexpr size_t block_elements = 256;
    Stored block[block_elements];
    size_t done = 0;
    for (; destination.size() - done >= block_elements; done += block_elements) {
        std::memcpy(block, source.data() + done * sizeof(Stored), sizeof(block));
        for (size_t i = 0; i < block_elements; ++i) {
            destination[done + i] = static_cast<To>(block[i]);
        }
    }
    for (; done < destination.size(); ++done) {
        std::memcpy(block, source.data() + done * sizeof(Stored), sizeof(Stored));
        destination[done] = static_cast<To>(block[0]);
    }
}

/// Where numbers are written. Past the cache, memory is not read before it is written, and what lies in the cache
/// stays.
enum class number_store : bool { cached, past_cache };

// Halves and bfloats as floats by wider instructions than every x86 has: 2.2 times (bfloats) and 6 times (halves) as
// fast in cache, and as fast as memory (0.9 of memcpy) outside it. How many elements are done; convert_each does the
// rest, and all of them on other processors. Bit for bit what the scalar types give: NaN keeps sign and payload and
// becomes quiet.
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
/// Past the cache, `destination` is aligned.
template <number_store Store>
__attribute__((target("avx"), always_inline)) inline void store_eight(float* destination, __m256 numbers) noexcept {
    if constexpr (Store == number_store::past_cache) {
        _mm256_stream_ps(destination, numbers);
    } else {
        _mm256_storeu_ps(destination, numbers);
    }
}

template <number_store Store>
__attribute__((target("avx2"))) inline size_t convert_bfloats_avx2(bytes_view source,
                                                                   span<float> destination) noexcept {
    size_t done = 0;
    for (; destination.size() - done >= 16; done += 16) {
        const void* const from = source.data() + done * sizeof(bfloat16);
        const __m256i patterns = _mm256_loadu_si256(static_cast<const __m256i*>(from));
        const __m256i magnitudes = _mm256_and_si256(patterns, _mm256_set1_epi16(0x7fff));
        const __m256i is_nan = _mm256_cmpgt_epi16(magnitudes, _mm256_set1_epi16(0x7f80)); // all ones where it is
        const __m256i quiet = _mm256_or_si256(patterns, _mm256_and_si256(is_nan, _mm256_set1_epi16(0x0040)));
        const __m256i first = _mm256_cvtepu16_epi32(_mm256_castsi256_si128(quiet));
        const __m256i second = _mm256_cvtepu16_epi32(_mm256_extracti128_si256(quiet, 1));
        store_eight<Store>(destination.data() + done, _mm256_castsi256_ps(_mm256_slli_epi32(first, 16)));
        store_eight<Store>(destination.data() + done + 8, _mm256_castsi256_ps(_mm256_slli_epi32(second, 16)));
    }
    return done;
}

template <number_store Store>
__attribute__((target("avx,f16c"))) inline size_t convert_halves_f16c(bytes_view source,
                                                                      span<float> destination) noexcept {
    size_t done = 0;
    for (; destination.size() - done >= 8; done += 8) {
        const void* const halves = source.data() + done * sizeof(float16);
        store_eight<Store>(destination.data() + done,
                           _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(halves))));
    }
    return done;
}

template <number_store Store>
[[nodiscard]] size_t convert_wide(bytes_view source, dtype storage, span<float> destination) noexcept {
    if (storage == dtype::bf16) {
        return host_cpu().avx2 ? convert_bfloats_avx2<Store>(source, destination) : 0;
    }
    return host_cpu().f16c ? convert_halves_f16c<Store>(source, destination) : 0;
}
#else
template <number_store>
[[nodiscard]] constexpr size_t convert_wide(bytes_view, dtype, span<float>) noexcept {
    return 0;
}
#endif

/// As convert_wide() does, behind what comes before the first aligned place.
template <class Stored>
[[nodiscard]] size_t convert_past_cache(bytes_view source, dtype storage, span<float> destination) noexcept {
    constexpr size_t alignment = 32;
    const auto before = bytes_to_multiple(destination.data(), alignment) / sizeof(float);
    const size_t first = (std::min<size_t>)(before, destination.size());
    convert_each<Stored>(source.first(first * sizeof(Stored)), destination.first(first));
    const size_t done = convert_wide<number_store::past_cache>(source.subspan(first * sizeof(Stored)), storage,
                                                               destination.subspan(first));
    finish_past_cache();
    return first + done;
}

/// Of 16-bit floats.
template <class Stored, class To>
void convert_short_floats(bytes_view source, dtype storage, span<To> destination, number_store store) noexcept {
    size_t done = 0;
    if constexpr (std::is_same_v<To, float>) {
        if (store == number_store::past_cache) {
            done = convert_past_cache<Stored>(source, storage, destination);
        } else {
            done = convert_wide<number_store::cached>(source, storage, destination);
        }
    }
    convert_each<Stored>(source.subspan(done * sizeof(Stored)), destination.subspan(done));
}

/// The value of each of the 256 patterns of an 8-bit float.
struct float8_values {
    float of[256];
};

template <class Float8>
[[nodiscard]] const float8_values& values_of() noexcept {
    static const float8_values values = [] {
        float8_values made;
        for (size_t bits = 0; bits < 256; ++bits) {
            made.of[bits] = static_cast<float>(Float8::from_bits(static_cast<uint8_t>(bits)));
        }
        return made;
    }();
    return values;
}

/// Powers of two without a sign, which only version 2 has: 2^(e - 127), and NaN for 255.
[[nodiscard]] inline const float8_values& values_of_e8m0() noexcept {
    static const float8_values values = [] {
        float8_values made;
        for (uint32_t exponent = 0; exponent < 255; ++exponent) {
            const uint32_t bits = exponent != 0 ? exponent << 23 : 1u << 22; // 2^-127 is no normal number
            std::memcpy(&made.of[exponent], &bits, sizeof bits);
        }
        made.of[255] = std::numeric_limits<float>::quiet_NaN();
        return made;
    }();
    return values;
}

template <class... Float8>
[[nodiscard]] const float8_values* find_float8_among(string_view logical_type, element_types<Float8...>) noexcept {
    const float8_values* found = nullptr;
    ((found = logical_type == element_traits<Float8>::type ? &values_of<Float8>() : found), ...);
    return found;
}

/// The values of the 8-bit float of that name; null for any other logical type.
[[nodiscard]] inline const float8_values* find_float8(string_view logical_type) noexcept {
    return logical_type == "f8_e8m0" ? &values_of_e8m0() : find_float8_among(logical_type, float8_types());
}

template <class To>
void convert_stored(bytes_view source, dtype storage, span<To> destination, number_store store) noexcept {
    switch (storage) {
    case dtype::f64:
        return convert_each<double>(source, destination);
    case dtype::f32:
        return convert_each<float>(source, destination);
    case dtype::f16:
        return convert_short_floats<float16>(source, storage, destination, store);
    case dtype::bf16:
        return convert_short_floats<bfloat16>(source, storage, destination, store);
    case dtype::i64:
        return convert_each<int64_t>(source, destination);
    case dtype::i32:
        return convert_each<int32_t>(source, destination);
    case dtype::i16:
        return convert_each<int16_t>(source, destination);
    case dtype::i8:
        return convert_each<int8_t>(source, destination);
    case dtype::u64:
        return convert_each<uint64_t>(source, destination);
    case dtype::u32:
        return convert_each<uint32_t>(source, destination);
    case dtype::u16:
        return convert_each<uint16_t>(source, destination);
    case dtype::u8:
        return convert_each<uint8_t>(source, destination);
    case dtype::boolean:
        return convert_each<bool_byte>(source, destination);
    }
}

/// Four at a time, by one load and one store, which is as fast as memory for floats.
template <class To>
void convert_float8(bytes_view source, const float8_values& values, span<To> destination) noexcept {
    const auto value_of = [&](byte pattern) { return static_cast<To>(values.of[std::to_integer<size_t>(pattern)]); };
    size_t done = 0;
    for (; destination.size() - done >= 4; done += 4) {
        byte block[4];
        std::memcpy(block, source.data() + done, sizeof(block));
        const To numbers[4] = {value_of(block[0]), value_of(block[1]), value_of(block[2]), value_of(block[3])};
        std::memcpy(destination.data() + done, numbers, sizeof(numbers));
    }
    for (; done < destination.size(); ++done) {
        destination[done] = value_of(source[done]);
    }
}

/// Elements of a storage type, or 8-bit floats of these values, as numbers; as many as `destination` has room for.
/// Checked before: check_convertible().
///
/// The source may start at any address and must be in the host's byte order. Unless numbers go past the cache, which
/// only floats made of 16-bit floats do, it may be the last part of the destination, if its elements are no wider than
/// the numbers: each block is copied before numbers take its place.
///
/// Values that a To holds are kept exactly; others are rounded to nearest (in the default rounding mode), so i64 and
/// u64 beyond 2^53, and i32, u32 and f64 for float, may lose their last bits, and f64 beyond float's range becomes
/// infinite. NaN stays NaN. A bool byte gives 0 or 1; that bytes other than 0 and 1 are refused in some versions
/// (SPEC.md section 4.4) is not known here.
template <class To>
void convert_all(bytes_view source, dtype storage, const float8_values* values, span<To> destination,
                 number_store store) noexcept {
    zero_upper_halves(host_cpu());
    if (values == nullptr) {
        return convert_stored(source, storage, destination, store);
    }
    convert_float8(source, *values, destination);
}

/// Whether elements of this type are single numbers that this header can convert. An empty logical type, or one that
/// repeats the name of the storage type, means the stored elements themselves. Errors: unsupported_type for complex and
/// unknown logical types, which it names; type_mismatch for a logical type over the wrong storage.
inline result<void> check_convertible(dtype storage, string_view logical_type) {
    if (logical_type.empty() || logical_type == name(storage)) {
        return {};
    }
    const logical_type_facts* known = find_any_logical_type(logical_type);
    if (known == nullptr) {
        return fail(errc::unsupported_type, "the logical type {} is unknown and can't be converted to numbers",
                    {in_quotes(logical_type)});
    }
    if (known->storage_elements != 1 || known->packed_elements != 1) {
        return fail(errc::unsupported_type,
                    "elements of the logical type {} are not single numbers and can't be converted to such",
                    {in_quotes(logical_type)});
    }
    if (known->storage != storage) {
        return fail(errc::type_mismatch, "the logical type {} stands over {}, expected {}",
                    {in_quotes(logical_type), name(storage), name(known->storage)});
    }
    return {};
}

/// Makes integers of 64 bits such that a double holds each, and that this is rounded to fewer bits as the integer would
/// be: of more than 53 significant bits, the last one kept also stands for all that are dropped. To round to a double
/// first, and then once more, could end at the wrong neighbour.
inline void shorten_for_double(span<byte> integers, bool are_signed) noexcept {
    constexpr uint64_t end_of_exact = uint64_t{1} << 53;
    for (size_t at = 0; at < integers.size(); at += sizeof(uint64_t)) {
        uint64_t bits = 0;
        std::memcpy(&bits, integers.data() + at, sizeof(bits));
        const bool is_negative = are_signed && bits >> 63 != 0;
        uint64_t magnitude = is_negative ? 0 - bits : bits;
        int dropped = 0;
        while (magnitude >> dropped >= end_of_exact) {
            ++dropped;
        }
        const uint64_t rest = magnitude & ((uint64_t{1} << dropped) - 1);
        magnitude = (magnitude >> dropped | (rest != 0 ? 1U : 0U)) << dropped;
        bits = is_negative ? 0 - magnitude : magnitude;
        std::memcpy(integers.data() + at, &bits, sizeof(bits));
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
