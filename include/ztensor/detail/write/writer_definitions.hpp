// SPDX-License-Identifier: MIT
//
// The writer's public face, where memory is guarded. Defines what writer.hpp declares. SPEC.md section 10.
#ifndef ZTENSOR_DETAIL_WRITE_WRITER_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_WRITE_WRITER_DEFINITIONS_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/detail/write/section_writer.hpp>
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
    core->break_off();
}

/// A stream that is over, or was moved from, has nothing to do with its writer any more: it may outlive it.
template <class Work>
result<void> tensor_stream::unless_over(const Work& work) {
    return detail::with_core(core_.get(), [&](detail::writer_core& core) {
        struct let_go_once_over {
            tensor_stream& stream;
            ~let_go_once_over() {
                if (!stream.core_->has_stream()) {
                    static_cast<void>(stream.core_.release()); // the writer's own
                }
            }
        };
        const let_go_once_over guard{*this};
        return work(core);
    });
}

ZTENSOR_INLINE result<void> tensor_stream::append_elements(const detail::typed_bytes& elements,
                                                           std::size_t element_bytes) {
    return unless_over([&](detail::writer_core& core) {
        result<void> valid = core.check_stream_type(elements, element_bytes);
        return valid ? core.append_to_stream(elements.bytes, width_bytes(elements.storage)) : valid;
    });
}

ZTENSOR_INLINE result<void> tensor_stream::append_bytes(bytes_argument little_endian) {
    return unless_over([&](detail::writer_core& core) { return core.append_to_stream(little_endian, 1); });
}

ZTENSOR_COLD ZTENSOR_INLINE result<void> tensor_stream::attributes(ztensor::attributes values) {
    return unless_over([&](detail::writer_core& core) { return core.set_stream_attributes(std::move(values)); });
}

ZTENSOR_INLINE std::uint64_t tensor_stream::missing_bytes() const noexcept {
    return core_ != nullptr ? core_->stream_missing_bytes() : 0;
}

ZTENSOR_INLINE result<void> tensor_stream::finish() {
    return unless_over([&](detail::writer_core& core) { return core.finish_stream(); });
}

// -- making writers

ZTENSOR_COLD ZTENSOR_INLINE result<writer> writer::start(std::unique_ptr<byte_sink> sink, detail::memory_sink* memory,
                                                         const write_options& options,
                                                         std::unique_ptr<detail::shard_files> shards) {
    ZTENSOR_TRY(detail::check_options(options));
    if (sink == nullptr) {
        return detail::fail(errc::invalid_argument, "there is no sink");
    }
    if (options.shard_bytes() != 0 && shards == nullptr) {
        return detail::fail(errc::invalid_argument, "only writer::create knows where shards belong");
    }
    writer made(new detail::writer_core(std::move(sink), memory, options));
    made.core_->file().shard_into(std::move(shards));
    ZTENSOR_TRY(made.core_->begin());
    return made;
}

