// SPDX-License-Identifier: MIT
//
// Writing files: tensors and objects one after the other, the manifest at the end, everything published at once.
// SPEC.md §10.
#ifndef ZTENSOR_WRITER_HPP
#define ZTENSOR_WRITER_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/cast.hpp>
#include <ztensor/detail/quantized_rules.hpp>
#include <ztensor/detail/sparse_0_1.hpp>
#include <ztensor/detail/writer_core.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/sparse.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace v0 {

namespace detail {
struct writer_access;
} // namespace detail

/// A dense tensor that is written in pieces of any size; writer::stream() makes one. It belongs to its writer, which
/// must outlive it and writes nothing else meanwhile. Dropped before finish(), it takes the whole file with it.
class tensor_stream {
public:
    /// The next elements in row-major order; borrowed for the length of the call.
    /// Errors: type_mismatch if T's storage type is not the stream's; size_mismatch for more elements than are
    /// missing (nothing of them is written); writer_closed; what the sink says.
    template <class Elements>
    [[nodiscard]] result<void> append(const Elements& elements) {
        using T = detail::element_of_t<Elements>;
        static_assert(is_element_v<T>, "specialise ztensor::element_traits for this type");
        constexpr dtype storage = element_traits<T>::storage;
        return detail::guard_memory([&]() -> result<void> {
            if (const std::optional<dtype> expected = core_->stream_dtype(number()); expected && *expected != storage) {
                return error(errc::type_mismatch, "the tensor is of " + std::string(name(*expected)) + ", not of " +
                                                      std::string(name(storage)));
            }
            return core_->append_to_stream(number(), detail::as_bytes(span<const T>(elements)), width_bytes(storage));
        });
    }

    /// The next bytes as the file will hold them, decoded: little-endian. A piece may end within an element.
    /// Errors: as append().
    [[nodiscard]] result<void> append_bytes(bytes_view little_endian) {
        return detail::guard_memory([&] { return core_->append_to_stream(number(), little_endian, 1); });
    }

    /// Bytes of the decoded tensor that are still to come.
    [[nodiscard]] std::uint64_t missing_bytes() const noexcept { return core_->stream_missing_bytes(number()); }

    /// Completes the tensor. Errors: size_mismatch if elements are missing; writer_closed; what the sink says.
    [[nodiscard]] result<void> finish() {
        return detail::guard_memory([&] { return core_->finish_stream(number()); });
    }

private:
    friend class writer;

    struct abandon {
        std::uint64_t number; ///< of the stream; the writer may have a later one by then
        void operator()(detail::writer_core* core) const noexcept { core->abandon_stream(number); }
    };

    tensor_stream(detail::writer_core& core, std::uint64_t number) noexcept : core_(&core, abandon{number}) {}

    [[nodiscard]] std::uint64_t number() const noexcept { return core_.get_deleter().number; }

    std::unique_ptr<detail::writer_core, abandon> core_; ///< the writer's own
};

/// Writes one .zt file. Belongs to one thread at a time. Nothing is visible under the target's name before finish();
/// a writer that is dropped, or that failed, leaves nothing behind.
///
/// A call whose arguments are refused (a bad name, shape, size, type or option) has written nothing, and the writer
/// goes on. A call that fails while writing ends the writer: every later one is errc::writer_closed.
class writer {
public:
    /// Starts a file that finish() will put at `path`. Errors: not_regular_file, invalid_argument, io_error,
    /// out_of_memory. See byte_sink.hpp for what is synced when.
    [[nodiscard]] static result<writer> create(const std::filesystem::path& path, const write_options& options = {}) {
        return detail::guard_memory([&]() -> result<writer> {
            if (result<void> valid = detail::writer_core::check(options); !valid) {
                return std::move(valid).error();
            }
            result<std::unique_ptr<byte_sink>> sink = detail::create_sink(path, options);
            return sink ? start(*std::move(sink), nullptr, options) : result<writer>(std::move(sink).error());
        });
    }

    /// Starts a file in memory, which take_bytes() gives after finish().
    [[nodiscard]] static result<writer> to_memory(const write_options& options = {}) {
        return detail::guard_memory([&] {
            auto sink = std::make_unique<detail::memory_sink>();
            detail::memory_sink* const memory = sink.get();
            return start(std::move(sink), memory, options);
        });
    }

    /// Starts a file in a sink of the caller's making.
    [[nodiscard]] static result<writer> to_sink(std::unique_ptr<byte_sink> sink, const write_options& options = {}) {
        return detail::guard_memory([&] { return start(std::move(sink), nullptr, options); });
    }

    /// The version being written.
    [[nodiscard]] format_version version() const noexcept { return core_->version(); }

    /// The attributes of the file itself. Errors: name_invalid, cbor_utf8, not_expressible (0.1 has none),
    /// writer_closed.
    [[nodiscard]] result<void> attributes(ztensor::attributes values) {
        return detail::guard_memory([&] { return core_->set_attributes(std::move(values)); });
    }

