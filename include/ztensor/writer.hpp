// SPDX-License-Identifier: MIT
//
// Writing files: tensors and objects one after the other, the manifest at the end, everything published at once.
// SPEC.md section 10.
#ifndef ZTENSOR_WRITER_HPP
#define ZTENSOR_WRITER_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/format.hpp>
#include <ztensor/io.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

class named_elements;

namespace detail {

/// A dense tensor of a file that several processes write together.
struct planned_tensor {
    std::string name;
    ztensor::shape dimensions;
    dtype storage = dtype::u8;
    store how;
    std::optional<ztensor::attributes> about;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::string digest; ///< its text, once it is known; "" for none
};

/// Checks options and tensors as a writer does, and says where each is to lie. Gives the bytes before the first.
/// Errors: as writer::create() and add(), with a sentence for each tensor; not_expressible for what is compressed.
result<std::vector<std::byte>> plan_tensors(const write_options& options, const ztensor::attributes* of_file,
                                            std::vector<planned_tensor>& tensors);
/// What follows the last of them. Errors: as writer::finish().
result<std::vector<std::byte>> encode_planned(const write_options& options, const ztensor::attributes* of_file,
                                              const std::vector<planned_tensor>& tensors);

class section_writer;
class memory_sink;
class shard_files;
class writer_core;

struct writer_access;

struct writer_deleter {
    void operator()(writer_core* core) const noexcept;
};

} // namespace detail

/// A dense tensor that is written in pieces of any size; writer::stream() makes one. It belongs to its writer, which
/// must outlive it until it is over (finished, or failed with the writer) and writes nothing else meanwhile. Dropped
/// before finish(), it takes the whole file with it. Once it is over or moved from, all it says is writer_closed.
class tensor_stream {
public:
    /// The next elements in row-major order; borrowed for the length of the call.
    /// Errors: type_mismatch if T's storage type is not the stream's, or T takes more bytes than its elements do;
    /// size_mismatch for more elements than are missing (nothing of them is written); writer_closed; what the sink
    /// says.
    template <class Elements>
    result<void> append(const Elements& elements) {
        return append_elements(detail::typed_bytes_of(elements), sizeof(detail::element_of_t<Elements>));
    }

    /// The same of elements that are listed.
    template <class T>
    result<void> append(std::initializer_list<T> elements) {
        return append_elements(detail::typed_bytes_of(elements), sizeof(T));
    }

    /// The next bytes as the file will hold them, decoded: little-endian. A piece may end within an element.
    /// Errors: as append().
    result<void> append_bytes(bytes_argument little_endian);

    /// The attributes of the object, in place of those given before. Errors: name_invalid, cbor_utf8, not_expressible
    /// (0.1 has fields of that name), manifest_too_large, writer_closed.
    result<void> attributes(ztensor::attributes values);

    /// Bytes of the decoded tensor that are still to come.
    [[nodiscard]] std::uint64_t missing_bytes() const noexcept;

    /// Completes the tensor. Errors: size_mismatch if elements are missing; writer_closed; what the sink says.
    result<void> finish();

private:
    friend class writer;

    struct abandon {
        void operator()(detail::writer_core* core) const noexcept;
    };

    explicit tensor_stream(detail::writer_core& core) noexcept : core_(&core) {}

    result<void> append_elements(const detail::typed_bytes& elements, std::size_t element_bytes);
    template <class Work>
    result<void> unless_over(const Work& work);

    std::unique_ptr<detail::writer_core, abandon> core_; ///< the writer's own; null once the stream is over
};

/// Writes one .zt file. Belongs to one thread at a time. Nothing is visible under the target's name before finish();
/// a writer that is dropped, or that failed, leaves nothing behind.
///
/// A call whose arguments are refused (a bad name, shape, size, type or option) has written nothing, and the writer
/// goes on. A call that fails while writing ends the writer: every later one is errc::writer_closed. So it is for one
/// that was moved from. What is gathered first, or written by another thread meanwhile, may fail in a later call,
/// finish() at the latest.
class writer {
public:
    /// Starts a file that finish() will put at `path`. Errors: not_regular_file, invalid_argument, io_error,
    /// out_of_memory. See publish_mode for what is promised of the old file and the new one.
    static result<writer> create(const file_path& path, const write_options& options = {});

    /// Starts a file in memory, which take_bytes() gives after finish().
    static result<writer> to_memory(const write_options& options = {});

    /// Starts a file in a sink of the caller's making. Errors: invalid_argument for none.
    static result<writer> to_sink(std::unique_ptr<byte_sink> sink, const write_options& options = {});

