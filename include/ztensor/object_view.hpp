// SPDX-License-Identifier: MIT
//
// One object of an open file: its shape, format and attributes, and its components by role. SPEC.md §3.3.
#ifndef ZTENSOR_OBJECT_VIEW_HPP
#define ZTENSOR_OBJECT_VIEW_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/component_view.hpp>
#include <ztensor/detail/opened_file.hpp>
#include <ztensor/detail/text.hpp>
#include <ztensor/manifest.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {

namespace detail {
struct object_access;
} // namespace detail

/// An object. Cheap to copy; it and everything it hands out live as long as the reader it came from (or any copy of
/// that reader). Every member may be called from many threads at once.
class object_view {
public:
    /// Made by reader.
    object_view(const detail::opened_file& file, const detail::object_record& record) noexcept
        : file_(&file), record_(&record) {}

    [[nodiscard]] std::string_view name() const noexcept { return file_->index.text(record_->name); }
    [[nodiscard]] ztensor::shape shape() const noexcept { return file_->index.shape_of(*record_); }
    /// Product of the dimensions: 1 for a scalar.
    [[nodiscard]] std::uint64_t element_count() const noexcept { return record_->element_count; }
    /// "dense", "sparse_csr", …, in the words of 1.2, or the file's own word for an unknown one.
    [[nodiscard]] std::string_view format() const noexcept { return detail::format_name(file_->index, *record_); }
    /// Nothing for a word that is unknown.
    [[nodiscard]] std::optional<ztensor::format> known_format() const noexcept { return record_->format; }
    /// False where the file gives none: a layout of 0.1 may be missing.
    [[nodiscard]] bool has_original_format() const noexcept { return record_->format_word.is_present(); }
    /// The word that stands for the format in the file (0.1: its layout); "" if there is none.
    [[nodiscard]] std::string_view original_format() const noexcept { return file_->index.text(record_->format_word); }

    /// False if the file gives no attributes, which differs from an empty map of them.
    [[nodiscard]] bool has_attributes() const noexcept { return record_->has_attributes; }
    [[nodiscard]] attributes_view attributes() const noexcept { return detail::attributes_of(file_->index, *record_); }

    /// Components, in the order of the manifest.
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = component_view;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = component_view;

        iterator(const detail::opened_file& file, const detail::object_record& object,
                 const detail::component_record* at) noexcept
            : file_(&file), object_(&object), at_(at) {}
        component_view operator*() const noexcept { return {*file_, *object_, *at_}; }
        iterator& operator++() noexcept { return ++at_, *this; }
        friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.at_ == b.at_; }
        friend bool operator!=(const iterator& a, const iterator& b) noexcept { return a.at_ != b.at_; }

    private:
        const detail::opened_file* file_;
        const detail::object_record* object_;
        const detail::component_record* at_;
    };
    [[nodiscard]] std::size_t size() const noexcept { return record_->component_count; }
    [[nodiscard]] iterator begin() const noexcept { return {*file_, *record_, components().begin()}; }
    [[nodiscard]] iterator end() const noexcept { return {*file_, *record_, components().end()}; }

    /// The component of that role. Errors: component_not_found.
    [[nodiscard]] result<component_view> component(std::string_view role) const {
        if (const detail::component_record* const found = detail::find_component(file_->index, *record_, role)) {
            return component_view(*file_, *record_, *found);
        }
        return detail::guard_memory([&]() -> result<component_view> {
            return located(error(errc::component_not_found, "there is no component " + detail::quote(role)));
        });
    }

    /// The elements of a dense object. Errors: unsupported_format for any other format.
    [[nodiscard]] result<component_view> data() const {
        if (record_->format != ztensor::format::dense) {
            return detail::guard_memory([&]() -> result<component_view> {
                return located(error(errc::unsupported_format, "its format is " + detail::quote(format()) +
                                                                   ", not dense: ask for its components"));
            });
        }
        return component("data");
    }

    // Of dense objects: what component_view offers, on data().

    template <class T>
    [[nodiscard]] result<span<const T>> view() const {
        return data().and_then([](const component_view& data) { return data.view<T>(); });
    }
    template <class T>
    [[nodiscard]] result<std::vector<T>> read() const {
        return data().and_then([](const component_view& data) { return data.read<T>(); });
    }
    template <class To>
    [[nodiscard]] result<std::vector<To>> read_as() const {
        return data().and_then([](const component_view& data) { return data.read_as<To>(); });
    }
    template <class Destination>
    [[nodiscard]] result<void> read_into(Destination&& destination) const {
        return data().and_then([&](const component_view& data) { return data.read_into(destination); });
    }

    /// Rows [first, last) of the outermost dimension, from raw data reading only their bytes (which no digest covers),
    /// from compressed data decoding all of it.
    /// Errors: out_of_bounds for rows that are not there, and of a scalar; as component_view::read().
    template <class T>
    [[nodiscard]] result<std::vector<T>> read_rows(std::uint64_t first, std::uint64_t last) const {
        const ztensor::shape dimensions = shape();
        if (dimensions.empty() || first > last || last > dimensions[0]) {
            return detail::guard_memory([&]() -> result<std::vector<T>> {
                return located(error(errc::out_of_bounds, "rows " + std::to_string(first) + " to " +
                                                              std::to_string(last) + " were asked for, of shape " +
                                                              to_string(dimensions)));
            });
        }
        return data().and_then([&](const component_view& data) {
            return data.read_part<T>(first, last, dimensions[0]);
        });
    }

private:
    friend struct detail::object_access;

    [[nodiscard]] span<const detail::component_record> components() const noexcept {
        return file_->index.components_of(*record_);
    }
    [[nodiscard]] error located(error why) const { return std::move(why).in_file(file_->path).in_object(name()); }

    const detail::opened_file* file_;
    const detail::object_record* record_;
};

namespace detail {

/// For the rooms that give several components a meaning together.
struct object_access {
    [[nodiscard]] static const opened_file& file_of(const object_view& object) noexcept { return *object.file_; }
    [[nodiscard]] static const object_record& record_of(const object_view& object) noexcept { return *object.record_; }
    /// Adds to an outcome's error where it happened.
    template <class T>
    [[nodiscard]] static result<T> located(const object_view& object, result<T> outcome) {
        return std::move(outcome).transform_error([&](error why) { return object.located(std::move(why)); });
    }
};

} // namespace detail

} // namespace v0
} // namespace ztensor

#endif
