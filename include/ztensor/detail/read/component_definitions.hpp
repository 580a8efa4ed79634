// SPDX-License-Identifier: MIT
//
// A component's words, and the ways to its elements. Defines what object_view.hpp declares of components. SPEC.md
// section 3.4, section 4, section 6.
#ifndef ZTENSOR_DETAIL_READ_COMPONENT_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_COMPONENT_DEFINITIONS_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/numbers.hpp>
#include <ztensor/detail/read/verify.hpp>
#include <ztensor/object_view.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

ZTENSOR_INLINE const opened_file& component_access::file_of(const component_view& component) noexcept {
    return *component.file_;
}
ZTENSOR_INLINE const component_record& component_access::record_of(const component_view& component) noexcept {
    return *component.record_;
}
ZTENSOR_INLINE const object_record& component_access::object_record_of(const component_view& component) noexcept {
    return *component.object_;
}
ZTENSOR_INLINE string_view component_access::object_of(const component_view& component) noexcept {
    return component.file_->index.text(component.object_->name);
}
ZTENSOR_INLINE version component_access::version_of(const component_view& component) noexcept {
    return component.file_->index.version;
}
ZTENSOR_INLINE string_view component_access::type_word_of(const component_view& component) noexcept {
    return type_name(component.file_->index, *component.record_);
}
ZTENSOR_INLINE bool component_access::has_type_word(const component_view& component) noexcept {
    return component.record_->type_word.is_present() || component.record_->logical_type < logical_types.size();
}
ZTENSOR_INLINE component_view component_access::make(const opened_file& file, const object_record& object,
                                                     const component_record& record) noexcept {
    return {file, object, record};
}
ZTENSOR_INLINE error component_access::located(const component_view& component, error why) noexcept {
    return component.located(std::move(why));
}

/// Bytes that break a rule of version 2 beside are copied as they are, if they are what was digested.
ZTENSOR_COLD inline result<void> check_stored(const stored_component& stored) {
    const component_view component =
        component_access::make(*stored.file, *stored.object_record, *stored.component_record);
    const result<digest_state> state = component.verify();
    if (!state) {
        const errc code = state.error().code();
        return code == errc::bad_bool || code == errc::bad_padding ? result<void>() : state.error();
    }
    if (*state != digest_state::mismatch) {
        return {};
    }
    return component_access::located(
        component, fail(errc::digest_mismatch, "the {} bytes are not those of the digest {}",
                        {stored.version == version::v2 ? "decoded" : "stored", in_quotes(stored.digest)})
                       .at(stored.offset));
}

/// What stands for two components is no blob to be copied.
ZTENSOR_COLD inline result<void> refuse_planes(const stored_component& stored) {
    return fail(errc::invalid_argument, "its exponents and fractions are components of their own: copy these")
        .in_file(stored.path)
        .in_object(stored.object)
        .in_component(stored.role);
}

ZTENSOR_INLINE stored_component describe_stored(const component_view& component) noexcept {
    const opened_file& file = component_access::file_of(component);
    stored_component stored;
    stored.source = file.source.get();
    stored.offset = component_access::record_of(component).offset; // in the row of the file and its shards
    stored.length = component.stored_bytes();
    stored.dtype = component.dtype().text();
    stored.type = component_access::type_word_of(component);
    stored.has_type = component_access::has_type_word(component);
    stored.encoding = component.encoding().text();
    stored.digest = component.digest().text();
    stored.has_digest =
        component.digest().is_present() && !file.index.is_foreign(); // where it may cover more than the blob
    stored.decoded_bytes = component.decoded_bytes();
    stored.uncompressed_length = component.uncompressed_length();
    stored.version = file.index.version;
    stored.is_raw = component.encoding() == encoding::raw;
    stored.is_big_endian = component.is_big_endian();
    stored.makes_bools = file.index.is_foreign() && holds_bools(component_access::record_of(component));
    if (component_access::record_of(component).is_in_planes) {
        stored.check_digest = refuse_planes;
    } else if (component.digest().is_present() && file.options.verify_digests()) {
        stored.check_digest = check_stored;
        stored.file = &file;
        stored.object_record = &component_access::object_record_of(component);
        stored.component_record = &component_access::record_of(component);
    }
    stored.path = file.path;
    stored.object = component_access::object_of(component);
    stored.role = component.role();
    return stored;
}

} // namespace detail

ZTENSOR_INLINE std::string_view component_view::role() const noexcept {
    return detail::role_name(file_->index, *record_);
}

