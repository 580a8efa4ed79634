// SPDX-License-Identifier: MIT
//
// Changing a file that exists: its attributes, names and data, in place or beside; and what a crash has left half done.
// SPEC.md section 10.
#ifndef ZTENSOR_EDIT_HPP
#define ZTENSOR_EDIT_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/format.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// Brings back the last complete state of a file that a writer or an editor in place (publish_mode::in_place) was
/// extending when its process or the machine stopped: the state before, or the one after if the change was complete.
/// The undo record beside the file says how long the file was and what stood at its end. Where the file is complete,
/// the record is removed; where it still has that end and is longer, it is cut there first. May itself be stopped at
/// any moment, and be called again. Without a record nothing is looked at.
///
/// The file is known by its content, so a folder may be copied first, file and record together; and a complete file
/// that was put in the place of the extended one is left as it is. It does not search: a file that is cut off stays as
/// it is, too. After publish_mode::in_place of a writer that creates a file there is nothing to bring back.
///
/// Errors: busy (the writer is alive); undo_record_refused (the file is not complete, and the record is about another
/// one, damaged, of an earlier release, or may come from somebody who does not own the file: it has to be the owner's,
/// root's or the caller's own. File and record are left alone); invalid_argument, io_error, out_of_memory; and where
/// there is a record, file_not_found and not_regular_file.
result<recovery> recover(const file_path& path);

/// Whether an undo record lies beside the file: a writer or an editor in place is at work on it, or was broken off.
/// Errors: invalid_argument, io_error, out_of_memory.
result<bool> has_undo_record(const file_path& path);

/// How many bytes of a .zt file its index does not lead to, beyond padding: what in-place changes have left, or what
/// somebody put there. compact() drops them. 0 for other formats and many files. Errors: out_of_memory.
result<std::uint64_t> dead_bytes(const reader& file);

/// Writes the file anew without its dead bytes, as an editor does that replaces it and changes nothing; of version 2,
/// too. A file without dead bytes is left as it is. Of the options, version() and publish() say nothing here.
///
/// Errors: as edit() and editor::finish().
result<void> compact(const file_path& path, const write_options& options = {});

