// SPDX-License-Identifier: MIT
//
// The verbs by which elements are read: the same for an object, for a part of it and for one of its components.
// SPEC.md section 4.
#ifndef ZTENSOR_READABLE_HPP
#define ZTENSOR_READABLE_HPP

#include <ztensor/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {

/// True for types made from a double without narrowing it, so not for those that only have a constructor from float.
template <class To, class = void>
inline constexpr bool takes_double_v = false;
template <class To>
inline constexpr bool takes_double_v<To, std::void_t<decltype(To{std::declval<double>()})>> = true;

/// True for the floating-point types that elements are converted to on their way into memory.
template <class To>
inline constexpr bool is_number_v = std::is_same_v<To, float> || std::is_same_v<To, double> ||
                                    std::is_same_v<To, float16> || std::is_same_v<To, bfloat16>;

/// Errors: out_of_memory for bools, which a std::vector packs.
template <class T>
result<std::vector<T>> as_result(std::vector<in_vector_t<T>> elements) {
    if constexpr (std::is_same_v<T, bool>) {
        return guard_memory(
            [&]() -> result<std::vector<T>> { return std::vector<T>(elements.begin(), elements.end()); });
    } else {
        return elements;
    }
}

/// Numbers as others, one by one, in a vector or an array.
template <class To, class Made, class Numbers>
result<Made> converted(result<Numbers> numbers) {
    ZTENSOR_TRY_ASSIGN(const Numbers all, std::move(numbers));
    return guard_memory([&]() -> result<Made> {
        if constexpr (std::is_same_v<Made, std::vector<To>>) {
            Made made;
            made.reserve(all.size());
            for (const auto number : all) {
                made.push_back(static_cast<To>(number));
            }
            return made;
        } else {
            Made made(all.size());
            for (std::size_t i = 0; i < made.size(); ++i) {
                made[i] = static_cast<To>(all[i]);
            }
            return made;
        }
    });
}

} // namespace detail

/// What elements can be read from. `T` is any type that element_traits describes, whose storage type is that of the
/// elements; their logical type is T's, too, or T has none (then the stored elements are read as such). std::byte
/// stands for the decoded bytes of anything, in the file's byte order, and std::uint8_t also for the bytes of bools.
///
/// `To` is float, double, float16 or bfloat16, `long double`, or, where the call allocates, any type made from a float
/// (one made from a double is given doubles where floats don't hold every value).
///
/// Every call can be told the shape that its caller expects: see expected_shape.
///
/// Errors that any of them may return, besides those it lists: object_not_found, component_not_found (what reader[name]
/// and object[role] did not find), unsupported_format (a typed read of an object that is not dense), out_of_bounds and
/// invalid_argument (a part that the object does not have), shape_mismatch, unknown_dtype, type_mismatch, size_mismatch
/// (no whole number of T), too_large_for_host.
template <class Derived>
class readable {
public:
    /// The elements where they lie, without a copy. Touches and verifies nothing. They live as long as the reader.
    /// Errors: not_viewable (compressed, not in memory, or of a part that is not one run of whole bytes),
    /// needs_byteswap, misaligned_memory.
    template <class T>
    result<span<const T>> view(const expected_shape& expected = expected_shape::anything()) const {
        static_assert(!std::is_same_v<T, bool>, "stored bools are bytes of any value: view<std::uint8_t>() them");
        ZTENSOR_TRY(self().check_shape(expected));
        ZTENSOR_TRY_ASSIGN(bytes_view elements, self().view_elements(detail::element_request_of<T>()));
        return detail::as_elements<T>(elements);
    }

    /// The elements in memory of the caller's own: decoded, verified (unless read_options say no), in the host's byte
    /// order. Bools become a std::vector<bool>. Of a part, only its bytes are read from raw data, and from compressed
    /// data in several frames only the frames that it lies in; neither is verified then.
    /// Errors: unsupported_encoding, limit_exceeded, out_of_memory, digest_mismatch, decode_failed, decode_size,
    /// bad_bool, and what the source says.
    template <class T>
    result<std::vector<T>> read(const expected_shape& expected = expected_shape::anything()) const {
        std::vector<detail::in_vector_t<T>> elements;
        ZTENSOR_TRY(self().check_shape(expected));
        ZTENSOR_TRY(self().read_elements(detail::element_request_of<T>(), detail::memory_of(elements)));
        return detail::as_result<T>(std::move(elements));
    }

    /// The same in an array, which is faster than a vector for large tensors.
    template <class T>
    result<array<T>> load(const expected_shape& expected = expected_shape::anything()) const {
        array<T> elements;
        ZTENSOR_TRY(self().check_shape(expected));
        ZTENSOR_TRY(self().read_elements(detail::element_request_of<T>(), memory_of(elements)));
        return elements;
    }

    /// The same into the caller's memory, a span or a container of the right size, with no temporary copy of the
    /// tensor. What `destination` holds after a failure is unspecified. Errors: size_mismatch if `destination` has not
    /// as many elements (decode_size, where only decoding tells how many there are); as read().
    template <class Destination>
    result<void> read_into(Destination&& destination) const {
        const auto memory = detail::span_of_destination(destination);
        return self().read_elements(detail::element_request_of<typename decltype(memory)::value_type>(),
                                    detail::memory_of(detail::as_writable_bytes(memory)));
    }

