// SPDX-License-Identifier: MIT
//
// Appending to a file and editing it.
#ifndef ZTENSOR_DETAIL_WRITE_EDITOR_HPP
#define ZTENSOR_DETAIL_WRITE_EDITOR_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/names.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/write/atomic_file.hpp>
#include <ztensor/detail/write/draft_check.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/detail/write/object_rewriter.hpp>
#include <ztensor/detail/write/old_file.hpp>
#include <ztensor/detail/write/undo_record.hpp>
#include <ztensor/detail/write/writer_core.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- editor core
//
// A file being edited: its objects and what is to become of each; the new file beside it, or its new end. SPEC.md
// section 10.

class editor_core {
public:
    /// `out` is that of make_edited().
    editor_core(std::unique_ptr<old_file> old, std::unique_ptr<writer_core> out, bool is_in_place) noexcept
        : old_(std::move(old)), out_(std::move(out)), is_in_place_(is_in_place) {}

    /// As writer_core::locate().
    ZTENSOR_COLD void locate(error& why) const noexcept {
        if (why.path().empty()) {
            why = std::move(why).in_file(old_->opened.path).by_caller();
        }
    }

    ZTENSOR_COLD result<void> start() {
        const manifest& index = model();
        if (index.has_attributes) { // which 0.1 has none of
            file_attributes_ = attributes(attributes_view(index.from(index.attributes)));
        }
        for (size_t i = 0; i < index.objects.size(); ++i) {
            edited_object object;
            object.name = index.name_of(i);
            object.record = &index.objects[i];
            object.is_old = true;
            by_name_.emplace(object.name, objects_.size());
            objects_.push_back(std::move(object));
        }
        return is_in_place_ ? result<void>() : out_->begin();
    }

    ZTENSOR_COLD result<void> rename(string_view from, string_view to) {
        ZTENSOR_TRY_ASSIGN(edited_object* const found, find(from));
        result<void> valid = check_name(old_->version, to);
        if (valid && from != to && by_name_.count(string(to)) != 0) {
            valid = fail(errc::duplicate_key, "there is an object of this name already");
        }
        if (!valid) {
            return std::move(valid).error().in_object(to);
        }
        const size_t place = static_cast<size_t>(found - objects_.data());
        const string old_name(found->name);
        string name(to);
        if (from != to) {
            by_name_.emplace(name, place);
            by_name_.erase(old_name);
        }
        found->name = std::move(name);
        return {};
    }

    ZTENSOR_COLD result<void> remove(string_view name) {
        ZTENSOR_TRY_ASSIGN(edited_object* const found, find(name));
        by_name_.erase(found->name);
        found->is_removed = true;
        return {};
    }

    ZTENSOR_COLD result<void> replace(string_view name, const object_draft& draft) {
        ZTENSOR_TRY_ASSIGN(edited_object* const found, find(name));
        return write(*found, draft);
    }

    /// Other elements for a dense tensor, which keeps its attributes.
    ZTENSOR_COLD result<void> replace_elements(string_view name, object_draft draft) {
        ZTENSOR_TRY_ASSIGN(const edited_object* const found, find(name));
        attributes kept = holds_elements(*found) ? own_attributes_of(*found) : attributes();
        if (kept.size() != 0) {
            const optional<attributes> of_planes = draft.attributes(); // which say how the parts are joined
            draft.attributes(of_planes ? with_planes_keys(std::move(kept), *of_planes) : std::move(kept));
        }
        return replace(name, draft);
    }

    ZTENSOR_COLD result<void> add(string_view name, const object_draft& draft) {
        ZTENSOR_TRY(out_->check_open());
        if (by_name_.count(string(name)) != 0) {
            return fail(errc::duplicate_key, "there is an object of this name already").in_object(name);
        }
        edited_object object;
        object.name = name;
        ZTENSOR_TRY(write(object, draft));
        by_name_.emplace(object.name, objects_.size());
        objects_.push_back(std::move(object));
        return {};
    }

    ZTENSOR_COLD result<attributes> attributes_of_object(string_view name) const {
        const auto at = by_name_.find(string(name));
        if (at == by_name_.end()) {
            return not_found(name);
        }
        return own_attributes_of(objects_[at->second]);
    }

