// SPDX-License-Identifier: MIT
//
// What leads back while a file is changed in place: a small file beside it that says how long the old one was, and
// holds the old bytes of whatever is overwritten. On the disk before the first byte of the file changes.
//
//   "ZTUNDO01"  u64 old length  u64 start of the old manifest  u64 file id  u32 CRC-32C from there to the old end
//               u32 CRC-32C of all before
//   then any number of old pieces: u64 offset  u64 length  bytes  u32 CRC-32C of these three
//
// A last piece with an offset of 2^64 - 1 says that the new state is complete, but perhaps for its last 16 bytes; its
// bytes are the new length. All little-endian. A piece that is cut off or damaged, and all behind it, say nothing:
// their bytes were not yet changed.
#ifndef ZTENSOR_DETAIL_WRITE_UNDO_RECORD_HPP
#define ZTENSOR_DETAIL_WRITE_UNDO_RECORD_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/codec/crc32c.hpp>
#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/endian.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/os/directory.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/write/target_file.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

inline constexpr std::string_view undo_magic = "ZTUNDO01";
inline constexpr std::size_t undo_head_bytes = 8 + 3 * 8 + 2 * 4;
inline constexpr std::size_t undo_piece_head_bytes = 2 * 8;
inline constexpr std::uint64_t undo_commit = ~std::uint64_t{0}; ///< in place of an offset

/// Of bytes that follow others with the sum `before`.
[[nodiscard]] inline std::uint32_t undo_sum(bytes_view bytes, std::uint32_t before = 0) noexcept {
    return ~crc32c_update(~before, bytes);
}

/// The file as it was.
struct undo_facts {
    std::uint64_t old_bytes = 0;
    std::uint64_t manifest_offset = 0;
    std::uint64_t file_id = 0;
    std::uint32_t manifest_crc = 0; ///< of all from the manifest to the end
};

/// The record of the file of that name: ".ztensor-<16 hex digits>.undo", in the same directory.
[[nodiscard]] ZTENSOR_COLD inline native_path undo_name(const native_path& target) {
    std::uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (const auto unit : target) {
        hash = (hash ^ static_cast<std::uint16_t>(static_cast<std::make_unsigned_t<native_path::value_type>>(unit))) *
               0x100000001b3u;
    }
    std::string name = ".ztensor-";
    for (int digit = 0; digit < 16; ++digit, hash >>= 4) {
        name += "0123456789abcdef"[hash & 15];
    }
    name += ".undo";
    return native_path(name.begin(), name.end());
}

/// Never removes the record by itself: whoever could not undo needs it.
class undo_record final : public way_back {
public:
    /// On the disk when it returns, unless `sync` is none. Fails with errc::busy if there is one already.
    [[nodiscard]] ZTENSOR_COLD static result<std::unique_ptr<undo_record>>
    create(const located_file& target, const undo_facts& facts, sync_level sync) {
        constexpr std::uint32_t only_for_the_owner = 0600;
        // Memory first: a file that was made and that nobody holds would stay.
        std::unique_ptr<undo_record> record(new undo_record(undo_name(target.name), facts, sync));
        result<output_file> made = output_file::create(target.in, record->name(), only_for_the_owner);
        if (!made && made.error().os_error() == std::errc::file_exists) {
            return unfinished();
        }
        if (!made) {
            return std::move(made).error();
        }
        record->file_.emplace(*std::move(made));
        result<void> written = record->write_head();
        if (const std::error_code failure =
                written && sync != sync_level::none ? target.in.sync() : std::error_code()) {
            written = os_failure("can't make sure that the undo record is on the disk", failure);
        }
        if (!written) {
            static_cast<void>(record->remove(target.in));
            return std::move(written).error();
        }
        return record;
    }

    [[nodiscard]] static error unfinished() {
        return fail(errc::busy, "a change in place was broken off, and its undo record lies beside the file: recover() "
                                "the file first");
    }

