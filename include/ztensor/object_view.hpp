// SPDX-License-Identifier: MIT
//
// One object of an open file: its shape, format and attributes, and its components by role. SPEC.md section 3.3.
#ifndef ZTENSOR_OBJECT_VIEW_HPP
#define ZTENSOR_OBJECT_VIEW_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/component_view.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/fwd.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
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
struct object_access;

template <>
inline constexpr bool is_handle_v<object_view> = true;
} // namespace detail

/// An object. Cheap to copy; it and everything it hands out live as long as the reader it came from (or any copy of
/// that reader). Every member may be called from many threads at once.
class object_view {
public:
    /// Made by reader.
    object_view(const detail::opened_file& file, const detail::object_record& record) noexcept
        : file_(&file), record_(&record) {}

    [[nodiscard]] std::string_view name() const noexcept;
    [[nodiscard]] ztensor::shape shape() const noexcept;
    /// Product of the dimensions: 1 for a scalar.
    [[nodiscard]] std::uint64_t element_count() const noexcept;
    /// "dense", "sparse_csr", ..., in the words of 1.2, or the file's own word for an unknown one.
    [[nodiscard]] std::string_view format() const noexcept;
    /// Nothing for a word that is unknown.
    [[nodiscard]] std::optional<ztensor::format> known_format() const noexcept;
    /// False where the file gives none: a layout of 0.1 may be missing.
    [[nodiscard]] bool has_original_format() const noexcept;
    /// The word that stands for the format in the file (0.1: its layout); "" if there is none.
    [[nodiscard]] std::string_view original_format() const noexcept;

    // Of a dense object its data's, see component_view; nothing and "" for other formats.

    [[nodiscard]] std::optional<ztensor::dtype> dtype() const noexcept;
    [[nodiscard]] std::string_view dtype_name() const noexcept;
    [[nodiscard]] std::string_view type() const noexcept;

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

    /// component(role).value(): the component, or an exception where there is none of that role.
    [[nodiscard]] component_view operator[](std::string_view role) const { return component(role).value(); }
    /// The i-th component, i < size().
    [[nodiscard]] component_view operator[](std::size_t i) const noexcept {
        return begin()[static_cast<std::ptrdiff_t>(i)];
    }

    /// The elements of a dense object. Errors: unsupported_format for any other format.
    result<component_view> data() const;

    // Of dense objects: what component_view offers, on data().

    template <class T>
    result<span<const T>> view() const {
        const result<component_view> elements = data();
        return elements ? elements->template view<T>() : elements.error();
    }
    template <class T>
    result<std::vector<T>> read() const {
        const result<component_view> elements = data();
        return elements ? elements->template read<T>() : elements.error();
    }
    /// Of an object of format gguf.<type>/1 the weights, for every block type of ggml: bit for bit what its
    /// dequantizers give. Of zt.mx/1 and zt.quant_group/1 of version 2 the weights, too, which are computed in double
    /// and rounded once. Errors there: unsupported_format (of another type), layout_components, attribute_not_found,
    /// attribute_type, size_mismatch; as component_view::read_as().
    template <class To>
    result<std::vector<To>> read_as() const {
        if (known_format() != format::dense) {
            return read_weights_as<To>();
        }
        const result<component_view> elements = data();
        return elements ? elements->template read_as<To>() : elements.error();
    }
    template <class T>
    result<array<T>> load() const {
        const result<component_view> elements = data();
        return elements ? elements->template load<T>() : elements.error();
    }
    template <class Destination>
    result<void> read_into(Destination&& destination) const {
        const result<component_view> elements = data();
        return elements ? elements->read_into(destination) : elements.error();
    }
    template <class Destination>
    result<void> read_as_into(Destination&& destination) const {
        if (known_format() != format::dense) {
            const span memory(destination);
            using number = typename decltype(memory)::value_type;
            static_assert(std::is_same_v<number, float> || std::is_same_v<number, double>,
                          "elements are converted to these in place");
            return read_weights(sizeof(number), detail::memory_of(detail::as_writable_bytes(memory)));
        }
        const result<component_view> elements = data();
        return elements ? elements->read_as_into(destination) : elements.error();
    }

    /// Rows [first, last) of the outermost dimension. Of raw data only their bytes are read, and of compressed data in
    /// several frames that state their sizes only the frames with rows in them, neither of which a digest covers; other
    /// compressed data is decoded and verified as a whole.
    /// Errors: out_of_bounds for rows that are not there, and of a scalar; as component_view::read().
    template <class T>
    result<std::vector<T>> read_rows(std::uint64_t first, std::uint64_t last) const {
        ZTENSOR_TRY_ASSIGN(const std::uint64_t rows, check_rows(first, last));
        const result<component_view> elements = data();
        return elements ? elements->template read_part<T>(first, last, rows) : elements.error();
    }

    /// The same into the caller's memory: a span, or a container of the right size. Errors: size_mismatch for another
    /// size; as read_rows().
    template <class Destination>
    result<void> read_rows_into(std::uint64_t first, std::uint64_t last, Destination&& destination) const {
        ZTENSOR_TRY_ASSIGN(const std::uint64_t rows, check_rows(first, last));
        const result<component_view> elements = data();
        return elements ? elements->read_part_into(first, last, rows, detail::span_of_destination(destination))
                        : elements.error();
    }

    /// A range of indices in each dimension, such as {{0, 4}, {8, 16}}, in row-major order; reads as read_rows() does.
    /// Errors: invalid_argument for another number of ranges than dimensions, out_of_bounds; as component_view::read().
    template <class T>
    result<std::vector<T>> read_slice(const slice& ranges) const {
        std::vector<detail::in_vector_t<T>> elements;
        result<void> done =
            read_elements_of_slice(detail::element_request_of<T>(), ranges, detail::memory_of(elements));
        if (!done) {
            return std::move(done).error();
        }
        return detail::as_result<T>(std::move(elements));
    }
    /// The same into the caller's memory. Errors: size_mismatch for another size; as read_slice().
    template <class Destination>
    result<void> read_slice_into(const slice& ranges, Destination&& destination) const {
        const auto memory = detail::span_of_destination(destination);
        using element = typename decltype(memory)::value_type;
        return read_elements_of_slice(detail::element_request_of<element>(), ranges,
                                      detail::memory_of(detail::as_writable_bytes(memory)));
    }

private:
    friend struct detail::object_access;

    /// Of an object that is blocks of quantized weights, the weights.
    template <class To>
    result<std::vector<To>> read_weights_as() const {
        if constexpr (std::is_same_v<To, float> || std::is_same_v<To, double>) {
            std::vector<To> weights;
            result<void> done = read_weights(sizeof(To), detail::memory_of(weights));
            if (!done) {
                return std::move(done).error();
            }
            return weights;
        } else {
            return component_view::read_by_way_of<To>(read_weights_as<float>());
        }
    }
    /// As floats or doubles.
    result<void> read_weights(std::size_t number_bytes, detail::element_memory weights) const;

    result<void> read_elements_of_slice(const detail::element_request& request, const slice& ranges,
                                        detail::element_memory elements) const;
    /// How many rows there are, if those asked for are among them.
    result<std::uint64_t> check_rows(std::uint64_t first, std::uint64_t last) const;
    /// Adds to an error where it happened.
    [[nodiscard]] error located(error why) const noexcept;

    const detail::opened_file* file_;
    const detail::object_record* record_;
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
