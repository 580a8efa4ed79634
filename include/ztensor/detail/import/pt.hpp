// SPDX-License-Identifier: MIT
//
// PyTorch's checkpoints: archives, and files of before 1.6.
#ifndef ZTENSOR_DETAIL_IMPORT_PT_HPP
#define ZTENSOR_DETAIL_IMPORT_PT_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/pickle_machine.hpp>
#include <ztensor/detail/import/pickle_stream.hpp>
#include <ztensor/detail/import/pt_entries.hpp>
#include <ztensor/detail/import/pt_tensors.hpp>
#include <ztensor/detail/import/zip.hpp>
#include <ztensor/detail/read/sources.hpp>
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
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- pt
//
// PyTorch checkpoints: a ZIP archive of a pickle that describes tensors, and an entry for each storage they lie in.

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

// -- pt legacy
//
// PyTorch files from before archives: pickles one behind the other, and behind them the storages, each with the number
// of its elements in front.

/// Positions in a pickle have 32 bits.
[[nodiscard]] inline std::uint64_t most_pickle_bytes(const read_options& options) noexcept {
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;
    return (std::min)(most_bytes, options.max_manifest_bytes_);
}

/// A pickle, and what it holds, which refers to its bytes.
struct carried_out_pickle {
    byte_buffer bytes;
    pickled content;
};

/// Errors: those of pickle_stream::next_pickle() and of pickle_machine::run().
[[nodiscard]] inline result<carried_out_pickle> carry_out_next(pickle_stream& from, std::uint64_t first_bytes = 512) {
    ZTENSOR_TRY_ASSIGN(byte_buffer pickle, from.next_pickle(first_bytes));
    ZTENSOR_TRY_ASSIGN(pickled content, pickle_machine(pickle.bytes()).run());
    return carried_out_pickle{std::move(pickle), std::move(content)};
}

class pt_legacy_importer final : storage_finder {
public:
    explicit pt_legacy_importer(const foreign_file& file)
        : file_(file), all_(std::make_shared<assembled_source>(file.source, file.options.max_decoded_bytes_)) {}

    [[nodiscard]] result<imported> import(const std::string& stem) {
        constexpr std::uint64_t first_bytes = 1 << 16;
        pickle_stream from(*file_.source, 0, file_.source->size(), most_pickle_bytes(file_.options));
        ZTENSOR_TRY(check_version(from));
        ZTENSOR_TRY_ASSIGN(carried_out_pickle object, carry_out_next(from, first_bytes));
        pickle_at_ = from.position() - object.bytes.size();
        ZTENSOR_TRY(place_storages(object.content, from));
        return import_pickled(file_, all_, std::move(object.content), *this, stem);
    }

private:
    struct known_storage {
        std::string_view key;
        std::uint64_t bytes;
        std::uint64_t element_bytes;
        std::uint64_t offset; ///< 0: it has not been found
    };

    /// A magic number, the version, and what is said of the machine that wrote, which changes nothing: all numbers are
    /// little-endian.
    [[nodiscard]] static result<void> check_version(pickle_stream& from) {
        constexpr std::int64_t known_version = 1001;
        ZTENSOR_TRY(from.next_pickle());
        ZTENSOR_TRY_ASSIGN(const carried_out_pickle version, carry_out_next(from));
        const pickled& stated = version.content;
        if (stated.root.kind != pickle_kind::integer || stated.integer_of(stated.root) != known_version) {
            return fail(errc::unsupported_version, "the file is of another version of PyTorch's format than {}",
                        {known_version});
        }
        const result<byte_buffer> system = from.next_pickle();
        return system ? result<void>() : system.error();
    }

    [[nodiscard]] known_storage* find_storage(std::string_view key) noexcept {
        const auto found = std::lower_bound(storages_.begin(), storages_.end(), key,
                                            [](const known_storage& a, std::string_view b) { return a.key < b; });
        return found != storages_.end() && found->key == key ? &*found : nullptr;
    }

    /// The storages lie in the order of a list of their keys.
    [[nodiscard]] result<void> place_storages(const pickled& content, pickle_stream& from) {
        for (std::size_t i = 0; i < content.storages.size(); ++i) {
            const pickle_storage& each = content.storages[i];
            storages_.push_back({content.text_of(each.key), each.bytes, pickle_globals[each.element].element_bytes, 0});
        }
        std::sort(storages_.begin(), storages_.end(), [](const known_storage& a, const known_storage& b) {
            return a.key != b.key ? a.key < b.key : a.bytes < b.bytes;
        });
        ZTENSOR_TRY_ASSIGN(const carried_out_pickle pickle, carry_out_next(from, std::uint64_t{1} << 16));
        const pickled& keys = pickle.content;
        if (keys.root.kind != pickle_kind::list) {
            return fail(errc::pickle_malformed, "the keys of the storages are {}, not a list", {name(keys.root.kind)});
        }
        pickle_items items(keys, keys.root);
        while (const pickle_value* const key = items.next(keys)) {
            known_storage* const storage = key->kind == pickle_kind::text ? find_storage(keys.text_of(*key)) : nullptr;
            if (storage == nullptr) {
                return fail(errc::pickle_malformed, "a storage of the file belongs to no tensor");
            }
            ZTENSOR_TRY(place(*storage, from));
        }
        return {};
    }
    [[nodiscard]] result<void> place(known_storage& storage, pickle_stream& from) {
        ZTENSOR_TRY_ASSIGN(const std::uint64_t elements, from.next_number(8));
        const std::uint64_t width = storage.element_bytes;
        if (elements != storage.bytes / width) {
            return fail(errc::size_mismatch, "storage {} has {} elements, but in the file {}",
                        {in_quotes(storage.key), storage.bytes / width, elements});
        }
        storage.offset = from.position();
        return from.skip(storage.bytes);
    }

    [[nodiscard]] result<placed_storage> find(const pickle_storage& storage, std::string_view key) override {
        const known_storage* const found = find_storage(key);
        if (found == nullptr || found->offset == 0) {
            return fail(errc::schema_missing, "the file has no storage {}", {in_quotes(key)});
        }
        if (found->bytes != storage.bytes) {
            return fail(errc::size_mismatch, "storage {} is of {} bytes in one place and of {} in another",
                        {in_quotes(key), found->bytes, storage.bytes});
        }
        return placed_storage{found->offset, found->bytes, {}};
    }

    [[nodiscard]] result<std::uint64_t> place_pickle() override { return pickle_at_; }

    const foreign_file& file_;
    std::shared_ptr<assembled_source> all_;
    std::uint64_t pickle_at_ = 0;
    std::vector<known_storage> storages_; ///< by their key
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
