// SPDX-License-Identifier: MIT
//
// An object's words and components. Defines what object_view.hpp declares. SPEC.md section 3.3.
#ifndef ZTENSOR_DETAIL_READ_OBJECT_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_OBJECT_DEFINITIONS_HPP

#include <ztensor/component_view.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/numbers.hpp>
#include <ztensor/detail/read/parts.hpp>
#include <ztensor/object_view.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

ZTENSOR_INLINE const opened_file& object_access::file_of(const object_view& object) noexcept {
    return *object.file_;
}
ZTENSOR_INLINE const object_record& object_access::record_of(const object_view& object) noexcept {
    return *object.record_;
}
ZTENSOR_INLINE error object_access::located(const object_view& object, error why) noexcept {
    return object.located(std::move(why));
}

[[nodiscard]] ZTENSOR_COLD inline error no_component(const manifest& index, const object_record& object,
                                                     string_view role) noexcept {
    const bool is_sparse = object.format == format::sparse_csr || object.format == format::sparse_coo;
    return fail(errc::component_not_found, "there is no component {}{}",
                {in_quotes(role), is_sparse && index.generation == generation::v0_1
                                      ? ": 0.1 keeps a sparse tensor in one blob, of which csr_view and coo_view make "
                                        "the parts"
                                      : ""});
}

} // namespace detail

ZTENSOR_INLINE std::string_view object_view::name() const noexcept {
    return file_->index.text(record_->name);
}
ZTENSOR_INLINE ztensor::shape object_view::shape() const noexcept {
    return file_->index.shape_of(*record_);
}
ZTENSOR_INLINE std::uint64_t object_view::element_count() const noexcept {
    return file_->index.element_count_of(*record_);
}
ZTENSOR_INLINE std::string_view object_view::format() const noexcept {
    return detail::format_name(file_->index, *record_);
}
ZTENSOR_INLINE std::optional<ztensor::format> object_view::known_format() const noexcept {
    return record_->format;
}
ZTENSOR_INLINE bool object_view::has_original_format() const noexcept {
    return record_->format_word.is_present();
}
ZTENSOR_INLINE std::string_view object_view::original_format() const noexcept {
    return file_->index.text(record_->format_word);
}
namespace detail {

/// Null of another format than dense.
[[nodiscard]] inline const component_record* dense_data(const opened_file& file, const object_record& object) noexcept {
    return object.format == format::dense ? find_component(file.index, object, "data") : nullptr;
}

} // namespace detail

ZTENSOR_INLINE std::optional<ztensor::dtype> object_view::dtype() const noexcept {
    const detail::component_record* const data = detail::dense_data(*file_, *record_);
    return data != nullptr ? std::optional<ztensor::dtype>(data->dtype) : std::nullopt;
}
ZTENSOR_INLINE std::string_view object_view::dtype_name() const noexcept {
    const detail::component_record* const data = detail::dense_data(*file_, *record_);
    return data != nullptr ? detail::dtype_name(file_->index, *data) : std::string_view();
}
ZTENSOR_INLINE std::string_view object_view::type() const noexcept {
    const detail::component_record* const data = detail::dense_data(*file_, *record_);
    return data != nullptr ? detail::type_name(file_->index, *data) : std::string_view();
}

ZTENSOR_INLINE bool object_view::same_storage_as(const object_view& other) const noexcept {
    bool is_same = size() == other.size();
    for (const component_view mine : *this) {
        const detail::component_record* const its =
            detail::find_component(other.file_->index, *other.record_, mine.role());
        is_same = is_same && its != nullptr && mine.same_storage_as({*other.file_, *other.record_, *its});
    }
    return is_same;
}

ZTENSOR_INLINE bool object_view::has_attributes() const noexcept {
    return record_->has_attributes;
}
ZTENSOR_INLINE attributes_view object_view::attributes() const noexcept {
    return detail::attributes_access::in_place(detail::attributes_of(file_->index, *record_),
                                               {file_, record_, detail::name_place_of_attributes});
}

ZTENSOR_INLINE component_view object_view::iterator::operator*() const noexcept {
    return {*file_, *object_, file_->index.components_of(*object_)[position_]};
}
ZTENSOR_INLINE std::size_t object_view::size() const noexcept {
    return record_->component_count;
}

ZTENSOR_COLD ZTENSOR_INLINE error object_view::located(error why) const noexcept {
    return std::move(why).in_file(file_->path).in_object(name());
}

ZTENSOR_INLINE result<component_view> object_view::component(std::string_view role) const {
    if (const detail::component_record* const found = detail::find_component(file_->index, *record_, role)) {
        return component_view(*file_, *record_, *found);
    }
    return located(detail::no_component(file_->index, *record_, role));
}

ZTENSOR_INLINE result<component_view> object_view::data() const {
    if (record_->format != ztensor::format::dense) {
        return located(detail::not_dense(format()));
    }
    return component("data");
}

ZTENSOR_INLINE result<void> object_view::read_weights(std::size_t number_bytes, detail::element_memory weights) const {
    return detail::object_access::guard(*this,
                                        [&] { return detail::read_weights(*file_, *record_, number_bytes, weights); });
}

ZTENSOR_INLINE result<std::uint64_t> object_view::check_rows(std::uint64_t first, std::uint64_t last) const {
    return detail::object_access::guard(*this, [&]() -> result<std::uint64_t> {
        const ztensor::shape dimensions = shape();
        if (dimensions.empty() || first > last || last > dimensions[0]) {
            return detail::fail(errc::out_of_bounds, "rows {} to {} were asked for, of shape {}",
                                {first, last, to_string(dimensions)})
                .by_caller();
        }
        return dimensions[0];
    });
}

ZTENSOR_INLINE result<void> object_view::read_elements_of_slice(const detail::element_request& request,
                                                                const slice& ranges,
                                                                detail::element_memory elements) const {
    ZTENSOR_TRY_ASSIGN(const component_view stored, data());
    return detail::component_access::guard(stored, [&]() -> result<void> {
        const ztensor::shape dimensions = shape();
        ZTENSOR_TRY(detail::check_slice(dimensions, ranges));
        return detail::read_part(*file_, detail::component_access::record_of(stored), request,
                                 detail::part_finder(dimensions, ranges.ranges()), elements);
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
