// SPDX-License-Identifier: MIT
//
// Opening files and finding what is in them: one file, a root with its shards, or many files that are one model.
// Opening reads the two ends of a file and its manifest, checks every rule that needs no data, and touches no tensor.
// SPEC.md section 9.
#ifndef ZTENSOR_READER_HPP
#define ZTENSOR_READER_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/format.hpp>
#include <ztensor/io.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {
struct reader_access;
struct reader_maker; // in import/
} // namespace detail

/// The answer of reader::verify(): how many components were found in which state, and the damaged ones.
struct verification {
    std::uint64_t verified = 0;             ///< bytes are those that were digested
    std::uint64_t absent = 0;               ///< no digest in the file: nothing can be said
    std::uint64_t unsupported = 0;          ///< a digest of an unknown algorithm: nothing can be said
    std::vector<component_view> mismatches; ///< damaged; borrowed from the reader

    /// True if nothing was found damaged. Says nothing of components without a digest that could be checked.
    [[nodiscard]] bool ok() const noexcept { return mismatches.empty(); }
    /// True if every component has a digest and matches it.
    [[nodiscard]] bool complete() const noexcept { return ok() && absent == 0 && unsupported == 0; }
};

/// An open .zt file of any version from 0.1 to 2, a file that open_any() opened, or many files under one set of names:
/// what a folder or an index holds, or readers that were joined. A handle: copies are cheap and share the files, the
/// mappings and the indices, and what a reader returns lives as long as any copy of it. Borrowing from a
/// temporary reader does not compile, but for acquire(). Every member may be called from many threads at once.
///
/// A reader of many files holds at most 32 of them open; the others are opened when they are read, and that fails with
/// errc::file_changed if they are other files by then. What is said of one file (its version, attributes, container) is
/// absent or empty for many.
class reader {
public:
    /// An empty reader: is_open() is false, and there are no objects until an open reader is assigned.
    reader() noexcept;
    // No moves: a reader that was moved from would hold nothing, and a copy costs no more than a counter.
    reader(const reader&) noexcept = default;
    reader& operator=(const reader&) noexcept = default;
    ~reader() = default;

    /// Opens the file at `path`. Errors: file_not_found, not_regular_file, io_error, unmappable; those of
    /// SPEC.md section 2 (file_too_small, bad_magic, foreign_file, unsupported_container, truncated, manifest_...),
    /// section 3 (cbor_..., schema_..., duplicate_key, name_invalid, unsupported_version, limit_exceeded) and
    /// section 2.3, section 4 to 7 (shape_overflow, type_mismatch, misaligned_offset, out_of_bounds, blob_overlap,
    /// size_mismatch, layout_components, sparse_..., decode_limit, digest_format); out_of_memory. Of version 2 (SPEC.md
    /// section 13) also manifest_damaged, unknown_dtype, cbor_not_deterministic, layout_attributes, quant_...,
    /// shard_table, and unsupported_digest in a build without xxHash. The shards of a model are looked for beside the
    /// file: as "<stem>-<name>.zt", as "blobs/<algorithm>/<hex>", then by size and digest among all files there;
    /// shard_missing and shard_mismatch name all that were not found. A shard that is a symbolic link may lead to where
    /// read_options::follow_links() says.
    static result<reader> open(const file_path& path, const read_options& options = {});

    /// Opens a container in memory that outlives the reader and does not change meanwhile.
    static result<reader> from_bytes(bytes_view borrowed, const read_options& options = {});
    /// Opens a container in memory that the reader takes over.
    static result<reader> from_bytes(std::vector<std::byte>&& owned, const read_options& options = {});
    /// Memory that is about to die can't be borrowed: keep the container in a variable, or give a
    /// std::vector<std::byte>.
    template <class Container, std::enable_if_t<detail::is_dying_owner_v<Container&&>, int> = 0>
    static result<reader> from_bytes(Container&& temporary, const read_options& options = {}) = delete;
    /// Opens a container of the caller's making: an archive, a database, a network store. Errors: invalid_argument for
    /// null; as open().
    static result<reader> from_source(std::shared_ptr<const byte_source> source, const read_options& options = {});

    /// Opens a .zt file of which the index is known, such as from another process, and checks it as open() does, but
    /// reads nothing of it: only what read_options::strict() looks at besides. The shards of a model are looked for as
    /// by open(), which reads them. Errors: file_changed if the file has another size, or was modified at another time
    /// where both are known; as open().
    static result<reader> from_index(const file_path& path, const file_index& index, const read_options& options = {});
    /// The same of a source of the caller's making. Errors: also invalid_argument for null.
    static result<reader> from_index(std::shared_ptr<const byte_source> source, const file_index& index,
                                     const read_options& options = {});
    /// What opening this .zt file has read, of which 104 bytes at most are read again. Errors: invalid_argument for a
    /// file of another format, of which read_index() gives it, and for many files, each of which has an index of its
    /// own; out_of_memory; what the source says.
    result<file_index> index() const;

