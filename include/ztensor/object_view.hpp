// SPDX-License-Identifier: MIT
//
// One object of an open file: its shape, format and attributes, and its components by role, each with what it is and
// its bytes as elements. SPEC.md section 3.3, section 3.4.
#ifndef ZTENSOR_OBJECT_VIEW_HPP
#define ZTENSOR_OBJECT_VIEW_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/format.hpp>
#include <ztensor/fwd.hpp>
#include <ztensor/readable.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

// -- component

namespace detail {

struct opened_file;
struct object_record;
struct component_record;
struct component_access;

template <>
inline constexpr bool is_handle_v<component_view> = true;

} // namespace detail

/// A component of an object. Cheap to copy; it and everything it returns live as long as the reader it came from
/// (or any copy of that reader). Every member may be called from many threads at once. How its elements are read, and
/// what `T` may be, says readable.
class component_view : public readable<component_view> {
public:
    // No moves: an absent one that was moved from would say that it is present.
    component_view(const component_view&) noexcept = default;
    component_view& operator=(const component_view&) noexcept = default;
    ~component_view() = default;

    /// False for what object_view::operator[] did not find: every verb says so.
    [[nodiscard]] bool is_present() const noexcept { return found_.has_value(); }

    /// What it is in its object: "data", "values", "scales", ...
    [[nodiscard]] std::string_view role() const noexcept;
    /// The storage type, in the words of 1.2. Its original() is the word that stands for it in the file: 0.1 and 1.0
    /// use long names, and 1.1 names some logical types there.
    [[nodiscard]] open_word<ztensor::dtype> dtype() const noexcept;
    /// The logical type; absent if there is none, or only the storage type's own name. Unknown: the specification does
    /// not define it, or it contradicts what stands beside it.
    [[nodiscard]] open_word<logical_type> type() const noexcept;
    /// How the blob is stored; raw where the file says nothing.
    [[nodiscard]] open_word<ztensor::encoding> encoding() const noexcept;
    /// Absolute position of the blob in the file, or in its shard, in bytes. Of a file of another format it may be
    /// behind its end: see open_any().
    [[nodiscard]] std::uint64_t offset() const noexcept;
    /// In version 2 the name of the shard that the blob lies in; "" for the file itself.
    [[nodiscard]] std::string_view shard() const noexcept;
    /// Length of the blob in the file, in bytes.
    [[nodiscard]] std::uint64_t stored_bytes() const noexcept;
    /// Size after decoding, in bytes, where it is known before decoding.
    [[nodiscard]] std::optional<std::uint64_t> decoded_bytes() const noexcept;
    /// The field uncompressed_length, where the file states it.
    [[nodiscard]] std::optional<std::uint64_t> uncompressed_length() const noexcept;
    /// What the file says of its digest.
    [[nodiscard]] stated_digest digest() const noexcept;
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

    /// The decoded bytes, least significant first whatever the file's order. Errors: as read<std::byte>(); of
    /// big-endian data unknown_dtype, needs_byteswap (of another layout than dense).
    result<std::vector<std::byte>> read_little_endian() const;

    /// Elements of parts [first, last) of `parts` equal ones, such as the rows of a tensor, to be read like a
    /// component. A call fails with out_of_bounds for parts that there are not.
    [[nodiscard]] selection part(std::uint64_t first, std::uint64_t last, std::uint64_t parts) const noexcept;

    /// Whether the stored bytes are those that were digested. Reads all of them, whatever the options say. Of version
    /// 2, whose digests are of decoded bytes, all are decoded, and the rules of their encoding and type checked.
    /// Errors: what the source says; of version 2 decode_failed, decode_size, bad_bool, bad_padding.
    result<digest_state> verify() const;

private:
    friend struct detail::component_access;
    friend class object_view;
    friend class selection;
    friend class readable<component_view>;

    component_view(const detail::opened_file& file, const detail::object_record& object,
                   const detail::component_record& record) noexcept
        : file_(&file), object_(&object), record_(&record) {}
    /// One that is not there.
    component_view(const detail::opened_file& file, const detail::object_record& object, error why) noexcept;

