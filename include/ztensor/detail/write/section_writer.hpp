// SPDX-License-Identifier: MIT
//
// Where blobs go: aligned, digested, one after another, into the file itself or its shards.
#ifndef ZTENSOR_DETAIL_WRITE_SECTION_WRITER_HPP
#define ZTENSOR_DETAIL_WRITE_SECTION_WRITER_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/read/read_ahead.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/detail/write/model_files.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/format.hpp>
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

// -- shard files
//
// The shards of a file of version 2 that is written, beside it: data shards, one after the other. SPEC.md section 13.

/// Knows the digest of all that was written. Holds nothing open once it is finished.
class shard_sink final : public byte_sink {
public:
    /// The file of that number among `files`, which live longer.
    shard_sink(const model_files& files, size_t number, std::unique_ptr<byte_sink> to, digest algorithm)
        : files_(files), number_(number), name_(files.label(number)), to_(std::move(to)), digester_(algorithm) {}

    result<void> write(bytes_view bytes) override {
        digester_.update(bytes);
        size_bytes_ += bytes.size();
        return to_->write(bytes);
    }
    result<void> finish() override {
        result<void> done = to_->finish();
        to_.reset();
        return done;
    }
    [[nodiscard]] bool is_finished() const noexcept { return to_ == nullptr; }

    [[nodiscard]] string_view name() const noexcept { return name_; }
    [[nodiscard]] uint64_t size_bytes() const noexcept { return size_bytes_; }
    [[nodiscard]] string digest_text() const { return digester_.text(); }

private:
    [[nodiscard]] bool holds(uint64_t offset, bytes_view bytes) override {
        return is_finished() ? files_.holds(number_, offset, bytes) : to_->holds(offset, bytes);
    }

    const model_files& files_;
    size_t number_;
    string name_;
    std::unique_ptr<byte_sink> to_;
    digester digester_;
    uint64_t size_bytes_ = 0;
};

/// The shards that blobs go into. All but the last are finished, and none has its name before the file itself is
/// complete.
class shard_files {
public:
    /// Beside the file of that path; whatever they need is taken now. Errors: invalid_argument, busy, io_error; as
    /// file_writer::open().
    ZTENSOR_COLD static result<std::unique_ptr<shard_files>> make(const file_path& root, const write_options& options,
                                                                  os_calls& os = operating_system()) {
        constexpr string_view ending = ".zt";
        const native_path path = root.native();
        const native_path name(file_name_of(path)), tail(ending.begin(), ending.end());
        if (name.size() <= tail.size() || name.compare(name.size() - tail.size(), tail.size(), tail) != 0) {
            return fail(errc::invalid_argument, "shards are named after a file whose own name ends in \".zt\"");
        }
        ZTENSOR_TRY_ASSIGN(std::unique_ptr<model_files> files,
                           in_file(model_files::hold(path, name, options, os), path_text(path)));
        std::unique_ptr<shard_files> made(new shard_files(std::move(files), options));
        ZTENSOR_TRY_ASSIGN(made->next_, made->files_->create());
        return made;
    }

    [[nodiscard]] uint64_t most_bytes() const noexcept { return options_.shard_bytes(); }
    [[nodiscard]] uint32_t count() const noexcept { return static_cast<uint32_t>(all_.size()); }
    [[nodiscard]] byte_sink& shard(uint32_t number) noexcept { return *all_[number - 1]; }

    [[nodiscard]] string_view name(uint32_t number) const noexcept { return all_[number - 1]->name(); }

    /// Errors: as file_writer::finish() and open().
    ZTENSOR_COLD result<void> open_next() {
        ZTENSOR_TRY(finish_last());
        if (next_ == nullptr) {
            ZTENSOR_TRY_ASSIGN(next_, files_->create());
        }
        all_.push_back(
            std::make_unique<shard_sink>(*files_, files_->count(), std::move(next_), options_.shard_digest()));
        return {};
    }