    /// Several open readers as one, file by file. Errors: duplicate_key (a name in two files; all that is wrong is one
    /// error with a sentence for each), out_of_memory.
    static result<reader> join(std::vector<reader> files);

    [[nodiscard]] bool is_open() const noexcept { return file_.use_count() != 0; }
    /// Readers of the single files, in the order in which they were given; those of an index sorted by name, each
    /// without the objects that the index leaves out (skipped() lists them), which are hidden from every call. Of one
    /// file this reader itself.
    [[nodiscard]] span<const reader> files() const& noexcept;
    /// Which of the files() the object of that name is in. Errors: object_not_found.
    result<std::size_t> file_of(std::string_view name) const;
    /// What kind of file it is: zt, unless open_any() opened another. Of many files absent.
    [[nodiscard]] open_word<container_kind> container() const noexcept;
    /// The version of the format. Its original() is the text of the file, such as "1.3.0", which is known as 1.2; 0.1
    /// states none. Absent for files of other formats, and of many files.
    [[nodiscard]] open_word<ztensor::version> version() const noexcept;
    /// As it was given to open(), for a folder or an index, too; "" for memory, user-defined sources and joined
    /// readers.
    [[nodiscard]] const std::string& path() const& noexcept;
    /// True for a file of version 2 that has blobs and no manifest: only the root of its model says what they are. Such
    /// a file has no objects.
    [[nodiscard]] bool is_data_shard() const noexcept;
    /// Length of the whole file in bytes; of many files of all of them.
    [[nodiscard]] std::uint64_t file_bytes() const noexcept;
    /// Length of the encoded manifest in bytes; of a file of another format, of the model that was made of its header;
    /// of many files of all of them.
    [[nodiscard]] std::uint64_t manifest_bytes() const noexcept;
    /// True if views can be had: the file is mapped, or was memory from the start; of many files each of them.
    [[nodiscard]] bool is_mapped() const noexcept;

    /// False if the file gives no attributes, which differs from an empty map of them.
    [[nodiscard]] bool has_attributes() const noexcept;
    /// The attributes of the file itself.
    [[nodiscard]] attributes_view attributes() const& noexcept;

    /// What a file of another format holds that its importer has no object or attribute for, each with the reason.
    /// Empty for .zt files, of which every object is listed. Of many files first what is left out of the set, which
    /// open_any() says: files of a folder, and objects that its index does not name; then what the files skip.
    [[nodiscard]] const std::vector<skipped_item>& skipped() const& noexcept;

    /// Objects, in the order of the manifest: sorted by name in every file of the reference writers since 1.0. Of many
    /// files file by file.
    class iterator : public detail::position_iterator<iterator, object_view> {
    public:
        iterator() noexcept = default;
        [[nodiscard]] object_view operator*() const noexcept;

    private:
        friend reader;
        iterator(const detail::opened_file& file, std::size_t position) noexcept
            : position_iterator(position), file_(&file) {}

