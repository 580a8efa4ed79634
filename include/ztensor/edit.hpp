// SPDX-License-Identifier: MIT
//
// Changing a file that exists: names, attributes, single objects; everything else stays byte for byte. SPEC.md
// section 10.
#ifndef ZTENSOR_EDIT_HPP
#define ZTENSOR_EDIT_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/store.hpp>

#include <memory>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

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
    /// Gives an object another name. Errors: object_not_found, name_invalid, duplicate_key, not_expressible (in place),
    /// writer_closed.
    result<void> rename(std::string_view from, std::string_view to);

    /// Takes an object out, and its blobs with it unless others have them too. Errors: object_not_found,
    /// not_expressible (in place), writer_closed.
    result<void> remove(std::string_view name);

    /// Puts another object in the place of one. The elements are written at once. In place it must have the same
    /// format, shape, types and size, be stored raw in one component that no other object shares, and have a digest of
    /// the same algorithm or, like the old one, none. Errors: object_not_found; not_expressible (in place); those of
    /// writer::add_object.
    result<void> replace(std::string_view name, const object_draft& draft);

    /// The same with a dense tensor, see writer::add().
    template <class Elements>
    result<void> replace(std::string_view name, const shape& dimensions, const Elements& elements,
                         const store& how = {}) {
        return replace_dense(name, dimensions, detail::typed_bytes_of(elements), how);
    }

    /// The attributes of an object, as they are so far. Errors: object_not_found.
    result<ztensor::attributes> attributes(std::string_view name) const;
    /// All attributes of an object, instead of those that it has. Errors: object_not_found, name_invalid, cbor_utf8,
    /// not_expressible (in place; in 0.1 a key that is a field), writer_closed.
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
/// and blobs stay as they stand, only that blobs move together where something is taken out. Of the options, version()
/// says nothing here.
///
/// With publish_mode::replace, which is the default, a new file is made beside and takes the old one's place at
/// finish(). With publish_mode::in_place only replace() works, and only as it says there: the old bytes go to an undo
/// record first, `.ztensor-<16 hex digits>.undo`, and a mark in place of the file's last 8 bytes. From the first
/// replace() until finish(), and after a crash until recover() (recover.hpp) has brought the old bytes back, readers
/// that open the file find it without a footer (errc::truncated); those that have it open may see old and new bytes. An editor
/// that fails or is dropped does that by itself.
///
/// A second writer of the file, to append or to edit, is refused while this one lives, or where an undo record is left:
/// errc::busy.
///
/// Errors: those of reader::open; not_expressible for a file of version 1.0, which can't be written, and of version 2,
/// which only grows: append(), or copy() what is to stay; busy;
/// invalid_argument, io_error, out_of_memory.
result<editor> edit(const file_path& path, const write_options& options = {});

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/write/edit_definitions.hpp>
#endif

#endif
