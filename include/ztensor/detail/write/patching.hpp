// SPDX-License-Identifier: MIT
//
// Objects of an old index that are kept, changed, or put back.
#ifndef ZTENSOR_DETAIL_WRITE_PATCHING_HPP
#define ZTENSOR_DETAIL_WRITE_PATCHING_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/write/old_file.hpp>
#include <ztensor/detail/write/undo_log.hpp>
#include <ztensor/detail/write/writer_core.hpp>
#include <ztensor/io.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- rewrite
//
// What stands for an object in a manifest, written anew with other places, another name or other attributes. All else
// stays byte for byte, unknown fields too. The manifest has been validated.

/// Blobs that have moved.
struct moved_blob {
    uint64_t offset;
    uint64_t length;
    uint64_t new_offset = 0;

    [[nodiscard]] friend bool operator<(const moved_blob& a, const moved_blob& b) noexcept {
        return a.offset != b.offset ? a.offset < b.offset : a.length < b.length;
    }
    [[nodiscard]] friend bool operator==(const moved_blob& a, const moved_blob& b) noexcept {
        return a.offset == b.offset && a.length == b.length;
    }
};

/// What is to be other than it was.
struct object_changes {
    const vector<moved_blob>* moved = nullptr;  ///< sorted
    span<const component_record> parts;         ///< of the object, whose blobs may have moved
    const attributes* new_attributes = nullptr; ///< null: none
    bool changes_attributes = false;
    span<const string_view> fields_0_1; ///< the keys that are no attributes
    string_view name_0_1;
};

/// The map that comes next, as `rewrite(key, begin, out) -> std::size_t` makes it: that passes over the value of the
/// pair that starts at `begin`, appends what is to stand there instead, and gives how many pairs these are.
template <class Rewrite>
void rewrite_map(cbor_cursor& cursor, cbor_encoder& out, const Rewrite& rewrite) {
    cbor_encoder pairs;
    size_t count = 0;
    for_each_pair(cursor, [&](const string& key, size_t begin) { count += rewrite(key, begin, pairs); });
    out.begin_map(count);
    out.encoded(pairs.bytes());
}

class object_rewriter {
public:
    object_rewriter(bytes_view value, const object_changes& changes) noexcept : cursor_(value), changes_(changes) {}

    /// 1.x: the map behind the name.
    void rewrite_object(cbor_encoder& out) {
        rewrite_map(cursor_, out, [&](const string& key, size_t begin, cbor_encoder& pairs) -> size_t {
            if (key != "components") {
                cursor_.skip();
                const bool is_dropped = key == "attributes" && changes_.changes_attributes;
                pairs.encoded(is_dropped ? bytes_view() : cursor_.passed_since(begin));
                return is_dropped ? 0 : 1;
            }
            const bytes_view head = cursor_.passed_since(begin);
            if (changes_.new_attributes != nullptr) {
                pairs.text("attributes");
                encode_attributes(pairs, *changes_.new_attributes);
            }
            pairs.encoded(head);
            rewrite_components(pairs);
            return changes_.new_attributes != nullptr ? 2 : 1;
        });
    }

    /// 0.1: the whole map of the tensor.
    void rewrite_tensor(cbor_encoder& out) {
        const optional<uint64_t> offset = new_offset(0);
        out.begin_indefinite_map();
        for_each_pair(cursor_, [&](const string& key, size_t begin) {
            const auto& fields = changes_.fields_0_1;
            const bool is_field = std::find(fields.begin(), fields.end(), key) != fields.end();
            const bytes_view head = cursor_.passed_since(begin);
            cursor_.skip();
            if (!is_field && changes_.changes_attributes) {
                return;
            }
            if (key == "name") {
                out.encoded(head);
                out.text(changes_.name_0_1);
            } else if (key == "offset" && offset) {
                out.encoded(head);
                out.unsigned_integer(*offset);
            } else {
                out.encoded(cursor_.passed_since(begin));
            }
        });
        if (changes_.new_attributes != nullptr) {
            for (const attributes::entry& each : changes_.new_attributes->values()) {
                out.text(each.key);
                out.encoded(each.cbor);
            }
        }
        out.end_indefinite();
    }

private:
    void rewrite_components(cbor_encoder& out) {
        size_t part = 0;
        rewrite_map(cursor_, out, [&](const string&, size_t begin, cbor_encoder& parts) -> size_t {
            parts.encoded(cursor_.passed_since(begin));
            const optional<uint64_t> offset = new_offset(part++);
            rewrite_map(cursor_, parts, [&](const string& key, size_t field, cbor_encoder& fields) {
                const bytes_view head = cursor_.passed_since(field);
                cursor_.skip();
                if (key == "offset" && offset) {
                    fields.encoded(head);
                    fields.unsigned_integer(*offset);
                } else {
                    fields.encoded(cursor_.passed_since(field));
                }
                return size_t{1};
            });
            return 1;
        });
    }

