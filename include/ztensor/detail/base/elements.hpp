// SPDX-License-Identifier: MIT
//
// Elements in the caller's memory, and what the reading and the writing side, and views of sparse objects, know of
// stored ones.
#ifndef ZTENSOR_DETAIL_BASE_ELEMENTS_HPP
#define ZTENSOR_DETAIL_BASE_ELEMENTS_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/format.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- elements
//
// A C++ element type and memory of such elements, as the functions see them that are compiled once for all types.

/// A C++ element type, as far as the checks need it.
struct element_request {
    optional<dtype> storage; ///< nothing: the bytes of any type
    string_view type;        ///< logical type; "": the stored elements themselves
    size_t size_bytes = 1;
    size_t alignment_bytes = 1;
    bool is_bool = false; ///< of C++, of which no byte but 0 and 1 may be made
};

// The assertions below say what to do instead. Where one fails, what follows it is left out, so that it stands alone.
template <class T>
inline constexpr bool is_taken_v = false;

template <class T>
[[nodiscard]] constexpr element_request element_request_of() noexcept {
    if constexpr (std::is_same_v<T, byte>) {
        return {};
    } else if constexpr (std::is_const_v<T>) {
        static_assert(is_taken_v<T>, "leave `const` out: view<float>() gives a span<const float>");
        return {};
    } else if constexpr (!is_element_v<T>) {
        static_assert(is_taken_v<T>, "specialise ztensor::element_traits for this type");
        return {};
    } else {
        static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % width_bytes(element_traits<T>::storage) == 0,
                      "an element type is a trivially copyable run of its storage elements");
        return {element_traits<T>::storage, element_traits<T>::type, sizeof(T), alignof(T), std::is_same_v<T, bool>};
    }
}

template <class Container>
inline constexpr bool is_vector_of_bools_v = false;
template <class Allocator>
inline constexpr bool is_vector_of_bools_v<vector<bool, Allocator>> = true;

template <class Container, class = void>
inline constexpr bool has_data_and_size_v = false;
template <class Container>
inline constexpr bool has_data_and_size_v<
    Container, std::void_t<data_pointer_t<Container>, decltype(std::declval<Container&>().size())>> =
    std::is_pointer_v<data_pointer_t<Container>>;

template <class Elements>
inline constexpr bool is_list_v = false;
template <class T>
inline constexpr bool is_list_v<std::initializer_list<T>> = true;

/// What is given as elements, const or not: an array, or a container.
template <class Elements, class = void>
struct element_of {
    using type = unsigned char; // of what is refused anyway
};
template <class Elements>
struct element_of<Elements, std::enable_if_t<has_data_and_size_v<const Elements>>> {
    using type = std::remove_cv_t<std::remove_pointer_t<data_pointer_t<const Elements>>>;
};
template <class T, size_t Count>
struct element_of<T[Count], void> {
    using type = std::remove_cv_t<std::remove_all_extents_t<T>>;
};
template <class T>
struct element_of<std::initializer_list<T>, void> {
    using type = T;
};

/// The element type of a container or array.
template <class Elements>
using element_of_t = typename element_of<Elements>::type;

/// Elements in memory, in the host's byte order, as what they are in a file.
struct typed_bytes {
    dtype storage = dtype::u8;
    string_view type; ///< logical type; "" for none
    bytes_view bytes;
};

/// Of a span, vector, array or list of any type that element_traits describes; borrowed.
template <class Elements>
[[nodiscard]] typed_bytes typed_bytes_of(const Elements& elements) noexcept {
    using T = element_of_t<Elements>;
    if constexpr (std::is_pointer_v<Elements>) {
        static_assert(is_taken_v<Elements>,
                      "a pointer does not say how many elements there are: give ztensor::span(pointer, count)");
        return {};
    } else if constexpr (is_vector_of_bools_v<Elements>) {
        static_assert(is_taken_v<Elements>, "a std::vector<bool> has no bools in memory that could be "
                                            "borrowed: give a std::vector<std::uint8_t>, or an array of bool");
        return {};
    } else if constexpr (std::is_array_v<Elements>) {
        static_assert(is_element_v<T>, "specialise ztensor::element_traits for this type");
        return {element_traits<T>::storage, element_traits<T>::type,
                as_bytes(span<const std::remove_extent_t<Elements>>(elements))};
    } else if constexpr (!has_data_and_size_v<const Elements>) {
        static_assert(is_taken_v<Elements>,
                      "give the elements as a span, vector or array, or as something else with data() and size()");
        return {};
    } else if constexpr (!is_element_v<T>) {
        static_assert(is_taken_v<T>, "specialise ztensor::element_traits for this type");
        return {};
    } else {
        return {element_traits<T>::storage, element_traits<T>::type, as_bytes(span<const T>(elements))};
    }
}
template <class T>
[[nodiscard]] typed_bytes typed_bytes_of(const std::initializer_list<T>& elements) noexcept {
    return typed_bytes_of(span<const T>(elements.begin(), elements.size()));
}

/// Elements that are written later, and their owner, if they were given as a temporary.
struct kept_elements {
    typed_bytes elements;
    std::shared_ptr<const void> owner;
};