    /// Goes on with the file at `path`; include edit.hpp, which defines it.
    ///
    /// Opens the file at `path` for more: its objects and attributes are there already, and what is
    /// added is written behind them, in the version that the file has. What it holds is not decoded, and its part of
    /// the manifest is kept as it stands. A name that the file has is refused: errc::duplicate_key. Of the options,
    /// version() says nothing here.
    ///
    /// A file of version 2 grows by a generation: all of the old file stays, its manifest and footer as dead bytes, and
    /// a new manifest and footer come behind what is added. Names need not rise, alignment_bytes() is what the file
    /// has, up to 65,536, unless told otherwise, and what is added goes into this file also where its other blobs are
    /// in shards.
    ///
    /// With publish_mode::replace, which is the default, the file is copied beside (by the system, where it can: on
    /// XFS, Btrfs and APFS without moving a byte), extended, and published by finish() as every new file is: at every
    /// moment the target is the complete old file or the complete new one. Bytes of the old file that nothing refers to
    /// any more are kept, but for the old manifest.
    ///
    /// With publish_mode::in_place the file itself is extended, which takes no time and no room for what it holds. No
    /// old byte is ever changed; the old manifest stays as dead bytes. Until finish(), and after a crash, readers find
    /// a file without a footer (errc::truncated; of 0.1 errc::manifest_empty). A record of 64 bytes of what the file
    /// was, `.ztensor-<16 hex digits>.undo`, lies beside it meanwhile, and recover() brings back the last complete
    /// state. A writer that fails or is dropped does that by itself. After a power cut this holds unless sync_level is
    /// none.
    /// compact() drops what is dead.
    ///
    /// A second writer of the file, to append or to edit, is refused while this one lives (errc::busy), and where an
    /// undo record is left (errc::recovery_needed). A writer that creates the file from nothing is not: the last to
    /// finish wins, but that what was written in place of a file that has been replaced or removed meanwhile is lost,
    /// and finish() says so: errc::file_changed.
    ///
    /// Errors: those of reader::open; not_expressible for a file of version 1.0, which can't be written, and for a data
    /// shard of version 2; busy; recovery_needed; invalid_argument, io_error, out_of_memory.
    static result<writer> append(const file_path& path, const write_options& options = {});

    /// The version being written; of a writer that was moved from, 1.2.
    [[nodiscard]] format_version version() const noexcept;

    /// The attributes of the file itself. Errors: name_invalid, cbor_utf8, not_expressible (0.1 has none),
    /// writer_closed.
    result<void> attributes(ztensor::attributes values);

    /// Adds to the attributes of the file; of a key that is there already the value is replaced. Errors: as
    /// attributes().
    result<void> add_attributes(const attributes_view& more);

    /// Adds a dense tensor: a span, vector or array of any type that element_traits describes, in row-major order.
    /// Errors: name_invalid, duplicate_key, size_mismatch (elements and shape differ), shape_overflow, limit_exceeded
    /// (more than 64 dimensions), type_mismatch, not_expressible, bad_bool, bad_padding, invalid_argument (zstd level,
    /// or a name out of order in version 2, see write_options::any_order), manifest_too_large
    /// (write_options::max_manifest_bytes), cbor_utf8 (attributes), writer_closed; what the sink says.
    template <class Elements>
    result<void> add(std::string_view name, const shape& dimensions, const Elements& elements, const store& how = {},
                     const object_attributes& about = {}) {
        return add_elements(name, dimensions, detail::typed_bytes_of(elements), how, about);
    }
    /// The same of elements that are listed: `{1, 0}` are ints.
    template <class T>
    result<void> add(std::string_view name, const shape& dimensions, std::initializer_list<T> elements,
                     const store& how = {}, const object_attributes& about = {}) {
        return add_elements(name, dimensions, detail::typed_bytes_of(elements), how, about);
    }
    /// Bools of a std::vector, which has no bool in memory to borrow.
    template <class Allocator>
    result<void> add(std::string_view name, const shape& dimensions, const std::vector<bool, Allocator>& bools,
                     const store& how = {}, const object_attributes& about = {}) {
        return detail::guard_memory([&] { return add(name, dimensions, detail::bools_in_memory(bools), how, about); });
    }

    /// An object of an open file, with its blobs as they are stored where nothing about them changes. Include
    /// <ztensor/copy.hpp>. Errors: as copy().
    template <class Object, std::enable_if_t<std::is_same_v<Object, object_view>, int> = 0>
    result<void> add(const Object& object) {
        return copy(object, *this);
    }
    /// The same under another name.
    template <class Object, std::enable_if_t<std::is_same_v<Object, object_view>, int> = 0>
    result<void> add(std::string_view name, const Object& object) {
        return copy(object, *this, name);
    }

