// SPDX-License-Identifier: MIT
//
// One object of an open file: its shape, format and attributes, and its components by role. SPEC.md section 3.3.
#ifndef ZTENSOR_OBJECT_VIEW_HPP
#define ZTENSOR_OBJECT_VIEW_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/component_view.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
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

namespace detail {
struct found_selection;
struct object_access;

template <>
inline constexpr bool is_handle_v<object_view> = true;
} // namespace detail

/// An object. Cheap to copy; it and everything it hands out live as long as the reader it came from (or any copy of
/// that reader). Every member may be called from many threads at once.
class object_view : public readable<object_view> {
public:
    /// False for what reader::operator[] did not find: every verb says so, and there are no components.
    [[nodiscard]] bool is_present() const noexcept { return found_.has_value(); }

    /// As the file spells it; of an absent object, as it was asked for.
    [[nodiscard]] std::string_view name() const noexcept;
    [[nodiscard]] ztensor::shape shape() const noexcept;
    /// Product of the dimensions: 1 for a scalar.
    [[nodiscard]] std::uint64_t element_count() const noexcept;
    /// The layout: "dense", "sparse_csr", ... Its original() is the word that stands for it in the file (0.1: its
    /// layout, where it has one; version 2: such as "zt.sparse_csr/1").
    [[nodiscard]] open_word<ztensor::format> format() const noexcept;
    // Of a dense object its data's, see component_view; absent for other formats.
    [[nodiscard]] open_word<ztensor::dtype> dtype() const noexcept;
    [[nodiscard]] open_word<logical_type> type() const noexcept;

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
    result<void> acquire_elements(const detail::element_request& request, detail::element_memory elements,
                                  detail::acquired& made) const;
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
    result<void> acquire_elements(const detail::element_request& request, detail::element_memory elements,
                                  detail::acquired& made) const;
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
#include <ztensor/detail/read/object_definitions.hpp>
#endif

#endif
