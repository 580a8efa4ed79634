// SPDX-License-Identifier: MIT
//
// A dense tensor that a writer is given in pieces. Defines what writer_core.hpp declares. SPEC.md section 10.
#ifndef ZTENSOR_DETAIL_WRITE_WRITER_STREAMS_HPP
#define ZTENSOR_DETAIL_WRITE_WRITER_STREAMS_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/detail/write/writer_core.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The tensor's words and shape, owned, and its blob.
struct writer_core::open_stream {
    std::string name;
    shape dimensions;
    dtype storage;
    std::string type;
    store how;               ///< its type is the one above
    object_attributes about; ///< none: see of_object
    std::uint64_t element_bytes;
    std::uint64_t decoded_bytes;
    std::uint64_t offset;
    blob_writer blob;
    std::optional<attributes> of_object = std::nullopt;

    [[nodiscard]] dense_tensor tensor() const noexcept {
        return {name, dimensions, storage, how.has_type_ ? std::optional<std::string_view>(type) : std::nullopt,
                how,  about};
    }
    [[nodiscard]] std::uint64_t missing_bytes() const noexcept { return decoded_bytes - blob.decoded_bytes(); }
};

ZTENSOR_COLD inline result<void> writer_core::begin_stream(std::string_view name, const shape& dimensions,
                                                           dtype storage, const store& how,
                                                           const object_attributes& about,
                                                           std::uint64_t element_bytes) {
    if (result<void> valid = check_store(how); !valid) {
        return std::move(valid).error().in_object(name);
    }
    const logical_type_facts* const type = find_logical_type_of(options_.version_, how.type_);
    const bool is_packed = type != nullptr && type->packed_elements != 1;
    if (element_bytes == 0) {
        element_bytes = width_bytes(storage) * (type != nullptr ? type->storage_elements : 1);
    }
    // A product that overflows is refused as shape_overflow by check_new(), whatever length stands here.
    const std::uint64_t bytes =
        is_packed ? bytes_of_elements(dimensions, storage, type, false).value_or(0)
                  : checked_multiply(dimensions.element_count().value_or(0), element_bytes).value_or(0);
    const dense_tensor tensor = {name, dimensions, storage, word_of_type(how), how, about};
    const dense_tensor said = in_words_of(options_.version_, tensor);
    ZTENSOR_TRY(check_new(said, entry_of(said, bytes)));
    const abort_on_failure writing(*this);
    return writing.done(start_stream(tensor, element_bytes, bytes));
}

ZTENSOR_COLD inline result<void> writer_core::start_stream(const dense_tensor& tensor, std::uint64_t element_bytes,
                                                           std::uint64_t bytes) {
    ZTENSOR_TRY_ASSIGN(const std::uint64_t offset, file_.begin_blob(bytes));
    delete_stream_ = [](open_stream* stream) noexcept { delete stream; }; // first: what follows may run out of memory
    stream_ = new open_stream{std::string(tensor.name),
                              tensor.dimensions,
                              tensor.storage,
                              std::string(tensor.how.type_),
                              tensor.how,
                              {},
                              element_bytes,
                              bytes,
                              offset,
                              file_.writer_at(offset, tensor.how)};
    if (tensor.about.get() != nullptr) {
        stream_->of_object = *tensor.about.get();
    }
    return {};
}

inline std::uint64_t writer_core::stream_missing_bytes() const noexcept {
    return stream_->missing_bytes();
}

inline result<void> writer_core::check_stream_type(const typed_bytes& elements, std::size_t element_bytes) const {
    if (stream_->storage != elements.storage) {
        return fail(errc::type_mismatch, "the tensor is of {}, not of {}",
                    {ztensor::name(stream_->storage), ztensor::name(elements.storage)})
            .in_object(stream_->name);
    }
    if (element_bytes > stream_->element_bytes) { // complex numbers where real ones belong: half as many would do
        return fail(errc::type_mismatch, "elements of {} bytes, where those of the tensor take {}",
                    {element_bytes, stream_->element_bytes})
            .in_object(stream_->name);
    }
    return {};
}

/// What came of writing, with the name of the object where it failed.
[[nodiscard]] inline result<void> writer_core::in_stream(result<void> done) const {
    return done ? std::move(done) : std::move(done).error().in_object(stream_->name);
}

inline result<void> writer_core::append_to_stream(bytes_view piece, std::size_t width) {
    if (piece.size() > stream_->missing_bytes()) {
        return fail(errc::size_mismatch, "a piece of {} bytes, where only {} are missing",
                    {piece.size(), stream_->missing_bytes()})
            .in_object(stream_->name);
    }
    const dense_tensor tensor = stream_->tensor();
    const bool is_last = piece.size() == stream_->missing_bytes();
    if (result<void> valid = check_values(options_.version_, tensor.storage, tensor.type, piece,
                                          is_last ? tensor.dimensions.element_count() : std::nullopt);
        !valid) {
        return std::move(valid).error().in_object(stream_->name);
    }
    const abort_on_failure writing(*this);
    return writing.done(in_stream(stream_->blob.append({piece, width}, false)));
}

ZTENSOR_COLD inline result<void> writer_core::set_stream_attributes(attributes values) {
    const dense_tensor tensor = in_words_of(options_.version_, stream_->tensor());
    const component_entry data = entry_of(tensor, stream_->decoded_bytes);
    object_entry object = entry_of(tensor, data);
    object.attributes = &values;
    attributes in_one_form;
    result<void> valid =
        is_version_2() ? say_attributes_in_2(object, in_one_form)
                       : check_attributes(options_.version_, values, depth_around_object_attributes(options_.version_));
    if (valid) {
        valid = check_expressible(options_.version_, object);
    }
    if (valid) {
        valid = manifest_.check_bounds(object, table_bytes());
    }
    if (!valid) {
        return std::move(valid).error().in_object(stream_->name);
    }
    stream_->of_object.reset();
    if (object.attributes != nullptr) {
        stream_->of_object = is_version_2() ? std::move(in_one_form) : std::move(values);
    }
    return {};
}

ZTENSOR_COLD inline result<void> writer_core::finish_stream() {
    if (stream_->missing_bytes() != 0) {
        return fail(errc::size_mismatch, "of the tensor's {} bytes {} are missing",
                    {stream_->decoded_bytes, stream_->missing_bytes()})
            .in_object(stream_->name);
    }
    const abort_on_failure writing(*this);
    return writing.done(complete_stream());
}

ZTENSOR_COLD inline result<void> writer_core::complete_stream() {
    ZTENSOR_TRY(in_stream(stream_->blob.append({}, true)));
    const dense_tensor tensor = in_words_of(options_.version_, stream_->tensor());
    component_entry data = entry_of(tensor, stream_->decoded_bytes);
    file_.complete(data, stream_->offset, stream_->blob);
    object_entry object = entry_of(tensor, data);
    object.attributes = stream_->of_object ? &*stream_->of_object : nullptr;
    manifest_.keep(object);
    drop_stream();
    return {};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