    /// Adds a dense tensor from bytes that are already as the file will hold them, decoded: little-endian.
    /// Errors: as add().
    result<void> add_bytes(std::string_view name, const shape& dimensions, dtype storage, bytes_argument little_endian,
                           const store& how = {}, const object_attributes& about = {});

    /// Adds an object of any format with any components, written in the order they have in the draft, or of their roles
    /// in version 2. There format::sparse_csr is "zt.sparse_csr/1", and so on. Of a format
    /// that is known, roles and sizes must fit.
    /// Errors: as add(); limit_exceeded (write_options::max_components_per_object), cbor_utf8 (attributes),
    /// schema_missing (no components), layout_components, sparse_shape, sparse_size, sparse_dtype.
    result<void> add_object(std::string_view name, const object_draft& draft);

    /// Adds a sparse matrix by rows: the column and the value of every entry, row after row, and rows + 1 positions
    /// where each row starts and the last one ends. In version 0.1 they become one blob. Other index types than u64
    /// need version 1.1, u32 may stand in version 2, where the columns of every row rise (sparse_order).
    /// Errors: as add_object(); sparse_shape, sparse_size, sparse_indptr, sparse_index, sparse_dtype (index type).
    template <class Values, class Indices, class Pointers>
    result<void> add_csr(std::string_view name, const shape& dimensions, const Values& values, const Indices& indices,
                         const Pointers& indptr, const store& how = {}, const object_attributes& about = {}) {
        using T = detail::element_of_t<Values>;
        static_assert(std::is_same_v<detail::element_of_t<Indices>, detail::element_of_t<Pointers>>,
                      "indices and indptr are of one type");
        static_assert(detail::is_integer_element_v<detail::element_of_t<Indices>>, "an index type is an integer");
        return add_csr_parts(name, dimensions, detail::typed_bytes_of(values), sizeof(T),
                             detail::typed_bytes_of(indices), detail::typed_bytes_of(indptr), how, about);
    }
    /// Bools of a std::vector, which has no bool in memory to borrow.
    template <class Indices, class Pointers>
    result<void> add_csr(std::string_view name, const shape& dimensions, const std::vector<bool>& values,
                         const Indices& indices, const Pointers& indptr, const store& how = {},
                         const object_attributes& about = {}) {
        return detail::guard_memory(
            [&] { return add_csr(name, dimensions, detail::bools_in_memory(values), indices, indptr, how, about); });
    }

    /// Adds a sparse tensor by coordinates: all coordinates of dimension 0, then of dimension 1, and so on. In version
    /// 2 no two entries have the same (sparse_order). Errors: as add_object(); sparse_shape, sparse_size, sparse_index,
    /// sparse_dtype.
    template <class Values, class Coords>
    result<void> add_coo(std::string_view name, const shape& dimensions, const Values& values, const Coords& coords,
                         const store& how = {}, const object_attributes& about = {}) {
        using T = detail::element_of_t<Values>;
        static_assert(detail::is_integer_element_v<detail::element_of_t<Coords>>, "an index type is an integer");
        return add_coo_parts(name, dimensions, detail::typed_bytes_of(values), sizeof(T),
                             detail::typed_bytes_of(coords), how, about);
    }
    /// Bools of a std::vector.
    template <class Coords>
    result<void> add_coo(std::string_view name, const shape& dimensions, const std::vector<bool>& values,
                         const Coords& coords, const store& how = {}, const object_attributes& about = {}) {
        return detail::guard_memory(
            [&] { return add_coo(name, dimensions, detail::bools_in_memory(values), coords, how, about); });
    }

    /// Adds weights quantized in groups along the last dimension: the packed integers, and a scale and a zero point for
    /// each group, all row-major. Unlike add_object(), refuses parameters that are missing or unknown. In version 2
    /// they are zt.quant_group/1, with f32 factors, and not_expressible where its words can't say them. Errors: as
    /// add_object(); quant_bits, quant_group, quant_packing, size_mismatch.
    template <class Words, class Scales, class Zeros>
    result<void> add_quantized(std::string_view name, const shape& dimensions, const quantization& parameters,
                               const Words& packed_weight, const Scales& scales, const Zeros& zeros,
                               const store& how = {}, const object_attributes& about = {}) {
        return add_quantized_parts(name, dimensions, parameters, detail::typed_bytes_of(packed_weight),
                                   detail::typed_bytes_of(scales), detail::typed_bytes_of(zeros), how, about);
    }

    /// Gives what was written as `of` a second name, `name`: the same format, shape, attributes and bytes, which stand
    /// in the file once. For weights that two layers share; object_view::same_storage_as() tells when reading. Errors:
    /// object_not_found (`of`), name_invalid, duplicate_key, not_expressible (0.1), manifest_too_large, writer_closed.
    result<void> add_tied(std::string_view name, std::string_view of);