    /// Where the blob of a part lies now, if it has moved.
    [[nodiscard]] optional<uint64_t> new_offset(size_t part) const {
        if (changes_.moved == nullptr) {
            return std::nullopt;
        }
        const moved_blob old = {changes_.parts[part].offset, changes_.parts[part].length};
        const auto found = std::lower_bound(changes_.moved->begin(), changes_.moved->end(), old);
        return found != changes_.moved->end() && *found == old ? optional(found->new_offset) : std::nullopt;
    }

    cbor_cursor cursor_;
    const object_changes& changes_;
};

// -- patching
//
// A file changed in place: elements overwritten by as many others, after the old ones have gone to the undo record.

class patching {
public:
    /// The file must outlive it.
    patching(old_file& old, sync_level sync, unsigned threads) noexcept
        : old_(old), sync_(sync), threads_(threads), process_(process_id()) {}
    patching(const patching&) = delete;
    patching& operator=(const patching&) = delete;
    ~patching() {
        static_cast<void>(guard_memory([this] { return is_open_ ? undo() : result<void>(); }));
    }

    [[nodiscard]] bool is_open() const noexcept { return is_open_ && process_ == process_id(); }

    /// The elements of `draft` over those of the object.
    ZTENSOR_COLD result<void> replace(const object_record& object, const object_draft& draft) {
        const string_view name = model().text(object.name);
        if (result<void> fits = check_fits(object, draft); !fits) {
            return std::move(fits).error().in_object(name);
        }
        const component_record& part = model().components_of(object).data()[0];
        const bytes_view digest = digest_in_file(part);
        string new_digest;
        write_options options;
        options.version(old_.version).threads(threads_);
        writer_core core(std::make_unique<over_old_bytes>(*this, part.offset, part.length), nullptr, options);
        core.file().go_on_at(part.offset);
        result<void> written = core.add_object(
            name, draft, [&](const object_entry& entry) { new_digest = string(entry.components[0].digest()); });
        if (written && digest.size() != 0) {
            over_old_bytes text(*this, old_.offset_of(digest), digest.size());
            written = text.write(as_bytes(new_digest));
        }
        if (!written && has_failed_) {
            written = undone_after(std::move(written).error());
        }
        return written;
    }

    ZTENSOR_COLD result<void> finish() {
        if (!is_open()) {
            return writer_core::closed();
        }
        if (record_ == nullptr) {
            close();
            return {};
        }
        result<void> done = check_still_named(old_.lock, old_.place.in, old_.place.name);
        if (done && sync_ != sync_level::none) {
            done = old_.lock.sync();
        }
        done = done ? record_->commit(old_.source().size(), {}, new_pieces_) : std::move(done);
        done = done ? record_->unmark(old_.lock) : std::move(done);
        if (!done) {
            return undone_after(std::move(done).error());
        }
        close(); // nothing leads back any more
        if (!record_->remove(old_.place.in)) {
            return fail(errc::io_error, "all is written, but the undo record can't be removed");
        }
        if (const std::error_code failure = sync_ == sync_level::durable ? old_.place.in.sync() : std::error_code()) {
            return fail(errc::not_durable, "all is written, but a power cut may bring the undo record back")
                .because(failure);
        }
        return {};
    }

private:
    /// Writes from an offset on, and keeps the old bytes before the first one.
    class over_old_bytes final : public byte_sink {
    public:
        over_old_bytes(patching& to, uint64_t offset, uint64_t length) noexcept
            : to_(to), offset_(offset), length_(length) {}

        result<void> write(bytes_view bytes) override {
            if (bytes.empty()) {
                return {};
            }
            if (bytes.size() > length_ - written_) {
                return fail(errc::size_mismatch, "more bytes than the old ones");
            }
            result<void> done = written_ == 0 ? to_.keep_old(offset_, length_) : result<void>();
            done = done ? to_.old_.lock.append(bytes) : std::move(done);
            to_.has_failed_ = to_.has_failed_ || !done;
            written_ += bytes.size();
            crc_ = undo_sum(bytes, crc_);
            if (done && written_ == length_) {
                to_.keep_new({offset_, length_, crc_});
            }
            return done;
        }
        result<void> finish() override { return {}; }

    private:
        patching& to_;
        uint64_t offset_;
        uint64_t length_;
        uint64_t written_ = 0;
        uint32_t crc_ = 0;
    };

    [[nodiscard]] const manifest& model() const noexcept { return old_.index(); }

    /// Others may write the file from here on.
    void close() noexcept {
        is_open_ = false;
        static_cast<void>(old_.lock.close()); // all that counts was synced, or was not to be
    }

    [[nodiscard]] static error unfit(const char* why) {
        return fail(errc::not_expressible, "can't be replaced in place: {}", {why});
    }

