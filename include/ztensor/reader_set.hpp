// SPDX-License-Identifier: MIT
//
// Several files as one: the shards of a model, of any formats that open_any() reads, under one set of names.
#ifndef ZTENSOR_READER_SET_HPP
#define ZTENSOR_READER_SET_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_view.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {
struct opened_set;
} // namespace detail

/// Open files whose objects have names of their own, together. There may be more of them than a process can hold open:
/// beyond 32 they are opened when they are read, and are errc::file_changed if they are other files by then. A handle
/// like reader: copies are cheap, and what it hands out lives as long as any copy of it. Every member may be called
/// from many threads at once.
class reader_set {
public:
    /// Of no files, until an open set is assigned.
    reader_set() noexcept;
    // No moves, as of reader.
    reader_set(const reader_set&) noexcept = default;
    reader_set& operator=(const reader_set&) noexcept = default;
    ~reader_set() = default;

    /// What `path` leads to: an index of shards ("....json", as Hugging Face writes it: {"weight_map": {name: file}}),
    /// a directory, or one file. Of a directory the one index in it, or else all files of the endings .zt,
    /// .safetensors, .gguf, .npy, .npz, .onnx and those of PyTorch (.pt, .pth, .ckpt, .bin, .jit, .pt2), in letters of
    /// any case, in the order of their names; where there is none of these, with read_options::hdf5(), those of .h5,
    /// .hdf5 and .keras. The parts of a GGUF model are one shard, which the first opens. What an index says is held
    /// against the shards, which lie in its folder or below that. What symbolic links among these files may lead to,
    /// read_options::follow_links() says. Everything that is wrong with the set is
    /// one error with a sentence for
    /// each, of the code of the first. Errors: those of open_any() for a shard; file_not_found (a directory without
    /// any, a shard that is missing), duplicate_key (a name in two shards), stale_index (the index names a shard for an
    /// object that is elsewhere or nowhere, or no shard for one that is there), name_invalid (a shard that is not
    /// below the folder, or a link that leads out of it), json_malformed, schema_type, schema_missing,
    /// manifest_too_large, not_built_in, invalid_argument (a directory of several models, by their
    /// indices or the names of their parts). Where the names of files in a directory without an index say that they are
    /// parts of one model, as model-00002-of-00003.safetensors does, one that is missing is shard_missing.
    static result<reader_set> open(const file_path& path, const read_options& options = {});

    /// The files at these paths: any container of what file_path is made of.
    template <class Paths, std::enable_if_t<!std::is_convertible_v<const Paths&, file_path>, int> = 0>
    static result<reader_set> open(const Paths& paths, const read_options& options = {}) {
        return detail::guard_memory([&] {
            std::vector<file_path> borrowed;
            for (const auto& each : paths) {
                borrowed.emplace_back(each);
            }
            return open_files({borrowed.data(), borrowed.size()}, options);
        });
    }
    static result<reader_set> open(std::initializer_list<file_path> paths, const read_options& options = {}) {
        return open_files({paths.begin(), paths.size()}, options);
    }
    /// Readers that are open already.
    static result<reader_set> of(std::vector<reader> shards);

    /// The files, in the order in which they were given; those of an index sorted by name.
    [[nodiscard]] span<const reader> shards() const& noexcept;

    /// Objects of all files, file by file.
    using iterator = const object_view*;
    /// How many objects there are in all files.
    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] iterator begin() const& noexcept;
    [[nodiscard]] iterator end() const& noexcept;

    /// The object of that name, whichever file it is in. Errors: object_not_found.
    result<object_view> find(std::string_view name) const&;
    [[nodiscard]] bool contains(std::string_view name) const noexcept;
    /// find(name).value(): the object, or an exception where there is none of that name.
    [[nodiscard]] object_view operator[](std::string_view name) const& { return find(name).value(); }
    /// The i-th object of all files, i < size().
    [[nodiscard]] object_view operator[](std::size_t i) const& noexcept { return begin()[i]; }
    /// In which of the shards() it is. Errors: object_not_found.
    result<std::size_t> shard_of(std::string_view name) const;

    // Borrowing from a set that is about to die.
    span<const reader> shards() const&& = delete;
    iterator begin() const&& = delete;
    iterator end() const&& = delete;
    result<object_view> find(std::string_view) const&& = delete;
    object_view operator[](std::string_view) const&& = delete;
    object_view operator[](std::size_t) const&& = delete;

private:
    explicit reader_set(std::shared_ptr<const detail::opened_set> opened) noexcept : set_(std::move(opened)) {}

    static result<reader_set> open_files(span<const file_path> paths, const read_options& options);

    std::shared_ptr<const detail::opened_set> set_;
};

/// A load_plan across the files of a set: each tensor goes to the plan of its file, and the plans are run one after the
/// other. Holds the set. Throws std::bad_alloc where it is made.
class set_plan {
public:
    explicit set_plan(reader_set from);

    // As those of load_plan.

    template <class Destination>
    set_plan& add(std::string_view name, Destination&& destination) {
        if (load_plan* const plan = plan_of(name)) {
            plan->add(name, std::forward<Destination>(destination));
        }
        return *this;
    }
    template <class Destination>
    set_plan& add_as(std::string_view name, Destination&& destination) {
        if (load_plan* const plan = plan_of(name)) {
            plan->add_as(name, std::forward<Destination>(destination));
        }
        return *this;
    }
    template <class Destination>
    set_plan& add_rows(std::string_view name, std::uint64_t first, std::uint64_t last, Destination&& destination) {
        if (load_plan* const plan = plan_of(name)) {
            plan->add_rows(name, first, last, std::forward<Destination>(destination));
        }
        return *this;
    }
    template <class Destination>
    set_plan& add_slice(std::string_view name, const slice& ranges, Destination&& destination) {
        if (load_plan* const plan = plan_of(name)) {
            plan->add_slice(name, ranges, std::forward<Destination>(destination));
        }
        return *this;
    }

    /// How many tensors were added.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    /// Reads them all, once everything has been checked in every file; what is missing or does not fit is one error
    /// with a sentence for each, of the code of the first. The report is the sum of all. Errors: as load_plan::run().
    result<load_report> run(const load_options& options = {}) const;

private:
    /// Of the file that the name is in; null, and noted, if there is none.
    [[nodiscard]] load_plan* plan_of(std::string_view name);

    reader_set set_;
    std::vector<load_plan> plans_; ///< one for each shard
    std::vector<std::string> missing_;
    std::size_t size_ = 0;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/import/reader_set_definitions.hpp>
#endif

#endif