namespace detail {

[[nodiscard]] inline open_word<ztensor::dtype> dtype_of(const manifest& index,
                                                        const component_record& component) noexcept {
    const bool is_unstated = !component.dtype_word.is_present() && component.dtype; // indices of 1.0
    if (component.is_in_planes) { // whose word stands among the attributes
        return {component.dtype, name(*component.dtype), name(*component.dtype)};
    }
    return {component.dtype, dtype_name(index, component),
            is_unstated ? facts(*component.dtype).long_name : index.text(component.dtype_word)};
}
[[nodiscard]] inline open_word<logical_type> type_of(const manifest& index,
                                                     const component_record& component) noexcept {
    const string_view original = index.text(component.type_word);
    if (component.logical_type == plain_type) {
        return open_word<logical_type>::absent(original);
    }
    const bool is_known = component.logical_type < logical_types.size();
    return {is_known ? optional(logical_types[component.logical_type].id) : std::nullopt, type_name(index, component),
            original};
}
[[nodiscard]] ZTENSOR_COLD inline error not_one_blob() {
    return fail(errc::not_viewable, "its exponents and fractions are components of their own: their bytes can be had, "
                                    "and its elements be read");
}
/// What stands where a component or object is not there.
inline constexpr component_record no_component_record{};
inline constexpr object_record no_object_record{};

} // namespace detail

ZTENSOR_COLD ZTENSOR_INLINE component_view::component_view(const detail::opened_file& file,
                                                           const detail::object_record& object, error why) noexcept
    : file_(&file), object_(&object), record_(&detail::no_component_record), found_(std::move(why)) {
}

ZTENSOR_INLINE open_word<ztensor::dtype> component_view::dtype() const noexcept {
    return is_present() ? detail::dtype_of(file_->index, *record_) : open_word<ztensor::dtype>();
}
ZTENSOR_INLINE open_word<logical_type> component_view::type() const noexcept {
    return detail::type_of(file_->index, *record_);
}
ZTENSOR_INLINE open_word<ztensor::encoding> component_view::encoding() const noexcept {
    const std::string_view original = file_->index.text(record_->encoding_word);
    return is_present() ? open_word<ztensor::encoding>(
                              record_->encoding, record_->encoding ? name(*record_->encoding) : original, original)
                        : open_word<ztensor::encoding>();
}
ZTENSOR_INLINE std::uint64_t component_view::offset() const noexcept {
    const detail::shard_record* const shard = detail::shard_of(file_->index, *record_);
    return record_->offset - (shard != nullptr ? shard->base : 0);
}
ZTENSOR_INLINE std::string_view component_view::shard() const noexcept {
    const detail::shard_record* const shard = detail::shard_of(file_->index, *record_);
    return shard != nullptr ? file_->index.text(shard->name) : std::string_view();
}
ZTENSOR_INLINE std::uint64_t component_view::stored_bytes() const noexcept {
    return record_->length;
}
ZTENSOR_INLINE std::optional<std::uint64_t> component_view::decoded_bytes() const noexcept {
    return record_->decoded_length();
}
ZTENSOR_INLINE std::optional<std::uint64_t> component_view::uncompressed_length() const noexcept {
    return record_->states_uncompressed_length ? std::optional(record_->uncompressed_length) : std::nullopt;
}
ZTENSOR_INLINE stated_digest component_view::digest() const noexcept {
    if (!record_->digest_text.is_present()) {
        return {};
    }
    const std::string_view text = file_->index.text(record_->digest_text);
    const detail::digest_parts parts = file_->index.version == ztensor::version::v2 ? detail::parse_strict_digest(text)
                                                                                    : detail::parse_any_digest(text);
    const std::string_view word = text.substr(0, text.find(':'));
    const bool is_known = parts.algorithm != ztensor::digest::none;
    return {{is_known ? std::optional(parts.algorithm) : std::nullopt, word, word}, parts.digits, text};
}
ZTENSOR_INLINE bool component_view::is_big_endian() const noexcept {
    return record_->is_big_endian;
}

ZTENSOR_INLINE bool component_view::same_storage_as(const component_view& other) const noexcept {
    return file_->source == other.file_->source && record_->offset == other.record_->offset &&
           record_->length == other.record_->length && record_->length != 0;
}

ZTENSOR_COLD ZTENSOR_INLINE error component_view::located(error why) const noexcept {
    return std::move(why).in_file(file_->path).in_object(file_->index.text(object_->name)).in_component(role());
}

ZTENSOR_INLINE result<void> component_view::check_type(const detail::element_request& request) const {
    ZTENSOR_TRY(found_);
    return detail::component_access::located(*this, detail::check_element_type(*file_, *record_, request));
}

ZTENSOR_INLINE result<bytes_view> component_view::bytes() const {
    ZTENSOR_TRY(found_);
    if (record_->is_in_planes) {
        return located(detail::not_one_blob());
    }
    if (const std::optional<bytes_view> blob = detail::mapped_blob(*file_, *record_)) {
        return *blob;
    }
    return located(
        detail::fail(errc::not_viewable, detail::source_access::is_mapped(*file_->source)
                                             ? "the bytes do not lie in the file as they are, so they can't be borrowed"
                                             : "the file is not mapped, so its bytes can't be borrowed"));
}

ZTENSOR_INLINE result<void> component_view::read_stored_into(span<std::byte> destination, std::uint64_t from) const {
    ZTENSOR_TRY(found_);
    return detail::component_access::guard(*this, [&]() -> result<void> {
        if (record_->is_in_planes) {
            return detail::not_one_blob();
        }
        if (!detail::fits(from, destination.size(), record_->length)) {
            return detail::fail(errc::out_of_bounds, "{} bytes from byte {} of a blob of {} were asked for",
                                {destination.size(), from, record_->length})
                .by_caller();
        }
        return file_->source->read_at(record_->offset + from, destination);
    });
}

