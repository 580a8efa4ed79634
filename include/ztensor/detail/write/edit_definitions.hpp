// SPDX-License-Identifier: MIT
//
// What the public headers on appending, editing and recovering declare.
#ifndef ZTENSOR_DETAIL_WRITE_EDIT_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_WRITE_EDIT_DEFINITIONS_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/write/editor.hpp>
#include <ztensor/detail/write/old_file.hpp>
#include <ztensor/detail/write/planes_draft.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {

/// Work on a file, whose errors name it. Its name is made first, so that work that was done is never said to have
/// failed for want of memory.
template <class Work>
auto on_file(const file_path& path, const Work& work) -> std::invoke_result_t<const Work&> {
    const string name = path_text(path.native());
    return in_file(work(), name);
}

} // namespace detail

// -- append definitions
//
// Going on with a file that exists. Defines writer::append. SPEC.md section 10.

ZTENSOR_COLD ZTENSOR_INLINE result<writer> writer::append(const file_path& path, const write_options& options) {
    return detail::guard_memory([&]() -> result<writer> {
        ZTENSOR_TRY_ASSIGN(writer out, detail::on_file(path, [&] {
                               return detail::append_to(path, options, detail::operating_system());
                           }));
        detail::writer_access::core_of(out)->set_path(path);
        return out;
    });
}

// -- edit definitions
//
// The editor's public face, where memory is guarded. Defines what edit.hpp declares. SPEC.md section 10.

ZTENSOR_INLINE void detail::editor_deleter::operator()(editor_core* core) const noexcept {
    delete core;
}

ZTENSOR_INLINE result<void> editor::rename(std::string_view from, std::string_view to) {
    return detail::with_core(core_.get(), [&](detail::editor_core& core) { return core.rename(from, to); });
}

ZTENSOR_INLINE result<void> editor::remove(std::string_view name) {
    return detail::with_core(core_.get(), [&](detail::editor_core& core) { return core.remove(name); });
}

namespace detail {

/// As writer::add() has it.
inline result<object_draft> dense_draft(string_view name, const shape& dimensions, const typed_bytes& elements,
                                        const store& how) {
    const string_view word = how.has_type() ? how.type() : elements.type;
    const optional<string_view> type = how.has_type() || !word.empty() ? optional(word) : std::nullopt;
    return in_object(draft_dense({name, dimensions, elements.storage, type, how, {}},
                                 {elements.bytes, width_bytes(elements.storage)}),
                     name);
}

} // namespace detail

ZTENSOR_INLINE result<void> editor::add(std::string_view name, const object_draft& draft) {
    return detail::with_core(core_.get(), [&](detail::editor_core& core) { return core.add(name, draft); });
}
ZTENSOR_INLINE result<void> editor::add_dense(std::string_view name, const shape& dimensions,
                                              const detail::typed_bytes& elements, const store& how) {
    return detail::with_core(core_.get(), [&](detail::editor_core& core) -> result<void> {
        ZTENSOR_TRY_ASSIGN(const object_draft draft, detail::dense_draft(name, dimensions, elements, how));
        return core.add(name, draft);
    });
}

ZTENSOR_INLINE result<void> editor::replace(std::string_view name, const object_draft& draft) {
    return detail::with_core(core_.get(), [&](detail::editor_core& core) { return core.replace(name, draft); });
}
ZTENSOR_INLINE result<void> editor::replace_dense(std::string_view name, const shape& dimensions,
                                                  const detail::typed_bytes& elements, const store& how) {
    return detail::with_core(core_.get(), [&](detail::editor_core& core) -> result<void> {
        ZTENSOR_TRY_ASSIGN(object_draft draft, detail::dense_draft(name, dimensions, elements, how));
        return core.replace_elements(name, std::move(draft));
    });
}

ZTENSOR_INLINE result<attributes> editor::attributes(std::string_view name) const {
    return detail::with_core(core_.get(), [&](detail::editor_core& core) { return core.attributes_of_object(name); });
}

ZTENSOR_INLINE result<void> editor::attributes(std::string_view name, ztensor::attributes values) {
    return detail::with_core(core_.get(),
                             [&](detail::editor_core& core) { return core.set_attributes(name, std::move(values)); });
}

ZTENSOR_INLINE result<void> editor::remove_attributes(std::string_view name) {
    return detail::with_core(core_.get(),
                             [&](detail::editor_core& core) { return core.set_attributes(name, std::nullopt); });
}

ZTENSOR_INLINE attributes editor::file_attributes() const {
    return core_ != nullptr ? core_->file_attributes() : ztensor::attributes();
}

ZTENSOR_INLINE result<void> editor::file_attributes(ztensor::attributes values) {
    return detail::with_core(core_.get(),
                             [&](detail::editor_core& core) { return core.set_file_attributes(std::move(values)); });
}

ZTENSOR_INLINE result<void> editor::remove_file_attributes() {
    return detail::with_core(core_.get(),
                             [&](detail::editor_core& core) { return core.set_file_attributes(std::nullopt); });
}

ZTENSOR_INLINE result<void> editor::finish() {
    return detail::with_core(core_.get(), [&](detail::editor_core& core) { return core.finish(); });
}

ZTENSOR_COLD ZTENSOR_INLINE result<editor> edit(const file_path& path, const write_options& options) {
    return detail::guard_memory([&]() -> result<editor> {
        ZTENSOR_TRY_ASSIGN(std::unique_ptr<detail::editor_core> made, detail::on_file(path, [&] {
                               return detail::edit_by(path, options, detail::operating_system());
                           }));
        return detail::editor_access::make(made.release());
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::uint64_t> dead_bytes(const reader& file) {
    return detail::guard_memory(
        [&]() -> result<std::uint64_t> { return detail::dead_bytes_of(detail::reader_access::file_of(file)); });
}

ZTENSOR_COLD ZTENSOR_INLINE result<void> compact(const file_path& path, const write_options& options) {
    return detail::guard_memory([&] {
        return detail::on_file(path, [&] { return detail::compact_by(path, options, detail::operating_system()); });
    });
}

// -- recover definitions
//
// After a crash. Defines recover() and its kin. SPEC.md section 10.

ZTENSOR_COLD ZTENSOR_INLINE result<recovery> recover(const file_path& path) {
    return detail::guard_memory(
        [&] { return detail::on_file(path, [&] { return detail::recover_by(path, detail::operating_system()); }); });
}

ZTENSOR_COLD ZTENSOR_INLINE result<bool> has_undo_record(const file_path& path) {
    return detail::guard_memory([&] {
        return detail::on_file(path, [&] { return detail::has_undo_record_by(path, detail::operating_system()); });
    });
}

ZTENSOR_COLD ZTENSOR_INLINE result<std::size_t> remove_abandoned(const file_path& directory,
                                                                 std::uint64_t least_age_seconds) {
    return detail::guard_memory(
        [&] { return detail::remove_abandoned_by(directory, least_age_seconds, detail::operating_system()); });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
