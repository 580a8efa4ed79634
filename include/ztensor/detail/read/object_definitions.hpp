// SPDX-License-Identifier: MIT
//
// An object's words and components. Defines what object_view.hpp declares. SPEC.md section 3.3.
#ifndef ZTENSOR_DETAIL_READ_OBJECT_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_OBJECT_DEFINITIONS_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/numbers.hpp>
#include <ztensor/detail/read/parts.hpp>
#include <ztensor/detail/read/weights.hpp>
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
ZTENSOR_INLINE string_view object_access::format_word_of(const object_view& object) noexcept {
    return format_name(object.file_->index, *object.record_);
}
ZTENSOR_INLINE attributes_view object_access::stored_attributes_of(const object_view& object) noexcept {
    return attributes_of(object.file_->index, *object.record_);
}
ZTENSOR_INLINE bool object_access::has_stored_attributes(const object_view& object) noexcept {
    return object.record_->has_attributes;
}
ZTENSOR_INLINE object_view object_access::make(const opened_file& file, const object_record& record) noexcept {
    return {file, record};
}
ZTENSOR_INLINE error object_access::located(const object_view& object, error why) noexcept {
    return object.located(std::move(why));
}

/// As find_component(); "data" of what is stored in planes, too, which is no component of the file.
[[nodiscard]] inline const component_record* find_any_component(const opened_file& file, const object_record& object,
                                                                string_view role) noexcept {
    const component_record* const found = find_component(file.index, object, role);
    return found == nullptr && role == "data" ? dense_data(file, object) : found;
}

[[nodiscard]] ZTENSOR_COLD inline error no_component(const manifest& index, const object_record& object,
                                                     string_view role) noexcept {
    const bool is_sparse = object.format == format::sparse_csr || object.format == format::sparse_coo;
    return fail(errc::component_not_found, "there is no component {}{}",
                {in_quotes(role), is_sparse && index.version == version::v0_1
                                      ? ": 0.1 keeps a sparse tensor in one blob, of which csr_view and coo_view make "
                                        "the parts"
                                      : ""});
}

} // namespace detail

ZTENSOR_COLD ZTENSOR_INLINE object_view::object_view(const detail::opened_file& file, error why) noexcept
    : file_(&file), record_(&detail::no_object_record), found_(std::move(why)) {
}

ZTENSOR_INLINE std::string_view object_view::name() const noexcept {
    return is_present() ? file_->index.text(record_->name) : found_.error().object();
}
ZTENSOR_INLINE ztensor::shape object_view::shape() const noexcept {
    return is_present() ? file_->index.shape_of(*record_) : ztensor::shape();
}
ZTENSOR_INLINE std::uint64_t object_view::element_count() const noexcept {
    return is_present() ? file_->index.element_count_of(*record_) : 0;
}
ZTENSOR_INLINE open_word<ztensor::format> object_view::format() const noexcept {
    if (!is_present()) {
        return {};
    }
    const std::string_view original = file_->index.text(record_->format_word);
    std::optional<ztensor::format> known = record_->format;
    if (detail::is_dense(*file_, *record_)) {
        known = ztensor::format::dense;
    }
    return {known, known ? ztensor::name(*known) : original, original};
}

ZTENSOR_INLINE open_word<ztensor::dtype> object_view::dtype() const noexcept {
    const detail::component_record* const data = detail::dense_data(*file_, *record_);
    return data != nullptr ? detail::dtype_of(file_->index, *data) : open_word<ztensor::dtype>();
}
ZTENSOR_INLINE open_word<logical_type> object_view::type() const noexcept {
    const detail::component_record* const data = detail::dense_data(*file_, *record_);
    return data != nullptr ? detail::type_of(file_->index, *data) : open_word<logical_type>();
}

ZTENSOR_INLINE bool object_view::is_in_planes() const noexcept {
    return file_->planes.find(*record_) != nullptr;
}

ZTENSOR_INLINE bool object_view::same_storage_as(const object_view& other) const noexcept {
    bool is_same = size() == other.size();
    for (const component_view mine : *this) {
        const detail::component_record* const its =
            detail::find_component(other.file_->index, *other.record_, mine.role());
        is_same = is_same && its != nullptr && mine.same_storage_as(component_view(*other.file_, *other.record_, *its));
    }
    return is_same;
}

ZTENSOR_INLINE bool object_view::has_attributes() const noexcept {
    return record_->has_attributes && (file_->planes.find(*record_) == nullptr || !attributes().empty());
}
ZTENSOR_INLINE attributes_view object_view::attributes() const noexcept {
    if (!is_present()) {
        return {};
    }
    const detail::attributes_place place = {file_, record_, detail::name_place_of_attributes};
    if (file_->planes.find(*record_) != nullptr) {
        return detail::attributes_access::make(file_->index.from(record_->attributes), detail::planes_keys, place);
    }
    return detail::attributes_access::in_place(detail::attributes_of(file_->index, *record_), place);
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
    ZTENSOR_TRY(found_);
    if (const detail::component_record* const found = detail::find_any_component(*file_, *record_, role)) {
        return component_view(*file_, *record_, *found);
    }
    return located(detail::no_component(file_->index, *record_, role));
}

