// SPDX-License-Identifier: MIT
//
// Shards of version 2: where they lie, and whether they are what the root says. SPEC.md section 13.7.
#ifndef ZTENSOR_DETAIL_READ_SHARD_FINDER_HPP
#define ZTENSOR_DETAIL_READ_SHARD_FINDER_HPP

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/read/assembled_source.hpp>
#include <ztensor/detail/read/opened_file.hpp>
#include <ztensor/detail/read/siblings.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- shard digest
//
// The digests of whole shards. SPEC.md section 13.9.

/// The digest of bytes [begin, begin + length) of a source, as text. Errors: out_of_memory, and what the source says.
[[nodiscard]] ZTENSOR_COLD inline result<std::string> digest_of_range(const byte_source& source, std::uint64_t begin,
                                                                      std::uint64_t length, digest algorithm) {
    constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;
    byte_buffer piece;
    if (!piece.allocate(static_cast<std::size_t>((std::min)(length, piece_bytes)))) {
        return fail(errc::out_of_memory, "no memory for a piece of 1 MiB");
    }
    digest_memory hash;
    start_digest_2(algorithm, hash);
    for (std::uint64_t done = 0; done < length; done += piece_bytes) {
        const auto size = static_cast<std::size_t>((std::min)(length - done, piece_bytes));
        ZTENSOR_TRY(source.read_at(begin + done, piece.writable_bytes().first(size)));
        update_digest_2(algorithm, hash, piece.bytes().first(size));
    }
    return text_of_digest_2(algorithm, hash);
}

/// Every shard, byte by byte, is the file that the root means, as far as its digest can be computed. Errors:
/// shard_mismatch, and what the source says.
[[nodiscard]] ZTENSOR_COLD inline result<void> verify_shards(const opened_file& file) {
    for (const shard_record& shard : file.index.shards) {
        const digest_parts expected = parse_digest_2(file.index.text(shard.digest_text));
        if (expected.algorithm == digest::none) {
            continue;
        }
        ZTENSOR_TRY_ASSIGN(const std::string found,
                           digest_of_range(*file.source, shard.base, shard.size_bytes, expected.algorithm));
        if (!same_digest(parse_digest_2(found), expected)) {
            return fail(errc::shard_mismatch, "the shard {} has the digest {}, but the root says {}",
                        {in_quotes(file.index.text(shard.name)), found, in_quotes(file.index.text(shard.digest_text))});
        }
    }
    return {};
}

// -- shard finder
//
// The other files of a model of version 2: found beside its root by name, by digest or by what they hold, and put into
// one row behind it. SPEC.md section 13.9.

/// Stands for a shard of a root that was not opened by a path, so that nobody knows where to look.
class absent_shard final : public byte_source {
public:
    explicit absent_shard(std::uint64_t size_bytes) noexcept : size_bytes_(size_bytes) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return size_bytes_; }
    [[nodiscard]] ZTENSOR_COLD result<void> read_at(std::uint64_t, span<std::byte>) const override {
        return fail(errc::shard_missing, "the bytes lie in a shard, and shards are looked for beside a file that is "
                                         "opened by its path");
    }

private:
    std::uint64_t size_bytes_;
};

/// Finds the shards of one root.
class shard_finder {
public:
    /// `root` is the path of the root file, "" if it has none; its options say how files are reached.
    shard_finder(const opened_file& file, const native_path& root, os_reading& os = operating_system_for_reading())
        : file_(file), os_(os), has_root_(!root.empty()), root_(root), stem_(file_name_of(root)) {
        constexpr std::string_view ending = ".zt"; // in letters of any case
        const auto is_letter = [](auto found, char letter) {
            return found == letter || (letter != '.' && found == letter - 'a' + 'A');
        };
        if (stem_.size() > ending.size() && std::equal(stem_.end() - static_cast<std::ptrdiff_t>(ending.size()),
                                                       stem_.end(), ending.begin(), is_letter)) {
            stem_.resize(stem_.size() - ending.size());
        }
    }

