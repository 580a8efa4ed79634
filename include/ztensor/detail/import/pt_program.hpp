// SPDX-License-Identifier: MIT
//
// Programs of torch.export (.pt2): a ZIP archive with their weights and constants, of which JSON says where they lie,
// or of archives that torch.save wrote, as before PyTorch 2.9. The program itself is not read.
#ifndef ZTENSOR_DETAIL_IMPORT_PT_PROGRAM_HPP
#define ZTENSOR_DETAIL_IMPORT_PT_PROGRAM_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/import/json.hpp>
#include <ztensor/detail/import/pickle_rebuild.hpp>
#include <ztensor/detail/import/pickle_values.hpp>
#include <ztensor/detail/import/pt.hpp>
#include <ztensor/detail/import/pt_entries.hpp>
#include <ztensor/detail/import/pt_payloads.hpp>
#include <ztensor/detail/import/pt_tensors.hpp>
#include <ztensor/detail/import/zip.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/result.hpp>

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

/// The name of what stands under another; `front` is "" for none.
[[nodiscard]] inline std::string joined(std::string_view front, std::string_view name) {
    std::string all(front);
    all += front.empty() ? "" : ".";
    return all += name;
}

/// What is told of payloads becomes values as a pickle would have them: a dictionary of tensors.
class pt_payload_values final : public pt_payload_taker {
public:
    struct pickled_payload {
        std::string name;
        std::string path;
    };

    /// The JSON takes `json_bytes`, and what is made of it as much memory as of a pickle. `folder` is that of the
    /// payloads in the folder of the archive; their names in `to` start with `front`.
    pt_payload_values(pt_entries& entries, std::string_view folder, std::uint64_t json_bytes, std::string_view front,
                      pt_objects& to) noexcept
        : entries_(entries), folder_(folder), front_(front), budget_(pickle_budget(json_bytes)), to_(to) {}

    /// Before all others. Errors: limit_exceeded.
    [[nodiscard]] result<void> start() {
        const result<pickle_value> root = make_container(made_, pickle_kind::dictionary, budget_);
        if (!root || !made_.values.push_back({}, budget_)) { // a tuple of no items
            return pickle_takes_too_much();
        }
        made_.root = *root;
        return {};
    }
    /// Errors: unknown_dtype, schema_missing, limit_exceeded.
    [[nodiscard]] result<void> take(const pt_payload& payload) override {
        if (payload.is_pickled) {
            pickled_.push_back({payload.name, payload.path});
            return {};
        }
        if (!payload.is_tensor || payload.layout != pt_strided_layout) {
            to_.skip(joined(front_, payload.name),
                     payload.is_tensor ? "its layout is other than strided" : "it is no tensor");
            return {};
        }
        const pickle_global* const element = find_pt_dtype(payload.dtype);
        if (element == nullptr) {
            return fail(errc::unknown_dtype, "torch.export has no dtype of the number {}", {payload.dtype});
        }
        const pt_entry* const entry = entries_.find(std::string(folder_) + payload.path);
        if (entry == nullptr) {
            return fail(errc::schema_missing, "the archive has no entry for {}", {in_quotes(payload.path)});
        }
        const result<pickle_value> name = add_text(payload.name);
        ZTENSOR_TRY_ASSIGN(const pickle_value path, name ? add_text(payload.path) : name);
        const bool has_elements = std::find(payload.sizes.begin(), payload.sizes.end(), 0) == payload.sizes.end();
        pickle_storage storage;
        storage.key = path;
        storage.bytes = entry->entry.size;
        storage.element = static_cast<std::uint16_t>(element - pickle_globals);
        storage.is_meta = has_elements && storage.bytes == 0; // as of a tensor that was none but in name
        const result<pickle_value> tensor =
            make_tensor(made_, storage, payload.offset, payload.sizes, payload.strides, budget_);
        return tensor ? append_items(made_, made_.root, {*name, *tensor}, budget_) : tensor.error();
    }