    /// They get their names. Errors: as file_writer::finish(), io_error.
    ZTENSOR_COLD result<void> finish() {
        ZTENSOR_TRY(finish_last());
        if (next_ != nullptr) { // no blob came
            next_.reset();
            files_->drop_last();
        }
        return files_->name_files();
    }
    /// The file itself is in place.
    ZTENSOR_COLD void sweep() const noexcept { files_->sweep(); }

    [[nodiscard]] uint64_t most_table_bytes() const noexcept {
        constexpr uint64_t most_entry_bytes = 160;
        return (count() + uint64_t{1}) * most_entry_bytes;
    }

    ZTENSOR_COLD void encode_table(cbor_encoder& out) const {
        out.begin_map(all_.size());
        for (uint32_t i = 0; i < count(); ++i) { // whose names are in order: all have as many digits, or more
            out.text(all_[i]->name());
            out.begin_map(2);
            out.text("size");
            out.unsigned_integer(all_[i]->size_bytes());
            out.text("digest");
            out.text(all_[i]->digest_text());
        }
    }

private:
    shard_files(std::unique_ptr<model_files> files, const write_options& options)
        : files_(std::move(files)), options_(options) {}

    ZTENSOR_COLD result<void> finish_last() {
        return all_.empty() || all_.back()->is_finished() ? result<void>() : all_.back()->finish();
    }

    std::unique_ptr<model_files> files_;
    write_options options_;
    std::unique_ptr<byte_sink> next_; ///< made before the first blob
    vector<std::unique_ptr<shard_sink>> all_;
};

/// The file itself, which other writers of it leave alone until it is finished. Errors: as file_writer::open(); busy.
ZTENSOR_COLD inline result<std::unique_ptr<byte_sink>> create_root(const file_path& root, const write_options& options,
                                                                   os_calls& os = operating_system()) {
    if (options.publish() == publish_mode::in_place) {
        return create_sink(root, options, os);
    }
    ZTENSOR_TRY_ASSIGN(located_file place, locate(root.native(), options.sync() == sync_level::durable, os));
    result<output_file> old = open_locked(place.in, place.name, false);
    if (!old && old.error().code() == errc::busy) {
        return std::move(old).error();
    }
    auto sink = std::make_unique<file_writer>(root, options, os);
    optional<output_file> lock = old ? optional<output_file>(*std::move(old)) : std::nullopt;
    ZTENSOR_TRY(sink->open(std::make_unique<replacing_file>(std::move(place), options.sync(), std::move(lock))));
    return std::unique_ptr<byte_sink>(std::move(sink));
}

// -- section writer
//
// The bytes of a file being written, from its start: blobs one after the other, each at its alignment, encoded or
// copied, in the file's own sink or in those of its shards. SPEC.md section 2.3, section 10.1 and section 13.

/// Places, encodes and copies the blobs of a file, and passes all its bytes to the sink.
class section_writer {
public:
    section_writer(std::unique_ptr<byte_sink> sink, const write_options& options) noexcept
        : sink_(std::move(sink)), is_version_2_(options.version() == format_version::v2),
          alignment_bytes_(options.alignment_bytes().value_or(is_version_2_ ? canonical_alignment_2 : blob_alignment)),
          threads_(options.threads()) {}

    [[nodiscard]] bool is_open() const noexcept { return sink_ != nullptr; }
    /// Drops the sink: what was not finished is gone.
    ZTENSOR_COLD void close() noexcept {
        sink_.reset();
        shards_.reset();
    }
    ZTENSOR_COLD result<void> finish() {
        if (shards_ == nullptr) {
            return sink_->finish();
        }
        ZTENSOR_TRY(shards_->finish());
        ZTENSOR_TRY(sink_->finish());
        shards_->sweep();
        return {};
    }

    /// From here on, blobs go to shards.
    ZTENSOR_COLD void shard_into(std::unique_ptr<shard_files> shards) noexcept { shards_ = std::move(shards); }
    [[nodiscard]] const shard_files* shards() const noexcept { return shards_.get(); }
    /// After the last blob: what is written next stands in the file itself.
    ZTENSOR_COLD result<void> end_shards() {
        if (shard_ == 0) {
            return {};
        }
        const auto footer = encode_footer_2({});
        result<void> ended = write({footer.data(), footer.size()});
        shard_ = 0;
        position_ = std::exchange(position_in_root_, position_);
        return ended;
    }

