// SPDX-License-Identifier: MIT
//
// The data files of a model in several files: their names, the lock of the model, and the old files that go.
#ifndef ZTENSOR_DETAIL_WRITE_MODEL_FILES_HPP
#define ZTENSOR_DETAIL_WRITE_MODEL_FILES_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/write/atomic_file.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/detail/write/undo_record.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/format.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What several files of one model have in common while they are written. Of a model "m.zt" they are called
/// "m-<token>-00001.zt" in version 2, where they are shards, and "m-<token>-00001-of-00003.zt" before. The token, 16
/// hexadecimal digits, is another one each time that a model is written: so no file ever takes the name of one of
/// another model, and the head alone, which is the index or the root, is replaced. It comes last. Before that
/// everything leads to the old model, and after it to the new one. Old files go when nothing leads to them any more.
///
/// A lock keeps other writers of the model away: it is that of a file beside it, ".ztensor-<16 hex digits>.lock", since
/// there may be no model so far. Where a file system knows no locks, no old file is removed.
class model_files {
public:
    /// Of the model at `path`, which ends in ".zt" and whose head has that name in the same folder. Errors: busy,
    /// not_regular_file (an index can't replace what has its name), io_error.
    ZTENSOR_COLD static result<std::unique_ptr<model_files>> hold(const native_path& path, native_path head,
                                                                  const write_options& options, os_calls& os) {
        std::unique_ptr<model_files> made(new model_files(path, std::move(head), options, os));
        result<directory> opened = directory::open(made->folder_, options.sync() != sync_level::none, os);
        if (!opened) {
            return why_no_folder(opened.error());
        }
        made->in_.emplace(*std::move(opened));
        ZTENSOR_TRY(made->take_lock());
        ZTENSOR_TRY(made->check_head());
        const vector<native_path> old = made->data_files();
        const auto first = std::min_element(old.begin(), old.end());
        made->like_ = first != old.end() ? *first : made->head_;
        return made;
    }
    model_files(const model_files&) = delete;
    model_files& operator=(const model_files&) = delete;
    /// Removes what has not got its name. In a forked child it does nothing.
    ~model_files() {
        if (!in_ || process_ != process_id()) {
            return;
        }
        for (const native_path& name : written_) {
            static_cast<void>(name.empty() || in_->remove(name));
        }
        static_cast<void>(written_head_.empty() || in_->remove(written_head_));
        release_lock();
    }

    /// Files so far.
    [[nodiscard]] size_t count() const noexcept { return written_.size(); }

    /// A new data file, under a temporary name once it is finished, with the permissions of the old ones. Errors: as
    /// file_writer::open().
    ZTENSOR_COLD result<std::unique_ptr<byte_sink>> create() {
        written_.push_back(temporary_name());
        return create(written_.back(), like_);
    }
    /// The last one is not wanted, and its sink is gone.
    void drop_last() noexcept { written_.pop_back(); }
    /// Likewise the head, where it is a file of its own beside the data files.
    ZTENSOR_COLD result<std::unique_ptr<byte_sink>> create_head() {
        written_head_ = temporary_name();
        return create(written_head_, head_);
    }

    /// What stands between the model's name and the ending in the name of a file, from 1 on. Before version 2 all files
    /// have been created.
    [[nodiscard]] string label(size_t number) const {
        const string name = token_ + "-" + shard_name(static_cast<uint32_t>(number));
        return is_version_2() ? name : name + "-of-" + shard_name(static_cast<uint32_t>(count()));
    }
    [[nodiscard]] string name(size_t number) const { return path_text(stem_) + "-" + label(number) + ".zt"; }

    /// Whether a data file, from 1 on, which is finished and has its temporary name, holds these bytes there.
    [[nodiscard]] ZTENSOR_COLD bool holds(size_t number, uint64_t offset, bytes_view bytes) const {
        result<output_file> opened = output_file::open(*in_, written_[number - 1], false);
        byte_buffer piece;
        bool is_same = opened && piece.allocate((std::min)(bytes.size(), size_t{64} << 10));
        while (is_same && !bytes.empty()) {
            const span<byte> read = piece.writable_bytes().first((std::min)(bytes.size(), piece.size()));
            is_same = opened->read_back(offset, read) && std::equal(read.begin(), read.end(), bytes.begin());
            offset += read.size();
            bytes = bytes.subspan(read.size());
        }
        return is_same;
    }