/// Takes a temporary over and borrows everything else. Throws std::bad_alloc.
template <class Elements>
[[nodiscard]] kept_elements keep_elements(Elements&& elements) {
    using given = bare_t<Elements>;
    if constexpr (is_list_v<given>) {
        using T = element_of_t<given>;
        const std::shared_ptr<T[]> owner(new T[elements.size()]);
        std::copy(elements.begin(), elements.end(), owner.get());
        return {typed_bytes_of(span<const T>(owner.get(), elements.size())), owner};
    } else if constexpr (is_dying_owner_v<Elements&&> && std::is_array_v<given>) {
        static_assert(is_taken_v<given>, "the array is a temporary, and gone before it is written: keep it in a "
                                         "variable, or give a std::array");
        return {};
    } else if constexpr (is_dying_owner_v<Elements&&>) {
        const auto owner = std::make_shared<const given>(std::forward<Elements>(elements));
        return {typed_bytes_of(*owner), owner};
    } else {
        return {typed_bytes_of(elements), nullptr};
    }
}

/// The bools of a std::vector, which has none in memory. Throws std::bad_alloc.
class bools_in_memory {
public:
    template <class Bools>
    explicit bools_in_memory(const Bools& bools) : bytes_(bools.begin(), bools.end()) {}
    [[nodiscard]] bytes_view bytes() const noexcept { return as_bytes(span<const unsigned char>(bytes_)); }

private:
    vector<unsigned char> bytes_;
};
template <>
struct element_of<bools_in_memory, void> {
    using type = bool;
};
[[nodiscard]] inline typed_bytes typed_bytes_of(const bools_in_memory& bools) noexcept {
    return {dtype::boolean, {}, bools.bytes()};
}

/// The memory of what a caller wants elements in: a span, vector or array of any type.
template <class Destination>
[[nodiscard]] constexpr auto span_of_destination(Destination& destination) noexcept {
    if constexpr (std::is_pointer_v<Destination>) {
        static_assert(is_taken_v<Destination>,
                      "a pointer does not say how much memory there is: give ztensor::span(pointer, count)");
        return span<unsigned char>();
    } else if constexpr (is_vector_of_bools_v<std::remove_cv_t<Destination>>) {
        static_assert(is_taken_v<Destination>,
                      "a std::vector<bool> has no bools in memory to read into: read<bool>() makes one, or read into a "
                      "std::vector<std::uint8_t>");
        return span<unsigned char>();
    } else if constexpr (std::is_array_v<Destination> && !std::is_const_v<std::remove_extent_t<Destination>>) {
        static_assert(std::rank_v<Destination> == 1,
                      "give an array of several dimensions as a span of all its elements");
        return span<std::remove_extent_t<Destination>>(destination);
    } else if constexpr (std::is_array_v<Destination>) {
        static_assert(is_taken_v<Destination>, "the destination is const: nothing can be read into it");
        return span<unsigned char>();
    } else if constexpr (!has_data_and_size_v<Destination>) {
        static_assert(is_taken_v<Destination>,
                      "give the destination as a span, vector or array, or as something else with data() and size()");
        return span<unsigned char>();
    } else if constexpr (std::is_const_v<std::remove_pointer_t<data_pointer_t<Destination>>>) {
        static_assert(is_taken_v<Destination>, "the destination is const: nothing can be read into it");
        return span<unsigned char>();
    } else {
        return span<std::remove_pointer_t<data_pointer_t<Destination>>>(destination.data(), destination.size());
    }
}

/// Where elements go: to a container that is made to measure, since only reading tells how many there are, or to the
/// caller's memory.
struct element_memory {
    void* owner;
    /// All of it, afterwards; throws like its container. Null: it is `given`.
    span<byte> (*resize)(void* owner, size_t elements);
    /// Where elements are made one by one and stay when there are more: room for that many, and where it is. They are
    /// then best made and read in pieces that the cache holds, since making them writes them. Else null.
    void* (*reserve)(void* owner, size_t elements) = nullptr;
    span<byte> given = {};
};

[[nodiscard]] inline element_memory memory_of(span<byte> given) noexcept {
    return {nullptr, nullptr, nullptr, given};
}

template <class T>
[[nodiscard]] element_memory memory_of(vector<T>& elements) noexcept {
    return {&elements,
            [](void* owner, size_t count) {
                auto& mine = *static_cast<vector<T>*>(owner);
                mine.resize(count);
                return as_writable_bytes(span<T>(mine));
            },
            [](void* owner, size_t count) -> void* {
                auto& mine = *static_cast<vector<T>*>(owner);
                mine.reserve(count);
                return mine.data();
            }};
}

/// What stands for T in a std::vector while it is read: a std::vector<bool> has no bools in memory.
template <class T>
using in_vector_t = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;

} // namespace detail

// -- stored component
//
// A component of an open file as the writing side sees it: where its blob lies, and what is said of it.

class byte_source;
class component_view;
class object_view;

