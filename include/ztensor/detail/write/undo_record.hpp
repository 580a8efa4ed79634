// SPDX-License-Identifier: MIT
//
// The undo record beside a file that is extended in place: how it is written, and read after a crash.
#ifndef ZTENSOR_DETAIL_WRITE_UNDO_RECORD_HPP
#define ZTENSOR_DETAIL_WRITE_UNDO_RECORD_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/crc32.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- undo name
//
// What the undo record of a file is called.

/// ".ztensor-<16 hex digits>" with that ending, for a file of that name in the same directory.
[[nodiscard]] ZTENSOR_COLD inline native_path hidden_name(const native_path& target, string_view ending) {
    uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (const auto unit : target) {
        hash = (hash ^ static_cast<uint16_t>(static_cast<std::make_unsigned_t<native_path::value_type>>(unit))) *
               0x100000001b3u;
    }
    const string name = (".ztensor-" + sixteen_digits(hash)).append(ending);
    return native_path(name.begin(), name.end());
}
/// The record of the file of that name.
[[nodiscard]] ZTENSOR_COLD inline native_path undo_name(const native_path& target) {
    return hidden_name(target, ".undo");
}

/// Whether recover() obeys an undo record with that status for the file with the other: the record belongs to the owner
/// of the file, to root, or to this process, and no more people can write to it than to the file. A record of anybody
/// else would tell us to cut the file: in a folder of several people, such as /tmp, anybody can put one there.
[[nodiscard]] inline bool is_trusted_record(const file_status& record, const file_status& file) noexcept {
    constexpr uint32_t root = 0;
    constexpr uint32_t writable_by_others = 0022;
    return (record.owner == file.owner || record.owner == root || record.owner == process_user()) &&
           (record.permissions & writable_by_others & ~file.permissions) == 0;
}

// -- undo record
//
// What leads back while a file is extended in place: 64 bytes beside it, on the disk before the first new byte of the
// file. They say how long the file was and what stood at its end, and never change. No old byte of the file changes
// either, so that a file which holds the old end where the record says is the one that the record is about, wherever
// both were copied to.
//
//   "ZTUNDO03"  u64 old length  u64 begin of the old end  u32 CRC-32C of the file from there to the old length
//   32 zeros  u32 CRC-32C of the 60 bytes before
//
// All little-endian. The old end is the index with the footer; of version 2, whose index may lie anywhere, it is the
// footer, which has the XXH3 of the index.

inline constexpr size_t undo_record_bytes = 64;
inline constexpr string_view undo_magic = "ZTUNDO03";
inline constexpr string_view undo_magic_of_all = "ZTUNDO0"; ///< of earlier releases too, which overwrote old bytes

/// The file as it was.
struct undo_facts {
    uint64_t old_bytes = 0;
    uint64_t end_offset = 0; ///< of what is summed up, to the old end
    uint32_t crc = 0;
};

[[nodiscard]] inline std::array<byte, undo_record_bytes> encode_undo_record(const undo_facts& facts) noexcept {
    std::array<byte, undo_record_bytes> record = {};
    std::copy(as_bytes(undo_magic).begin(), as_bytes(undo_magic).end(), record.begin());
    store_little(facts.old_bytes, record.data() + 8, 8);
    store_little(facts.end_offset, record.data() + 16, 8);
    store_little(facts.crc, record.data() + 24, 4);
    store_little(~crc32c_update(~0u, bytes_view(record).first(60)), record.data() + 60, 4);
    return record;
}

/// Nothing of a record that was cut off or damaged.
[[nodiscard]] inline optional<undo_facts> decode_undo_record(bytes_view record) noexcept {
    if (record.size() < undo_record_bytes || as_text(record.first(undo_magic.size())) != undo_magic ||
        load_little(record.data() + 60, 4) != ~crc32c_update(~0u, record.first(60))) {
        return std::nullopt;
    }
    const undo_facts facts = {load_little(record.data() + 8, 8), load_little(record.data() + 16, 8),
                              static_cast<uint32_t>(load_little(record.data() + 24, 4))};
    return facts.end_offset <= facts.old_bytes ? optional<undo_facts>(facts) : std::nullopt;
}

/// CRC-32C of those bytes of a source.
ZTENSOR_COLD inline result<uint32_t> sum_of(const byte_source& source, uint64_t begin, uint64_t end) {
    constexpr uint64_t piece_bytes = uint64_t{1} << 20;
    vector<byte> piece;
    uint32_t sum = ~0u;
    for (uint64_t at = begin; at < end; at += piece.size()) {
        piece.resize(static_cast<size_t>((std::min)(end - at, piece_bytes)));
        ZTENSOR_TRY(source.read_at(at, piece));
        sum = crc32c_update(sum, piece);
    }
    return ~sum;
}

/// The record while its writer lives. Never removes itself: recovery may still need it.
class undo_record {
public:
    explicit undo_record(const native_path& target) : name_(undo_name(target)) {}

    [[nodiscard]] static error unfinished() {
        return fail(errc::recovery_needed,
                    "a change in place was broken off, and its undo record lies beside the file: recover() it first");
    }

    /// Whether there is a record of that file.
    static result<void> check_none(const located_file& target) {
        ZTENSOR_TRY_ASSIGN(const file_status found, target.in.status(undo_name(target.name)));
        return found.kind == file_kind::absent ? result<void>() : unfinished();
    }

    /// On the disk when it returns, unless `sync` is none. Fails with errc::recovery_needed if there is one already.
    ZTENSOR_COLD result<void> create(const directory& in, const undo_facts& facts, sync_level sync) {
        constexpr uint32_t only_for_the_owner = 0600;
        result<output_file> made = output_file::create(in, name_, only_for_the_owner);
        if (!made) {
            return made.error().os_error() == std::errc::file_exists ? unfinished() : std::move(made).error();
        }
        file_.emplace(*std::move(made));
        const auto record = encode_undo_record(facts);
        result<void> written = file_->append(record);
        if (written && sync != sync_level::none) {
            written = file_->sync();
            if (const std::error_code failure = written ? in.sync() : std::error_code()) {
                written = os_failure("can't make sure that the undo record is on the disk", failure);
            }
        }
        if (!written) {
            static_cast<void>(remove(in));
        }
        return written;
    }

    [[nodiscard]] const native_path& name() const noexcept { return name_; }

    /// False if it is still there.
    [[nodiscard]] bool remove(const directory& in) noexcept {
        const auto compare = [&] { return is_still_named(*file_, in, name_); };
        const result<bool> named = file_ ? guard_memory(compare) : result<bool>(true);
        file_.reset();
        return (named && !*named) || in.remove(name_); // another's may have come after ours was removed
    }

private:
    optional<output_file> file_;
    native_path name_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
