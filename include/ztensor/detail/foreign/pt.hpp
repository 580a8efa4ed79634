// SPDX-License-Identifier: MIT
//
// PyTorch checkpoints: a ZIP archive of a pickle that describes tensors, and an entry for each storage they lie in.
#ifndef ZTENSOR_DETAIL_FOREIGN_PT_HPP
#define ZTENSOR_DETAIL_FOREIGN_PT_HPP

#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/foreign/importer.hpp>
#include <ztensor/detail/foreign/pickle_machine.hpp>
#include <ztensor/detail/foreign/pt_tensors.hpp>
#include <ztensor/detail/foreign/zip.hpp>
#include <ztensor/detail/foreign/zip_content.hpp>
#include <ztensor/detail/read/assembled_source.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The folder, with its slash, that a checkpoint's entries lie in; nothing if the archive is none.
[[nodiscard]] inline std::optional<std::string_view> find_pt_folder(const zip_directory& entries) noexcept {
    constexpr std::string_view pickle = "data.pkl";
    for (const zip_entry& each : entries.entries()) {
        const std::size_t slash = each.name.find('/');
        const std::size_t folder = slash == std::string_view::npos ? 0 : slash + 1;
        if (each.name.substr(folder) == pickle) {
            return each.name.substr(0, folder);
        }
    }
    return std::nullopt;
}

class pt_importer final : storage_finder {
public:
    pt_importer(const foreign_file& file, const zip_directory& entries, std::string_view folder)
        : file_(file), all_(std::make_shared<assembled_source>(file.source, file.options.max_decoded_bytes_)) {
        for (const zip_entry& each : entries.entries()) {
            if (each.name.substr(0, folder.size()) == folder) {
                entries_.push_back({each.name.substr(folder.size()), each, std::nullopt});
                entries_.back().entry.is_unchecked = each.crc32 == 0; // as torch.save may write all entries
            }
        }
        std::sort(entries_.begin(), entries_.end(),
                  [](const known_entry& a, const known_entry& b) { return a.name < b.name; });
    }

    [[nodiscard]] result<imported> import(const std::string& stem) {
        if (result<void> known = read_byte_order(); !known) {
            return std::move(known).error();
        }
        const zip_entry& entry = find_entry("data.pkl")->entry;
        const result<byte_buffer> pickle = read_content(*file_.source, entry, most_pickle_bytes(entry));
        if (!pickle) {
            return pickle.error();
        }
        result<pickled> content = pickle_machine(pickle->bytes()).run();
        if (!content) {
            return std::move(content).error();
        }
        pt_tensors tensors(file_, *all_, *std::move(content), *this, is_big_endian_);
        if (result<void> told = skip_constants(tensors); !told) {
            return std::move(told).error();
        }
        result<imported> made = tensors.import(stem);
        if (made) {
            made->source = all_;
        }
        return made;
    }

private:
    struct known_entry {
        std::string_view name; ///< in the folder
        zip_entry entry;
        std::optional<std::uint64_t> offset; ///< of its content in all_, once somebody needed it
    };

    [[nodiscard]] known_entry* find_entry(std::string_view name) noexcept {
        const auto found = std::lower_bound(entries_.begin(), entries_.end(), name,
                                            [](const known_entry& a, std::string_view b) { return a.name < b; });
        return found != entries_.end() && found->name == name ? &*found : nullptr;
    }

    /// What the code of TorchScript computes with, beside the state.
    [[nodiscard]] result<void> skip_constants(pt_tensors& tensors) const {
        constexpr std::string_view folder = "constants/";
        for (const known_entry& each : entries_) {
            if (each.name.substr(0, folder.size()) != folder) {
                continue;
            }
            const std::string name(each.name);
            if (result<void> told = tensors.skip(name, "it is a constant of the archive's code"); !told) {
                return told;
            }
        }
        return {};
    }

    /// What is inflated is not bounded by the file, so that both limits hold for it.
    [[nodiscard]] std::uint64_t most_pickle_bytes(const zip_entry& entry) const noexcept {
        constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30; // positions in a pickle have 32 bits
        const std::uint64_t allowed = (std::min)(most_bytes, file_.options.max_manifest_bytes_);
        return entry.is_deflated ? (std::min)(allowed, file_.options.max_decoded_bytes_) : allowed;
    }

    /// Archives from before the entry are of a little-endian machine, as nearly all are.
    [[nodiscard]] result<void> read_byte_order() {
        const known_entry* const stated = find_entry("byteorder");
        if (stated == nullptr) {
            return {};
        }
        constexpr std::uint64_t most_bytes = 16;
        const result<byte_buffer> text = read_content(*file_.source, stated->entry, most_bytes);
        if (!text) {
            return text.error();
        }
        const std::string_view order = as_text(text->bytes());
        is_big_endian_ = order == "big";
        return is_big_endian_ || order == "little"
                   ? result<void>()
                   : fail(errc::header_malformed, "the checkpoint's byte order is {}, neither little nor big",
                          {in_quotes(order)});
    }

    [[nodiscard]] result<placed_storage> find(const pickle_storage& storage, std::string_view key) override {
        known_entry* const found = find_entry("data/" + std::string(key));
        if (found == nullptr) {
            return fail(errc::schema_missing, "the archive has no entry for storage {}", {in_quotes(key)});
        }
        if (found->entry.size != storage.bytes) {
            return fail(errc::size_mismatch, "storage {} has {} bytes, but its entry {}",
                        {in_quotes(key), storage.bytes, found->entry.size});
        }
        if (!found->offset) {
            const result<std::uint64_t> offset = place_content(*all_, found->entry);
            if (!offset) {
                return offset.error();
            }
            found->offset = *offset;
        }
        return placed_storage{*found->offset, storage.bytes,
                              found->entry.is_unchecked ? std::string() : digest_text_of(found->entry)};
    }

    [[nodiscard]] result<std::uint64_t> place_pickle() override {
        return place_content(*all_, find_entry("data.pkl")->entry);
    }

    const foreign_file& file_;
    std::shared_ptr<assembled_source> all_;
    std::vector<known_entry> entries_; ///< by their name
    bool is_big_endian_ = false;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