    // For readable.
    result<void> check_shape(const expected_shape& expected) const;
    result<bytes_view> view_elements(const detail::element_request& request) const;
    result<void> read_elements(const detail::element_request& request, detail::element_memory elements) const;
    result<void> read_numbers(ztensor::dtype to, detail::element_memory numbers) const;
    result<void> describe(detail::acquired& made) const;
    [[nodiscard]] bool holds(const detail::element_request& request) const noexcept;
    /// True if every element is exactly a float.
    [[nodiscard]] bool holds_floats() const noexcept;

    result<void> check_type(const detail::element_request& request) const;

    /// Adds to an error where it happened.
    [[nodiscard]] error located(error why) const noexcept;

    const detail::opened_file* file_;
    const detail::object_record* object_;
    const detail::component_record* record_;
    result<void> found_; ///< or why it is not there: then the record is one of no words and no bytes
};

// -- object

namespace detail {
struct found_selection;
struct object_access;

template <>
inline constexpr bool is_handle_v<object_view> = true;
} // namespace detail

/// An object. Cheap to copy; it and everything it returns live as long as the reader it came from (or any copy of
/// that reader). Every member may be called from many threads at once.
class object_view : public readable<object_view> {
public:
    // No moves, as of component_view.
    object_view(const object_view&) noexcept = default;
    object_view& operator=(const object_view&) noexcept = default;
    ~object_view() = default;

    /// False for what reader::operator[] did not find: every verb says so, and there are no components.
    [[nodiscard]] bool is_present() const noexcept { return found_.has_value(); }

    /// As the file spells it; of an absent object, as it was asked for.
    [[nodiscard]] std::string_view name() const noexcept;
    [[nodiscard]] ztensor::shape shape() const noexcept;
    /// Product of the dimensions: 1 for a scalar.
    [[nodiscard]] std::uint64_t element_count() const noexcept;
    /// The layout: "dense", "sparse_csr", ... What is_in_planes() is dense. Its original() is the word that stands for
    /// it in the file (0.1: its layout, where it has one; version 2: such as "zt.sparse_csr/1").
    [[nodiscard]] open_word<ztensor::format> format() const noexcept;
    // The type of a dense object's elements, as component_view says it; absent for other formats.
    [[nodiscard]] open_word<ztensor::dtype> dtype() const noexcept;
    [[nodiscard]] open_word<logical_type> type() const noexcept;

    /// True for a dense tensor that store::planes() has made two components of, "exponent" and "fraction" (SPEC.md
    /// section 14). data() then stands for both: its elements are read as those of any compressed tensor, and never
    /// viewed. An object of that format word whose components don't fit each other is of an unknown format, and data()
    /// says why.
    [[nodiscard]] bool is_in_planes() const noexcept;

    /// True if both have the same components, and each pair of them the same bytes of one file: tied weights.
    [[nodiscard]] bool same_storage_as(const object_view& other) const noexcept;

    /// False if the file gives no attributes, which differs from an empty map of them.
    [[nodiscard]] bool has_attributes() const noexcept;
    [[nodiscard]] attributes_view attributes() const noexcept;

    /// Components, in the order of the manifest.
    class iterator : public detail::position_iterator<iterator, component_view> {
    public:
        iterator() noexcept = default;
        [[nodiscard]] component_view operator*() const noexcept;

    private:
        friend object_view;
        iterator(const detail::opened_file& file, const detail::object_record& object, std::size_t position) noexcept
            : position_iterator(position), file_(&file), object_(&object) {}