    [[nodiscard]] pickled take_values() noexcept { return std::move(made_); }
    /// Those that are pickles, which are not among the values.
    [[nodiscard]] const std::vector<pickled_payload>& pickles() const noexcept { return pickled_; }

private:
    [[nodiscard]] result<pickle_value> add_text(std::string_view text) {
        return add_decoded(made_, pickle_kind::text, as_bytes(text), budget_);
    }

    pt_entries& entries_;
    std::string_view folder_;
    std::string_view front_;
    import_budget budget_;
    pt_objects& to_;
    pickled made_;
    std::vector<pickled_payload> pickled_;
};

[[nodiscard]] inline bool starts_with(std::string_view text, std::string_view start) noexcept {
    return text.substr(0, start.size()) == start;
}
/// What stands between a start and an end; nothing where the text has other ones.
[[nodiscard]] inline std::optional<std::string_view> between(std::string_view text, std::string_view start,
                                                             std::string_view end) noexcept {
    if (text.size() < start.size() + end.size() || !starts_with(text, start) ||
        text.substr(text.size() - end.size()) != end) {
        return std::nullopt;
    }
    return text.substr(start.size(), text.size() - start.size() - end.size());
}

/// What holds weights or constants.
struct pt_program_part {
    std::string_view folder; ///< in the folder of the archive
    std::string_view config; ///< the end of the name of what JSON says of them
};
inline constexpr pt_program_part pt_program_parts[] = {{"data/weights/", "_weights_config.json"},
                                                       {"data/constants/", "_constants_config.json"}};
inline constexpr std::string_view pt_inner_archive = ".pt"; ///< the end of the name in place of that of JSON
inline constexpr std::string_view pt_older_states[] = {"serialized_state_dict.pt", "serialized_state_dict.json",
                                                       "serialized_constants.pt", "serialized_constants.json"};

/// Whether the entry of that name in the folder holds or describes the weights of one program.
[[nodiscard]] inline bool is_of_weights(std::string_view name) noexcept {
    const pt_program_part& weights = pt_program_parts[0];
    return between(name, weights.folder, weights.config) || between(name, weights.folder, pt_inner_archive);
}

/// The folder, with its slash, that a program's entries lie in; nothing if the archive is none, or has no weights.
[[nodiscard]] inline std::optional<std::string_view> find_pt_program(const zip_directory& archive) noexcept {
    for (const zip_entry& each : archive.entries()) {
        if (each.name == pt_older_states[0] || each.name == pt_older_states[1]) {
            return std::string_view();
        }
        for (const std::size_t folder : {each.name.find('/') + 1, std::size_t{0}}) { // 0 where there is no slash
            if (is_of_weights(each.name.substr(folder))) {
                return each.name.substr(0, folder);
            }
        }
    }
    return std::nullopt;
}

class pt_program {
public:
    pt_program(const foreign_file& file, assembled_source& all, pt_entries& entries, pt_objects& to) noexcept
        : file_(file), all_(all), entries_(entries), to_(to) {}

    /// Names of several programs start with that of theirs.
    [[nodiscard]] result<void> add_to_objects() {
        ZTENSOR_TRY_ASSIGN(const bool is_big_endian, entries_.is_big_endian());
        is_big_endian_ = is_big_endian;
        for (const std::string_view name : pt_older_states) {
            if (const pt_entry* const entry = entries_.find(name)) {
                ZTENSOR_TRY(add_archive(*entry, {}));
            }
        }
        for (const pt_program_part& part : pt_program_parts) {
            ZTENSOR_TRY(add_part(part));
        }
        return {};
    }

private:
    [[nodiscard]] bool has_several_programs() const noexcept {
        const std::vector<pt_entry>& all = entries_.all();
        return std::count_if(all.begin(), all.end(), [](const pt_entry& each) { return is_of_weights(each.name); }) > 1;
    }