    /// Whether there is a record of that file.
    [[nodiscard]] static result<void> check_none(const located_file& target) {
        const result<file_status> found = target.in.status(undo_name(target.name));
        if (!found) {
            return found.error();
        }
        return found->kind == file_kind::absent ? result<void>() : unfinished();
    }

    /// Adds `length` bytes of the file as they are now, which may be changed when this returns.
    [[nodiscard]] ZTENSOR_COLD result<void> add(const byte_source& old, std::uint64_t offset, std::uint64_t length) {
        std::byte head[undo_piece_head_bytes];
        store_little(offset, head, 8);
        store_little(length, head + 8, 8);
        std::uint32_t crc = undo_sum({head, sizeof head});
        result<void> done = file_->append({head, sizeof head});
        std::vector<std::byte> piece(static_cast<std::size_t>((std::min<std::uint64_t>)(length, piece_bytes)));
        for (std::uint64_t at = 0; done && at < length; at += piece.size()) {
            piece.resize(static_cast<std::size_t>((std::min<std::uint64_t>)(length - at, piece_bytes)));
            done = old.read_at(offset + at, piece);
            if (done) {
                crc = undo_sum(piece, crc);
                done = file_->append(piece);
            }
        }
        std::byte tail[4];
        store_little(crc, tail, 4);
        done = done ? file_->append({tail, sizeof tail}) : done;
        size_bytes_ += sizeof head + length + sizeof tail;
        return sync_after(std::move(done));
    }

    /// Ends the record: what follows in the file is the new state.
    [[nodiscard]] ZTENSOR_COLD result<void> commit(std::uint64_t new_bytes) override {
        std::byte piece[undo_piece_head_bytes + 8 + 4];
        store_little(undo_commit, piece, 8);
        store_little(8, piece + 8, 8);
        store_little(new_bytes, piece + 16, 8);
        store_little(undo_sum({piece, 24}), piece + 24, 4);
        has_commit_ = true; // or a part of it, should this fail
        result<void> written = file_->append({piece, sizeof piece});
        return sync_after(std::move(written));
    }

    /// Takes commit() back, which may have failed and be on the disk all the same: only then may old bytes be put back
    /// over new ones, or whoever finds the record after a power cut would take the mixture for the new state.
    [[nodiscard]] ZTENSOR_COLD result<void> rescind() {
        if (!has_commit_) {
            return {};
        }
        result<void> cut = file_->truncate(size_bytes_);
        return sync_after(std::move(cut));
    }

    [[nodiscard]] const native_path& name() const noexcept override { return name_; }
    [[nodiscard]] std::uint64_t old_bytes() const noexcept override { return facts_.old_bytes; }

    void close() noexcept { file_.reset(); } // all that counts was synced, or was not to be
    [[nodiscard]] bool remove(const directory& in) noexcept override {
        close();
        return in.remove(name_);
    }

private:
    static constexpr std::size_t piece_bytes = std::size_t{1} << 20;

    undo_record(native_path name, const undo_facts& facts, sync_level sync)
        : name_(std::move(name)), facts_(facts), sync_(sync) {}

    /// What was written reaches the disk, at every level that waits for it.
    [[nodiscard]] ZTENSOR_COLD result<void> sync_after(result<void> written) {
        return written && sync_ != sync_level::none ? file_->sync() : written;
    }

    [[nodiscard]] ZTENSOR_COLD result<void> write_head() {
        std::byte head[undo_head_bytes];
        std::copy(as_bytes(undo_magic).begin(), as_bytes(undo_magic).end(), head);
        store_little(facts_.old_bytes, head + 8, 8);
        store_little(facts_.manifest_offset, head + 16, 8);
        store_little(facts_.file_id, head + 24, 8);
        store_little(facts_.manifest_crc, head + 32, 4);
        store_little(undo_sum({head, 36}), head + 36, 4);
        result<void> written = file_->append({head, sizeof head});
        return sync_after(std::move(written));
    }

    std::optional<output_file> file_;
    native_path name_;
    undo_facts facts_;
    sync_level sync_;
    std::uint64_t size_bytes_ = undo_head_bytes; ///< less the commit
    bool has_commit_ = false;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