    /// Whatever stands next: magic, blob, manifest.
    result<void> write(bytes_view bytes) {
        position_ += bytes.size();
        return bytes.empty() ? result<void>() : target().write(bytes);
    }

    /// Pads to where the next blob starts, in the next shard if `bytes` are too many for this one, and returns that.
    ZTENSOR_NOINLINE result<uint64_t> begin_blob(uint64_t bytes = 0) {
        if (shards_ != nullptr) {
            ZTENSOR_TRY(make_room_in_shards(bytes));
        }
        return begin_aligned();
    }

    /// The same in the file that is being written.
    ZTENSOR_NOINLINE result<uint64_t> begin_aligned() {
        const optional<uint64_t> offset = checked_align(position_, alignment_bytes_);
        if (!offset) {
            return fail(errc::too_large_for_host, "the file would take more than 2^64 bytes");
        }
        static byte zeros[4096]; // never written; constants would take as much of every object file
        while (position_ < *offset) {
            const auto piece = static_cast<size_t>((std::min<uint64_t>)(*offset - position_, sizeof zeros));
            ZTENSOR_TRY(write({zeros, piece}));
        }
        return *offset;
    }

    /// In what target() writes.
    [[nodiscard]] uint64_t position() const noexcept { return position_; }
    /// What is written next is to stand at that place of the file.
    void go_on_at(uint64_t position) noexcept { position_ = position; }

    /// Whether what is copied from that source would be lost by writing on.
    [[nodiscard]] ZTENSOR_COLD bool would_destroy(const byte_source& source) const {
        const file* const in_file = source.as_file();
        return in_file != nullptr && sink_ != nullptr && sink_->would_destroy(*in_file);
    }

    /// The sink of what is being written: the file's own, or that of a shard.
    [[nodiscard]] byte_sink& target() noexcept { return sink_of(shard_); }
    [[nodiscard]] byte_sink& sink_of(uint32_t shard) noexcept { return shard == 0 ? *sink_ : shards_->shard(shard); }
    /// So many bytes have gone into target() by other ways than write().
    void has_written(uint64_t bytes) noexcept { position_ += bytes; }

    /// Whether blobs can be stored so; makes what that takes. Errors: invalid_argument (zstd level), out_of_memory.
    result<void> prepare(const store& how) {
        return how.encoding() == encoding::raw ? result<void>() : prepare_encoder(how);
    }

    /// At the offset where its blob begins. `how` has been prepared for.
    [[nodiscard]] blob_writer writer_at(uint64_t offset, const store& how) noexcept {
        return writer_with(algorithm_for(how), offset, how);
    }

    /// What is known of a blob once it is written.
    void complete(component_entry& entry, uint64_t offset, const blob_writer& blob) {
        set_position(entry, {offset, shard_});
        entry.length = blob.stored_bytes();
        entry.encoding = name(blob.encoding());
        entry.own_digest = blob.digest_text();
        if (blob.encoding() != encoding::raw) {
            entry.uncompressed_length = blob.decoded_bytes();
        }
        has_written(blob.stored_bytes());
    }

    /// A blob that was encoded in memory.
    ZTENSOR_COLD result<void> put(bytes_view stored, const blob_writer& blob, component_entry& entry) {
        ZTENSOR_TRY_ASSIGN(const uint64_t offset, begin_blob(stored.size()));
        ZTENSOR_TRY(stored.empty() ? result<void>() : target().write(stored));
        complete(entry, offset, blob);
        return {};
    }

    /// One component; `entry` then says where and how it is stored.
    ZTENSOR_NOINLINE result<void> encode(const blob_content& content, const store& how, component_entry& entry) {
        return is_version_2_ && how.encoding() == encoding::raw ? encode_or_share(content, how, entry)
                                                                : encode_here(content, how, algorithm_for(how), entry);
    }