/// Removes the temporary files `.ztensor-<16 hex digits>.tmp`, and those that stand for the lock of a model in many
/// files (`.ztensor-<16 hex digits>.lock`), in a directory whose processes are gone, and gives how many. One that is being written is locked, and stays; where the file system has no locks, all of them stay. Some
/// file systems keep locks to each host (NFS with `nolock`, CIFS, Lustre with `localflock`, some of FUSE), where a
/// writer on another host is not seen: so files stay, too, that were written to within the last `least_age_seconds`, a
/// day unless told otherwise. 0 is for where no other host writes. Undo records (`.ztensor-<16 hex digits>.undo`) stay:
/// they are needed, and recover() removes them.
///
/// Errors: io_error, of the first file that can't be removed, when all others have been; invalid_argument;
/// out_of_memory.
result<std::size_t> remove_abandoned(const file_path& directory, std::uint64_t least_age_seconds = 86'400);

namespace detail {

class editor_core;

struct editor_access;

struct editor_deleter {
    void operator()(editor_core* core) const noexcept;
};

} // namespace detail

/// Changes that finish() makes all at once; edit() makes one. Belongs to one thread at a time. Dropped before finish(),
/// it changes nothing.
///
/// A call whose arguments are refused has changed nothing, and the editor goes on. One that fails while writing ends
/// it: every later one is errc::writer_closed. So it is for one that was moved from.
class editor {
public:
    /// Gives an object another name. Errors: object_not_found, name_invalid, duplicate_key, writer_closed.
    result<void> rename(std::string_view from, std::string_view to);

    /// Takes an object out, and its blobs with it unless others have them too. Errors: object_not_found, writer_closed.
    result<void> remove(std::string_view name);

    /// Adds an object. Its elements are written at once. Errors: duplicate_key; those of writer::add_object.
    result<void> add(std::string_view name, const object_draft& draft);
    /// The same with a dense tensor, see writer::add().
    template <class Elements>
    result<void> add(std::string_view name, const shape& dimensions, const Elements& elements, const store& how = {}) {
        return add_dense(name, dimensions, detail::typed_bytes_of(elements), how);
    }

    /// Puts another object in the place of one, with the attributes of the draft. The elements are written at once.
    /// Errors: object_not_found; those of writer::add_object.
    result<void> replace(std::string_view name, const object_draft& draft);

    /// The same with a dense tensor, see writer::add(). It keeps the attributes of a dense tensor in whose place it
    /// comes.
    template <class Elements>
    result<void> replace(std::string_view name, const shape& dimensions, const Elements& elements,
                         const store& how = {}) {
        return replace_dense(name, dimensions, detail::typed_bytes_of(elements), how);
    }

    /// The attributes of an object, as they are so far. Errors: object_not_found.
    result<ztensor::attributes> attributes(std::string_view name) const;
    /// All attributes of an object, instead of those that it has, but for those of the layout of planes, which stay.
    /// Errors: object_not_found, name_invalid, cbor_utf8, duplicate_key (one of that layout), not_expressible (in 0.1 a
    /// key that is a field), writer_closed.
    result<void> attributes(std::string_view name, ztensor::attributes values);
    /// Takes all attributes of an object away; an empty set would stay as an empty map.
    result<void> remove_attributes(std::string_view name);

    /// The same of the file itself. Errors: not_expressible in 0.1, which has none.
    [[nodiscard]] ztensor::attributes file_attributes() const;
    result<void> file_attributes(ztensor::attributes values);
    result<void> remove_file_attributes();

    /// Writes what is kept and the new manifest, and publishes the file. Errors: writer_closed; manifest_too_large;
    /// file_changed (in place: another file has been put in its place); io_error; not_durable, which means that the
    /// changes are in place.
    result<void> finish();

private:
    friend struct detail::editor_access;

    result<void> add_dense(std::string_view name, const shape& dimensions, const detail::typed_bytes& elements,
                           const store& how);
    result<void> replace_dense(std::string_view name, const shape& dimensions, const detail::typed_bytes& elements,
                               const store& how);

    explicit editor(detail::editor_core* core) noexcept : core_(core) {}

    std::unique_ptr<detail::editor_core, detail::editor_deleter> core_;
};

namespace detail {

/// For the room that makes them.
struct editor_access {
    [[nodiscard]] static editor make(editor_core* core) noexcept { return editor(core); }
};

} // namespace detail

/// Opens a file for changes. It keeps its version; manifest fields that the library does not know, digests, encodings
/// and blobs stay as they stand. Of the options, version() says nothing here.
///
/// With publish_mode::replace, which is the default, a new file is made beside and takes the old one's place at
/// finish(). Blobs move together where something is taken out.
///
/// With publish_mode::in_place the file itself is extended: new blobs, then a new index and footer, behind the old end.
/// No old byte is ever changed, so that those who have the file open go on reading what it held. What the new index
/// does not lead to stays as dead bytes, see compact(). Until finish(), and after a crash until recover(), readers that
/// open the file find it without a footer (errc::truncated; of 0.1 errc::manifest_empty). An undo record of 64 bytes,
/// `.ztensor-<16 hex digits>.undo`, lies beside it meanwhile. An editor that fails or is dropped cuts the file to what
/// it was by itself.
///
/// A second writer of the file, to append or to edit, is refused while this one lives (errc::busy), and where an undo
/// record is left (errc::recovery_needed).
///
/// Errors: those of reader::open; not_expressible for a file of version 1.0, which can't be written, and of version 2,
/// which only grows: append(), or copy() what is to stay; busy; recovery_needed; invalid_argument, io_error,
/// out_of_memory.
result<editor> edit(const file_path& path, const write_options& options = {});

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/write/edit_definitions.hpp>
#endif

#endif
