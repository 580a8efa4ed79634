// SPDX-License-Identifier: MIT
//
// Files beside an open file: opened as sources of bytes, and found as the shards of a model. SPEC.md section 13.9.
#ifndef ZTENSOR_DETAIL_READ_SIBLINGS_HPP
#define ZTENSOR_DETAIL_READ_SIBLINGS_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/read/progress_meter.hpp>
#include <ztensor/detail/read/read_ahead.hpp>
#include <ztensor/detail/read/stored.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- reopened source
//
// Files that are open only while they are read, because there are more of them than a process may have open: models of
// thousands of shards. A few handles stay open for all of a process; a mapping stays when its handle is closed.

/// A file that can be opened again, and is known to be the same one then.
struct reopenable {
    os_reading* os = nullptr;
    native_path path;
    file_status status;
    bool is_direct = false; ///< read_options::direct()

    [[nodiscard]] bool is_same(const file_status& found) const noexcept {
        return found.is_same_file(status) && found.size_bytes == status.size_bytes &&
               found.modified_nanoseconds == status.modified_nanoseconds;
    }
    /// Errors: file_changed if the path no longer leads to the same file as it was; what the system says.
    ZTENSOR_COLD result<std::shared_ptr<const file>> open() const {
        result<file> opened = file::open(path, *os);
        if (!opened) {
            const bool is_gone = opened.error().code() == errc::file_not_found;
            return is_gone ? fail(errc::file_changed, "the file is no longer where it was when it was opened")
                           : std::move(opened).error();
        }
        const os_answer<file_status> found = os->status(opened->handle());
        if (found.failure) {
            return os_failure("can't find out whether the file is the same", found.failure);
        }
        if (!is_same(found.value)) {
            return fail(errc::file_changed, "the file was changed or replaced since it was opened");
        }
        return prepared(*std::move(opened));
    }
    /// To be read as the caller wants it.
    [[nodiscard]] std::shared_ptr<const file> prepared(file opened) const {
        if (is_direct) {
            opened.read_uncached();
        }
        return std::make_shared<const file>(std::move(opened));
    }
};

/// The handles that were used last. One for all of a process, never destroyed. A child process that was forked off does
/// without, because its copy of the mutex may be locked for ever: it opens files for each call.
class handle_cache {
public:
    [[nodiscard]] static handle_cache& get() {
        static never_destroyed<handle_cache> all;
        return all.get();
    }

    /// The open file, which stays open as long as somebody holds it. Where the process has no handles left, those that
    /// nobody uses are closed first.
    ZTENSOR_COLD result<std::shared_ptr<const file>> find(const reopenable& wanted) {
        if (!is_ours()) {
            return wanted.open();
        }
        if (std::shared_ptr<const file> known = find_open(wanted)) {
            return known;
        }
        result<std::shared_ptr<const file>> opened = wanted.open();
        if (!opened && is_out_of_handles(opened.error().os_error())) {
            close_all();
            opened = wanted.open();
        }
        if (opened) {
            keep(wanted, *opened);
        }
        return opened;
    }
    /// Notes that the file is open.
    void keep(const reopenable& wanted, std::shared_ptr<const file> opened) {
        if (!is_ours()) {
            return;
        }
        vector<entry> closed; // destroyed once the lock is free
        const os_lock lock(mutex_);
        entries_.insert(entries_.begin(), {&wanted, std::move(opened)});
        while (entries_.size() > most_handles) {
            closed.push_back(std::move(entries_.back()));
            entries_.pop_back();
        }
    }
    /// Has to be called before what `of` points to goes.
    void forget(const reopenable& of) noexcept {
        if (!is_ours()) {
            return;
        }
        const os_lock lock(mutex_);
        entries_.erase(
            std::remove_if(entries_.begin(), entries_.end(), [&](const entry& each) { return each.of == &of; }),
            entries_.end());
    }

private:
    static constexpr size_t most_handles = 8;

    struct entry {
        const reopenable* of;
        std::shared_ptr<const file> opened;
    };

    [[nodiscard]] bool is_ours() const noexcept { return process_ == process_id(); }

    [[nodiscard]] static bool is_out_of_handles(std::error_code failure) noexcept {
        return failure == std::errc::too_many_files_open || failure == std::errc::too_many_files_open_in_system;
    }