    /// The root and its shards in one row. Errors: shard_missing, which names all that were not found; shard_mismatch,
    /// if others of their names were; name_invalid, if these are links that lead out of the folder; what the system
    /// says.
    [[nodiscard]] ZTENSOR_COLD result<std::shared_ptr<const byte_source>> assemble() {
        auto all = std::make_shared<assembled_source>(file_.source, file_.options.max_decoded_bytes_);
        if (has_root_ && file_.options.shards_ != shard_lookup::none) {
            ZTENSOR_TRY_ASSIGN(beneath_folder folder, folder_beside(*file_.source, root_, file_.options, os_));
            folder_ = std::move(folder);
        }
        for (const shard_record& shard : file_.index.shards) {
            std::shared_ptr<const byte_source> found = folder_ ? find(shard) : nullptr;
            if (found == nullptr) { // its place in the row stays empty
                found = std::make_shared<absent_shard>(shard.size_bytes);
            }
            const result<std::uint64_t> base = all->add(std::move(found), 0, shard.size_bytes);
            if (!base || *base != shard.base) {
                return base ? fail(errc::out_of_bounds, "the shards don't lie where the root says") : base.error();
            }
        }
        return missing_ == 0 ? result<std::shared_ptr<const byte_source>>(std::move(all)) : describe_missing();
    }

private:
    /// By name, by digest in a store, and if that is asked for by what it holds; null if it is nowhere.
    [[nodiscard]] std::shared_ptr<const byte_source> find(const shard_record& shard) {
        const std::string_view name = file_.index.text(shard.name);
        const std::string_view digest_text = file_.index.text(shard.digest_text);
        const digest_parts digest = parse_digest_2(digest_text);
        std::string reason = "is not there";
        native_path beside = stem_ + file_path("-" + std::string(name) + ".zt").native();
        std::shared_ptr<const byte_source> found = open(beside, shard, reason);
        const std::string_view algorithm = digest_text.substr(0, digest_text.find(':'));
        if (found == nullptr && digest.algorithm != digest::none) { // whose name is one of ours
            const native_path store =
                joined_path(file_path("blobs").native(), file_path(std::string(algorithm)).native());
            std::string ignored;
            found = open(joined_path(store, file_path(std::string(digest.digits)).native()), shard, ignored);
        }
        if (found == nullptr && digest.algorithm != digest::none && file_.options.shards_ == shard_lookup::by_digest) {
            found = find_by_content(shard, digest);
        }
        if (found == nullptr) {
            note_missing(shard, reason);
        }
        return found;
    }

    /// The file, if it may be the shard: by its two ends and its size. What it holds is checked by verify().
    [[nodiscard]] std::shared_ptr<const byte_source> open(const native_path& name, const shard_record& shard,
                                                          std::string& reason) {
        result<std::shared_ptr<const byte_source>> opened = open_sibling(*folder_, name, file_.options);
        if (!opened) {
            const bool is_absent = opened.error().code() == errc::file_not_found;
            reason = is_absent ? "is not there" : "is not opened: " + opened.error().sentence();
            leads_out_ = leads_out_ || opened.error().code() == errc::name_invalid;
            return nullptr;
        }
        const byte_source& source = **opened;
        if (source.size() != shard.size_bytes) {
            reason = sentence("has {} bytes", {source.size()});
            return nullptr;
        }
        std::byte head[magic_bytes];
        std::byte tail[footer_bytes_2];
        const bool is_readable = source.read_at(0, head) && source.read_at(source.size() - footer_bytes_2, tail);
        if (!is_readable || as_text(bytes_view(head)) != magic_2 ||
            as_text(bytes_view(tail).last(magic_bytes)) != magic_2 ||
            decode_footer_2(tail).version != container_version_2) {
            reason = "is no file of version 2";
            return nullptr;
        }
        return *std::move(opened);
    }

    /// Files of the folder of one size, of which some are hashed by one algorithm.
    struct candidates {
        std::vector<native_path> names; ///< in their order
        std::size_t next = 0;           ///< of those that are not hashed yet
        /// By the digits of their digests: those that some shard has, as they were opened to be hashed. Another file
        /// may have the name by now.
        std::map<std::string, std::shared_ptr<const byte_source>> known;
    };

    /// Each file of the folder is opened and read at most once for each algorithm.
    [[nodiscard]] std::shared_ptr<const byte_source> find_by_content(const shard_record& shard,
                                                                     const digest_parts& digest) {
        candidates& those = candidates_of(shard.size_bytes, digest.algorithm);
        const std::string wanted(digest.digits);
        for (; those.known.count(wanted) == 0 && those.next != those.names.size(); ++those.next) {
            std::string ignored;
            std::shared_ptr<const byte_source> source = open(those.names[those.next], shard, ignored);
            if (source == nullptr) {
                continue;
            }
            const result<std::string> text = digest_of_range(*source, 0, source->size(), digest.algorithm);
            if (text && is_of_some_shard(*text)) {
                those.known.emplace(parse_digest_2(*text).digits, std::move(source));
            }
        }
        const auto found = those.known.find(wanted);
        return found != those.known.end() ? found->second : nullptr;
    }

