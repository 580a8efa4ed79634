// SPDX-License-Identifier: MIT
//
// PyTorch: entries of an archive, and the storages in them.
#ifndef ZTENSOR_DETAIL_IMPORT_PT_ENTRIES_HPP
#define ZTENSOR_DETAIL_IMPORT_PT_ENTRIES_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/pickle_values.hpp>
#include <ztensor/detail/import/zip.hpp>
#include <ztensor/detail/import/zip_content.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- pt storages
//
// What finds the storages of a checkpoint in the container that it is in.

/// Where the bytes of a storage lie.
struct placed_storage {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::string digest; ///< of all of them; "" for none
};

class storage_finder {
public:
    virtual ~storage_finder() = default;
    /// `key` is the storage's. Errors: schema_missing, size_mismatch; what the container says.
    [[nodiscard]] virtual result<placed_storage> find(const pickle_storage& storage, std::string_view key) = 0;
    /// Where the pickle itself lies. Errors: what the container says.
    [[nodiscard]] virtual result<std::uint64_t> place_pickle() = 0;
};

// -- pt entries
//
// The entries of a ZIP archive that PyTorch wrote, and the storages among them.

struct pt_entry {
    std::string_view name;                    ///< in the folder
    zip_entry entry;                          ///< its offset counts in the whole file
    std::optional<std::uint64_t> offset = {}; ///< of its content in the assembled source, once somebody needed it
    bool is_taken = false;                    ///< as an archive in the archive, of which there is one for each name
};

/// Those in one folder.
class pt_entries {
public:
    /// `folder` ends in a slash, or is empty. The archive, which outlives this, lies at `archive_offset` of the file.
    pt_entries(assembled_source& all, const zip_directory& archive, std::string_view folder,
               std::uint64_t archive_offset = 0)
        : all_(all) {
        for (const zip_entry& each : archive.entries()) {
            if (each.name.substr(0, folder.size()) == folder) {
                entries_.push_back({each.name.substr(folder.size()), each});
                zip_entry& entry = entries_.back().entry;
                entry.offset += archive_offset;
                entry.is_unchecked = each.crc32 == 0; // as torch.save may write all entries
            }
        }
        std::sort(entries_.begin(), entries_.end(),
                  [](const pt_entry& a, const pt_entry& b) { return a.name < b.name; });
    }

    /// By their name.
    [[nodiscard]] const std::vector<pt_entry>& all() const noexcept { return entries_; }

    /// Null if there is none.
    [[nodiscard]] pt_entry* find(std::string_view name) noexcept {
        const auto found = std::lower_bound(entries_.begin(), entries_.end(), name,
                                            [](const pt_entry& a, std::string_view b) { return a.name < b; });
        return found != entries_.end() && found->name == name ? &*found : nullptr;
    }

    /// Where an entry's content lies in the assembled source. Errors: out_of_bounds.
    [[nodiscard]] result<std::uint64_t> place(pt_entry& of) {
        if (!of.offset) {
            const result<std::uint64_t> offset = place_content(all_, of.entry);
            if (!offset) {
                return offset;
            }
            of.offset = *offset;
        }
        return *of.offset;
    }

    /// All content of a pickle or a text, checked. What is inflated is not bounded by the file, so that both limits
    /// hold for it. Errors: those of read_content().
    [[nodiscard]] result<byte_buffer> read(const pt_entry& of, const read_options& options) const {
        constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30; // positions in a pickle have 32 bits
        const std::uint64_t allowed = (std::min)(most_bytes, options.max_manifest_bytes_);
        return read_content(all_.file(), of.entry,
                            of.entry.is_deflated ? (std::min)(allowed, options.max_decoded_bytes_) : allowed);
    }

    /// Whether the machine that wrote the archive was big-endian. Archives from before the entry are of a little-endian
    /// machine, as nearly all are. Errors: header_malformed; those of read_content().
    [[nodiscard]] result<bool> is_big_endian() {
        const pt_entry* const stated = find("byteorder");
        if (stated == nullptr) {
            return false;
        }
        constexpr std::uint64_t most_bytes = 16;
        ZTENSOR_TRY_ASSIGN(const byte_buffer text, read_content(all_.file(), stated->entry, most_bytes));
        const std::string_view order = as_text(text.bytes());
        return order == "big" || order == "little"
                   ? result<bool>(order == "big")
                   : fail(errc::header_malformed, "the checkpoint's byte order is {}, neither little nor big",
                          {in_quotes(order)});
    }

private:
    assembled_source& all_;
    std::vector<pt_entry> entries_; ///< by their name
};

/// The storages of one pickle: entries of a folder in the folder.
class pt_entry_storages final : public storage_finder {
public:
    /// `pickle` is the entry of the pickle itself; null where there is none.
    pt_entry_storages(pt_entries& entries, std::string_view folder, pt_entry* pickle) noexcept
        : entries_(entries), folder_(folder), pickle_(pickle) {}

    [[nodiscard]] result<placed_storage> find(const pickle_storage& storage, std::string_view key) override {
        pt_entry* const found = entries_.find(std::string(folder_) + std::string(key));
        if (found == nullptr) {
            return fail(errc::schema_missing, "the archive has no entry for storage {}", {in_quotes(key)});
        }
        if (found->entry.size != storage.bytes) {
            return fail(errc::size_mismatch, "storage {} has {} bytes, but its entry {}",
                        {in_quotes(key), storage.bytes, found->entry.size});
        }
        ZTENSOR_TRY_ASSIGN(const std::uint64_t offset, entries_.place(*found));
        return placed_storage{offset, storage.bytes,
                              found->entry.is_unchecked ? std::string() : digest_text_of(found->entry)};
    }

    [[nodiscard]] result<std::uint64_t> place_pickle() override { return entries_.place(*pickle_); }

private:
    pt_entries& entries_;
    std::string_view folder_;
    pt_entry* pickle_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
