// SPDX-License-Identifier: MIT
//
// Writing a model that one file is too small for: many files of a bounded size, which open_any() reads as one.
#ifndef ZTENSOR_SHARDED_WRITER_HPP
#define ZTENSOR_SHARDED_WRITER_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/fwd.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/writer.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class sharded_core;
struct sharded_access;

struct sharded_deleter {
    void operator()(sharded_core* core) const noexcept;
};

} // namespace detail

/// Writes a model to as many .zt files as it takes. Belongs to one thread at a time. Needs memory as a writer of one
/// file does, besides the names of all objects: no tensor is kept.
///
/// write_options::version() says what is written at the path "model.zt":
///
/// - Versions 0.1 to 1.2: files "model-<token>-00001-of-00003.zt" and so on, each a whole .zt file with the attributes
///   that are given, and "model.zt.index.json", which says where each object is, and how long each file. Of tensors a
///   file holds at most write_options::shard_bytes() bytes, as they are stored; alignment and the file's own index come
///   on top. An object that takes more gets a file of its own. How small an object gets is known only when it is
///   compressed: it goes to the next file where it would not fit uncompressed.
/// - Version 2: "model.zt" with its data shards "model-<token>-00001.zt" and so on, which one writer writes:
///   write_options::shard_bytes() says all of it.
///
/// The token, 16 hexadecimal digits, is another one each time: no file takes the name of one of an older model. finish()
/// first completes all files on the disk under temporary names, so that what can run out of room has happened, then
/// gives them their names, and at last replaces the index, or the root, in one step. At every moment, and after the end
/// of the process at any moment, the index or the root leads to the whole old model or to the whole new one; so it does
/// after a power cut, as far as write_options::sync() says. Then the files of older models at this path are removed,
/// and those that killed writers have left, unless another index in the folder names them, or the file system knows no
/// locks. A reader of the old model reads on from the files that are open; of more than 32, those that have to be opened
/// again are errc::file_changed.
///
/// A lock, ".ztensor-<16 hex digits>.lock" beside the model, keeps out other writers of many files, of whatever
/// version: create() says errc::busy until the first one ends, be it killed. What finish() needs, create() has taken.
///
/// A failure, or a writer that is dropped, leaves the old model as it was and removes what was written. A process that
/// is killed may leave temporary files, which remove_abandoned() sweeps away, and files with names, which the next
/// writer of the model removes. (A complete file is not locked any more: to sweep with an age of less than the writing
/// takes removes it, and finish() fails.) New files get the permissions of the old model's, as publish_mode::replace
/// says: data files those of its first data file, or without one those of the index or the root.
///
/// Calls are refused and fail as those of a writer.
class sharded_writer {
public:
    /// Starts a model at `path`, whose name ends in ".zt"; no file need have it. Errors: invalid_argument (options;
    /// another path; shard_bytes() of 0; publish_mode::in_place), busy (another writer is at work on the model),
    /// not_regular_file (a directory or a link has the name of the index), io_error (no such folder), out_of_memory; of
    /// version 2 as writer::create().
    static result<sharded_writer> create(const file_path& path, const write_options& options);

    /// The version being written; of a writer that was moved from, 1.2.
    [[nodiscard]] format_version version() const noexcept;

    /// The attributes of the model, which stand in each of its files. Errors: as writer::attributes(); before version 2
    /// invalid_argument after the first object, because files may be complete by then.
    result<void> attributes(ztensor::attributes values);
    /// Adds to them; of a key that is there already the value is replaced. Errors: as attributes().
    result<void> add_attributes(const attributes_view& more);