        const detail::opened_file* file_ = nullptr;
    };
    /// How many objects there are.
    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] iterator begin() const& noexcept { return {*file_, 0}; }
    [[nodiscard]] iterator end() const& noexcept { return {*file_, size()}; }

    /// The object of that name. The first call makes a table of the names; where there is no memory for that, each call
    /// goes through them. Errors: object_not_found, out_of_memory (to say that it is not there).
    result<object_view> find(std::string_view name) const&;
    [[nodiscard]] bool contains(std::string_view name) const noexcept;
    /// The same; where there is none of that name, an object of which every verb says so.
    [[nodiscard]] object_view operator[](std::string_view name) const& noexcept;
    /// The i-th object of the manifest, i < size().
    [[nodiscard]] object_view operator[](std::size_t i) const& noexcept {
        return begin()[static_cast<std::ptrdiff_t>(i)];
    }

    // Short forms of the verbs of an object, see readable. `expected` is the shape that the caller expects.

    /// The elements where they lie, without a copy.
    template <class T>
    result<span<const T>> view(std::string_view name,
                               const expected_shape& expected = expected_shape::anything()) const& {
        return (*this)[name].template view<T>(expected);
    }
    /// The elements in memory of the caller's own: decoded, verified, in the host's byte order.
    template <class T>
    result<std::vector<T>> read(std::string_view name,
                                const expected_shape& expected = expected_shape::anything()) const {
        return (*this)[name].template read<T>(expected);
    }
    /// As read(), in an array that large tensors are read into faster.
    template <class T>
    result<array<T>> load(std::string_view name, const expected_shape& expected = expected_shape::anything()) const {
        return (*this)[name].template load<T>(expected);
    }
    /// As read(), converted to floating-point numbers from whatever they are stored as.
    template <class To>
    result<std::vector<To>> read_as(std::string_view name,
                                    const expected_shape& expected = expected_shape::anything()) const {
        return (*this)[name].template read_as<To>(expected);
    }
    /// The same in an array.
    template <class To>
    result<array<To>> load_as(std::string_view name,
                              const expected_shape& expected = expected_shape::anything()) const {
        return (*this)[name].template load_as<To>(expected);
    }
    /// As read(), into memory of the caller's: a span, or a container of the right size.
    template <class Destination>
    result<void> read_into(std::string_view name, Destination&& destination) const {
        return (*this)[name].read_into(destination);
    }
    /// The same, converted block by block.
    template <class Destination>
    result<void> read_as_into(std::string_view name, Destination&& destination) const {
        return (*this)[name].read_as_into(destination);
    }
    /// The elements with their shape, borrowed where that is safe, else loaded. They outlive the reader.
    template <class T>
    result<tensor<T>> acquire(std::string_view name,
                              const expected_shape& expected = expected_shape::anything()) const {
        return (*this)[name].template acquire<T>(expected);
    }
    /// The same as floating-point numbers.
    template <class To>
    result<tensor<To>> acquire_as(std::string_view name,
                                  const expected_shape& expected = expected_shape::anything()) const {
        return (*this)[name].template acquire_as<To>(expected);
    }

    /// Checks every digest of the file, reading every byte that has one, on `threads` threads (0: as many as the host
    /// runs at once). A mismatch is an answer, not an error. `progress` is called as load_options::progress() says.
    /// Errors: cancelled, and what the source says.
    /// In version 2 digests are of decoded bytes: all parts are decoded, those without a digest too, and every rule is
    /// checked that only data shows: where one is broken and no digest is, that is the error (decode_failed,
    /// decode_size, bad_bool, bad_padding, sparse_indptr, sparse_index, sparse_order). What can't be checked, such as
    /// an unknown encoding, is passed over.
    result<verification> verify(unsigned threads = 0, const progress_function& progress = {}) const&;

    // Borrowing from a reader that is about to die.
    span<const reader> files() const&& = delete;
    const std::string& path() const&& = delete;
    attributes_view attributes() const&& = delete;
    const std::vector<skipped_item>& skipped() const&& = delete;
    iterator begin() const&& = delete;
    iterator end() const&& = delete;
    result<object_view> find(std::string_view) const&& = delete;
    object_view operator[](std::string_view) const&& = delete;
    object_view operator[](std::size_t) const&& = delete;
    template <class T>
    result<span<const T>> view(std::string_view, const expected_shape& = expected_shape::anything()) const&& = delete;
    result<verification> verify(unsigned = 0, const progress_function& = {}) const&& = delete;

private:
    friend class load_plan;
    friend struct detail::reader_access;
    friend struct detail::reader_maker;

    explicit reader(std::shared_ptr<const detail::opened_file> opened) noexcept : file_(std::move(opened)) {}

    static result<reader> open_from(std::shared_ptr<const byte_source> source, const read_options& options,
                                    std::string path, const detail::native_path& root = {},
                                    const file_index* known = nullptr);
    static result<reader> opened_as(std::shared_ptr<detail::opened_file> opened, result<void> valid);

    std::shared_ptr<const detail::opened_file> file_;
};

namespace detail {

/// Whether the reader has the file of the object open. An absent object says by itself that it is none. Errors:
/// invalid_argument.
result<void> check_is_of(const reader& model, const object_view& object);

} // namespace detail

/// One tensor of a file, which is opened for it: the elements with their shape. Errors: those of reader::open() and
/// readable::acquire().
template <class T>
result<tensor<T>> load(const file_path& path, std::string_view name,
                       const expected_shape& expected = expected_shape::anything(), const read_options& options = {}) {
    ZTENSOR_TRY_ASSIGN(const reader file, reader::open(path, options));
    return file.acquire<T>(name, expected);
}

/// The content digest of a file of version 2: "xxh3:" or "sha256:" and lower-case digits. It is that of names, shapes,
/// layouts, attributes, types and of the digest of every component, which are of decoded bytes: the same tensors have
/// the same one at any alignment, in any order, raw or compressed, in one file or in many, as long as their components
/// have digests of the same algorithm. No blob is read, nor any shard.
///
/// Errors: invalid_argument (another algorithm); not_expressible (a file before version 2, a data shard, or a component
/// without a digest: then there is none); unsupported_digest (a build without xxHash); out_of_memory.
result<std::string> content_digest(const reader& of, digest algorithm = digest::xxh3);

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/read/reader_definitions.hpp>
#endif

#endif
