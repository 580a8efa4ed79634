// SPDX-License-Identifier: MIT
//
// What every view of one open file shares: where its bytes come from, its validated manifest, and the caller's
// options; and what the library may ask a view. SPEC.md section 9.
#ifndef ZTENSOR_DETAIL_READ_OPENED_FILE_HPP
#define ZTENSOR_DETAIL_READ_OPENED_FILE_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/parse.hpp>
#include <ztensor/detail/index/planes.hpp>
#include <ztensor/detail/index/rules.hpp>
#include <ztensor/detail/index/scan.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/error.hpp>
#include <ztensor/format.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

class component_view;
class object_view;
class reader;

namespace detail {

/// What the digest of a blob covers, where that is not the blob: the whole entry of an archive that it lies in.
struct digest_cover {
    uint64_t blob_offset = 0;
    uint64_t blob_length = 0;
    uint64_t offset = 0;
    uint64_t length = 0;

    friend bool operator<(const digest_cover& a, const digest_cover& b) noexcept {
        return a.blob_offset != b.blob_offset ? a.blob_offset < b.blob_offset : a.blob_length < b.blob_length;
    }
};

struct joined_files;

struct opened_file : std::enable_shared_from_this<opened_file> {
    std::shared_ptr<const byte_source> source; ///< may hold more than the file: see assembled_source
    uint64_t file_bytes = 0;                   ///< of the file itself
    manifest index;
    planes_table planes;       ///< of the index
    uint64_t index_offset = 0; ///< in the file; 0 where the index was made of another header, or there is none
    read_options options;
    vector<digest_cover> digest_covers;         ///< by offset and length; empty in .zt files
    vector<skipped_item> skipped;               ///< of files of other formats: what became no object
    string path;                                ///< for messages; empty for memory and user-defined sources
    std::shared_ptr<const joined_files> joined; ///< of a folder or a list: the files, and this one is empty
};

template <class Enum>
[[nodiscard]] bool is_unknown(const open_word<Enum>& word) noexcept {
    return word.is_present() && !word.is_known();
}

/// Whether an object is of the format that a view of it needs. SPEC.md section 5. Errors: unsupported_format.
inline result<void> check_format(const opened_file& file, const object_record& object, format expected) {
    if (object.format == expected) {
        return {};
    }
    return fail(errc::unsupported_format, "its format is {}, not {}",
                {in_quotes(format_name(file.index, object)), name(expected)});
}

/// The elements of a dense object, stored as one component or in planes; null of any other object.
[[nodiscard]] inline const component_record* dense_data(const opened_file& file, const object_record& object) noexcept {
    if (object.format == format::dense) {
        return find_component(file.index, object, "data");
    }
    const planes_tensor* const planes = file.planes.find(object);
    return planes != nullptr ? &planes->data : nullptr;
}

/// Whether its elements are a dense tensor, however they are stored.
[[nodiscard]] inline bool is_dense(const opened_file& file, const object_record& object) noexcept {
    return object.format == format::dense || file.planes.find(object) != nullptr;
}

/// The blobs that a component is made of: itself, or those of its planes.
[[nodiscard]] inline span<const component_record> blobs_of(const opened_file& file,
                                                           const component_record& component) noexcept {
    return component.is_in_planes ? span<const component_record>(file.planes.of(component).blobs)
                                  : span<const component_record>(&component, 1);
}

// -- access
//
// What the library may know of views beside what users may. Defined where the views' members are.

/// For code that must know which file and object a component is of.
struct component_access {
    [[nodiscard]] static const opened_file& file_of(const component_view& component) noexcept;
    [[nodiscard]] static const component_record& record_of(const component_view& component) noexcept;
    [[nodiscard]] static const object_record& object_record_of(const component_view& component) noexcept;
    [[nodiscard]] static string_view object_of(const component_view& component) noexcept;
    [[nodiscard]] static version version_of(const component_view& component) noexcept;
    /// The logical type as the file has it: even the storage type's own name, which says no more.
    [[nodiscard]] static string_view type_word_of(const component_view& component) noexcept;
    [[nodiscard]] static bool has_type_word(const component_view& component) noexcept;
    [[nodiscard]] static component_view make(const opened_file& file, const object_record& object,
                                             const component_record& record) noexcept;
    /// Adds to an error where it happened.
    [[nodiscard]] static error located(const component_view& component, error why) noexcept;
    template <class T>
    static result<T> located(const component_view& component, result<T> done) {
        return done ? std::move(done) : located(component, std::move(done).error());
    }
    /// Calls `call() -> result<T>`; says where it happened, too, that memory runs out there.
    template <class Call>
    [[nodiscard]] static auto guard(const component_view& component, Call&& call) -> std::invoke_result_t<Call> {
        return located(component, guard_memory(call));
    }
};

/// For code that gives several components a meaning together.
struct object_access {
    [[nodiscard]] static const opened_file& file_of(const object_view& object) noexcept;
    [[nodiscard]] static const object_record& record_of(const object_view& object) noexcept;
    /// Its format in the words of 1.2, or the file's own word for one that is unknown, and in version 2.
    [[nodiscard]] static string_view format_word_of(const object_view& object) noexcept;
    /// All attributes that the file gives, even those of the layout of planes.
    [[nodiscard]] static attributes_view stored_attributes_of(const object_view& object) noexcept;
    [[nodiscard]] static bool has_stored_attributes(const object_view& object) noexcept;
    [[nodiscard]] static object_view make(const opened_file& file, const object_record& record) noexcept;
    /// As those of component_access.
    [[nodiscard]] static error located(const object_view& object, error why) noexcept;
    template <class T>
    static result<T> located(const object_view& object, result<T> done) {
        return done ? std::move(done) : located(object, std::move(done).error());
    }
    template <class Call>
    [[nodiscard]] static auto guard(const object_view& object, Call&& call) -> std::invoke_result_t<Call> {
        return located(object, guard_memory(call));
    }
};

[[nodiscard]] ZTENSOR_COLD inline error another_reader() noexcept {
    return fail(errc::invalid_argument, "the object is of another reader");
}

/// For code that must know what a reader has opened.
struct reader_access {
    [[nodiscard]] static const opened_file& file_of(const reader& from) noexcept;
    [[nodiscard]] static reader make(std::shared_ptr<const joined_files> joined, string path);
    /// Takes the other objects out of a file that has just been opened, of which there are no views.
    static void keep_objects(const reader& of, const vector<bool>& is_kept);
};

/// Adds the file to an error of its attributes, and the object to one of an object's.
[[nodiscard]] ZTENSOR_COLD inline error name_place_of_attributes(const attributes_place& place, error why) noexcept {
    const auto& file = *static_cast<const opened_file*>(place.file);
    const auto* const object = static_cast<const object_record*>(place.object);
    return std::move(why).in_file(file.path).in_object(object != nullptr ? file.index.text(object->name) : "");
}

// -- opening

/// Both ends of the file -> where its manifest is.
ZTENSOR_COLD inline result<manifest_location> find_manifest(const byte_source& source, uint64_t max_manifest_bytes) {
    constexpr uint64_t manifest_bytes_ceiling = uint64_t{1} << 30;
    const uint64_t size = source.size();
    byte head[head_bytes];
    byte tail[tail_bytes];
    const span<byte> start(head, static_cast<size_t>((std::min<uint64_t>)(size, head_bytes)));
    ZTENSOR_TRY(source.read_at(0, start));
    ZTENSOR_TRY_ASSIGN(const container kind, identify_container(start, size));
    const span<byte> end(tail, static_cast<size_t>((std::min<uint64_t>)(size, tail_bytes_of(kind))));
    ZTENSOR_TRY(source.read_at(size - end.size(), end));
    return locate_manifest(kind, end, size, (std::min)(max_manifest_bytes, manifest_bytes_ceiling));
}

/// The manifest's bytes in memory of our own: a file changed underneath can't change what was validated.
ZTENSOR_COLD inline result<void> copy_index(const byte_source& source, const manifest_location& at, manifest& index) {
    if (!index.index.allocate(static_cast<size_t>(at.length), scan_reach_bytes)) {
        return fail(errc::out_of_memory, "no memory for a manifest of {} bytes", {at.length});
    }
    advise_huge_pages(index.index.data(), index.index.size());
    return source.read_at(at.offset, index.index.writable_bytes());
}

/// The manifest is the one that the footer of version 2 digested. Errors: manifest_damaged, unsupported_digest.
ZTENSOR_COLD inline result<void> check_manifest_hash(const manifest_location& at, bytes_view index) {
    ZTENSOR_TRY(require_xxh3());
    if (xxh3_of(index) == at.hash) {
        return {};
    }
    return fail(errc::manifest_damaged, "the manifest's XXH3 is not the one that the footer gives").at(at.offset);
}

/// Fills `opened` from `source`, its own or one that gives the same bytes: both ends, the manifest, every rule that
/// needs no data. No byte of a blob is read.
ZTENSOR_COLD inline result<void> open_container(opened_file& opened, const byte_source& source) {
    ZTENSOR_TRY_ASSIGN(const manifest_location at, find_manifest(source, opened.options.max_manifest_bytes()));
    if (at.is_data_shard) { // there is nothing in it that it knows of
        opened.index.version = version::v2;
        opened.index.is_data_shard = true;
        return {};
    }
    opened.index_offset = at.offset;
    ZTENSOR_TRY(copy_index(source, at, opened.index));
    if (at.kind == container::zt_2) {
        ZTENSOR_TRY(check_manifest_hash(at, opened.index.bytes()));
    }
    ZTENSOR_TRY(parse_index(opened.index, at, opened.file_bytes, opened.options));
    return rulebook(opened.index).check();
}
ZTENSOR_COLD inline result<void> open_container(opened_file& opened) {
    return open_container(opened, *opened.source);
}

/// The same of a file of another format: `opened` has its source and what kind it is, and `draft` is what its header
/// says. Ranges are those of the source. What strict() refuses, an importer does.
ZTENSOR_COLD inline result<void> open_foreign(opened_file& opened, model_draft draft) {
    opened.index.alignment_bytes = 1;
    opened.index.blobs_end = opened.source->size();
    ZTENSOR_TRY(take_draft(opened.index, std::move(draft), opened.options));
    return rulebook(opened.index).check();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