    /// Nothing for none at all.
    ZTENSOR_COLD result<void> set_attributes(string_view name, optional<attributes> values) {
        ZTENSOR_TRY_ASSIGN(edited_object* const found, find(name));
        edited_object& object = *found;
        result<void> valid =
            values ? check_attributes(old_->version, *values, depth_around_object_attributes(old_->version))
                   : result<void>();
        if (valid && values && old_->version == format_version::v0_1) {
            valid = check_no_fields(*values, fields_of(object));
        }
        if (valid && values && is_in_planes(object)) {
            valid = check_no_planes_keys(*values);
        }
        if (!valid) {
            return std::move(valid).error().in_object(name);
        }
        if (is_in_planes(object)) { // which has some of its own
            values = with_planes_keys(std::move(values).value_or(attributes()), all_attributes_of(object));
        }
        object.new_attributes = std::move(values);
        object.changes_attributes = true;
        return {};
    }

    [[nodiscard]] attributes file_attributes() const { return file_attributes_.value_or(attributes()); }
    ZTENSOR_COLD result<void> set_file_attributes(optional<attributes> values) {
        ZTENSOR_TRY(out_->check_open());
        ZTENSOR_TRY(values ? check_attributes(old_->version, *values, depth_around_file_attributes) : result<void>());
        if (old_->version == format_version::v0_1) {
            return not_expressible(old_->version, "attributes of the file");
        }
        file_attributes_ = std::move(values);
        return {};
    }

    ZTENSOR_COLD result<void> finish() {
        ZTENSOR_TRY(out_->check_open());
        const abort_on_failure writing(*out_);
        ZTENSOR_TRY(writing.done(keep_objects()));
        old_->opened.source.reset(); // not every system replaces a file that is open
        return out_->finish();
    }

private:
    struct edited_object {
        string name;
        const object_record* record = nullptr; ///< in the old file; null for one that was added
        bool is_old = false;                   ///< false once it was replaced
        vector<byte> value;                    ///< then what stands for it
        optional<attributes> new_attributes;
        bool changes_attributes = false;
        bool is_dense = false; ///< of one that is not old, as is the next
        bool has_planes = false;
        bool is_removed = false;
    };

    [[nodiscard]] const manifest& model() const noexcept { return old_->index(); }

    [[nodiscard]] attributes all_attributes_of(const edited_object& object) const {
        if (!object.is_old || object.changes_attributes) {
            return object.new_attributes.value_or(attributes());
        }
        return attributes(attributes_of(model(), *object.record));
    }
    /// Whether it is a tensor in planes, such as one that was written just now.
    [[nodiscard]] bool is_in_planes(const edited_object& object) const {
        return object.is_old ? has_planes_format(model(), *object.record) : object.has_planes;
    }

    /// Those that say nothing of its parts.
    [[nodiscard]] attributes own_attributes_of(const edited_object& object) const {
        attributes all = all_attributes_of(object);
        return is_in_planes(object) ? without_planes_keys(std::move(all)) : all;
    }
    /// Whether it is a dense tensor, however it is stored: attributes of other objects may be about their parts.
    [[nodiscard]] bool holds_elements(const edited_object& object) const {
        const bool is_dense = object.is_old ? object.record->format == format::dense : object.is_dense;
        return is_dense || is_in_planes(object);
    }

    [[nodiscard]] ZTENSOR_COLD error not_found(string_view name) const {
        const auto name_at = [this](size_t i) {
            return objects_[i].is_removed ? string_view() : string_view(objects_[i].name);
        };
        return no_object_called(name, objects_.size(), name_at);
    }

    result<edited_object*> find(string_view name) {
        ZTENSOR_TRY(out_->check_open());
        const auto at = by_name_.find(string(name));
        return at != by_name_.end() ? result<edited_object*>(&objects_[at->second]) : not_found(name);
    }

    ZTENSOR_COLD result<void> write(edited_object& object, const object_draft& draft) {
        return out_->add_object(object.name, draft, [&](const object_entry& entry) {
            cbor_encoder value;
            encode_object(value, old_->version, entry);
            object.value.assign(value.bytes().begin(), value.bytes().end());
            object.new_attributes = draft.attributes();
            object.changes_attributes = false;
            object.is_dense = draft.format() == ztensor::name(format::dense);
            object.has_planes = draft.format() == planes_format;
            object.is_old = false;
        });
    }

    /// Of 0.1, where attributes stand beside them.
    [[nodiscard]] span<const string_view> fields_of(const edited_object& object) const {
        if (!object.is_old) {
            return field_keys_0_1({}, std::nullopt, true);
        }
        const object_record& record = *object.record;
        return field_keys_0_1(model().text(record.format_word), record.format,
                              model().components_of(record).data()[0].holds_indices);
    }

    result<void> check_no_fields(const attributes& values, span<const string_view> fields) const {
        for (const attributes::entry& each : values.values()) {
            if (std::find(fields.begin(), fields.end(), each.key) != fields.end()) {
                return not_expressible(
                    old_->version, sentence("place for an attribute {}: a field has that name", {in_quotes(each.key)}));
            }
        }
        return {};
    }

