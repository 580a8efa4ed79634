// SPDX-License-Identifier: MIT
//
// One validated component of an open file: what it is, and its bytes as elements. SPEC.md section 3.4.
#ifndef ZTENSOR_COMPONENT_VIEW_HPP
#define ZTENSOR_COMPONENT_VIEW_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/fwd.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {

struct opened_file;
struct object_record;
struct component_record;
struct component_access;

/// True for types made from a double without narrowing it, so not for those that only have a constructor from float.
template <class To, class = void>
inline constexpr bool takes_double_v = false;
template <class To>
inline constexpr bool takes_double_v<To, std::void_t<decltype(To{std::declval<double>()})>> = true;

template <>
inline constexpr bool is_handle_v<component_view> = true;

/// Errors: out_of_memory for bools, which a std::vector packs.
template <class T>
result<std::vector<T>> as_result(std::vector<in_vector_t<T>> elements) {
    if constexpr (std::is_same_v<T, bool>) {
        return guard_memory([&]() -> result<std::vector<T>> { return from_vector<T>(std::move(elements)); });
    } else {
        return elements;
    }
}

} // namespace detail

/// A component of an object. Cheap to copy; it and everything it hands out live as long as the reader it came from
/// (or any copy of that reader). Every member may be called from many threads at once.
///
/// `T` below is any type that element_traits describes, whose storage type is the component's; its logical type is
/// the component's too, or none (then the stored elements are read as such). std::byte stands for the decoded bytes
/// of any component, in the file's byte order, and std::uint8_t also for the bytes of bools.
/// Errors that any typed call may return, besides those it lists: unknown_dtype, type_mismatch, size_mismatch (no
/// whole number of T), too_large_for_host.
class component_view {
public:
    /// Made by object_view.
    component_view(const detail::opened_file& file, const detail::object_record& object,
                   const detail::component_record& record) noexcept
        : file_(&file), object_(&object), record_(&record) {}

    /// What it is in its object: "data", "values", "scales", ...
    [[nodiscard]] std::string_view role() const noexcept;
    /// The storage type; nothing for a word that is none of the 13.
    [[nodiscard]] std::optional<ztensor::dtype> dtype() const noexcept;
    /// Its name in the words of 1.2, or the file's own word for an unknown one.
    [[nodiscard]] std::string_view dtype_name() const noexcept;
    /// The word that stands for the storage type in the file: 0.1 and 1.0 use long names, and 1.1 names some logical
    /// types there.
    [[nodiscard]] std::string_view original_dtype() const noexcept;
    /// The logical type in the words of 1.2; "" if there is none.
    [[nodiscard]] std::string_view type() const noexcept;
    /// True if the file gives a logical type, even one of no letters.
    [[nodiscard]] bool has_type() const noexcept;
    /// True for a logical type that the specification does not define, or that contradicts what stands beside it.
    [[nodiscard]] bool has_unknown_type() const noexcept;
    /// "raw", "zstd", or an unknown word.
    [[nodiscard]] std::string_view encoding_name() const noexcept;
    /// Nothing for a word that is unknown.
    [[nodiscard]] std::optional<ztensor::encoding> encoding() const noexcept;
    /// Absolute position of the blob in the file, or in its shard, in bytes. Of a file of another format it may be
    /// behind its end: see open_any().
    [[nodiscard]] std::uint64_t offset() const noexcept;
    /// Of version 2: the name of the shard that the blob lies in; "" for the file itself.
    [[nodiscard]] std::string_view shard() const noexcept;
    /// Length of the blob in the file, in bytes.
    [[nodiscard]] std::uint64_t stored_bytes() const noexcept;
    /// Size after decoding, in bytes, where it is known before decoding.
    [[nodiscard]] std::optional<std::uint64_t> decoded_bytes() const noexcept;
    /// The field uncompressed_length, where the file states it.
    [[nodiscard]] std::optional<std::uint64_t> uncompressed_length() const noexcept;
    /// True if the file gives a digest, even one of no letters.
    [[nodiscard]] bool has_digest() const noexcept;
    /// The text of the digest, "algorithm:hex"; "" if there is none.
    [[nodiscard]] std::string_view digest() const noexcept;
    /// Which generation of the format its file is of.
    [[nodiscard]] ztensor::generation generation() const noexcept;
    /// True for data of 0.1 stored most significant byte first. Everything else is little-endian.
    [[nodiscard]] bool is_big_endian() const noexcept;