    /// The text of a part's digest, where it stands in the index in one piece.
    [[nodiscard]] bytes_view digest_in_file(const component_record& part) const noexcept {
        const index_item text = part.digest_text;
        const bool is_there = text.is_present() && text.position < model().bytes().size();
        return is_there ? as_bytes(model().text(text)) : bytes_view();
    }

    result<void> check_fits(const object_record& object, const object_draft& draft) const {
        const manifest& index = model();
        if (object.component_count != 1 || draft_access::components(draft).size() != 1) {
            return unfit("it has several components");
        }
        const component_record& part = index.components_of(object).data()[0];
        const component_source& source = draft_access::components(draft)[0];
        if (draft.format() != format_name(index, object) || source.role != role_name(index, part) ||
            draft.shape() != index.shape_of(object)) {
            return unfit("format, role or shape differs");
        }
        const string_view old_type = type_name(index, part);
        const string_view storage = name(source.storage);
        const string_view type = source.type ? string_view(*source.type) : storage;
        if (source.stored || storage != dtype_name(index, part) || type != (old_type.empty() ? storage : old_type)) {
            return unfit("its type differs");
        }
        if (part.encoding != encoding::raw || source.how.encoding() != encoding::raw ||
            part.is_big_endian != source.how.is_big_endian() || source.plane_width != 0 ||
            source.bytes.size() != part.length) {
            return unfit("it is not stored raw in as many bytes");
        }
        if (draft.attributes()) {
            return unfit("attributes have no room");
        }
        return is_shared(part) ? unfit("other objects share its blob") : check_digest(part, source.how);
    }

    result<void> check_digest(const component_record& part, const store& how) const {
        constexpr size_t crc32c_text_bytes = 17;
        constexpr size_t sha256_text_bytes = 71;
        if (!part.digest_text.is_present()) {
            return how.digest() == ztensor::digest::none ? result<void>() : unfit("there is no room for a digest");
        }
        const size_t new_length = how.digest() == ztensor::digest::crc32c   ? crc32c_text_bytes
                                  : how.digest() == ztensor::digest::sha256 ? sha256_text_bytes
                                                                            : 0;
        const bool is_same = parse_digest(model().text(part.digest_text)).algorithm == how.digest();
        return is_same && new_length != 0 && digest_in_file(part).size() == new_length
                   ? result<void>()
                   : unfit("its digest is of another algorithm or spelling; give the new elements the same one");
    }

    [[nodiscard]] bool is_shared(const component_record& part) const {
        size_t owners = 0;
        for (const object_record& object : model().objects) {
            for (const component_record& each : model().components_of(object)) {
                owners += each.offset == part.offset && each.length == part.length && part.length != 0 ? 1u : 0u;
            }
        }
        return owners > 1;
    }

    result<void> keep_old(uint64_t offset, uint64_t length) {
        if (record_ == nullptr) {
            ZTENSOR_TRY_ASSIGN(const undo_facts facts, undo_facts_of(old_, old_.source().size() - change_mark_bytes));
            ZTENSOR_TRY_ASSIGN(std::unique_ptr<undo_log> made, undo_log::create(old_.place, facts, sync_));
            record_ = std::move(made);
            ZTENSOR_TRY(record_->mark(old_.lock));
        }
        result<void> kept = record_->add(old_.source(), offset, length);
        kept = kept ? record_->count_piece(old_.lock) : std::move(kept);
        return kept ? old_.lock.seek(offset) : kept;
    }

    /// What was overwritten last is what counts.
    void keep_new(const undo_new_piece& piece) {
        for (undo_new_piece& each : new_pieces_) {
            if (each.offset == piece.offset) {
                each = piece;
                return;
            }
        }
        new_pieces_.push_back(piece);
    }

    /// After a failure the file is as it was, or the error says what leads there.
    ZTENSOR_COLD result<void> undone_after(error why) {
        if (undo()) {
            return why;
        }
        return fail(why.code(), "{} (the old bytes are in {}: recover() the file)",
                    {why.sentence(), path_text(record_->name())})
            .because(why.os_error());
    }

    ZTENSOR_COLD result<void> undo() {
        is_open_ = false;
        result<void> done;
        if (record_ != nullptr && process_ == process_id()) {
            done = record_->rescind(old_.lock);
            record_->close();
            if (done) {
                const result<recovery> restored = recover_by_record(old_, record_->name());
                done = restored ? result<void>() : restored.error();
            }
            if (done && !record_->remove(old_.place.in)) {
                done = fail(errc::io_error, "can't remove the undo record");
            }
        }
        close();
        return done;
    }

    old_file& old_;
    sync_level sync_;
    unsigned threads_;
    uint64_t process_;
    std::unique_ptr<undo_log> record_;  ///< once something is overwritten
    vector<undo_new_piece> new_pieces_; ///< which differ in where they begin
    bool is_open_ = true;
    bool has_failed_ = false; ///< while writing
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