    /// The elements as floating-point numbers, converted one by one from whatever they are stored as: any dtype, the
    /// 8-bit floats, elements that share bytes, and of an object of blocks of quantized weights the weights (of format
    /// gguf.<type>/1 bit for bit what ggml's dequantizers give; of zt.mx/1 and zt.quant_group/1 computed in double and
    /// rounded once). Values that a To holds are kept exactly; others are rounded to nearest, and what lies beyond its
    /// range becomes infinite. NaN stays NaN. A part of elements that share bytes, or of weights in groups, is taken
    /// from all of them, which are converted first.
    /// Errors: unsupported_type (complex and unknown logical types), layout_components, attribute_not_found,
    /// attribute_type; as read().
    template <class To>
    result<std::vector<To>> read_as(const expected_shape& expected = expected_shape::anything()) const {
        ZTENSOR_TRY(self().check_shape(expected));
        return converted_to<To, std::vector<To>>();
    }
    /// The same in an array.
    template <class To>
    result<array<To>> load_as(const expected_shape& expected = expected_shape::anything()) const {
        ZTENSOR_TRY(self().check_shape(expected));
        return converted_to<To, array<To>>();
    }

    /// The same into the caller's memory, converted block by block with no temporary copy of the tensor (but of
    /// compressed elements that are wider than a To). What `destination` holds after a failure is unspecified.
    /// Errors: size_mismatch if `destination` has not as many elements; as read_as().
    template <class Destination>
    result<void> read_as_into(Destination&& destination) const {
        const auto memory = detail::span_of_destination(destination);
        using number = typename decltype(memory)::value_type;
        static_assert(detail::is_number_v<number>, "elements are converted in place to float, double, float16 or "
                                                   "bfloat16");
        return self().read_numbers(element_traits<number>::storage,
                                   detail::memory_of(detail::as_writable_bytes(memory)));
    }

    /// The elements with their shape: borrowed where that is safe (from memory, or from a file opened with
    /// read_options::stable_file(), of exactly T), else loaded. Keeps the file open, so a temporary reader may be
    /// asked. What is loaded is checked against its digest; what is borrowed is not. Never converts. Errors: as read().
    template <class T>
    result<tensor<T>> acquire(const expected_shape& expected = expected_shape::anything()) const {
        constexpr detail::element_request request = detail::element_request_of<T>();
        tensor<T> made;
        ZTENSOR_TRY(self().check_shape(expected));
        ZTENSOR_TRY(self().describe(made.facts_));
        if (made.facts_.may_be_borrowed && !request.is_bool) {
            if (const result<bytes_view> elements = self().view_elements(request)) {
                made.borrow(*elements);
                return made;
            }
        }
        ZTENSOR_TRY(self().read_elements(request, memory_of(made.owned_)));
        made.complete_shape();
        return made;
    }
    /// The same as floating-point numbers: acquired, where the elements are of type To, else converted. Errors: as
    /// read_as().
    template <class To>
    result<tensor<To>> acquire_as(const expected_shape& expected = expected_shape::anything()) const {
        if constexpr (is_element_v<To>) {
            if (self().holds(detail::element_request_of<To>())) {
                return acquire<To>(expected);
            }
        }
        tensor<To> made;
        ZTENSOR_TRY(self().check_shape(expected));
        ZTENSOR_TRY(self().describe(made.facts_));
        ZTENSOR_TRY_ASSIGN(made.owned_, (converted_to<To, array<To>>()));
        made.complete_shape();
        return made;
    }

protected:
    readable() noexcept = default;
    readable(const readable&) noexcept = default;
    readable& operator=(const readable&) noexcept = default;
    ~readable() = default;

private:
    [[nodiscard]] const Derived& self() const noexcept { return static_cast<const Derived&>(*this); }

    template <class To, class Numbers>
    result<Numbers> converted_to() const {
        static_assert(!std::is_const_v<To> && !std::is_integral_v<To> && std::is_constructible_v<To, float>,
                      "elements are converted to a floating-point type or to a type made from float");
        if constexpr (detail::is_number_v<To>) {
            using detail::memory_of;
            Numbers numbers;
            ZTENSOR_TRY(self().read_numbers(element_traits<To>::storage, memory_of(numbers)));
            return numbers;
        } else {
            if constexpr (std::is_same_v<To, long double>) { // which holds what a double does not
                if (self().holds(detail::element_request_of<std::int64_t>())) {
                    return detail::converted<To, Numbers>(read<std::int64_t>());
                }
                if (self().holds(detail::element_request_of<std::uint64_t>())) {
                    return detail::converted<To, Numbers>(read<std::uint64_t>());
                }
            }
            if constexpr (detail::takes_double_v<To>) {
                if (!self().holds_floats()) {
                    return detail::converted<To, Numbers>(read_as<double>());
                }
            }
            return detail::converted<To, Numbers>(read_as<float>());
        }
    }
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