    /// True if both are the same bytes of one open file, and at least one.
    [[nodiscard]] bool same_storage_as(const component_view& other) const noexcept;

    /// Whether its elements may be read as T, by type alone. Errors: unknown_dtype, type_mismatch.
    template <class T>
    result<void> check() const {
        return check_type(detail::element_request_of<T>());
    }

    /// The stored bytes (compressed, if they are stored compressed), borrowed. Touches and verifies nothing.
    /// Errors: not_viewable if the source is not in memory, or if the bytes are made when they are read.
    result<bytes_view> bytes() const;

    /// Copies stored bytes, from position `from` of the blob on, verifying nothing. Errors: out_of_bounds if the blob
    /// has fewer; what the source says.
    result<void> read_stored_into(span<std::byte> destination, std::uint64_t from = 0) const;

    /// Hints to the source: the stored bytes will be read or viewed soon, so that a file's are fetched from the disk
    /// while the caller does other things; or not soon again, so that the system's memory of them can go to others
    /// (what is written to the disk by now, and no page that other blobs share). Nothing happens where the system, or a
    /// source of the user's, has no such hints.
    void prefetch() const noexcept;
    void evict() const noexcept;

    /// The elements where they lie, without a copy. Touches and verifies nothing.
    /// Errors: not_viewable (compressed, or not in memory), needs_byteswap, misaligned_memory.
    template <class T>
    result<span<const T>> view() const {
        static_assert(!std::is_same_v<T, bool>, "stored bools are bytes of any value: view<std::uint8_t>() them");
        ZTENSOR_TRY_ASSIGN(bytes_view elements, view_elements(detail::element_request_of<T>()));
        return detail::as_elements<T>(elements);
    }

    /// The elements in memory of the caller's own: decoded, verified (unless read_options say no), in the host's byte
    /// order. Bools become a std::vector<bool>.
    /// Errors: unsupported_encoding, limit_exceeded, out_of_memory, digest_mismatch, decode_failed, decode_size,
    /// bad_bool, and what the source says.
    template <class T>
    result<std::vector<T>> read() const {
        std::vector<detail::in_vector_t<T>> elements;
        result<void> done = read_elements(detail::element_request_of<T>(), detail::memory_of(elements));
        if (!done) {
            return std::move(done).error();
        }
        return detail::as_result<T>(std::move(elements));
    }

    /// The same in an array of its own, which is faster than a vector for large tensors: include <ztensor/array.hpp>.
    template <class T>
    result<array<T>> load() const {
        array<T> elements;
        result<void> done = read_elements(detail::element_request_of<T>(), memory_of(elements));
        if (!done) {
            return std::move(done).error();
        }
        return elements;
    }

    /// The same into the caller's memory, with no temporary copy of the tensor. What `destination` holds after a
    /// failure is unspecified. Errors: size_mismatch if `destination` has not as many elements (decode_size, where only
    /// decoding tells how many there are); as read().
    template <class T>
    result<void> read_into(span<T> destination) const {
        const auto memory = detail::span_of_destination(destination);
        return read_elements(detail::element_request_of<typename decltype(memory)::value_type>(),
                             detail::memory_of(detail::as_writable_bytes(memory)));
    }
    template <class Destination, std::enable_if_t<!detail::is_span_v<Destination>, int> = 0>
    result<void> read_into(Destination& destination) const {
        return read_into(detail::span_of_destination(destination));
    }

    /// The decoded bytes, least significant first whatever the file's order. Errors: as read<std::byte>(); of
    /// big-endian data unknown_dtype, needs_byteswap (of another layout than dense).
    result<std::vector<std::byte>> read_little_endian() const;

    /// The elements as floating-point numbers, converted one by one from whatever they are stored as: any dtype, and
    /// the 8-bit floats. `To` is a floating-point type of C++, or any type made from a float (one made from a double is
    /// given doubles where floats don't hold every value). Values that a To holds are kept exactly; others are rounded
    /// to nearest, and what lies beyond its range becomes infinite. NaN stays NaN.
    /// Errors: unsupported_type (complex and unknown logical types); as read().
    template <class To>
    result<std::vector<To>> read_as() const {
        static_assert(!std::is_const_v<To> && !std::is_integral_v<To> && std::is_constructible_v<To, float>,
                      "elements are converted to a floating-point type or to a type made from float");
        if constexpr (std::is_same_v<To, float> || std::is_same_v<To, double>) {
            std::vector<To> numbers;
            result<void> done = read_numbers(sizeof(To), detail::memory_of(numbers));
            if (!done) {
                return std::move(done).error();
            }
            return numbers;
        } else if constexpr (std::is_same_v<To, long double>) { // which holds what a double does not
            const std::optional<ztensor::dtype> storage = has_unknown_type() ? std::nullopt : dtype();
            return storage == ztensor::dtype::i64   ? read_by_way_of<To>(read<std::int64_t>())
                   : storage == ztensor::dtype::u64 ? read_by_way_of<To>(read<std::uint64_t>())
                                                    : read_by_way_of<To>(read_as<double>());
        } else if constexpr (detail::takes_double_v<To>) {
            return holds_floats() ? read_by_way_of<To>(read_as<float>()) : read_by_way_of<To>(read_as<double>());
        } else {
            return read_by_way_of<To>(read_as<float>());
        }
    }