    /// Adds to the attributes of the file; of a key that is there already the value is replaced. Errors: as
    /// attributes().
    [[nodiscard]] result<void> add_attributes(const attributes_view& more) {
        return detail::guard_memory([&] { return core_->add_attributes(more); });
    }

    /// Adds a dense tensor: a span, vector or array of any type that element_traits describes, in row-major order.
    /// Errors: name_invalid, duplicate_key, size_mismatch (elements and shape differ), shape_overflow, limit_exceeded
    /// (more than 64 dimensions), type_mismatch, not_expressible, invalid_argument (zstd level), writer_closed; what
    /// the sink says.
    template <class Elements>
    [[nodiscard]] result<void> add(std::string_view name, const shape& dimensions, const Elements& elements,
                                   const store& how = {}) {
        return detail::guard_memory([&] {
            return add_object(name, object_draft(format::dense, dimensions).component("data", elements, how));
        });
    }
    /// Bools of a std::vector, which has no bool in memory to borrow.
    [[nodiscard]] result<void> add(std::string_view name, const shape& dimensions, const std::vector<bool>& bools,
                                   const store& how = {}) {
        return detail::guard_memory([&] {
            const std::vector<std::uint8_t> bytes(bools.begin(), bools.end());
            return add_bytes(name, dimensions, dtype::boolean, detail::as_bytes(span<const std::uint8_t>(bytes)), how);
        });
    }

    /// Adds a dense tensor from bytes that are already as the file will hold them, decoded: little-endian.
    /// Errors: as add().
    [[nodiscard]] result<void> add_bytes(std::string_view name, const shape& dimensions, dtype storage,
                                         bytes_view little_endian, const store& how = {}) {
        return detail::guard_memory([&] {
            return add_object(
                name, object_draft(format::dense, dimensions).component_bytes("data", storage, little_endian, how));
        });
    }

    /// Adds an object of any format with any components, written in the order they have in the draft. Of a format
    /// that is known, roles and sizes must fit.
    /// Errors: as add(); cbor_utf8 (attributes), schema_missing (no components), layout_components, sparse_shape,
    /// sparse_size, sparse_dtype.
    [[nodiscard]] result<void> add_object(std::string_view name, const object_draft& draft) {
        return detail::guard_memory([&] { return core_->add_object(name, draft); });
    }

    /// Adds a sparse matrix by rows: the column and the value of every entry, row after row, and rows + 1 positions
    /// where each row starts and the last one ends. In version 0.1 they become one blob. Other index types than u64
    /// need version 1.1.
    /// Errors: as add_object(); sparse_shape, sparse_size, sparse_indptr, sparse_index, sparse_dtype (index type).
    template <class Values, class Indices, class Pointers>
    [[nodiscard]] result<void> add_csr(std::string_view name, const shape& dimensions, const Values& values,
                                       const Indices& indices, const Pointers& indptr, const store& how = {});

    /// Adds a sparse tensor by coordinates: all coordinates of dimension 0, then of dimension 1, and so on.
    /// Errors: as add_object(); sparse_shape, sparse_size, sparse_index, sparse_dtype.
    template <class Values, class Coords>
    [[nodiscard]] result<void> add_coo(std::string_view name, const shape& dimensions, const Values& values,
                                       const Coords& coords, const store& how = {});

    /// Adds weights quantized in groups along the last dimension: the packed integers, and a scale and a zero point for
    /// each group, all row-major. Unlike add_object(), refuses parameters that are missing or unknown.
    /// Errors: as add_object(); quant_bits, quant_group, quant_packing, size_mismatch.
    template <class Words, class Scales, class Zeros>
    [[nodiscard]] result<void> add_quantized(std::string_view name, const shape& dimensions,
                                             const quantization& parameters, const Words& packed_weight,
                                             const Scales& scales, const Zeros& zeros, const store& how = {});

    /// Starts a dense tensor that is written in pieces, for what is larger than memory. Errors: as add().
    [[nodiscard]] result<tensor_stream> stream(std::string_view name, const shape& dimensions, dtype storage,
                                               const store& how = {}) & {
        return detail::guard_memory([&] { return core_->begin_stream(name, dimensions, storage, how); })
            .transform([this](std::uint64_t number) { return tensor_stream(*core_, number); });
    }
    result<tensor_stream> stream(std::string_view, const shape&, dtype, const store& = {}) && = delete;

    /// Writes manifest and footer and publishes the file. Errors: writer_closed (finished before, failed before, or a
    /// stream is open), manifest_too_large; what the sink says, of which not_durable means that the file is in place.
    [[nodiscard]] result<void> finish() {
        return detail::guard_memory([this] { return core_->finish(); });
    }

    /// The finished file of a writer made by to_memory(), moved out; empty for every other.
    [[nodiscard]] std::vector<std::byte> take_bytes() noexcept { return core_->take_bytes(); }

private:
    friend struct detail::writer_access;