    /// The blobs of objects that stay, in the order of the file. Those in shards are left where they are.
    [[nodiscard]] ZTENSOR_COLD vector<moved_blob> kept_blobs() const {
        vector<moved_blob> blobs;
        for (const edited_object& object : objects_) {
            if (object.is_removed || !object.is_old) {
                continue;
            }
            for (const component_record& each : model().components_of(*object.record)) {
                if (shard_of(model(), each) == nullptr) {
                    blobs.push_back({each.offset, each.length});
                }
            }
        }
        std::sort(blobs.begin(), blobs.end());
        blobs.erase(std::unique(blobs.begin(), blobs.end()), blobs.end());
        return blobs;
    }

    ZTENSOR_COLD result<void> keep_objects() {
        vector<moved_blob> blobs = is_in_place_ ? vector<moved_blob>() : kept_blobs();
        for (moved_blob& blob : blobs) {
            ZTENSOR_TRY_ASSIGN(const uint64_t offset, out_->file().begin_blob());
            blob.new_offset = offset;
            ZTENSOR_TRY(out_->file().copy_range(old_->source(), blob.offset, blob.length));
        }
        if (file_attributes_) {
            ZTENSOR_TRY(out_->set_attributes(*file_attributes_));
        }
        for (const edited_object& object : objects_) {
            if (!object.is_removed) {
                keep(object, blobs);
            }
        }
        return {};
    }

    void keep(const edited_object& object, const vector<moved_blob>& moved) {
        object_changes changes;
        changes.moved = object.is_old ? &moved : nullptr;
        changes.parts =
            object.record != nullptr ? model().components_of(*object.record) : span<const component_record>();
        changes.is_version_2 = old_->version == format_version::v2;
        changes.changes_attributes = object.changes_attributes;
        changes.new_attributes = object.changes_attributes && object.new_attributes ? &*object.new_attributes : nullptr;
        changes.name_0_1 = object.name;
        cbor_encoder value;
        const bytes_view before = object.is_old ? old_->value_of(*object.record) : bytes_view(object.value);
        if (old_->version == format_version::v0_1) {
            changes.fields_0_1 = fields_of(object);
            object_rewriter(before, changes).rewrite_tensor(value);
        } else {
            object_rewriter(before, changes).rewrite_object(value);
        }
        out_->manifest().keep_old(object.name, value.bytes());
    }

    std::unique_ptr<old_file> old_;
    std::unique_ptr<writer_core> out_;
    bool is_in_place_;
    vector<edited_object> objects_; ///< in the order of the old file
    std::map<string, size_t> by_name_;
    optional<attributes> file_attributes_;
};

// -- appending
//
// A writer that goes on with a file that exists, by any calls.

/// A writer that has nothing to write yet but what the old file's manifest says of itself.
ZTENSOR_COLD inline result<writer> go_on_with(const old_file& old, std::unique_ptr<byte_sink> sink,
                                              write_options options) {
    options.version(old.version);
    if (old.version == format_version::v2) {
        const uint64_t kept = kept_alignment(old.opened);
        options.any_order();
        options.alignment_bytes((std::max)(blob_alignment_2, options.alignment_bytes().value_or(kept)));
    }
    auto* const core = new writer_core(std::move(sink), nullptr, options);
    writer out = writer_access::make(core);
    core->manifest().go_on(old.fields());
    const manifest& index = old.index();
    if (index.has_attributes) { // which 0.1 has none of
        ZTENSOR_TRY(core->set_attributes(attributes(attributes_view(index.from(index.attributes)))));
    }
    return out;
}

/// A sink for what comes instead of the old file; it takes the lock over.
ZTENSOR_COLD inline result<std::unique_ptr<byte_sink>> make_successor(old_file& old, const file_path& path,
                                                                      const write_options& options, os_calls& os) {
    auto target = std::make_unique<replacing_file>(std::move(old.place), options.sync(), std::move(old.lock));
    auto* const file = new file_writer(path, options, os);
    std::unique_ptr<byte_sink> sink(file);
    ZTENSOR_TRY(file->open(std::move(target)));
    return sink;
}

/// A sink for what comes behind the old file.
ZTENSOR_COLD inline result<std::unique_ptr<byte_sink>> make_extension(old_file& old, const file_path& path,
                                                                      const write_options& options, os_calls& os) {
    ZTENSOR_TRY_ASSIGN(const undo_facts facts, undo_facts_of(old));
    auto target = std::make_unique<extended_file>(std::move(old.place), std::move(old.lock), facts, options.sync());
    auto* const file = new file_writer(path, options, os);
    std::unique_ptr<byte_sink> sink(file);
    ZTENSOR_TRY(file->open(std::move(target), facts.old_bytes));
    return sink;
}