    /// The blob as it is. Read, not mapped: a source that shrinks is an error here, no fault. What is one blob in a
    /// file that is copied stays one; in version 2 raw blobs are shared by what is in them.
    ZTENSOR_COLD result<void> copy(const stored_component& stored, component_entry& entry) {
        if (is_version_2_ && stored.is_raw) {
            return copy_or_share(stored, entry);
        }
        const blob_place place = place_of(stored);
        if (stored.new_digest) {
            ZTENSOR_TRY(look_at(stored, entry));
        }
        if (copied_blobs_ == nullptr || stored.length == 0) {
            return copy_here(stored, entry);
        }
        if (const auto known = copied_blobs_->positions.find(place); known != copied_blobs_->positions.end()) {
            set_position(entry, known->second);
            return {};
        }
        ZTENSOR_TRY(copy_here(stored, entry));
        copied_blobs_->positions.emplace(place, position_of(entry));
        return {};
    }

    /// Whether the blob is what its digest says, of a file that is copied once. Errors: digest_mismatch, and what the
    /// source says.
    ZTENSOR_COLD result<void> check_digest(const stored_component& stored) {
        if (stored.check_digest == nullptr) {
            return {};
        }
        if (copied_blobs_ != nullptr) {
            string stated = string(stored.encoding).append(1, ' ').append(stored.digest);
            if (!copied_blobs_->checked.emplace(place_of(stored), std::move(stated)).second) {
                return {};
            }
        }
        return stored.check_digest(stored);
    }

    /// A range of bytes as they are, where the last one ended.
    ZTENSOR_COLD result<void> copy_range(const byte_source& source, uint64_t offset, uint64_t length) {
        stored_component range;
        range.source = &source;
        range.offset = offset;
        range.length = length;
        return copy_bytes(range);
    }

    /// From here on, what is one blob in a file that is copied stays one. Gives what an outer copy had remembered, for
    /// end_copying().
    [[nodiscard]] copied_blobs* begin_copying(copied_blobs& of_this_copy) noexcept {
        return std::exchange(copied_blobs_, &of_this_copy);
    }
    void end_copying(copied_blobs* of_outer_copy) noexcept { copied_blobs_ = of_outer_copy; }

    /// Of the blobs of that store.
    [[nodiscard]] digest algorithm_for(const store& how) const noexcept {
        return written_digest(is_version_2_, how.digest());
    }
    [[nodiscard]] unsigned threads() const noexcept { return threads_; }

private:
    static constexpr uint64_t most_piece_bytes = uint64_t{1} << 20; ///< of a blob that is read and copied

    [[nodiscard]] static blob_place place_of(const stored_component& stored) noexcept {
        return {address_of(stored.source), stored.offset, stored.length, stored.makes_bools ? 1u : 0u};
    }
    /// Of a blob that was written last.
    [[nodiscard]] blob_position position_of(const component_entry& entry) const noexcept {
        return {entry.offset, shard_};
    }
    void set_position(component_entry& entry, const blob_position& position) const noexcept {
        entry.offset = position.offset;
        entry.shard = position.shard != 0 ? shards_->name(position.shard) : string_view();
    }

    [[nodiscard]] blob_writer writer_with(digest algorithm, uint64_t offset, const store& how) noexcept {
        const bool is_raw = how.encoding() == encoding::raw;
        if (!is_raw) {
            encoder_->begin({how.zstd_level(), is_version_2_, draft_access::holds_exponents(how)}, how.most_of_raw());
        }
        return {target(), offset, how.is_big_endian(), is_raw ? nullptr : encoder_.get(), algorithm, is_version_2_};
    }

    result<void> encode_here(const blob_content& content, const store& how, digest algorithm, component_entry& entry) {
        ZTENSOR_TRY_ASSIGN(const uint64_t offset, begin_blob(content.size()));
        target().expect(content.size());
        blob_writer blob = writer_with(algorithm, offset, how);
        ZTENSOR_TRY(blob.append(content, true));
        complete(entry, offset, blob);
        return {};
    }

    result<void> copy_here(const stored_component& stored, component_entry& entry) {
        ZTENSOR_TRY_ASSIGN(const uint64_t offset, begin_blob(stored.length));
        set_position(entry, {offset, shard_});
        return copy_bytes(stored);
    }