    explicit writer(std::unique_ptr<detail::writer_core> core) noexcept : core_(std::move(core)) {}

    [[nodiscard]] static result<writer> start(std::unique_ptr<byte_sink> sink, detail::memory_sink* memory,
                                              const write_options& options) {
        if (result<void> valid = detail::writer_core::check(options); !valid) {
            return std::move(valid).error();
        }
        auto core = std::make_unique<detail::writer_core>(std::move(sink), memory, options);
        return core->begin().and_then([&]() -> result<writer> { return writer(std::move(core)); });
    }

    /// A sparse tensor of T as 0.1 keeps it.
    template <class T>
    [[nodiscard]] result<void> add_blob_0_1(std::string_view name, object_draft& draft,
                                            const std::vector<std::byte>& blob, const store& how) {
        const store typed = how.has_type_ ? how : store(how).type(element_traits<T>::type);
        return add_object(name, draft.component_bytes("data", element_traits<T>::storage, blob, typed));
    }

    [[nodiscard]] static error narrow_indices_0_1(std::string_view name) {
        return error(errc::sparse_dtype, "version 0.1 keeps indices as u64 and nothing else").in_object(name);
    }

    std::unique_ptr<detail::writer_core> core_;
};

namespace detail {

/// For the room that copies whole files.
struct writer_access {
    [[nodiscard]] static writer_core& core_of(writer& to) noexcept { return *to.core_; }
};

} // namespace detail

template <class Values, class Indices, class Pointers>
result<void> writer::add_csr(std::string_view name, const shape& dimensions, const Values& values,
                             const Indices& indices, const Pointers& indptr, const store& how) {
    using T = detail::element_of_t<Values>;
    using Index = detail::element_of_t<Indices>;
    static_assert(std::is_same_v<Index, detail::element_of_t<Pointers>>, "indices and indptr are of one type");
    return detail::guard_memory([&]() -> result<void> {
        const auto csr = csr_view<T, Index>::from_parts(dimensions, span<const T>(values), span<const Index>(indices),
                                                        span<const Index>(indptr));
        if (!csr) {
            return error(csr.error()).in_object(name);
        }
        object_draft draft(format::sparse_csr, dimensions);
        if (version() != format_version::v0_1) {
            const store plain = store(how).type({});
            return add_object(name, draft.component("values", csr->values(), how)
                                        .component("indices", csr->indices(), plain)
                                        .component("indptr", csr->indptr(), plain));
        }
        if constexpr (element_traits<Index>::storage == dtype::u64) {
            return add_blob_0_1<T>(name, draft, detail::pack_csr_0_1(*csr), how);
        }
        return narrow_indices_0_1(name);
    });
}

template <class Values, class Coords>
result<void> writer::add_coo(std::string_view name, const shape& dimensions, const Values& values,
                             const Coords& coords, const store& how) {
    using T = detail::element_of_t<Values>;
    using Index = detail::element_of_t<Coords>;
    return detail::guard_memory([&]() -> result<void> {
        const auto coo = coo_view<T, Index>::from_parts(dimensions, span<const T>(values), span<const Index>(coords));
        if (!coo) {
            return error(coo.error()).in_object(name);
        }
        object_draft draft(format::sparse_coo, dimensions);
        if (version() != format_version::v0_1) {
            return add_object(name, draft.component("values", coo->values(), how)
                                        .component("coords", coo->coords(), store(how).type({})));
        }
        if constexpr (element_traits<Index>::storage == dtype::u64) {
            return add_blob_0_1<T>(name, draft, detail::pack_coo_0_1(*coo), how);
        }
        return narrow_indices_0_1(name);
    });
}

template <class Words, class Scales, class Zeros>
result<void> writer::add_quantized(std::string_view name, const shape& dimensions, const quantization& parameters,
                                   const Words& packed_weight, const Scales& scales, const Zeros& zeros,
                                   const store& how) {
    if (parameters.bits == 0 || parameters.bits > 64) {
        return error(errc::quant_bits, "weights of " + std::to_string(parameters.bits) + " bits").in_object(name);
    }
    if (parameters.group_size == 0) {
        return error(errc::quant_group, "groups of no weights").in_object(name);
    }
    if (!detail::parse_packing(parameters.packing_name)) {
        return error(errc::quant_packing, "the packing " + detail::quote(parameters.packing_name) +
                                              " is not of the form \"8_per_i32\"")
            .in_object(name);
    }
    return detail::guard_memory([&] {
        ztensor::attributes attributes;
        attributes.set("bits", parameters.bits)
            .set("group_size", parameters.group_size)
            .set("packing", parameters.packing_name);
        return add_object(name, object_draft(format::quantized_group, dimensions)
                                    .component("packed_weight", packed_weight, how)
                                    .component("scales", scales, how)
                                    .component("zeros", zeros, how)
                                    .attributes(std::move(attributes)));
    });
}

} // namespace v0
} // namespace ztensor

#endif
