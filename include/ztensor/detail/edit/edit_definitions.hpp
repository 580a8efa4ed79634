// SPDX-License-Identifier: MIT
//
// The editor's public face, where memory is guarded. Defines what edit.hpp declares. SPEC.md section 10.
#ifndef ZTENSOR_DETAIL_EDIT_EDIT_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_EDIT_EDIT_DEFINITIONS_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/core/guard_memory.hpp>
#include <ztensor/detail/edit/editing.hpp>
#include <ztensor/detail/edit/editor_core.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

ZTENSOR_INLINE void detail::editor_deleter::operator()(editor_core* core) const noexcept {
    delete core;
}

namespace detail {

/// Runs `work(editor_core&) -> result<T>`, unless the editor was moved from.
template <class Core, class Work>
[[nodiscard]] auto with_editor(const Core& core, const Work& work) {
    using outcome = std::invoke_result_t<const Work&, editor_core&>;
    return guard_memory([&]() -> outcome {
        if (core == nullptr) {
            return writer_core::closed();
        }
        outcome done = work(*core);
        if (!done) {
            core->locate(done.error());
        }
        return done;
    });
}

} // namespace detail

ZTENSOR_INLINE result<void> editor::rename(std::string_view from, std::string_view to) {
    return detail::with_editor(core_, [&](detail::editor_core& core) { return core.rename(from, to); });
}

ZTENSOR_INLINE result<void> editor::remove(std::string_view name) {
    return detail::with_editor(core_, [&](detail::editor_core& core) { return core.remove(name); });
}

ZTENSOR_INLINE result<void> editor::replace(std::string_view name, const object_draft& draft) {
    return detail::with_editor(core_, [&](detail::editor_core& core) { return core.replace(name, draft); });
}

ZTENSOR_INLINE result<void> editor::replace_dense(std::string_view name, const shape& dimensions,
                                                  const detail::typed_bytes& elements, const store& how) {
    return detail::with_editor(core_, [&](detail::editor_core& core) {
        object_draft draft(format::dense, dimensions);
        detail::draft_access::add(draft, "data", elements, how);
        return core.replace(name, draft);
    });
}

ZTENSOR_INLINE result<attributes> editor::attributes(std::string_view name) const {
    return detail::with_editor(core_, [&](detail::editor_core& core) { return core.attributes_of_object(name); });
}

ZTENSOR_INLINE result<void> editor::attributes(std::string_view name, ztensor::attributes values) {
    return detail::with_editor(core_,
                               [&](detail::editor_core& core) { return core.set_attributes(name, std::move(values)); });
}

ZTENSOR_INLINE result<void> editor::remove_attributes(std::string_view name) {
    return detail::with_editor(core_,
                               [&](detail::editor_core& core) { return core.set_attributes(name, std::nullopt); });
}

ZTENSOR_INLINE attributes editor::file_attributes() const {
    return core_ != nullptr ? core_->file_attributes() : ztensor::attributes();
}

ZTENSOR_INLINE result<void> editor::file_attributes(ztensor::attributes values) {
    return detail::with_editor(core_,
                               [&](detail::editor_core& core) { return core.set_file_attributes(std::move(values)); });
}

ZTENSOR_INLINE result<void> editor::remove_file_attributes() {
    return detail::with_editor(core_,
                               [&](detail::editor_core& core) { return core.set_file_attributes(std::nullopt); });
}

ZTENSOR_INLINE result<void> editor::finish() {
    return detail::with_editor(core_, [&](detail::editor_core& core) { return core.finish(); });
}

ZTENSOR_COLD ZTENSOR_INLINE result<editor> edit(const file_path& path, const write_options& options) {
    return detail::guard_memory([&]() -> result<editor> {
        result<std::unique_ptr<detail::editor_core>> made = detail::edit_by(path, options, detail::operating_system());
        if (!made) {
            return std::move(made).error().in_file(detail::path_text(path.native()));
        }
        return detail::editor_access::make(made->release());
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