    [[nodiscard]] std::shared_ptr<const file> find_open(const reopenable& wanted) noexcept {
        const os_lock lock(mutex_);
        const auto found =
            std::find_if(entries_.begin(), entries_.end(), [&](const entry& each) { return each.of == &wanted; });
        if (found == entries_.end()) {
            return nullptr;
        }
        std::rotate(entries_.begin(), found, found + 1);
        return entries_.front().opened;
    }
    void close_all() noexcept {
        vector<entry> closed;
        const os_lock lock(mutex_);
        closed.swap(entries_);
    }

    const uint64_t process_ = process_id();
    os_mutex mutex_;
    vector<entry> entries_; ///< from the one used last on
};

/// A file that is opened when it is needed.
class reopened_source final : public path_source {
public:
    /// `text` is the path for messages.
    reopened_source(const reopenable& file, const read_options& options, string text, bool takes_time = false)
        : path_source(*file.os, file.status.size_bytes, options, std::move(text), takes_time), file_(file) {}
    ~reopened_source() override { handle_cache::get().forget(file_); }

    /// The file is open already.
    void keep(file opened) { handle_cache::get().keep(file_, file_.prepared(std::move(opened))); }

    /// Of a mapped file; others are looked at whenever they are read. Another file may have the path by now, and the
    /// mapped one may have been cut off: so the open file is asked, or the one that proves to be the same.
    ZTENSOR_COLD result<void> check_unchanged() const override {
        return mapped_before().empty() ? result<void>() : path_source::check_unchanged();
    }

private:
    result<std::shared_ptr<const file>> held() const override { return handle_cache::get().find(file_); }
    [[nodiscard]] bool identify(uint64_t& device, uint64_t& file_id) const noexcept override {
        device = file_.status.device;
        file_id = file_.status.file_id;
        return true;
    }
    [[nodiscard]] bool reads_files() const noexcept override { return true; }

    reopenable file_;
};

// -- siblings
//
// Files beside an open file, as sources of bytes. os/file.hpp says which ones may be opened.

/// Which file it is: all zero where that is not known.
[[nodiscard]] ZTENSOR_COLD inline file_status file_behind(const byte_source& source) {
    file_status status;
    if (const file* const opened = source_access::file_of(source)) {
        const os_answer<file_status> found = opened->os().status(opened->handle());
        status = found.failure ? file_status() : found.value;
    } else {
        static_cast<void>(source_access::identify(source, status.device, status.file_id));
    }
    return status;
}

/// The folder of a file that was opened as `source`, by the path that the caller gave.
ZTENSOR_COLD inline result<beneath_folder> folder_beside(const byte_source& source, const native_path& path,
                                                         const read_options& options,
                                                         os_reading& os = operating_system_for_reading()) {
    return beneath_folder::beside(path, file_behind(source), options.follows_links(), os);
}

/// Opens a file that may lead to others, by `open() -> result<source>`, and them by `read(source)`. A writer replaces
/// the file first, and then removes what the old one led to: so where reading fails and there is another file by now,
/// that one is read, once.
template <class Open, class Read>
auto read_current(const Open& open, const Read& read) -> decltype(read(*open())) {
    auto source = open();
    if (!source) {
        return std::move(source).error();
    }
    auto outcome = read(*source);
    if (outcome) {
        return outcome;
    }
    const auto now = open();
    const bool is_another = now && !file_behind(**now).is_same_file(file_behind(**source));
    return is_another ? read(*now) : std::move(outcome);
}

/// A source that is held open as long as it lives. A process has few of them: see is_held.
class held_source {
public:
    held_source() noexcept : is_held(count().fetch_add(1, std::memory_order_relaxed) < most) {}
    held_source(const held_source&) = delete;
    held_source& operator=(const held_source&) = delete;
    ~held_source() { count().fetch_sub(1, std::memory_order_relaxed); }

    const bool is_held; ///< false where there are enough
    std::shared_ptr<const byte_source> source;

private:
    static constexpr unsigned most = 32;

    [[nodiscard]] static std::atomic<unsigned>& count() noexcept {
        static std::atomic<unsigned> held{0};
        return held;
    }
};

/// One of several files that are open, by the path that leads to it: held open if there are few, else opened again when
/// it is read, as errc::file_changed if it is another one by then. Errors: unmappable; what the system says.
ZTENSOR_COLD inline result<std::shared_ptr<const byte_source>>
source_of_sibling(file content, const read_options& options, const native_path& path) {
    if (const auto held = std::make_shared<held_source>(); held->is_held) {
        result<std::shared_ptr<const byte_source>> source = source_of_file(std::move(content), options, path);
        if (!source) {
            return source;
        }
        held->source = with_read_ahead(*std::move(source), options);
        return std::shared_ptr<const byte_source>(held, held->source.get());
    }
    os_reading& os = content.os();
    const os_answer<file_status> status = os.status(content.handle());
    if (status.failure) {
        return os_failure("can't find out which file it is", status.failure);
    }
    const auto source =
        std::make_shared<reopened_source>(reopenable{&os, os.absolute(path), status.value, options.is_direct()},
                                          options, path_text(path), takes_time_to_read(content, options));
    source->keep(std::move(content));
    if (options.mode() == io_mode::mapped) {
        ZTENSOR_TRY(source->map());
    }
    return with_read_ahead(source, options);
}