namespace detail {

struct opened_file;
struct object_record;
struct component_record;

/// Borrowed from the reader, like the component. Words are those of 1.2; unknown ones pass through.
struct stored_component {
    const byte_source* source = nullptr;
    uint64_t offset = 0;
    uint64_t length = 0;
    string_view dtype;
    string_view type;
    string_view encoding;
    string_view digest;
    optional<uint64_t> decoded_bytes;       ///< where it is known
    optional<uint64_t> uncompressed_length; ///< as the file states it
    optional<ztensor::digest> new_digest;   ///< of the blob, instead of its own; none: the version's usual one
    ztensor::version version = ztensor::version::v1_2;
    bool has_type = false;
    bool has_digest = false;
    bool is_raw = false;
    bool is_big_endian = false;
    bool makes_bools = false; ///< each byte but 0 becomes 1: a bool of another format, where any such byte is true

    /// Whether the bytes match their digest. Null: there is none, or the reader is to check none. Errors:
    /// digest_mismatch, and what the source says.
    result<void> (*check_digest)(const stored_component& stored) = nullptr;
    const opened_file* file = nullptr; ///< for that
    const detail::object_record* object_record = nullptr;
    const detail::component_record* component_record = nullptr;

    string_view path; ///< of the file, for messages; and where in it the component is
    string_view object;
    string_view role;
};

/// Defined where component_view is.
[[nodiscard]] stored_component describe_stored(const component_view& component) noexcept;

// -- load request
//
// One tensor of a load_plan as it was asked for.

/// Where the elements are to go, and as what.
struct load_destination {
    element_request request; ///< of the destination's elements
    optional<dtype> number;  ///< converted to numbers of that type
    span<byte> bytes;
    byte* rows = nullptr; ///< instead: rows of the last dimension, each so many bytes behind the one before
    size_t row_bytes = 0;
};

/// What a plan was asked for.
struct load_request {
    enum class part_kind : uint8_t { whole, rows, slice };

    string name;
    const opened_file* file = nullptr; ///< of the object that was given; null for a name
    part_kind part = part_kind::whole;
    shape begins; ///< of the ranges; of rows one
    shape ends;
    expected_shape expected = expected_shape::anything();
    bool is_optional = false;
    result<void> taken; ///< or why a plan can't
    load_destination destination;
};

// -- sparse memory
//
// What the views of sparse objects hold and call, without the types of their elements: loading, checking and turning
// one kind of view into the other are compiled once. SPEC.md section 5.2 and section 5.3.

/// Bytes in memory and, unless they are borrowed, who owns them. Cheap to copy.
struct shared_bytes {
    bytes_view bytes;
    std::shared_ptr<const void> owner;
};

/// The parts of a sparse object, in host byte order.
struct sparse_parts {
    ztensor::shape shape;
    shared_bytes values;
    shared_bytes indices; ///< a column for each value, or all coordinates of dimension 0, then of dimension 1, ...
    shared_bytes indptr;  ///< of sparse_csr alone
    size_t value_bytes = 1;

    [[nodiscard]] bool is_borrowed() const noexcept { return !values.owner && !indices.owner && !indptr.owner; }
};

enum class loading {
    borrows, ///< what lies in memory as it is needed, which verifies nothing; reads the rest
    reads,   ///< everything, decoded and verified
};

// Defined in detail/read/sparse_definitions.hpp. Indices become those of the integer type `index`.

/// Errors: as csr_view::from() and coo_view::from().
result<sparse_parts> load_sparse(const object_view& object, format layout, loading how, const element_request& value,
                                 dtype index);
/// Errors: as csr_view::from_rows().
result<sparse_parts> load_csr_rows(const object_view& object, uint64_t first, uint64_t last,
                                   const element_request& value, dtype index);
/// Errors: as csr_view::from_parts() and coo_view::from_parts().
result<void> check_sparse(const sparse_parts& parts, format layout, uint64_t value_count, dtype index);
/// Errors: as csr_view::to_coo() and coo_view::to_csr(); indices become u64.
result<sparse_parts> csr_to_coo(const sparse_parts& csr, dtype index);
result<sparse_parts> coo_to_csr(const sparse_parts& coo, dtype index, uint64_t max_bytes);
/// Room for every element of a shape, within `max_bytes`. Errors: limit_exceeded, out_of_memory.
result<void> make_dense(const shape& dimensions, size_t element_bytes, uint64_t max_bytes, element_memory dense);

/// Several values at one place are summed, as SciPy and PyTorch do; sums of integers wrap around, and that of bools is
/// true where one of them is.
template <class T>
void accumulate(in_vector_t<T>& place, const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
        place = place != 0 || value ? 1 : 0;
    } else if constexpr (std::is_integral_v<T>) { // as 64-bit unsigned numbers: signed ones must not overflow
        place = static_cast<T>(static_cast<uint64_t>(place) + static_cast<uint64_t>(value));
    } else if constexpr (std::is_convertible_v<T, float> || is_complex_of_v<T, float> || is_complex_of_v<T, double>) {
        place = place == T{} ? value : static_cast<T>(place + value);
    } else {
        const auto sum = static_cast<float>(place) + static_cast<float>(value);
        place = static_cast<float>(place) == 0.0F ? value : static_cast<T>(sum);
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