    /// Digests all of a blob of another file, as the entry needs it unless that keeps the digest it has. Gives its XXH3
    /// where version 2 is written.
    ZTENSOR_COLD result<uint64_t> look_at(const stored_component& stored, component_entry& entry) {
        digester wanted(stored.new_digest.value_or(digest::none));
        digest_memory xxh3;
        xxh3_start(xxh3);
        ZTENSOR_TRY(read_pieces(stored, [&](bytes_view piece) {
            wanted.update(piece);
            if (is_version_2_) {
                xxh3_update(xxh3, piece);
            }
            return true;
        }));
        const uint64_t hash = xxh3_value(xxh3);
        if (!entry.copied_digest) {
            entry.own_digest = stored.new_digest ? wanted.text() : text_of_xxh3(hash);
        }
        return hash;
    }

    /// At most `most_bytes` of a blob of another file, from its byte `at` on; `buffer` is made when it is first needed.
    static result<bytes_view> read_piece(const stored_component& stored, uint64_t at, uint64_t most_bytes,
                                         byte_buffer& buffer) {
        if (!buffer.is_allocated() &&
            !buffer.allocate(static_cast<size_t>((std::min)(stored.length, most_piece_bytes)))) {
            return fail(errc::out_of_memory, "no memory for a piece of 1 MiB");
        }
        const auto size = static_cast<size_t>((std::min)(stored.length - at, most_bytes));
        const span<byte> piece = buffer.writable_bytes().first(size);
        ZTENSOR_TRY(in_component(
            in_object(in_file(stored.source->read_at(stored.offset + at, piece), stored.path), stored.object),
            stored.role));
        if (stored.makes_bools) {
            make_bools(piece);
        }
        return bytes_view(piece);
    }

    /// Calls `take(bytes) -> bool` for all of a blob of another file, until it has enough.
    template <class Take>
    static result<void> read_pieces(const stored_component& stored, const Take& take) {
        const read_ahead ahead(0, *stored.source, stored.offset, stored.length);
        byte_buffer buffer;
        for (uint64_t at = 0; at < stored.length;) {
            ZTENSOR_TRY_ASSIGN(const bytes_view piece, read_piece(stored, at, most_piece_bytes, buffer));
            if (!take(piece)) {
                return {};
            }
            at += piece.size();
        }
        return {};
    }

    /// From file to file the system moves whole MiB of the new file by itself; the rest goes through a buffer, in
    /// pieces that end at whole MiB.
    result<void> copy_bytes(const stored_component& stored) {
        const file* const in_file = stored.makes_bools ? nullptr : stored.source->as_file();
        const read_ahead ahead(0, *stored.source, stored.offset, stored.length);
        byte_buffer buffer;
        for (uint64_t at = 0; at < stored.length;) {
            uint64_t moved = 0;
            if (in_file != nullptr) {
                ZTENSOR_TRY_ASSIGN(moved, target().append_file(*in_file, stored.offset + at, stored.length - at));
                has_written(moved);
            }
            if (moved == 0) {
                const uint64_t left_of_piece = most_piece_bytes - position_ % most_piece_bytes;
                ZTENSOR_TRY_ASSIGN(const bytes_view piece, read_piece(stored, at, left_of_piece, buffer));
                ZTENSOR_TRY(write(piece));
                moved = piece.size();
            }
            at += moved;
        }
        return {};
    }

    ZTENSOR_COLD result<void> prepare_encoder(const store& how) {
        if (encoder_ == nullptr) {
            encoder_.reset(new (std::nothrow) zstd_frames(threads_));
            if (encoder_ == nullptr) {
                return fail(errc::out_of_memory, "no memory for a zstd encoder");
            }
        }
        return check_zstd_level(how.zstd_level());
    }

    // -- raw blobs of version 2, of which a file has each once

    /// Calls `look(bytes)` for elements as the file holds them.
    template <class Look>
    static result<void> for_bytes_in_file(const blob_content& content, const Look& look) {
        return in_order_of_file(content, false, [&](bytes_view bytes, bool) {
            look(bytes);
            return result<void>();
        });
    }