    [[nodiscard]] bool is_of_some_shard(std::string_view digest_text) {
        if (digests_.empty()) {
            for (const shard_record& each : file_.index.shards) {
                const digest_parts digest = parse_digest_2(file_.index.text(each.digest_text));
                digests_.emplace(digest.algorithm, digest.digits);
            }
        }
        const digest_parts digest = parse_digest_2(digest_text);
        return digests_.count({digest.algorithm, digest.digits}) != 0;
    }

    [[nodiscard]] candidates& candidates_of(std::uint64_t size_bytes, digest algorithm) {
        list_folder();
        candidates& those = candidates_[{size_bytes, algorithm}];
        if (those.names.empty()) {
            const auto same =
                std::equal_range(files_.begin(), files_.end(), listed_file{size_bytes, {}},
                                 [](const auto& a, const auto& b) { return a.size_bytes < b.size_bytes; });
            for (auto each = same.first; each != same.second; ++each) {
                those.names.push_back(each->name);
            }
        }
        return those;
    }

    /// Each name in the folder is looked at once.
    void list_folder() {
        if (std::exchange(is_listed_, true)) {
            return;
        }
        const result<directory> opened = directory::open(folder_->path(), false);
        if (!opened) {
            return;
        }
        os_answer<std::vector<native_path>> names = opened->os().list(opened->place());
        for (native_path& name : names.value) {
            const result<file_status> status = opened->status(name);
            if (status && status->kind == file_kind::regular) {
                files_.push_back({status->size_bytes, std::move(name)});
            }
        }
        std::sort(files_.begin(), files_.end(), [](const listed_file& a, const listed_file& b) {
            return a.size_bytes != b.size_bytes ? a.size_bytes < b.size_bytes : a.name < b.name;
        });
    }

    void note_missing(const shard_record& shard, std::string_view reason) {
        constexpr std::size_t most_named = 16;
        if (++missing_ <= most_named) {
            names_ += sentence("{}{} ({} bytes, {}): the file of its name {}",
                               {names_.empty() ? "" : "; ", in_quotes(file_.index.text(shard.name)), shard.size_bytes,
                                file_.index.text(shard.digest_text), reason});
        }
        has_others_ = has_others_ || reason != "is not there";
    }

    [[nodiscard]] error describe_missing() const {
        const errc other = leads_out_ ? errc::name_invalid : errc::shard_mismatch;
        const bool may_look_further = !leads_out_ && file_.options.shards_ == shard_lookup::beside;
        return fail(has_others_ ? other : errc::shard_missing, "{} of {} shards were not found beside the file: {}{}",
                    {missing_, file_.index.shards.size(), names_,
                     may_look_further
                         ? ". If they have other names there, read_options::shards(shard_lookup::by_digest) "
                           "finds them by what they hold"
                         : ""});
    }

    struct listed_file {
        std::uint64_t size_bytes;
        native_path name;
    };

    const opened_file& file_;
    os_reading& os_;
    bool has_root_;
    native_path root_;
    native_path stem_; ///< of the root's name
    std::optional<beneath_folder> folder_;
    std::vector<listed_file> files_; ///< of the folder, by their size and name
    std::map<std::pair<std::uint64_t, digest>, candidates> candidates_;
    std::set<std::pair<digest, std::string_view>> digests_; ///< of all shards, once one is looked for by it
    bool is_listed_ = false;
    bool has_others_ = false; ///< files of the right name that are not the shards
    bool leads_out_ = false;  ///< among them links that are not followed
    std::size_t missing_ = 0;
    std::string names_;
};

/// Puts the shards of a root, if it has any, behind it. Errors: shard_missing, shard_mismatch, what the system says.
[[nodiscard]] ZTENSOR_COLD inline result<void> take_shards(opened_file& opened, const native_path& root) {
    if (opened.index.shards.empty()) {
        return {};
    }
    ZTENSOR_TRY_ASSIGN(std::shared_ptr<const byte_source> all, shard_finder(opened, root).assemble());
    opened.source = std::move(all);
    return {};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