ZTENSOR_COLD ZTENSOR_INLINE result<writer> writer::create(const file_path& path, const write_options& options) {
    return detail::guard_memory([&]() -> result<writer> {
        ZTENSOR_TRY(detail::check_options(options));
        std::unique_ptr<detail::shard_files> shards;
        if (options.shard_bytes() != 0) {
            ZTENSOR_TRY_ASSIGN(shards, detail::shard_files::make(path, options));
        }
        ZTENSOR_TRY_ASSIGN(std::unique_ptr<byte_sink> sink,
                           shards == nullptr ? detail::create_sink(path, options) : detail::create_root(path, options));
        ZTENSOR_TRY_ASSIGN(writer made, start(std::move(sink), nullptr, options, std::move(shards)));
        made.core_->set_path(path);
        return made;
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<writer> writer::to_memory(const write_options& options) {
    return detail::guard_memory([&] {
        auto* const memory = new detail::memory_sink;
        return start(std::unique_ptr<byte_sink>(memory), memory, options, nullptr);
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<writer> writer::to_sink(std::unique_ptr<byte_sink> sink,
                                                           const write_options& options) {
    return detail::guard_memory([&] { return start(std::move(sink), nullptr, options, nullptr); });
}

// -- writing

namespace detail {

/// Adds what a draft was made of; the attributes that came with it win over those that the call gives.
ZTENSOR_COLD inline result<void> add_typed(writer_core& core, string_view name, result<typed_draft> made,
                                           const object_attributes& about) {
    ZTENSOR_TRY_ASSIGN(typed_draft typed, in_object(std::move(made), name));
    if (about.get() != nullptr) {
        attributes all = *about.get();
        typed.draft.attributes(all.merge(typed.draft.attributes().value_or(attributes())));
    }
    return core.add_object(name, typed.draft);
}

ZTENSOR_COLD ZTENSOR_INLINE result<void> add_in_planes(writer_core& to, const dense_tensor& tensor,
                                                       const blob_content& elements) {
    return to.add_in_planes(tensor, elements);
}

ZTENSOR_COLD ZTENSOR_INLINE result<void> check_object_attributes(format_version version, const object_entry& object) {
    result<void> valid = check_attributes(version, *object.attributes, depth_around_object_attributes(version));
    return valid ? check_expressible(version, object) : valid;
}

/// Calls `work(about)` with the attributes as the version has them: in version 2 in one form, and none for an empty
/// map.
template <class Work>
result<void> with_attributes_of(const writer_core& core, const object_attributes& about, string_view name,
                                const Work& work) {
    if (about.get() == nullptr || !core.has_attributes_in_one_form()) {
        return work(about);
    }
    ZTENSOR_TRY_ASSIGN(
        const attributes said,
        in_object(deterministic_attributes(*about.get(), depth_around_object_attributes(format_version::v2)), name));
    return work(said.empty() ? object_attributes() : about.with(&said));
}

} // namespace detail

ZTENSOR_INLINE format_version writer::version() const noexcept {
    return core_ != nullptr ? core_->version() : format_version::v1_2;
}

ZTENSOR_INLINE result<void> writer::attributes(ztensor::attributes values) {
    return detail::with_core(core_.get(),
                             [&](detail::writer_core& core) { return core.set_attributes(std::move(values)); });
}

ZTENSOR_INLINE result<void> writer::add_attributes(const attributes_view& more) {
    return detail::with_core(core_.get(), [&](detail::writer_core& core) { return core.add_attributes(more); });
}

ZTENSOR_INLINE result<void> writer::add_elements(std::string_view name, const shape& dimensions,
                                                 const detail::typed_bytes& elements, const store& how,
                                                 const object_attributes& about) {
    return detail::with_core(core_.get(), [&](detail::writer_core& core) {
        const std::string_view type = how.has_type() ? how.type() : elements.type;
        const auto word = how.has_type() || !type.empty() ? std::optional(type) : std::nullopt;
        return detail::with_attributes_of(core, about, name, [&](const object_attributes& said) {
            return core.add_dense({name, dimensions, elements.storage, word, how, said},
                                  {elements.bytes, width_bytes(elements.storage)});
        });
    });
}

ZTENSOR_INLINE result<void> writer::add_bytes(std::string_view name, const shape& dimensions, dtype storage,
                                              bytes_argument little_endian, const store& how,
                                              const object_attributes& about) {
    return detail::with_core(core_.get(), [&](detail::writer_core& core) {
        const auto word = detail::writer_core::word_of_type(how);
        return detail::with_attributes_of(core, about, name, [&](const object_attributes& said) {
            return core.add_dense({name, dimensions, storage, word, how, said}, {little_endian, 1});
        });
    });
}

ZTENSOR_INLINE result<void> writer::add_object(std::string_view name, const object_draft& draft) {
    return detail::with_core(core_.get(), [&](detail::writer_core& core) { return core.add_object(name, draft); });
}

ZTENSOR_INLINE result<void> writer::add_csr_parts(std::string_view name, const shape& dimensions,
                                                  const detail::typed_bytes& values, std::size_t value_bytes,
                                                  const detail::typed_bytes& indices, const detail::typed_bytes& indptr,
                                                  const store& how, const object_attributes& about) {
    return detail::with_core(core_.get(), [&](detail::writer_core& core) -> result<void> {
        return detail::add_typed(
            core, name, detail::draft_sparse(core.version(), dimensions, values, value_bytes, indices, &indptr, how),
            about);
    });
}

ZTENSOR_INLINE result<void> writer::add_coo_parts(std::string_view name, const shape& dimensions,
                                                  const detail::typed_bytes& values, std::size_t value_bytes,
                                                  const detail::typed_bytes& coords, const store& how,
                                                  const object_attributes& about) {
    return detail::with_core(core_.get(), [&](detail::writer_core& core) -> result<void> {
        return detail::add_typed(
            core, name, detail::draft_sparse(core.version(), dimensions, values, value_bytes, coords, nullptr, how),
            about);
    });
}

ZTENSOR_INLINE result<void>
writer::add_quantized_parts(std::string_view name, const shape& dimensions, const quantization& parameters,
                            const detail::typed_bytes& packed_weight, const detail::typed_bytes& scales,
                            const detail::typed_bytes& zeros, const store& how, const object_attributes& about) {
    return detail::with_core(core_.get(), [&](detail::writer_core& core) -> result<void> {
        return detail::add_typed(
            core, name,
            detail::draft_quantized(core.version(), dimensions, parameters, packed_weight, scales, zeros, how), about);
    });
}

ZTENSOR_INLINE result<void> writer::add_tied(std::string_view name, std::string_view of) {
    return detail::with_core(core_.get(), [&](detail::writer_core& core) { return core.add_tied(name, of); });
}

ZTENSOR_INLINE result<tensor_stream> writer::start_stream(std::string_view name, const shape& dimensions, dtype storage,
                                                          const store& how, const object_attributes& about,
                                                          std::size_t element_bytes) {
    ZTENSOR_TRY(detail::with_core(core_.get(), [&](detail::writer_core& core) {
        return detail::with_attributes_of(core, about, name, [&](const object_attributes& said) {
            return core.begin_stream(name, dimensions, storage, how, said, element_bytes);
        });
    }));
    return tensor_stream(*core_);
}

ZTENSOR_INLINE result<void> writer::finish() {
    return detail::with_core(core_.get(), [&](detail::writer_core& core) { return core.finish(); });
}

ZTENSOR_INLINE std::vector<std::byte> writer::take_bytes() noexcept {
    return core_ != nullptr ? core_->take_bytes() : std::vector<std::byte>();
}

ZTENSOR_INLINE result<void> detail::writer_access::save(writer& out, span<const named_elements> tensors) {
    vector<const named_elements*> in_order;
    for (const named_elements& each : tensors) {
        in_order.push_back(&each);
    }
    if (out.version() == format_version::v2) { // whose names rise
        std::sort(in_order.begin(), in_order.end(),
                  [](const named_elements* a, const named_elements* b) { return a->name_ < b->name_; });
    }
    for (const named_elements* each : in_order) {
        ZTENSOR_TRY(out.add_elements(each->name_, each->shape_, each->kept_.elements, each->how_, {}));
    }
    return out.finish();
}

ZTENSOR_INLINE result<void> save(const file_path& path, std::initializer_list<named_elements> tensors,
                                 const write_options& options) {
    return detail::guard_memory([&]() -> result<void> {
        ZTENSOR_TRY_ASSIGN(writer out, writer::create(path, options));
        return detail::writer_access::save(out, {tensors.begin(), tensors.size()});
    });
}

// -- planned files
//
// What several processes write together: where everything lies is known before a byte of it, and the index is made when
// all of it is written.

namespace detail {

[[nodiscard]] inline dense_tensor tensor_of(const write_options& options, const planned_tensor& planned,
                                            const object_attributes& about) {
    return in_words_of(options.version(), {planned.name, planned.dimensions, planned.storage,
                                           writer_core::word_of_type(planned.how), planned.how, about});
}

/// Errors: not_expressible.
ZTENSOR_COLD inline result<void> check_planned_store(const write_options& options, const store& how) {
    ZTENSOR_TRY(check_digest(options.version(), how.digest()));
    if (how.encoding() != encoding::raw || how.is_big_endian()) {
        return fail(errc::not_expressible, "what several processes write is raw and little-endian: only so its place "
                                           "is known before");
    }
    return {};
}

/// Takes one tensor into the draft, and gives its end.
ZTENSOR_COLD inline result<uint64_t> plan_tensor(const write_options& options, uint64_t position,
                                                 planned_tensor& planned, manifest_draft& draft) {
    ZTENSOR_TRY(check_planned_store(options, planned.how));
    const uint64_t least = options.version() == format_version::v2 ? canonical_alignment_2 : blob_alignment;
    const logical_type_facts* const type = find_logical_type_of(options.version(), planned.how.type());
    if (planned.about && options.version() == format_version::v2) {
        ZTENSOR_TRY_ASSIGN(planned.about,
                           deterministic_attributes(*planned.about, depth_around_object_attributes(options.version())));
        if (planned.about->empty()) {
            planned.about.reset();
        }
    }
    planned.bytes = bytes_of_elements(planned.dimensions, planned.storage, type, false).value_or(0);
    const attributes* const values = planned.about ? &*planned.about : nullptr;
    const object_attributes about = values != nullptr ? object_attributes(*values) : object_attributes();
    const dense_tensor said = tensor_of(options, planned, about);
    component_entry data = entry_of(said, planned.bytes);
    const digest algorithm = written_digest(options.version() == format_version::v2, planned.how.digest());
    data.own_digest = digest_text(algorithm, {}); // as long as the one that it will have
    const object_entry object = entry_of(said, data);
    ZTENSOR_TRY(draft.check_new_name(planned.name));
    ZTENSOR_TRY(check_dense(options.version(), said, data));
    ZTENSOR_TRY(draft_access::check_of(about)(options.version(), object));
    ZTENSOR_TRY(draft.check_bounds(object, 0));
    const optional<uint64_t> offset = checked_align(position, options.alignment_bytes().value_or(least));
    const optional<uint64_t> end = offset ? checked_add(*offset, planned.bytes) : std::nullopt;
    if (!end) {
        return fail(errc::too_large_for_host, "the file would take more than 2^64 bytes");
    }
    planned.offset = *offset;
    draft.keep(object);
    return *end;
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::vector<std::byte>>
plan_tensors(const write_options& options, const ztensor::attributes* of_file, std::vector<planned_tensor>& tensors) {
    ZTENSOR_TRY(check_options(options));
    if (options.shard_bytes() != 0 || options.publish() != publish_mode::replace) {
        return fail(errc::invalid_argument, "several processes write one file together, which replaces the old one: "
                                            "no shards, and nothing in place");
    }
    manifest_draft draft(options);
    if (of_file != nullptr) {
        ZTENSOR_TRY(draft.set_attributes(*of_file, 0));
    }
    const string_view magic = magic_of(options.version());
    problem_list problems;
    uint64_t position = magic.size();
    for (planned_tensor& each : tensors) {
        result<uint64_t> end = plan_tensor(options, position, each, draft);
        if (!end) {
            problems.add(std::move(end).error().in_object(each.name).by_caller());
        }
        position = end.value_or(position);
    }
    if (!problems.empty()) {
        return problems.all(sentence("{} of {} tensors can't be written:", {problems.size(), tensors.size()}), true);
    }
    const bytes_view head = as_bytes(magic);
    return std::vector<std::byte>(head.begin(), head.end());
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::vector<std::byte>> encode_planned(const write_options& options,
                                                                          const ztensor::attributes* of_file,
                                                                          const std::vector<planned_tensor>& tensors) {
    manifest_draft draft(options);
    if (of_file != nullptr) {
        ZTENSOR_TRY(draft.set_attributes(*of_file, 0));
    }
    uint64_t position = magic_bytes;
    for (const planned_tensor& each : tensors) {
        const object_attributes about = each.about ? object_attributes(*each.about) : object_attributes();
        const dense_tensor said = tensor_of(options, each, about);
        component_entry data = entry_of(said, each.bytes);
        data.offset = each.offset;
        data.own_digest = each.digest;
        draft.keep(entry_of(said, data));
        position = each.offset + each.bytes;
    }
    auto sink = std::make_unique<memory_sink>();
    memory_sink& memory = *sink;
    section_writer file(std::move(sink), options);
    file.go_on_at(position);
    ZTENSOR_TRY(draft.write(file));
    return memory.take();
}

} // namespace detail

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
