// SPDX-License-Identifier: MIT
//
// PyTorch checkpoints: a ZIP archive of a pickle that describes tensors, and an entry for each storage they lie in.
#ifndef ZTENSOR_DETAIL_FOREIGN_PT_HPP
#define ZTENSOR_DETAIL_FOREIGN_PT_HPP

#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/foreign/importer.hpp>
#include <ztensor/detail/foreign/pickle_machine.hpp>
#include <ztensor/detail/foreign/pt_entries.hpp>
#include <ztensor/detail/foreign/pt_tensors.hpp>
#include <ztensor/detail/foreign/zip.hpp>
#include <ztensor/detail/read/assembled_source.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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

/// What is in a checkpoint's folder becomes objects.
class pt_archive {
public:
    /// All that is given outlives this.
    pt_archive(assembled_source& all, pt_entries& entries, const read_options& options, pt_objects& to) noexcept
        : all_(all), entries_(entries), options_(options), to_(to) {}

    /// The state; and what the code of TorchScript computes with besides, which in a frozen module are its weights.
    [[nodiscard]] result<void> add_to_objects(const pt_names& names) {
        ZTENSOR_TRY_ASSIGN(const bool is_big_endian, entries_.is_big_endian());
        result<void> added = add_pickle("data.pkl", "data/", is_big_endian, names);
        const bool has_constants = added && entries_.find("constants.pkl") != nullptr;
        return has_constants ? add_pickle("constants.pkl", "constants/", is_big_endian, {"CONSTANTS", "CONSTANTS"})
                             : added;
    }

private:
    [[nodiscard]] result<void> add_pickle(std::string_view name, std::string_view folder, bool is_big_endian,
                                          const pt_names& names) {
        pt_entry* const entry = entries_.find(name);
        ZTENSOR_TRY_ASSIGN(const byte_buffer pickle, entries_.read(*entry, options_));
        ZTENSOR_TRY_ASSIGN(pickled content, pickle_machine(pickle.bytes()).run());
        pt_entry_storages storages(entries_, folder, entry);
        return pt_tensors(all_, std::move(content), storages, is_big_endian, to_).add_to_objects(names);
    }

    assembled_source& all_;
    pt_entries& entries_;
    const read_options& options_;
    pt_objects& to_;
};

[[nodiscard]] inline result<imported> import_pt(const foreign_file& file, const zip_directory& archive,
                                                std::string_view folder, const std::string& stem) {
    auto all = std::make_shared<assembled_source>(file.source, file.options.max_decoded_bytes_);
    pt_entries entries(*all, archive, folder);
    pt_objects objects(file.options);
    result<void> added = pt_archive(*all, entries, file.options, objects).add_to_objects({stem, std::string()});
    return added ? objects.finish(std::move(all)) : std::move(added).error();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