    /// Starts a dense tensor of elements of T that is written in pieces, for what is larger than memory. Errors: as
    /// add().
    template <class T>
    result<tensor_stream> stream(std::string_view name, const shape& dimensions, const store& how = {},
                                 const object_attributes& about = {}) & {
        static_assert(is_element_v<T>, "specialise ztensor::element_traits for this type");
        return detail::guard_memory([&] {
            const store typed = how.has_type() ? how : store(how).type(element_traits<T>::type);
            return start_stream(name, dimensions, element_traits<T>::storage, typed, about, sizeof(T));
        });
    }
    template <class T>
    result<tensor_stream> stream(std::string_view, const shape&, const store& = {},
                                 const object_attributes& = {}) && = delete;

    /// The same of a type that is told at run time: elements of the storage type, or of the logical type that `how`
    /// names, if that is one of the specification's.
    result<tensor_stream> stream(std::string_view name, const shape& dimensions, dtype storage, const store& how = {},
                                 const object_attributes& about = {}) & {
        return start_stream(name, dimensions, storage, how, about, 0);
    }
    result<tensor_stream> stream(std::string_view, const shape&, dtype, const store& = {},
                                 const object_attributes& = {}) && = delete;

    /// Writes manifest and footer and publishes the file. Errors: writer_closed (finished before, failed before, or a
    /// stream is open), manifest_too_large; what the sink says, of which not_durable means that the file is in place.
    result<void> finish();

    /// The finished file of a writer made by to_memory(), moved out; empty for every other.
    [[nodiscard]] std::vector<std::byte> take_bytes() noexcept;

private:
    friend struct detail::writer_access;

    explicit writer(detail::writer_core* core) noexcept : core_(core) {}

    static result<writer> start(std::unique_ptr<byte_sink> sink, detail::memory_sink* memory,
                                const write_options& options, std::unique_ptr<detail::shard_files> shards);
    result<tensor_stream> start_stream(std::string_view name, const shape& dimensions, dtype storage, const store& how,
                                       const object_attributes& about, std::size_t element_bytes);
    result<void> add_elements(std::string_view name, const shape& dimensions, const detail::typed_bytes& elements,
                              const store& how, const object_attributes& about);
    result<void> add_csr_parts(std::string_view name, const shape& dimensions, const detail::typed_bytes& values,
                               std::size_t value_bytes, const detail::typed_bytes& indices,
                               const detail::typed_bytes& indptr, const store& how, const object_attributes& about);
    result<void> add_coo_parts(std::string_view name, const shape& dimensions, const detail::typed_bytes& values,
                               std::size_t value_bytes, const detail::typed_bytes& coords, const store& how,
                               const object_attributes& about);
    result<void> add_quantized_parts(std::string_view name, const shape& dimensions, const quantization& parameters,
                                     const detail::typed_bytes& packed_weight, const detail::typed_bytes& scales,
                                     const detail::typed_bytes& zeros, const store& how,
                                     const object_attributes& about);

    std::unique_ptr<detail::writer_core, detail::writer_deleter> core_;
};

namespace detail {

/// For the rooms that copy whole files and go on with them.
struct writer_access {
    /// Null where it was moved from.
    [[nodiscard]] static writer_core* core_of(writer& to) noexcept { return to.core_.get(); }
    [[nodiscard]] static writer make(writer_core* core) noexcept { return writer(core); }
    static result<void> save(writer& out, span<const named_elements> tensors);
};

} // namespace detail

/// A dense tensor to be saved: `{"w", {2, 3}, elements}`. The elements are those that writer::add() takes; those of a
/// temporary are taken over, and all others borrowed.
class named_elements {
public:
    template <class Elements>
    named_elements(std::string_view name, const ztensor::shape& dimensions, Elements&& elements, store how = {})
        : name_(name), shape_(dimensions), kept_(detail::keep_elements(std::forward<Elements>(elements))),
          how_(std::move(how)) {}
    // No moves: what was moved from would borrow what it no longer owns.
    named_elements(const named_elements&) = default;
    named_elements& operator=(const named_elements&) = default;
    ~named_elements() = default;

private:
    friend struct detail::writer_access;

    std::string name_;
    ztensor::shape shape_;
    detail::kept_elements kept_;
    store how_;
};

/// Writes a file of these tensors: all of it, or nothing. Errors: those of writer::create(), add() and finish().
result<void> save(const file_path& path, std::initializer_list<named_elements> tensors,
                  const write_options& options = {});

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/write/writer_definitions.hpp>
#endif

#endif
