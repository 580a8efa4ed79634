// SPDX-License-Identifier: MIT
//
// The index of a model in shards, as Hugging Face writes it beside them: which object is in which file. File names are
// hostile: each must be that of a file beside the index, or in a folder there.
#ifndef ZTENSOR_DETAIL_FOREIGN_SHARD_INDEX_HPP
#define ZTENSOR_DETAIL_FOREIGN_SHARD_INDEX_HPP

#include <ztensor/detail/core/cast.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/try.hpp>
#include <ztensor/detail/foreign/importer.hpp>
#include <ztensor/detail/foreign/json.hpp>
#include <ztensor/detail/foreign/zip_record.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct shard_entry {
    std::string name; ///< of an object
    std::size_t file; ///< in shard_index::files
};

/// The largest index that is read, whatever max_manifest_bytes allows, because its entries take several times as much
/// memory as their text. An index of a million tensors has about 100 MB.
inline constexpr std::uint64_t max_shard_index_bytes = std::uint64_t{128} << 20;

/// What an index says.
struct shard_index {
    std::vector<std::string> files; ///< sorted, each once
    std::vector<shard_entry> entries;
};

/// A path of a file beside the index, or in a folder there.
[[nodiscard]] inline bool is_file_below(std::string_view path) noexcept {
    const std::string_view last = path.substr(path.find_last_of('/') + 1);
    return is_path_below(path) && !last.empty() && last != ".";
}

class shard_index_listener final : public json_listener {
public:
    explicit shard_index_listener(std::uint64_t max_objects) noexcept : max_objects_(max_objects) {}

    /// What was read, checked. Errors: schema_missing, duplicate_key.
    [[nodiscard]] result<shard_index> finish() {
        if (!has_map_) {
            return fail(errc::schema_missing, "the index lacks \"weight_map\"");
        }
        shard_index found;
        std::vector<std::size_t> places(files_.size()); // by the order in which the files were met
        for (const auto& [file, met] : files_) {
            places[met] = found.files.size();
            found.files.push_back(file);
        }
        for (shard_entry& each : entries_) {
            each.file = places[each.file];
        }
        found.entries = std::move(entries_);
        return check_names(found) ? result<shard_index>(std::move(found)) : why_;
    }

    [[nodiscard]] error why() const override { return why_; }

    [[nodiscard]] bool begin_object() override {
        if (depth_ == 1 && is_map_) {
            is_in_map_ = true;
        }
        return (is_in_map_ && depth_ == 2) ? refuse_kind("an object") : ++depth_ != 0;
    }
    [[nodiscard]] bool end_object() override {
        is_in_map_ = false; // in which no other object may stand
        --depth_;
        return true;
    }
    [[nodiscard]] bool key(std::string_view name) override {
        if (depth_ == 1) {
            is_map_ = name == "weight_map";
            if (is_map_ && std::exchange(has_map_, true)) {
                why_ = fail(errc::duplicate_key, "the index has \"weight_map\" twice");
                return false;
            }
        } else if (is_in_map_) {
            name_ = name;
        }
        return true;
    }
    [[nodiscard]] bool begin_array() override {
        return depth_ == 0 || is_within_map() ? refuse_kind("an array") : ++depth_ != 0;
    }
    [[nodiscard]] bool end_array() override {
        --depth_;
        return true;
    }
    [[nodiscard]] bool text(std::string_view value) override {
        if (!is_in_map_) {
            return other("text");
        }
        if (!is_file_below(value)) {
            why_ =
                fail(errc::name_invalid, "the index says that {} is in {}, which is no plain path of a file beside it",
                     {in_quotes(name_), in_quotes(value)});
            return false;
        }
        if (entries_.size() >= max_objects_) {
            why_ = fail(errc::limit_exceeded, "the index names more than {} objects", {max_objects_});
            return false;
        }
        const std::size_t met = files_.size();
        entries_.push_back({name_, files_.emplace(value, met).first->second});
        return true;
    }
    [[nodiscard]] bool unsigned_integer(std::uint64_t) override { return other("a number"); }
    [[nodiscard]] bool null() override { return other("null"); }
    [[nodiscard]] bool other(const char* what) override {
        return depth_ != 0 && !is_within_map() ? true : refuse_kind(what);
    }

private:
    /// Where only the map itself, or the name of a file, may stand.
    [[nodiscard]] bool is_within_map() const noexcept { return is_in_map_ || (depth_ == 1 && is_map_); }

    ZTENSOR_COLD bool refuse_kind(const char* found) {
        why_ =
            fail(errc::schema_type, "the index holds {} where names of objects and their files should stand", {found});
        return false;
    }

    /// Each object is named once; else why_ says which is not.
    [[nodiscard]] bool check_names(const shard_index& found) {
        std::vector<std::string_view> names;
        names.reserve(found.entries.size());
        for (const shard_entry& each : found.entries) {
            names.push_back(each.name);
        }
        std::sort(names.begin(), names.end());
        const auto twin = std::adjacent_find(names.begin(), names.end());
        if (twin != names.end()) {
            why_ = fail(errc::duplicate_key, "the index names the object {} twice", {in_quotes(*twin)});
            return false;
        }
        return true;
    }

    std::uint64_t max_objects_;
    std::vector<shard_entry> entries_;
    std::map<std::string, std::size_t, std::less<>> files_; ///< each with how many were met before it
    std::string name_;
    std::size_t depth_ = 0;
    bool is_map_ = false;    ///< the value that comes next is the map
    bool is_in_map_ = false; ///< within it
    bool has_map_ = false;
    error why_{errc::json_malformed, {}};
};

/// Errors: manifest_too_large, limit_exceeded (max_objects), json_malformed, not_built_in, schema_type, schema_missing,
/// duplicate_key, name_invalid; what the source says.
[[nodiscard]] ZTENSOR_COLD inline result<shard_index> read_shard_index(const byte_source& source,
                                                                       const read_options& options) {
    const std::uint64_t size = source.size();
    const std::uint64_t most_bytes = (std::min)(options.max_manifest_bytes_, max_shard_index_bytes);
    if (size > most_bytes) {
        return fail(errc::manifest_too_large, "the index takes {} bytes, more than the {} allowed", {size, most_bytes});
    }
    ZTENSOR_TRY_ASSIGN(const byte_buffer text, read_header(source, 0, size));
    shard_index_listener listener(options.max_objects_);
    ZTENSOR_TRY(parse_json(as_text(text.bytes()), listener));
    return listener.finish();
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