/// A file in the folder. Errors: those of beneath_folder::open() and source_of_sibling().
ZTENSOR_COLD inline result<std::shared_ptr<const byte_source>>
open_sibling(const beneath_folder& folder, const native_path& name, const read_options& options) {
    result<file> opened = folder.open(name);
    return opened ? source_of_sibling(*std::move(opened), options, joined_path(folder.path(), name))
                  : std::move(opened).error();
}

/// So many files are opened at once where opening one takes trips to a server.
inline constexpr unsigned files_opened_at_once = 16;

// -- shard digest
//
// The digests of whole shards. SPEC.md section 13.9.

/// The digest of bytes [begin, begin + length) of a source, as text. Errors: out_of_memory, cancelled, and what the
/// source says.
ZTENSOR_COLD inline result<string> digest_of_range(const byte_source& source, uint64_t begin, uint64_t length,
                                                   digest algorithm, progress_meter& meter) {
    constexpr uint64_t piece_bytes = uint64_t{1} << 20;
    const read_ahead all(0, source, begin, length);
    byte_buffer piece;
    ZTENSOR_TRY(allocate(piece, (std::min)(length, piece_bytes), "a piece"));
    digester hash(algorithm);
    for (uint64_t done = 0; done < length; done += piece_bytes) {
        const auto size = smaller_size(length - done, piece_bytes);
        ZTENSOR_TRY(source.read_at(begin + done, piece.writable_bytes().first(size)));
        hash.update(piece.bytes().first(size));
        ZTENSOR_TRY(meter.add(size, {}));
    }
    return hash.text();
}