ZTENSOR_INLINE component_view object_view::operator[](std::string_view role) const noexcept {
    if (const detail::component_record* const found = detail::find_any_component(*file_, *record_, role)) {
        return component_view(*file_, *record_, *found);
    }
    return {*file_, *record_, found_ ? located(detail::no_component(file_->index, *record_, role)) : found_.error()};
}

ZTENSOR_INLINE result<component_view> object_view::data() const {
    ZTENSOR_TRY(found_);
    if (!detail::is_dense(*file_, *record_)) {
        return located(detail::not_dense(file_->index, *record_));
    }
    return component("data");
}

ZTENSOR_INLINE result<bytes_view> object_view::view_elements(const detail::element_request& request) const {
    ZTENSOR_TRY_ASSIGN(const component_view elements, data());
    return elements.view_elements(request);
}
ZTENSOR_INLINE result<void> object_view::read_elements(const detail::element_request& request,
                                                       detail::element_memory elements) const {
    ZTENSOR_TRY_ASSIGN(const component_view stored, data());
    return stored.read_elements(request, elements);
}
ZTENSOR_INLINE result<void> object_view::read_numbers(ztensor::dtype to, detail::element_memory numbers) const {
    ZTENSOR_TRY(found_);
    if (!detail::is_dense(*file_, *record_)) {
        return detail::object_access::guard(*this, [&] { return detail::read_weights(*file_, *record_, to, numbers); });
    }
    ZTENSOR_TRY_ASSIGN(const component_view elements, component("data"));
    return elements.read_numbers(to, numbers);
}
ZTENSOR_INLINE result<void> object_view::check_shape(const expected_shape& expected) const {
    if (expected.is_anything()) {
        return {};
    }
    ZTENSOR_TRY(found_);
    return detail::object_access::guard(*this, [&] { return detail::check_shape(shape(), expected); });
}
ZTENSOR_INLINE result<void> object_view::describe(detail::acquired& made) const {
    ZTENSOR_TRY(found_);
    if (detail::is_dense(*file_, *record_)) {
        ZTENSOR_TRY_ASSIGN(const component_view elements, component("data"));
        return elements.describe(made);
    }
    made.file = file_->shared_from_this();
    made.shape = shape();
    made.has_shape = true;
    return {};
}
ZTENSOR_INLINE bool object_view::holds(const detail::element_request& request) const noexcept {
    const detail::component_record* const data = detail::dense_data(*file_, *record_);
    return data != nullptr && component_view(*file_, *record_, *data).holds(request);
}
ZTENSOR_INLINE bool object_view::holds_floats() const noexcept {
    const detail::component_record* const data = detail::dense_data(*file_, *record_);
    return data == nullptr || component_view(*file_, *record_, *data).holds_floats(); // weights become floats
}

// -- selections
//
// Rows, slices and parts: found in what they are of when a verb is called.

ZTENSOR_INLINE selection object_view::rows(std::uint64_t first, std::uint64_t last) const noexcept {
    selection made(*this, selection::kind::rows);
    made.begins_.push_back(first);
    made.ends_.push_back(last);
    return made;
}
ZTENSOR_INLINE selection object_view::slice(const ztensor::slice& ranges) const noexcept {
    selection made(*this, selection::kind::slice);
    for (const index_range& each : ranges.ranges()) {
        made.begins_.push_back(each.begin);
        made.ends_.push_back(each.end);
    }
    return made;
}
ZTENSOR_INLINE selection component_view::part(std::uint64_t first, std::uint64_t last,
                                              std::uint64_t parts) const noexcept {
    selection made(found_ ? object_view(*file_, *object_) : object_view(*file_, found_.error()), selection::kind::part);
    made.component_ = record_;
    made.begins_.push_back(first);
    made.ends_.push_back(last);
    made.parts_ = parts;
    return made;
}

namespace detail {

/// A selection, found in its object.
struct found_selection {
    const opened_file& file;
    const object_record& object;
    const component_record* component; ///< null where the weights of an object that is not dense are meant
    shape dimensions;                  ///< what it is a part of
    vector<index_range> ranges;
    bool are_equal_parts; ///< of the first dimension: rows, or parts of a component

    [[nodiscard]] component_view view() const noexcept { return component_access::make(file, object, *component); }
    [[nodiscard]] part_finder finder() const noexcept {
        return are_equal_parts ? part_finder(ranges[0].begin, ranges[0].end, dimensions[0])
                               : part_finder(dimensions, ranges);
    }
    [[nodiscard]] shape selected() const noexcept {
        shape made;
        for (const index_range& each : ranges) {
            made.push_back(each.end - each.begin);
        }
        return made;
    }
};

/// Says where an error happened: in a component, if it is one's.
template <class Call>
auto guard_selection(const found_selection& selected, Call&& call) -> std::invoke_result_t<Call> {
    if (selected.component != nullptr) {
        return component_access::guard(selected.view(), call);
    }
    return object_access::guard(object_access::make(selected.file, selected.object), call);
}

} // namespace detail