    /// Version 2: a blob that the file has already is not written again. What it has is known by its XXH3, and
    /// compared.
    ZTENSOR_COLD result<void> encode_or_share(const blob_content& content, const store& how, component_entry& entry) {
        digest_memory xxh3;
        xxh3_start(xxh3);
        ZTENSOR_TRY(for_bytes_in_file(content, [&](bytes_view bytes) { xxh3_update(xxh3, bytes); }));
        const blob_identity identity = {xxh3_value(xxh3), content.size()};
        const auto known = written_.find(identity);
        if (known == written_.end() || !holds(known->second, content)) {
            ZTENSOR_TRY(encode_here(content, how, how.digest(), entry));
            written_.emplace(identity, position_of(entry));
        } else {
            digester sum(how.digest());
            ZTENSOR_TRY(for_bytes_in_file(content, [&](bytes_view bytes) { sum.update(bytes); }));
            set_position(entry, known->second);
            entry.own_digest = sum.text();
        }
        if (how.digest() == digest::none) {
            entry.own_digest = text_of_xxh3(identity[0]);
        }
        return {};
    }

    /// A raw blob for version 2. What it holds is known by its digest, if it is of version 2, too, and else looked at.
    ZTENSOR_COLD result<void> copy_or_share(const stored_component& stored, component_entry& entry) {
        optional<uint64_t> hash = stated_xxh3(stored);
        if (!hash) {
            ZTENSOR_TRY_ASSIGN(hash, look_at(stored, entry));
        }
        const blob_identity identity = {*hash, stored.length};
        const auto known = written_.find(identity);
        ZTENSOR_TRY_ASSIGN(const bool is_there,
                           known != written_.end() ? holds(known->second, stored) : result<bool>(false));
        if (is_there) {
            set_position(entry, known->second);
            return {};
        }
        ZTENSOR_TRY(copy_here(stored, entry));
        written_.emplace(identity, position_of(entry));
        return {};
    }

    [[nodiscard]] bool holds(const blob_position& position, const blob_content& content) {
        compared_bytes compared(sink_of(position.shard), position.offset);
        const auto compare = [&](bytes_view bytes) { static_cast<void>(compared.add(bytes)); };
        return for_bytes_in_file(content, compare) && compared.is_same();
    }

    ZTENSOR_COLD result<bool> holds(const blob_position& position, const stored_component& stored) {
        compared_bytes compared(sink_of(position.shard), position.offset);
        ZTENSOR_TRY(read_pieces(stored, [&](bytes_view piece) { return compared.add(piece); }));
        return compared.is_same();
    }

    ZTENSOR_COLD result<void> make_room_in_shards(uint64_t bytes) {
        const uint64_t begin = checked_align(position_, alignment_bytes_).value_or(~uint64_t{0});
        const uint64_t most = shards_->most_bytes();
        // One that was just begun takes whatever comes.
        const bool has_room = begin <= most && footer_bytes_2 <= most - begin && bytes <= most - begin - footer_bytes_2;
        if (shard_ != 0 && has_room) {
            return {};
        }
        ZTENSOR_TRY(end_shards());
        ZTENSOR_TRY(shards_->open_next());
        shard_ = shards_->count();
        position_in_root_ = std::exchange(position_, uint64_t{0});
        return write(as_bytes(magic_2));
    }

    std::unique_ptr<byte_sink> sink_; ///< null once closed
    bool is_version_2_;
    uint64_t alignment_bytes_;
    uint64_t position_ = 0;               ///< in what target() writes
    std::unique_ptr<shard_files> shards_; ///< null: there are to be none
    uint32_t shard_ = 0;                  ///< the number of the one that is being written; 0, the file itself
    uint64_t position_in_root_ = 0;       ///< while a shard is being written
    unsigned threads_;
    std::unique_ptr<zstd_frames> encoder_; ///< once there is something to compress
    copied_blobs* copied_blobs_ = nullptr; ///< the caller's, while a file is copied
    shared_blobs written_;                 ///< of version 2: the raw blobs of the file
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