/// Every shard, byte by byte, is the file that the root means, as far as its digest can be computed. Errors:
/// shard_mismatch, cancelled, and what the source says.
ZTENSOR_COLD inline result<void> verify_shards(const opened_file& file, progress_meter& meter) {
    for (const shard_record& shard : file.index.shards) {
        const digest_parts expected = parse_strict_digest(file.index.text(shard.digest_text));
        if (expected.algorithm == digest::none) {
            continue;
        }
        ZTENSOR_TRY_ASSIGN(const string found,
                           digest_of_range(*file.source, shard.base, shard.size_bytes, expected.algorithm, meter));
        if (!same_digest(parse_strict_digest(found), expected)) {
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
    explicit absent_shard(uint64_t size_bytes) noexcept : size_bytes_(size_bytes) {}

    [[nodiscard]] uint64_t size() const noexcept override { return size_bytes_; }
    ZTENSOR_COLD result<void> read_at(uint64_t, span<byte>) const override {
        return fail(errc::shard_missing, "the bytes lie in a shard, and shards are looked for beside a file that is "
                                         "opened by its path");
    }

private:
    uint64_t size_bytes_;
};

/// Finds the shards of one root.
class shard_finder {
public:
    /// `root` is the path of the root file, "" if it has none; its options say how files are reached.
    shard_finder(const opened_file& file, const native_path& root, os_reading& os = operating_system_for_reading())
        : file_(file), os_(os), root_(root), stem_(file_name_of(root)) {
        constexpr string_view ending = ".zt"; // in letters of any case
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
    ZTENSOR_COLD result<std::shared_ptr<const byte_source>> assemble() {
        auto all = std::make_shared<assembled_source>(file_.source, file_.options.max_decoded_bytes());
        if (!root_.empty() && file_.options.shards() != shard_lookup::none) {
            ZTENSOR_TRY_ASSIGN(beneath_folder folder, folder_beside(*file_.source, root_, file_.options, os_));
            folder_ = std::move(folder);
        }
        ZTENSOR_TRY_ASSIGN(const vector<std::shared_ptr<const byte_source>> brought, bring());
        for (size_t i = 0; i < file_.index.shards.size(); ++i) {
            const shard_record& shard = file_.index.shards[i];
            std::shared_ptr<const byte_source> found = folder_ ? find(shard) : checked(brought[i], shard);
            if (found == nullptr) { // its place in the row stays empty
                found = std::make_shared<absent_shard>(shard.size_bytes);
            }
            const result<uint64_t> base = all->add(std::move(found), 0, shard.size_bytes);
            if (!base || *base != shard.base) {
                return base ? fail(errc::out_of_bounds, "the shards don't lie where the root says") : base.error();
            }
        }
        return missing_ == 0 ? result<std::shared_ptr<const byte_source>>(std::move(all)) : describe_missing();
    }

private:
    /// By name, by digest in a store, and if that is asked for by what it holds; null if it is nowhere.
    [[nodiscard]] std::shared_ptr<const byte_source> find(const shard_record& shard) {
        const string_view name = file_.index.text(shard.name);
        const string_view digest_text = file_.index.text(shard.digest_text);
        const digest_parts digest = parse_strict_digest(digest_text);
        string reason = "is not there";
        native_path beside = stem_ + file_path("-" + string(name) + ".zt").native();
        std::shared_ptr<const byte_source> found = open(beside, shard, reason);
        const string_view algorithm = digest_text.substr(0, digest_text.find(':'));
        if (found == nullptr && digest.algorithm != digest::none) { // whose name is one of ours
            const native_path store = joined_path(file_path("blobs").native(), file_path(string(algorithm)).native());
            string ignored;
            found = open(joined_path(store, file_path(string(digest.digits)).native()), shard, ignored);
        }
        if (found == nullptr && digest.algorithm != digest::none && file_.options.shards() == shard_lookup::by_digest) {
            found = find_by_content(shard, digest);
        }
        if (found == nullptr) {
            note_missing(shard, reason);
        }
        return found;
    }

    /// The file, if it may be the shard: by its two ends and its size. What it holds is checked by verify().
    [[nodiscard]] std::shared_ptr<const byte_source> open(const native_path& name, const shard_record& shard,
                                                          string& reason) {
        result<std::shared_ptr<const byte_source>> opened = open_sibling(*folder_, name, file_.options);
        if (!opened) {
            const bool is_absent = opened.error().code() == errc::file_not_found;
            reason = is_absent ? "is not there" : "is not opened: " + opened.error().sentence();
            leads_out_ = leads_out_ || opened.error().code() == errc::name_invalid;
            return nullptr;
        }
        return may_be(**opened, shard, reason) ? *std::move(opened) : nullptr;
    }

    /// By its two ends and its size.
    [[nodiscard]] static bool may_be(const byte_source& source, const shard_record& shard, string& reason) {
        if (source.size() != shard.size_bytes) {
            reason = sentence("has {} bytes", {source.size()});
            return false;
        }
        byte head[magic_bytes];
        byte tail[footer_bytes_2];
        const bool is_readable = source.read_at(0, head) && source.read_at(source.size() - footer_bytes_2, tail);
        if (!is_readable || as_text(bytes_view(head)) != magic_2 ||
            as_text(bytes_view(tail).last(magic_bytes)) != magic_2 ||
            decode_footer_2(tail).version != container_version_2) {
            reason = "is no file of version 2";
            return false;
        }
        return true;
    }

    /// What the root's own source gives for each shard, where it is asked; null if it has none. Errors: the first that
    /// it says.
    result<vector<std::shared_ptr<const byte_source>>> bring() const {
        const auto& shards = file_.index.shards;
        vector<std::shared_ptr<const byte_source>> found(shards.size());
        if (!root_.empty() || file_.options.shards() == shard_lookup::none) {
            return found;
        }
        vector<result<void>> outcomes(shards.size());
        for_each_in_parallel(shards.size(), takes_time(*file_.source) ? files_opened_at_once : 1, [&](size_t i) {
            auto opened =
                file_.source->open_shard(file_.index.text(shards[i].name), file_.index.text(shards[i].digest_text));
            outcomes[i] = opened ? result<void>() : result<void>(opened.error());
            found[i] = opened ? *std::move(opened) : nullptr;
        });
        for (result<void>& each : outcomes) {
            ZTENSOR_TRY(std::move(each));
        }
        return found;
    }

    /// What was brought, if it may be the shard.
    [[nodiscard]] std::shared_ptr<const byte_source> checked(std::shared_ptr<const byte_source> brought,
                                                             const shard_record& shard) {
        string reason;
        if (brought != nullptr && !may_be(*brought, shard, reason)) {
            note_missing(shard, reason);
            return nullptr;
        }
        return brought != nullptr ? with_read_ahead(std::move(brought), file_.options) : brought;
    }

    /// Files of the folder of one size, of which those before `next` are hashed by one algorithm.
    struct candidates {
        size_t next; ///< in files_
        size_t end;
        /// By the digits of their digests, as they were opened to be hashed. Another file may have the name by now.
        std::map<string, std::shared_ptr<const byte_source>> known;
    };

    /// Each file of the folder is opened and read at most once for each algorithm.
    [[nodiscard]] std::shared_ptr<const byte_source> find_by_content(const shard_record& shard,
                                                                     const digest_parts& digest) {
        candidates& those = candidates_of(shard.size_bytes, digest.algorithm);
        const string wanted(digest.digits);
        for (; those.known.count(wanted) == 0 && those.next != those.end; ++those.next) {
            string ignored;
            std::shared_ptr<const byte_source> source = open(files_[those.next].name, shard, ignored);
            if (source == nullptr) {
                continue;
            }
            progress_meter silent;
            const result<string> text = digest_of_range(*source, 0, source->size(), digest.algorithm, silent);
            if (text && is_of_some_shard(*text)) {
                those.known.emplace(parse_strict_digest(*text).digits, std::move(source));
            }
        }
        const auto found = those.known.find(wanted);
        return found != those.known.end() ? found->second : nullptr;
    }

    /// Files that no shard has the digest of are let go at once: there may be many.
    [[nodiscard]] bool is_of_some_shard(string_view digest_text) {
        if (digests_.empty()) {
            for (const shard_record& each : file_.index.shards) {
                digests_.emplace(file_.index.text(each.digest_text));
            }
        }
        return digests_.count(digest_text) != 0;
    }

    [[nodiscard]] candidates& candidates_of(uint64_t size_bytes, digest algorithm) {
        list_folder();
        const auto same = std::equal_range(files_.begin(), files_.end(), listed_file{size_bytes, {}},
                                           [](const auto& a, const auto& b) { return a.size_bytes < b.size_bytes; });
        const auto place_of = [this](auto each) { return static_cast<size_t>(each - files_.begin()); };
        return candidates_
            .emplace(std::pair(size_bytes, algorithm), candidates{place_of(same.first), place_of(same.second), {}})
            .first->second;
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
        os_answer<vector<native_path>> names = opened->os().list(opened->place());
        for (native_path& name : names.value) {
            const result<file_status> status = opened->status(name);
            if (status && status->kind == file_kind::regular) {
                files_.push_back({status->size_bytes, std::move(name)});
            }
        }
        sort_records(files_, [](const listed_file& a, const listed_file& b) {
            return a.size_bytes != b.size_bytes ? a.size_bytes < b.size_bytes : a.name < b.name;
        });
    }

    void note_missing(const shard_record& shard, string_view reason) {
        constexpr size_t most_named = 16;
        if (++missing_ <= most_named) {
            names_ += sentence("{}{} ({} bytes, {}): the file of its name {}",
                               {names_.empty() ? "" : "; ", in_quotes(file_.index.text(shard.name)), shard.size_bytes,
                                file_.index.text(shard.digest_text), reason});
        }
        has_others_ = has_others_ || reason != "is not there";
    }

    [[nodiscard]] error describe_missing() const {
        const errc other = leads_out_ ? errc::name_invalid : errc::shard_mismatch;
        const bool may_look_further = !leads_out_ && file_.options.shards() == shard_lookup::beside;
        return fail(has_others_ ? other : errc::shard_missing, "{} of {} shards were not found beside the file: {}{}",
                    {missing_, file_.index.shards.size(), names_,
                     may_look_further
                         ? ". If they have other names there, read_options::shards(shard_lookup::by_digest) "
                           "finds them by what they hold"
                         : ""});
    }

    struct listed_file {
        uint64_t size_bytes;
        native_path name;
    };

    const opened_file& file_;
    os_reading& os_;
    native_path root_;
    native_path stem_; ///< of the root's name
    optional<beneath_folder> folder_;
    vector<listed_file> files_; ///< of the folder, by their size and name
    std::map<std::pair<uint64_t, digest>, candidates> candidates_;
    std::set<string_view> digests_; ///< of all shards, once one is looked for by it
    bool is_listed_ = false;
    bool has_others_ = false; ///< files of the right name that are not the shards
    bool leads_out_ = false;  ///< among them links that are not followed
    size_t missing_ = 0;
    string names_;
};

/// Puts the shards of a root, if it has any, behind it. Errors: shard_missing, shard_mismatch, what the system says.
ZTENSOR_COLD inline result<void> take_shards(opened_file& opened, const native_path& root) {
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
