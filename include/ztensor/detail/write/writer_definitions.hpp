// SPDX-License-Identifier: MIT
//
// The writer's public face, where memory is guarded. Defines what writer.hpp declares. SPEC.md §10.
#ifndef ZTENSOR_DETAIL_WRITE_WRITER_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_WRITE_WRITER_DEFINITIONS_HPP

#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/guard_memory.hpp>
#include <ztensor/detail/write/sinks.hpp>
#include <ztensor/detail/write/typed_drafts.hpp>
#include <ztensor/detail/write/writer_core.hpp>
#include <ztensor/writer.hpp>

namespace ztensor {
inline namespace ZTENSOR_MODE {

ZTENSOR_INLINE void detail::writer_deleter::operator()(writer_core* core) const noexcept {
    delete core;
}

// -- a tensor in pieces

ZTENSOR_INLINE void tensor_stream::abandon::operator()(detail::writer_core* core) const noexcept {
    core->abandon_stream(number);
}

ZTENSOR_INLINE result<void> tensor_stream::append_elements(const detail::typed_bytes& elements) {
    return detail::guard_memory([&]() -> result<void> {
        const std::optional<dtype> expected = core_->stream_dtype(number());
        if (expected && *expected != elements.storage) {
            return detail::fail(errc::type_mismatch, "the tensor is of {}, not of {}",
                                {name(*expected), name(elements.storage)});
        }
        return core_->append_to_stream(number(), elements.bytes, width_bytes(elements.storage));
    });
}

ZTENSOR_INLINE result<void> tensor_stream::append_bytes(bytes_view little_endian) {
    return detail::guard_memory([&] { return core_->append_to_stream(number(), little_endian, 1); });
}

ZTENSOR_INLINE std::uint64_t tensor_stream::missing_bytes() const noexcept {
    return core_->stream_missing_bytes(number());
}

ZTENSOR_INLINE result<void> tensor_stream::finish() {
    return detail::guard_memory([&] { return core_->finish_stream(number()); });
}

// -- making writers

ZTENSOR_COLD ZTENSOR_INLINE result<writer> writer::start(std::unique_ptr<byte_sink> sink, detail::memory_sink* memory,
                                                         const write_options& options) {
    if (result<void> valid = detail::writer_core::check(options); !valid) {
        return std::move(valid).error();
    }
    writer made(new detail::writer_core(std::move(sink), memory, options));
    if (result<void> begun = made.core_->begin(); !begun) {
        return std::move(begun).error();
    }
    return made;
}

ZTENSOR_COLD ZTENSOR_INLINE result<writer> writer::create(const file_path& path, const write_options& options) {
    return detail::guard_memory([&]() -> result<writer> {
        if (result<void> valid = detail::writer_core::check(options); !valid) {
            return std::move(valid).error();
        }
        result<std::unique_ptr<byte_sink>> sink = detail::create_sink(path, options);
        if (!sink) {
            return std::move(sink).error();
        }
        return start(*std::move(sink), nullptr, options);
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<writer> writer::to_memory(const write_options& options) {
    return detail::guard_memory([&] {
        auto* const memory = new detail::memory_sink;
        return start(std::unique_ptr<byte_sink>(memory), memory, options);
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<writer> writer::to_sink(std::unique_ptr<byte_sink> sink,
                                                           const write_options& options) {
    return detail::guard_memory([&] { return start(std::move(sink), nullptr, options); });
}

// -- writing

ZTENSOR_INLINE format_version writer::version() const noexcept {
    return core_->version();
}

ZTENSOR_INLINE result<void> writer::attributes(ztensor::attributes values) {
    return detail::guard_memory([&] { return core_->set_attributes(std::move(values)); });
}

ZTENSOR_INLINE result<void> writer::add_attributes(const attributes_view& more) {
    return detail::guard_memory([&] { return core_->add_attributes(more); });
}

ZTENSOR_INLINE result<void> writer::add_elements(std::string_view name, const shape& dimensions,
                                                 const detail::typed_bytes& elements, const store& how) {
    return detail::guard_memory([&] {
        const std::string_view type = how.has_type_ ? how.type_ : elements.type;
        const auto word = how.has_type_ || !type.empty() ? std::optional(type) : std::nullopt;
        return core_->add_dense({name, dimensions, elements.storage, word, how},
                                {elements.bytes, width_bytes(elements.storage)});
    });
}

ZTENSOR_INLINE result<void> writer::add(std::string_view name, const shape& dimensions, const std::vector<bool>& bools,
                                        const store& how) {
    return detail::guard_memory([&] {
        const std::vector<unsigned char> bytes(bools.begin(), bools.end());
        return add_bytes(name, dimensions, dtype::boolean, detail::as_bytes(span<const unsigned char>(bytes)), how);
    });
}

ZTENSOR_INLINE result<void> writer::add_bytes(std::string_view name, const shape& dimensions, dtype storage,
                                              bytes_view little_endian, const store& how) {
    return detail::guard_memory([&] {
        const auto word = detail::writer_core::word_of_type(how);
        return core_->add_dense({name, dimensions, storage, word, how}, {little_endian, 1});
    });
}

ZTENSOR_INLINE result<void> writer::add_object(std::string_view name, const object_draft& draft) {
    return detail::guard_memory([&] { return core_->add_object(name, draft); });
}

ZTENSOR_INLINE result<void> writer::add_csr_parts(std::string_view name, const shape& dimensions,
                                                  const detail::typed_bytes& values, std::size_t value_bytes,
                                                  const detail::typed_bytes& indices, const detail::typed_bytes& indptr,
                                                  const store& how) {
    return detail::guard_memory([&]() -> result<void> {
        const auto made = detail::draft_csr(core_->version(), dimensions, values, value_bytes, indices, indptr, how);
        return made ? core_->add_object(name, made->draft) : error(made.error()).in_object(name);
    });
}

ZTENSOR_INLINE result<void> writer::add_coo_parts(std::string_view name, const shape& dimensions,
                                                  const detail::typed_bytes& values, std::size_t value_bytes,
                                                  const detail::typed_bytes& coords, const store& how) {
    return detail::guard_memory([&]() -> result<void> {
        const auto made = detail::draft_coo(core_->version(), dimensions, values, value_bytes, coords, how);
        return made ? core_->add_object(name, made->draft) : error(made.error()).in_object(name);
    });
}

ZTENSOR_INLINE result<void> writer::add_quantized_parts(std::string_view name, const shape& dimensions,
                                                        const quantization& parameters,
                                                        const detail::typed_bytes& packed_weight,
                                                        const detail::typed_bytes& scales,
                                                        const detail::typed_bytes& zeros, const store& how) {
    return detail::guard_memory([&]() -> result<void> {
        const auto draft = detail::draft_quantized(dimensions, parameters, packed_weight, scales, zeros, how);
        return draft ? core_->add_object(name, *draft) : error(draft.error()).in_object(name);
    });
}

ZTENSOR_INLINE result<tensor_stream> writer::stream(std::string_view name, const shape& dimensions, dtype storage,
                                                    const store& how) & {
    return detail::guard_memory([&]() -> result<tensor_stream> {
        const result<std::uint64_t> number = core_->begin_stream(name, dimensions, storage, how);
        if (!number) {
            return number.error();
        }
        return tensor_stream(*core_, *number);
    });
}

ZTENSOR_INLINE result<void> writer::finish() {
    return detail::guard_memory([&] { return core_->finish(); });
}

ZTENSOR_INLINE std::vector<std::byte> writer::take_bytes() noexcept {
    return core_->take_bytes();
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