        const detail::opened_file* file_ = nullptr;
        const detail::object_record* object_ = nullptr;
    };
    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] iterator begin() const noexcept { return {*file_, *record_, 0}; }
    [[nodiscard]] iterator end() const noexcept { return {*file_, *record_, size()}; }

    /// The component of that role. Errors: component_not_found.
    result<component_view> component(std::string_view role) const;

    /// The same; where there is none of that role, one of which every verb says so.
    [[nodiscard]] component_view operator[](std::string_view role) const noexcept;
    /// The i-th component, i < size().
    [[nodiscard]] component_view operator[](std::size_t i) const noexcept {
        return begin()[static_cast<std::ptrdiff_t>(i)];
    }

    /// The elements of a dense object. Errors: unsupported_format for any other format.
    result<component_view> data() const;

    /// Rows [first, last) of the outermost dimension, to be read like an object. A call fails with out_of_bounds for
    /// rows that there are not, and of a scalar.
    [[nodiscard]] selection rows(std::uint64_t first, std::uint64_t last) const noexcept;
    /// A range of indices in each dimension, such as {{0, 4}, {8, 16}}, in row-major order. A call fails with
    /// invalid_argument for another number of ranges than dimensions, and with out_of_bounds.
    [[nodiscard]] selection slice(const ztensor::slice& ranges) const noexcept;

private:
    friend struct detail::object_access;
    friend class component_view;
    friend class reader;
    friend class selection;
    friend class readable<object_view>;

    object_view(const detail::opened_file& file, const detail::object_record& record) noexcept
        : file_(&file), record_(&record) {}
    /// One that is not there.
    object_view(const detail::opened_file& file, error why) noexcept;

    // For readable.
    result<void> check_shape(const expected_shape& expected) const;
    result<bytes_view> view_elements(const detail::element_request& request) const;
    result<void> read_elements(const detail::element_request& request, detail::element_memory elements) const;
    result<void> read_numbers(ztensor::dtype to, detail::element_memory numbers) const;
    result<void> describe(detail::acquired& made) const;
    [[nodiscard]] bool holds(const detail::element_request& request) const noexcept;
    [[nodiscard]] bool holds_floats() const noexcept;

    /// Adds to an error where it happened.
    [[nodiscard]] error located(error why) const noexcept;

    const detail::opened_file* file_;
    const detail::object_record* record_;
    result<void> found_; ///< or why it is not there: then the record is one of no words and no components
};

/// A part of an object or component: rows, or a range in every dimension. Reading it reads only that part, as readable
/// says; it never fails by itself, the verbs do. Cheap to make; lives as long as the reader.
class selection : public readable<selection> {
public:
    // No moves: one that was moved from would select something else.
    selection(const selection&) noexcept = default;
    selection& operator=(const selection&) noexcept = default;
    ~selection() = default;

    [[nodiscard]] const object_view& object() const& noexcept { return object_; }
    /// What is selected has this shape. Errors: object_not_found, out_of_bounds, invalid_argument.
    result<ztensor::shape> shape() const;

private:
    friend class component_view;
    friend class load_plan;
    friend class object_view;
    friend struct detail::object_access;
    friend class readable<selection>;

    enum class kind : std::uint8_t { rows, slice, part };

    selection(const object_view& object, kind how) noexcept : object_(object), kind_(how) {}

    result<detail::found_selection> find() const;
    result<detail::found_selection> find_elements() const;

    // For readable.
    result<void> check_shape(const expected_shape& expected) const;
    result<bytes_view> view_elements(const detail::element_request& request) const;
    result<void> read_elements(const detail::element_request& request, detail::element_memory elements) const;
    result<void> read_numbers(ztensor::dtype to, detail::element_memory numbers) const;
    result<void> describe(detail::acquired& made) const;
    [[nodiscard]] bool holds(const detail::element_request& request) const noexcept;
    [[nodiscard]] bool holds_floats() const noexcept;

    object_view object_;
    const detail::component_record* component_ = nullptr; ///< of a part; else the object's elements are meant
    kind kind_;
    ztensor::shape begins_; ///< of the ranges of the dimensions; of rows and parts one
    ztensor::shape ends_;
    std::uint64_t parts_ = 0; ///< how many equal ones there are
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if defined(__cpp_lib_ranges)
template <>
inline constexpr bool std::ranges::enable_view<ztensor::object_view> = true;
template <>
inline constexpr bool std::ranges::enable_borrowed_range<ztensor::object_view> = true;
#endif

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/read/component_definitions.hpp>
#include <ztensor/detail/read/object_definitions.hpp>
#endif

#endif