    /// All are finished, and get their names. Errors: io_error.
    ZTENSOR_COLD result<void> name_files() {
        for (size_t i = 0; i < count(); ++i) {
            native_path final_name = file_path(name(i + 1)).native();
            ZTENSOR_TRY(rename(written_[i], final_name));
            written_[i] = std::move(final_name);
        }
        if (const std::error_code failure = sync_names()) {
            return os_failure("can't make sure that names are on the disk", failure);
        }
        written_.clear(); // they stay: a head that leads to them may be in place even where that is said to fail
        return {};
    }
    /// From here on the model is there. Errors: io_error; not_durable.
    ZTENSOR_COLD result<void> name_head() {
        ZTENSOR_TRY(rename(written_head_, head_));
        written_head_.clear();
        const std::error_code failure = options_.sync() == sync_level::durable ? sync_names() : std::error_code();
        return failure ? result<void>(fail(errc::not_durable, "the new model is in place, but its directory could not "
                                                              "be synced: a power cut may still undo that")
                                          .because(failure))
                       : result<void>();
    }

    /// Removes the files of older models at the same path, and those that killed writers left. The head is in place,
    /// and if it was to be durable, it is. What can't be removed stays for the next writer.
    ZTENSOR_COLD void sweep() const noexcept {
        static_cast<void>(guard_memory([&]() -> result<void> {
            if (!lock_->has_lock() || (options_.sync() == sync_level::atomic && sync_names())) {
                return {};
            }
            std::map<string, vector<native_path>> old; // by their tokens
            for (native_path& each : data_files()) {
                if (string token = token_of(each); token != token_) {
                    old[std::move(token)].push_back(std::move(each));
                }
            }
            keep_what_others_name(old);
            for (const auto& each : old) {
                for (const native_path& name : each.second) {
                    static_cast<void>(in_->remove(name));
                }
            }
            return {};
        }));
    }

private:
    static constexpr size_t token_digits = 16;

    model_files(const native_path& path, native_path head, const write_options& options, os_calls& os)
        : path_(path), folder_(directory_of(path)), stem_(file_name_of(path)), head_(std::move(head)),
          lock_name_(hidden_name(stem_, ".lock")), options_(options), os_(os), process_(process_id()) {
        stem_.resize(stem_.size() - string_view(".zt").size());
    }

    [[nodiscard]] bool is_version_2() const noexcept { return options_.version() == format_version::v2; }
    [[nodiscard]] string path_of(const native_path& name) const { return path_text(joined_path(folder_, name)); }
    [[nodiscard]] std::error_code sync_names() const {
        return options_.sync() != sync_level::none ? in_->sync() : std::error_code();
    }

    ZTENSOR_COLD result<std::unique_ptr<byte_sink>> create(const native_path& name, const native_path& like) {
        ZTENSOR_TRY_ASSIGN(directory in, directory::open(folder_, false, os_));
        const sync_level sync = (std::min)(options_.sync(), sync_level::atomic); // names are synced in the end
        auto sink = std::make_unique<file_writer>(path_, options_, os_);
        ZTENSOR_TRY(sink->open(
            std::make_unique<replacing_file>(located_file{std::move(in), name}, sync, std::nullopt, false, like)));
        return std::unique_ptr<byte_sink>(std::move(sink));
    }

    /// A root may be a symbolic link, and is looked at by what writes it.
    ZTENSOR_COLD result<void> check_head() const {
        ZTENSOR_TRY_ASSIGN(const file_status old, in_->status(head_));
        return is_version_2() || old.kind != file_kind::other ? result<void>()
                                                              : irregular_file().in_file(path_of(head_));
    }

    ZTENSOR_COLD result<void> rename(const native_path& from, const native_path& to) {
        const std::error_code failure = os_.rename_in(in_->place(), from, to);
        return failure ? result<void>(os_failure("can't give the finished file its name", failure).in_file(path_of(to)))
                       : result<void>();
    }

    // -- the lock

    /// Errors: busy, io_error.
    ZTENSOR_COLD result<void> take_lock() {
        constexpr int most_tries = 16;
        for (int tries = 0; tries < most_tries; ++tries) {
            result<output_file> opened = output_file::create(*in_, lock_name_, default_permissions);
            if (!opened && opened.error().os_error() == std::errc::file_exists) {
                opened = output_file::open(*in_, lock_name_, false);
            }
            if (!opened && opened.error().code() == errc::file_not_found) { // its writer has just ended
                continue;
            }
            if (!opened) {
                return std::move(opened).error();
            }
            if (!opened->lock()) {
                return fail(errc::busy, "another writer is at work on the model");
            }
            if (is_still_named(*opened, *in_, lock_name_).value_or(true)) { // as far as that can be known
                lock_.emplace(*std::move(opened));
                return {};
            }
        }
        return fail(errc::busy, "other writers write the model again and again");
    }