ZTENSOR_INLINE result<detail::found_selection> selection::find() const {
    ZTENSOR_TRY(object_.found_);
    return detail::object_access::guard(object_, [&]() -> result<detail::found_selection> {
        const detail::opened_file& file = *object_.file_;
        const detail::object_record& object = *object_.record_;
        if (kind_ == kind::part) {
            const std::uint64_t first = begins_[0], last = ends_[0];
            if (first > last || last > parts_) {
                return detail::fail(errc::out_of_bounds, "parts {} to {} of {} were asked for", {first, last, parts_})
                    .by_caller();
            }
            return detail::found_selection{file, object, component_, {parts_}, {{first, last}}, true};
        }
        ztensor::shape dimensions = object_.shape();
        ZTENSOR_TRY_ASSIGN(std::vector<index_range> ranges,
                           detail::ranges_in(dimensions, begins_, ends_, kind_ == kind::rows));
        return detail::found_selection{file,
                                       object,
                                       detail::dense_data(file, object),
                                       std::move(dimensions),
                                       std::move(ranges),
                                       kind_ == kind::rows};
    });
}

/// The same, of what has elements: the data of a dense object, or a component.
ZTENSOR_INLINE result<detail::found_selection> selection::find_elements() const {
    ZTENSOR_TRY_ASSIGN(detail::found_selection found, find());
    if (found.component == nullptr) {
        return object_.data().error();
    }
    return found;
}

ZTENSOR_INLINE result<ztensor::shape> selection::shape() const {
    ZTENSOR_TRY_ASSIGN(const detail::found_selection found, find());
    return found.selected();
}

ZTENSOR_INLINE result<void> selection::check_shape(const expected_shape& expected) const {
    if (expected.is_anything()) {
        return {};
    }
    ZTENSOR_TRY_ASSIGN(const detail::found_selection found, find());
    return detail::guard_selection(found, [&] { return detail::check_shape(found.selected(), expected); });
}

ZTENSOR_INLINE result<bytes_view> selection::view_elements(const detail::element_request& request) const {
    ZTENSOR_TRY_ASSIGN(const detail::found_selection found, find_elements());
    return detail::guard_selection(found, [&]() -> result<bytes_view> {
        ZTENSOR_TRY_ASSIGN(const bytes_view all, detail::view_elements(found.file, *found.component, request));
        const std::uint64_t elements = found.dimensions.element_count().value_or(0);
        if (elements != 0 && all.size() % elements != 0) {
            return detail::fail(errc::not_viewable, "its elements are parts of bytes, so there is nothing to borrow");
        }
        ZTENSOR_TRY_ASSIGN(const detail::element_part part, found.finder()(all.size(), request.size_bytes));
        if (part.runs.count() > 1) {
            return detail::fail(errc::not_viewable,
                                "the part is {} runs of bytes that lie apart, so there is nothing to borrow: read it",
                                {part.runs.count()});
        }
        return part.count == 0 ? bytes_view()
                               : all.subspan(static_cast<std::size_t>(part.runs.begin()),
                                             static_cast<std::size_t>(part.runs.run_bytes()));
    });
}

ZTENSOR_INLINE result<void> selection::read_elements(const detail::element_request& request,
                                                     detail::element_memory elements) const {
    ZTENSOR_TRY_ASSIGN(const detail::found_selection found, find_elements());
    return detail::guard_selection(
        found, [&] { return detail::read_part(found.file, *found.component, request, found.finder(), elements); });
}

ZTENSOR_INLINE result<void> selection::read_numbers(ztensor::dtype to, detail::element_memory numbers) const {
    ZTENSOR_TRY_ASSIGN(const detail::found_selection found, find());
    return detail::guard_selection(found, [&]() -> result<void> {
        std::uint64_t read_bytes = 0;
        return detail::read_numbers_of_part(found.file, found.object, found.component, found.dimensions, found.ranges,
                                            to, numbers, read_bytes);
    });
}

ZTENSOR_INLINE result<void> selection::describe(detail::acquired& made) const {
    ZTENSOR_TRY_ASSIGN(const detail::found_selection found, find());
    made.file = found.file.shared_from_this();
    made.shape = found.selected();
    made.has_shape = kind_ != kind::part;
    if (found.component != nullptr) {
        const detail::component_record& stored = *found.component;
        made.may_be_borrowed =
            !stored.is_in_planes &&
            detail::source_access::stable_range(*found.file.source, stored.offset, stored.length).has_value();
    }
    return {};
}

ZTENSOR_INLINE bool selection::holds(const detail::element_request& request) const noexcept {
    return component_ != nullptr
               ? detail::component_access::make(*object_.file_, *object_.record_, *component_).holds(request)
               : object_.holds(request);
}
ZTENSOR_INLINE bool selection::holds_floats() const noexcept {
    return component_ != nullptr
               ? detail::component_access::make(*object_.file_, *object_.record_, *component_).holds_floats()
               : object_.holds_floats();
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