/// writer::append by these calls.
ZTENSOR_COLD inline result<writer> append_to(const file_path& path, const write_options& options, os_calls& os) {
    ZTENSOR_TRY(check_options(options));
    if (options.shard_bytes() != 0) {
        return fail(errc::invalid_argument, "what is appended to a file is written into it, not to shards");
    }
    const bool in_place = options.publish() == publish_mode::in_place;
    ZTENSOR_TRY_ASSIGN(std::unique_ptr<old_file> opened, open_old_file(path.native(), options, os));
    old_file& old = *opened;
    ZTENSOR_TRY_ASSIGN(std::unique_ptr<byte_sink> sink,
                       in_place ? make_extension(old, path, options, os) : make_successor(old, path, options, os));
    result<writer> out = go_on_with(old, std::move(sink), options);
    if (!out) {
        return out;
    }
    writer_core& core = *writer_access::core_of(*out);
    // What version 2 has written once stays in the file: its manifest may lie before blobs, too.
    const uint64_t kept_bytes = old.version == format_version::v2 ? old.source().size() : old.opened.index_offset;
    if (in_place) {
        core.file().go_on_at(old.source().size());
    } else if (result<void> copied = core.file().copy_range(old.source(), 0, kept_bytes); !copied) {
        return std::move(copied).error();
    }
    for (const object_record& object : old.index().objects) {
        core.manifest().keep_old(old.index().text(object.name), old.value_of(object));
    }
    return out;
}

// -- editing
//
// An editor of a file, by any calls.

/// A core for a new file in place of the old one, or in place for its new end. It takes the lock over.
ZTENSOR_COLD inline result<std::unique_ptr<writer_core>> make_edited(old_file& old, const file_path& path,
                                                                     write_options options, os_calls& os) {
    options.version(old.version).any_order();
    options.alignment_bytes((std::max)(options.alignment_bytes().value_or(0), kept_alignment(old.opened)));
    const bool in_place = options.publish() == publish_mode::in_place;
    const uint64_t old_bytes = old.source().size();
    ZTENSOR_TRY_ASSIGN(std::unique_ptr<byte_sink> sink,
                       in_place ? make_extension(old, path, options, os) : make_successor(old, path, options, os));
    auto core = std::make_unique<writer_core>(std::move(sink), nullptr, options);
    core->manifest().go_on(old.fields());
    core->file().go_on_at(in_place ? old_bytes : 0);
    return core;
}

/// Ready to be told what changes.
ZTENSOR_COLD inline result<std::unique_ptr<editor_core>> edit_opened(std::unique_ptr<old_file> old,
                                                                     const file_path& path,
                                                                     const write_options& options, os_calls& os) {
    ZTENSOR_TRY_ASSIGN(std::unique_ptr<writer_core> out, make_edited(*old, path, options, os));
    const bool in_place = options.publish() == publish_mode::in_place;
    auto core = std::make_unique<editor_core>(std::move(old), std::move(out), in_place);
    ZTENSOR_TRY(core->start());
    return core;
}

/// edit() by these calls.
ZTENSOR_COLD inline result<std::unique_ptr<editor_core>> edit_by(const file_path& path, const write_options& options,
                                                                 os_calls& os) {
    ZTENSOR_TRY(check_options(options));
    ZTENSOR_TRY_ASSIGN(std::unique_ptr<old_file> old, open_old_file(path.native(), options, os));
    if (old->version == format_version::v2) {
        return fail(errc::not_expressible,
                    "files of version 2 only grow: append() to this one, or copy() what is to stay to another");
    }
    return edit_opened(std::move(old), path, options, os);
}

/// compact() by these calls: an edit that changes nothing moves the blobs together.
ZTENSOR_COLD inline result<void> compact_by(const file_path& path, write_options options, os_calls& os) {
    options.publish(publish_mode::replace);
    ZTENSOR_TRY(check_options(options));
    ZTENSOR_TRY_ASSIGN(std::unique_ptr<old_file> old, open_old_file(path.native(), options, os));
    if (dead_bytes_of(old->opened) == 0) {
        return {};
    }
    ZTENSOR_TRY_ASSIGN(const std::unique_ptr<editor_core> core, edit_opened(std::move(old), path, options, os));
    return core->finish();
}

} // namespace detail

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