    [[nodiscard]] result<void> add_part(const pt_program_part& part) {
        const bool is_named = has_several_programs();
        for (const pt_entry& each : entries_.all()) {
            const std::optional<std::string_view> by_json = between(each.name, part.folder, part.config);
            const std::optional<std::string_view> program =
                by_json ? by_json : between(each.name, part.folder, pt_inner_archive);
            if (!program) {
                continue;
            }
            const std::string front = is_named ? std::string(*program) : std::string();
            result<void> added = by_json ? add_payloads(each, part.folder, front) : add_archive(each, {front, front});
            if (!added) {
                return added;
            }
        }
        return {};
    }

    [[nodiscard]] result<void> add_payloads(const pt_entry& json, std::string_view folder, const std::string& front) {
        ZTENSOR_TRY_ASSIGN(const byte_buffer text, entries_.read(json, file_.options));
        pt_payload_values values(entries_, folder, text.size(), front, to_);
        pt_payload_listener listener(values);
        result<void> told = values.start();
        told = told ? parse_json(as_text(text.bytes()), listener) : std::move(told);
        if (!told) {
            return told;
        }
        if (!listener.has_config()) {
            return fail(errc::schema_missing, "{} in the archive describes nothing", {in_quotes(json.name)});
        }
        pt_entry_storages storages(entries_, folder, nullptr);
        told = pt_tensors(all_, values.take_values(), storages, is_big_endian_, to_).add_to_objects({front, front});
        return told ? add_pickles(values, folder, front) : told;
    }

    /// Tensors of classes of their own, which torch.save wrote, and objects that are no tensors.
    [[nodiscard]] result<void> add_pickles(const pt_payload_values& values, std::string_view folder,
                                           const std::string& front) {
        for (const pt_payload_values::pickled_payload& each : values.pickles()) {
            const std::string name = joined(front, each.name);
            if (starts_with(each.path, "custom_obj_") || starts_with(each.path, "opaque_obj_")) {
                to_.skip(name, "it is an object, which is not made");
                continue;
            }
            pt_entry* const entry = entries_.find(std::string(folder) + each.path);
            if (entry == nullptr) {
                return fail(errc::schema_missing, "the archive has no entry for {}", {in_quotes(each.path)});
            }
            if (std::exchange(entry->is_taken, true)) {
                to_.skip(name, "it is one object with another, which is read before");
                continue;
            }
            if (result<void> added = add_archive(*entry, {name, name}); !added) {
                return std::move(added).error().in_object(name);
            }
        }
        return {};
    }

    /// An archive in the archive, which lies there as it is: its storages are ranges of the file. Nothing, where an
    /// entry without bytes stands for none.
    [[nodiscard]] result<void> add_archive(const pt_entry& outer, const pt_names& names) {
        const zip_entry& place = outer.entry;
        if (place.size == 0) {
            return {};
        }
        if (place.is_deflated) {
            return fail(errc::unsupported_encoding,
                        "entry {} is an archive of its own, and deflated: take it out, and open it alone",
                        {in_quotes(outer.name)});
        }
        const range_source source(file_.source, place.offset, place.size);
        ZTENSOR_TRY_ASSIGN(const zip_directory inner, zip_directory::read(source, file_.options));
        const std::optional<std::string_view> folder = find_pt_folder(inner);
        if (!folder) {
            return fail(errc::schema_missing, "entry {} of the archive holds no checkpoint", {in_quotes(outer.name)});
        }
        pt_entries entries(all_, inner, *folder, place.offset);
        return pt_archive(all_, entries, file_.options, to_).add_to_objects(names);
    }

    const foreign_file& file_;
    assembled_source& all_;
    pt_entries& entries_;
    pt_objects& to_;
    bool is_big_endian_ = false;
};

[[nodiscard]] inline result<imported> import_pt_program(const foreign_file& file, const zip_directory& archive,
                                                        std::string_view folder) {
    auto all = std::make_shared<assembled_source>(file.source, file.options.max_decoded_bytes_);
    pt_entries entries(*all, archive, folder);
    pt_objects objects(file.options);
    result<void> added = pt_program(file, *all, entries, objects).add_to_objects();
    return added ? objects.finish(std::move(all)) : std::move(added).error();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