    /// The name goes before the lock does, because afterwards it would be the next writer's.
    ZTENSOR_COLD void release_lock() noexcept {
        if (!lock_) {
            return;
        }
        const bool is_removed = in_->remove(lock_name_);
        lock_.reset();
        if (!is_removed && !always_replaces_open_files) { // such systems remove no open file either
            static_cast<void>(in_->remove(lock_name_));
        }
    }

    // -- old files

    [[nodiscard]] static bool is_number(string_view text) noexcept {
        return text.size() >= 5 && text.find_first_not_of("0123456789") == string_view::npos;
    }

    /// Of a data file of any model of such a version at this path; "" for any other name.
    [[nodiscard]] ZTENSOR_COLD string token_of(const native_path& name) const {
        constexpr string_view ending = ".zt";
        constexpr size_t before_number = token_digits + 2;
        if (name.compare(0, stem_.size(), stem_) != 0) {
            return {};
        }
        const string tail = path_text(name.substr(stem_.size()));
        const string token = tail.substr((std::min)(tail.size(), size_t{1}), token_digits);
        const bool has_form = tail.size() > before_number + ending.size() && tail[0] == '-' &&
                              tail[before_number - 1] == '-' &&
                              token.find_first_not_of("0123456789abcdef") == string::npos &&
                              tail.compare(tail.size() - ending.size(), ending.size(), ending) == 0;
        if (!has_form) {
            return {};
        }
        const string_view number = string_view(tail).substr(before_number, tail.size() - before_number - ending.size());
        const size_t of = number.find("-of-");
        const bool is_ours = is_version_2() ? is_number(number)
                                            : of != string_view::npos && is_number(number.substr(0, of)) &&
                                                  is_number(number.substr(of + 4));
        return is_ours ? token : string();
    }

    [[nodiscard]] ZTENSOR_COLD vector<native_path> names_in_folder() const {
        os_answer<vector<native_path>> names = os_.list(in_->place());
        return names.failure ? vector<native_path>() : std::move(names.value);
    }
    [[nodiscard]] ZTENSOR_COLD vector<native_path> data_files() const {
        vector<native_path> names = names_in_folder();
        names.erase(
            std::remove_if(names.begin(), names.end(), [&](const native_path& each) { return token_of(each).empty(); }),
            names.end());
        return names;
    }

    /// Another index may be a copy of an old one, and lead to its files. Where one can't be read, all files stay.
    ZTENSOR_COLD void keep_what_others_name(std::map<string, vector<native_path>>& files) const {
        constexpr string_view ending = ".index.json";
        for (const native_path& each : files.empty() ? vector<native_path>() : names_in_folder()) {
            const string name = path_text(each);
            const bool is_index =
                name.size() > ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
            if (!is_index || each == head_) {
                continue;
            }
            const optional<string> text = read_text(each);
            if (!text) {
                files.clear();
                return;
            }
            for (size_t at = text->find('-'); at != string::npos; at = text->find('-', at + 1)) {
                files.erase(text->substr(at + 1, token_digits));
            }
        }
    }

    /// Nothing of a file that can't be read, or is larger than any index.
    [[nodiscard]] ZTENSOR_COLD optional<string> read_text(const native_path& name) const {
        constexpr uint64_t most_bytes = uint64_t{128} << 20;
        result<output_file> opened = output_file::open(*in_, name, false);
        const result<file_status> status = opened ? opened->status() : opened.error();
        if (!status || status->size_bytes > most_bytes) {
            return std::nullopt;
        }
        byte_buffer bytes;
        const auto size = static_cast<size_t>(status->size_bytes);
        if (!bytes.allocate(size) || !opened->read_back(0, bytes.writable_bytes())) {
            return std::nullopt;
        }
        return string(as_text(bytes.bytes()));
    }

    native_path path_; ///< as it was given
    native_path folder_;
    native_path stem_; ///< the path's last name without ".zt"
    native_path head_;
    native_path lock_name_;
    native_path like_; ///< the file whose permissions data files get
    const string token_ = sixteen_digits(unique_number());
    write_options options_;
    os_calls& os_;
    uint64_t process_;
    optional<directory> in_; ///< the folder
    optional<output_file> lock_;
    vector<native_path> written_; ///< what each file is called so far; none once all have their names
    native_path written_head_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