    /// The same into the caller's memory, converted block by block with no temporary copy of the tensor (but of
    /// compressed elements that are wider than a To). What `destination` holds after a failure is unspecified.
    /// Errors: size_mismatch if `destination` has not as many elements; as read_as().
    template <class To>
    result<void> read_as_into(span<To> destination) const {
        const auto memory = detail::span_of_destination(destination);
        using number = typename decltype(memory)::value_type;
        static_assert(std::is_same_v<To, number> ? std::is_same_v<number, float> || std::is_same_v<number, double>
                                                 : true,
                      "elements are converted to floats or doubles");
        return read_numbers(sizeof(number), detail::memory_of(detail::as_writable_bytes(memory)));
    }
    template <class Destination, std::enable_if_t<!detail::is_span_v<Destination>, int> = 0>
    result<void> read_as_into(Destination& destination) const {
        return read_as_into(detail::span_of_destination(destination));
    }

    /// Elements of parts [first, last) of `parts` equal ones: the rows of a dense tensor. Reads no other byte of raw
    /// data, and verifies none. Errors: out_of_bounds (last > parts, first > last); as read().
    template <class T>
    result<std::vector<T>> read_part(std::uint64_t first, std::uint64_t last, std::uint64_t parts) const {
        std::vector<detail::in_vector_t<T>> elements;
        result<void> done =
            read_elements_of_part(detail::element_request_of<T>(), first, last, parts, detail::memory_of(elements));
        if (!done) {
            return std::move(done).error();
        }
        return detail::as_result<T>(std::move(elements));
    }

    /// The same into the caller's memory. Errors: size_mismatch if `destination` has not as many elements; as
    /// read_part().
    template <class T>
    result<void> read_part_into(std::uint64_t first, std::uint64_t last, std::uint64_t parts,
                                span<T> destination) const {
        return read_elements_of_part(detail::element_request_of<T>(), first, last, parts,
                                     detail::memory_of(detail::as_writable_bytes(destination)));
    }

    /// Whether the stored bytes are those that were digested. Reads all of them, whatever the options say. Of version
    /// 2, whose digests are of decoded bytes, all are decoded, and the rules of their encoding and type checked.
    /// Errors: what the source says; of version 2 decode_failed, decode_size, bad_bool, bad_padding.
    result<digest_state> verify() const;

private:
    friend struct detail::component_access;
    friend class object_view; // whose weights become other numbers the same way

    result<void> check_type(const detail::element_request& request) const;
    result<bytes_view> view_elements(const detail::element_request& request) const;
    result<void> read_elements(const detail::element_request& request, detail::element_memory elements) const;
    result<void> read_elements_of_part(const detail::element_request& request, std::uint64_t first, std::uint64_t last,
                                       std::uint64_t parts, detail::element_memory elements) const;
    /// As floats or doubles.
    result<void> read_numbers(std::size_t number_bytes, detail::element_memory numbers) const;
    /// True if every element is exactly a float.
    [[nodiscard]] bool holds_floats() const noexcept;

    template <class To, class Number>
    static result<std::vector<To>> read_by_way_of(result<std::vector<Number>> numbers) {
        if (!numbers) {
            return std::move(numbers).error();
        }
        return detail::guard_memory([&]() -> result<std::vector<To>> {
            std::vector<To> converted;
            converted.reserve(numbers->size());
            for (const Number number : *numbers) {
                converted.push_back(static_cast<To>(number));
            }
            return converted;
        });
    }

    /// Adds to an error where it happened.
    [[nodiscard]] error located(error why) const noexcept;

    const detail::opened_file* file_;
    const detail::object_record* object_;
    const detail::component_record* record_;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/read/component_definitions.hpp>
#endif

#endif