    /// Adds a dense tensor, as writer::add(). Errors: as there; io_error also of the file that is begun or completed.
    template <class Elements>
    result<void> add(std::string_view name, const shape& dimensions, const Elements& elements, const store& how = {},
                     const object_attributes& about = {}) {
        return place(name, detail::typed_bytes_of(elements).bytes.size(),
                     [&](writer& to) { return to.add(name, dimensions, elements, how, about); });
    }
    /// The same of elements that are listed.
    template <class T>
    result<void> add(std::string_view name, const shape& dimensions, std::initializer_list<T> elements,
                     const store& how = {}, const object_attributes& about = {}) {
        return place(name, elements.size() * sizeof(T),
                     [&](writer& to) { return to.add(name, dimensions, elements, how, about); });
    }
    /// Bools of a std::vector.
    template <class Allocator>
    result<void> add(std::string_view name, const shape& dimensions, const std::vector<bool, Allocator>& bools,
                     const store& how = {}, const object_attributes& about = {}) {
        return place(name, bools.size(), [&](writer& to) { return to.add(name, dimensions, bools, how, about); });
    }
    /// An object of an open file under its own name, or another. Include <ztensor/copy.hpp>. Errors: as copy().
    template <class Object, std::enable_if_t<std::is_same_v<Object, object_view>, int> = 0>
    result<void> add(const Object& object) {
        return add(object.name(), object);
    }
    template <class Object, std::enable_if_t<std::is_same_v<Object, object_view>, int> = 0>
    result<void> add(std::string_view name, const Object& object) {
        std::uint64_t bytes = 0;
        for (const auto& component : object) {
            bytes += component.stored_bytes();
        }
        return place(name, bytes, [&](writer& to) { return copy(object, to, name); });
    }

    /// Adds a dense tensor from bytes as the file will hold them, as writer::add_bytes().
    result<void> add_bytes(std::string_view name, const shape& dimensions, dtype storage, bytes_argument little_endian,
                           const store& how = {}, const object_attributes& about = {});

    /// Adds an object of any format, as writer::add_object(); all its components go to one file.
    result<void> add_object(std::string_view name, const object_draft& draft);

    /// Starts a dense tensor that is written in pieces, as writer::stream().
    result<tensor_stream> stream(std::string_view name, const shape& dimensions, dtype storage, const store& how = {},
                                 const object_attributes& about = {}) &;
    result<tensor_stream> stream(std::string_view, const shape&, dtype, const store& = {},
                                 const object_attributes& = {}) && = delete;
    /// The same of elements of T.
    template <class T>
    result<tensor_stream> stream(std::string_view name, const shape& dimensions, const store& how = {},
                                 const object_attributes& about = {}) & {
        static_assert(is_element_v<T>, "specialise ztensor::element_traits for this type");
        return detail::guard_memory([&] {
            const store typed = how.has_type() ? how : store(how).type(element_traits<T>::type);
            return stream(name, dimensions, element_traits<T>::storage, typed, about);
        });
    }

    /// Completes the model and puts all of it in its place; without objects it is one file that holds none. Errors:
    /// writer_closed (finished before, failed before, or a stream is open), manifest_too_large, io_error; not_durable:
    /// all is in place, but a power cut may undo that.
    result<void> finish();

private:
    friend struct detail::sharded_access;

    explicit sharded_writer(detail::sharded_core* core) noexcept : core_(core) {}

    /// `add(writer&) -> result<void>` puts an object of so many bytes into the file that it goes to.
    template <class Add>
    result<void> place(std::string_view name, std::uint64_t bytes, const Add& add) {
        ZTENSOR_TRY_ASSIGN(writer* const to, begin(name, bytes));
        return end(add(*to));
    }
    result<writer*> begin(std::string_view name, std::uint64_t bytes);
    result<void> end(result<void> added);

    std::unique_ptr<detail::sharded_core, detail::sharded_deleter> core_;
};

namespace detail {

/// For the copying of whole files.
struct sharded_access {
    /// Null where it was moved from.
    [[nodiscard]] static sharded_core* core_of(sharded_writer& to) noexcept { return to.core_.get(); }
    [[nodiscard]] static sharded_writer make(sharded_core* core) noexcept { return sharded_writer(core); }
    template <class Add>
    static result<void> place(sharded_writer& to, std::string_view name, std::uint64_t bytes, const Add& add) {
        return to.place(name, bytes, add);
    }
};

} // namespace detail

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/write/sharded_definitions.hpp>
#endif

#endif