ZTENSOR_INLINE void component_view::prefetch() const noexcept {
    for (const detail::component_record& blob : detail::blobs_of(*file_, *record_)) {
        file_->source->prefetch(blob.offset, blob.length);
    }
}
ZTENSOR_INLINE void component_view::evict() const noexcept {
    for (const detail::component_record& blob : detail::blobs_of(*file_, *record_)) {
        file_->source->evict(blob.offset, blob.length);
    }
}

ZTENSOR_INLINE result<bytes_view> component_view::view_elements(const detail::element_request& request) const {
    ZTENSOR_TRY(found_);
    return detail::component_access::located(*this, detail::view_elements(*file_, *record_, request));
}

ZTENSOR_INLINE result<void> component_view::read_elements(const detail::element_request& request,
                                                          detail::element_memory elements) const {
    ZTENSOR_TRY(found_);
    return detail::component_access::guard(*this,
                                           [&] { return detail::read_elements(*file_, *record_, request, elements); });
}

ZTENSOR_INLINE result<void> component_view::read_numbers(ztensor::dtype to, detail::element_memory numbers) const {
    ZTENSOR_TRY(found_);
    return detail::component_access::guard(
        *this, [&] { return detail::read_numbers(*file_, *object_, *record_, to, numbers); });
}

ZTENSOR_INLINE result<void> component_view::check_shape(const expected_shape& expected) const {
    if (expected.is_anything()) {
        return {};
    }
    ZTENSOR_TRY(found_);
    return detail::component_access::guard(*this, [&]() -> result<void> {
        if (!detail::is_dense(*file_, *object_)) {
            return detail::fail(errc::invalid_argument, "only the elements of a dense object have a shape to expect");
        }
        return detail::check_shape(file_->index.shape_of(*object_), expected);
    });
}

ZTENSOR_INLINE result<void> component_view::describe(detail::acquired& made) const {
    ZTENSOR_TRY(found_);
    made.file = file_->shared_from_this();
    made.is_verified = true;
    for (const detail::component_record& blob : detail::blobs_of(*file_, *record_)) {
        made.is_verified = made.is_verified && detail::blob_check(*file_, blob).is_wanted();
    }
    made.may_be_borrowed =
        !record_->is_in_planes &&
        detail::source_access::stable_range(*file_->source, record_->offset, record_->length).has_value();
    if (detail::is_dense(*file_, *object_)) {
        made.shape = file_->index.shape_of(*object_);
        made.has_shape = true;
    }
    return {};
}

ZTENSOR_INLINE bool component_view::holds(const detail::element_request& request) const noexcept {
    return request.storage && request.type.empty() && record_->dtype == *request.storage &&
           record_->logical_type == detail::plain_type;
}

ZTENSOR_INLINE bool component_view::holds_floats() const noexcept {
    if (!record_->dtype) {
        return true; // refused, whatever it is read as
    }
    const dtype_class category = facts(*record_->dtype).category;
    const std::size_t width = width_bytes(*record_->dtype);
    return category == dtype_class::floating ? width <= 4 : width <= 2;
}

ZTENSOR_INLINE result<std::vector<std::byte>> component_view::read_little_endian() const {
    ZTENSOR_TRY(found_);
    if (!record_->is_big_endian) {
        result<std::vector<std::byte>> decoded = read<std::byte>();
        if (decoded && file_->index.is_foreign() && detail::holds_bools(*record_)) {
            detail::make_bools(*decoded);
        }
        return decoded;
    }
    if (!record_->dtype) {
        return located(detail::unknown_dtype(*file_, *record_));
    }
    const std::size_t width = width_bytes(*record_->dtype);
    if (result<void> valid = check_type({*record_->dtype, {}, width, 1, false}); !valid) {
        return std::move(valid).error();
    }
    result<std::vector<std::byte>> decoded = read<std::byte>();
    if (decoded) {
        detail::swap_elements(*decoded, width);
    }
    return decoded;
}

ZTENSOR_INLINE result<digest_state> component_view::verify() const {
    ZTENSOR_TRY(found_);
    if (record_->is_in_planes) { // what can be said of both
        digest_state state = digest_state::match;
        for (const detail::component_record& blob : detail::blobs_of(*file_, *record_)) {
            ZTENSOR_TRY_ASSIGN(const digest_state found,
                               object_view(*file_, *object_)[detail::role_name(file_->index, blob)].verify());
            state = state == digest_state::mismatch || found == digest_state::match ? state : found;
        }
        return state;
    }
    return detail::component_access::guard(*this, [&] {
        detail::progress_meter silent;
        return file_->index.version == ztensor::version::v2 ? detail::verify_decoded(*file_, *object_, *record_, silent)
                                                            : detail::verify_digest(*file_, *record_);
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
