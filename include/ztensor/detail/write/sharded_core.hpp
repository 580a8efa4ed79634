// SPDX-License-Identifier: MIT
//
// The files of a model and their index, written one after the other and named at the end.
#ifndef ZTENSOR_DETAIL_WRITE_SHARDED_CORE_HPP
#define ZTENSOR_DETAIL_WRITE_SHARDED_CORE_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/write/atomic_file.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/detail/write/writer_core.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The files of a model that is written. Of version 2 one writer does all.
class sharded_core {
public:
    sharded_core(const file_path& path, const write_options& options, os_calls& os)
        : path_(path.native()), options_(options), os_(os), process_(process_id()) {
        of_files_ = write_options(options).shard_bytes(0);
        if (options.sync() == sync_level::durable) { // names are made durable at the end
            of_files_.sync(sync_level::atomic);
        }
    }
    sharded_core(const sharded_core&) = delete;
    sharded_core& operator=(const sharded_core&) = delete;
    ~sharded_core() { break_off(); }

    /// Errors: as sharded_writer::create().
    ZTENSOR_COLD result<void> open() {
        ZTENSOR_TRY(check());
        if (is_version_2()) {
            ZTENSOR_TRY_ASSIGN(file_, writer::create(path_, options_));
            return {};
        }
        folder_ = directory_of(path_);
        result<directory> opened = directory::open(folder_, options_.sync() == sync_level::durable, os_);
        if (!opened) {
            return why_no_folder(opened.error());
        }
        in_.emplace(*std::move(opened));
        is_open_ = true;
        return begin_file();
    }

    [[nodiscard]] format_version version() const noexcept { return options_.version(); }
    /// Of the file that is being written, from 1 on.
    [[nodiscard]] size_t file_number() const noexcept { return names_.size(); }

    ZTENSOR_COLD result<void> set_attributes(attributes values) {
        if (!is_version_2()) {
            ZTENSOR_TRY(check_open());
            if (!file_of_.empty()) {
                return fail(errc::invalid_argument, "attributes stand in each of the files, of which some may be "
                                                    "complete: set them before the first object");
            }
            ZTENSOR_TRY(file_->attributes(values));
            attributes_ = std::move(values);
            return {};
        }
        return file_->attributes(std::move(values));
    }
    ZTENSOR_COLD result<void> add_attributes(const attributes_view& more) {
        if (is_version_2()) {
            return file_->add_attributes(more);
        }
        attributes all = attributes_.value_or(attributes());
        all.merge(attributes(more));
        return set_attributes(std::move(all));
    }

    /// The writer of the file that an object of so many bytes goes to; end() says what came of it.
    result<writer*> begin(string_view name, uint64_t bytes) {
        if (is_version_2()) {
            return &*file_;
        }
        ZTENSOR_TRY(check_open());
        if (file_of_.find(name) != file_of_.end()) {
            return fail(errc::duplicate_key, "an object of this name has been written already").in_object(name);
        }
        count_last();
        const abort_on_failure writing(*this);
        if (held_bytes_ != 0 && bytes > options_.shard_bytes() - (std::min)(held_bytes_, options_.shard_bytes())) {
            ZTENSOR_TRY(complete_file());
            ZTENSOR_TRY(begin_file());
        }
        last_bytes_ = bytes;
        last_position_ = section().position();
        pending_ = file_of_.emplace(name, names_.size()).first;
        return writing.done<result<writer*>>(&*file_);
    }

    result<void> end(result<void> added) {
        if (is_version_2()) {
            return added;
        }
        if (added) {
            pending_.reset();
            return added;
        }
        drop_pending();
        if (!section().is_open()) {
            break_off();
        }
        return added;
    }

    ZTENSOR_COLD result<void> finish() {
        if (is_version_2()) {
            return file_->finish();
        }
        ZTENSOR_TRY(check_open());
        count_last();
        const abort_on_failure writing(*this);
        ZTENSOR_TRY(complete_last());
        ZTENSOR_TRY(write_index());
        ZTENSOR_TRY(publish());
        is_open_ = false;
        return writing.done();
    }

    /// Nothing more can come of it, and what was written is removed.
    void break_off() noexcept {
        is_open_ = false;
        file_.reset();
        if (process_ != process_id()) { // a child of the process that writes
            return;
        }
        for (const native_path& name : names_) {
            static_cast<void>(name.empty() || in_->remove(name));
        }
        names_.clear();
        static_cast<void>(index_name_.empty() || in_->remove(index_name_));
        index_name_.clear();
    }

    ZTENSOR_COLD void locate(error& why) const noexcept {
        if (why.path().empty()) {
            why = std::move(why).in_file(path_text(path_)).by_caller();
        }
    }

private:
    using file_numbers = std::map<string, size_t, std::less<>>;

    [[nodiscard]] bool is_version_2() const noexcept { return options_.version() == format_version::v2; }
    [[nodiscard]] section_writer& section() noexcept { return writer_access::core_of(*file_)->file(); }

    ZTENSOR_COLD result<void> check() {
        ZTENSOR_TRY(check_options(is_version_2() ? options_ : of_files_));
        if (options_.shard_bytes() == 0) {
            return fail(errc::invalid_argument, "a bound of 0 bytes leaves no file room for a tensor");
        }
        if (options_.publish() != publish_mode::replace) {
            return fail(errc::invalid_argument, "several files replace old ones, and nothing is written in place");
        }
        ZTENSOR_TRY(check_names_file(path_));
        constexpr string_view ending = ".zt";
        const string name = path_text(native_path(file_name_of(path_)));
        if (name.size() <= ending.size() || name.compare(name.size() - ending.size(), ending.size(), ending) != 0) {
            return fail(errc::invalid_argument, "files are named after a path whose last name ends in \".zt\"");
        }
        if (!is_utf8(name) || name.find_first_of("\\:") != string::npos) {
            return fail(errc::invalid_argument, "an index names its files in UTF-8, without \\ and :");
        }
        stem_ = name.substr(0, name.size() - ending.size());
        return {};
    }

    ZTENSOR_COLD result<void> check_open() {
        if (!is_open_) {
            return writer_core::closed();
        }
        if (!section().is_open()) { // a stream was dropped
            break_off();
            return writer_core::closed();
        }
        drop_pending();
        return writer_access::core_of(*file_)->check_open();
    }

    /// What was begun last and came to nothing: its name is free again.
    void drop_pending() noexcept {
        if (pending_) {
            file_of_.erase(*pending_);
            pending_.reset();
        }
    }

    /// What was begun last has been written by now, and may have been compressed.
    void count_last() noexcept {
        const uint64_t bytes = (std::min)(std::exchange(last_bytes_, 0), section().position() - last_position_);
        held_bytes_ += bytes;
        total_bytes_ += bytes;
    }

    // -- files

    /// A new file that finish() puts under that temporary name.
    ZTENSOR_COLD result<std::unique_ptr<byte_sink>> create_temporary(const native_path& name) {
        ZTENSOR_TRY_ASSIGN(located_file place, in_folder(name));
        auto sink = std::make_unique<file_writer>(path_, of_files_, os_);
        ZTENSOR_TRY(sink->open(std::make_unique<replacing_file>(std::move(place), of_files_.sync())));
        return std::unique_ptr<byte_sink>(std::move(sink));
    }

    [[nodiscard]] result<located_file> in_folder(const native_path& name) const {
        ZTENSOR_TRY_ASSIGN(directory in, directory::open(folder_, options_.sync() == sync_level::durable, os_));
        return located_file{std::move(in), name};
    }

    ZTENSOR_COLD result<void> begin_file() {
        names_.push_back(temporary_name());
        ZTENSOR_TRY_ASSIGN(std::unique_ptr<byte_sink> sink, create_temporary(names_.back()));
        auto* const core = new writer_core(std::move(sink), nullptr, of_files_);
        file_ = writer_access::make(core);
        core->set_path(path_);
        ZTENSOR_TRY(core->begin());
        return attributes_ ? file_->attributes(*attributes_) : result<void>();
    }

    ZTENSOR_COLD result<void> complete_file() {
        held_bytes_ = 0;
        return file_->finish();
    }

    /// The last one, unless all that was to go into it was refused.
    ZTENSOR_COLD result<void> complete_last() {
        const size_t last = names_.size();
        const bool is_used =
            std::any_of(file_of_.begin(), file_of_.end(), [&](const auto& each) { return each.second == last; });
        if (is_used || last == 1) {
            return complete_file();
        }
        file_.reset();
        names_.pop_back();
        return {};
    }

    /// Of a file, from 1 on, once it is known how many there are.
    [[nodiscard]] string name_of(size_t number) const {
        return stem_ + "-" + shard_name(static_cast<uint32_t>(number)) + "-of-" +
               shard_name(static_cast<uint32_t>(names_.size())) + ".zt";
    }
    [[nodiscard]] string name_of_index() const { return stem_ + ".zt.index.json"; }

    // -- index

    ZTENSOR_COLD result<void> write_index() {
        index_name_ = temporary_name();
        ZTENSOR_TRY_ASSIGN(const std::unique_ptr<byte_sink> sink, create_temporary(index_name_));
        string text =
            "{\n  \"metadata\": {\n    \"total_size\": " + std::to_string(total_bytes_) + "\n  },\n  \"weight_map\": {";
        for (const auto& [name, number] : file_of_) {
            text += text.back() == '{' ? "\n    " : ",\n    ";
            append_json_text(text, name);
            text += ": ";
            append_json_text(text, name_of(number));
            ZTENSOR_TRY(sink->write(as_bytes(text)));
            text = " ";
        }
        text = text.back() == '{' ? text + "}\n}\n" : "\n  }\n}\n";
        ZTENSOR_TRY(sink->write(as_bytes(text)));
        return sink->finish();
    }

    // -- publishing

    /// Everything is on the disk, and only names are missing.
    ZTENSOR_COLD result<void> publish() {
        const size_t count = names_.size();
        ZTENSOR_TRY_ASSIGN(const auto index, adopt(name_of_index(), index_name_, options_.sync()));
        ZTENSOR_TRY_ASSIGN(const auto last, adopt(name_of(count), names_.back(), of_files_.sync()));
        ZTENSOR_TRY_ASSIGN(const bool replaces, replaces_files());
        ZTENSOR_TRY(replaces ? make_way() : result<void>());
        for (size_t number = 1; number < count; ++number) {
            ZTENSOR_TRY_ASSIGN(const auto file, adopt(name_of(number), names_[number - 1], of_files_.sync()));
            ZTENSOR_TRY(publish(*file, name_of(number)));
        }
        ZTENSOR_TRY(publish(*last, name_of(count)));
        ZTENSOR_TRY(sync_folder());
        return publish(*index, name_of_index());
    }

    /// What is complete under its temporary name, with the permissions of the file that it is to replace.
    ZTENSOR_COLD result<std::unique_ptr<replacing_file>> adopt(const string& name, native_path& temporary,
                                                               sync_level sync) {
        const native_path native = file_path(name).native();
        ZTENSOR_TRY_ASSIGN(located_file place, in_folder(native));
        auto target = std::make_unique<replacing_file>(std::move(place), sync);
        ZTENSOR_TRY(in_file(target->adopt(std::exchange(temporary, {})), path_of(native)));
        return target;
    }

    ZTENSOR_COLD result<void> publish(replacing_file& target, const string& name) {
        result<void> done = target.publish();
        return in_file(done ? target.sync_name() : std::move(done), path_of(file_path(name).native()));
    }

    [[nodiscard]] string path_of(const native_path& name) const { return path_text(joined_path(folder_, name)); }

    /// Whether any file of an older model is to be replaced. Errors: not_regular_file, io_error.
    ZTENSOR_COLD result<bool> replaces_files() const {
        bool is_any = false;
        for (size_t number = 1; number <= names_.size(); ++number) {
            const native_path name = file_path(name_of(number)).native();
            ZTENSOR_TRY_ASSIGN(const file_status old, in_file(in_->status(name), path_of(name)));
            if (old.kind == file_kind::other) {
                return irregular_file().in_file(path_of(name));
            }
            is_any = is_any || old.kind == file_kind::regular;
        }
        return is_any;
    }

    /// Files of both models are not to be taken for one: until all of the new ones are there, there is no index, and
    /// the last of several files is missing.
    ZTENSOR_COLD result<void> make_way() {
        ZTENSOR_TRY(remove_old(name_of_index()));
        ZTENSOR_TRY(names_.size() > 1 ? remove_old(name_of(names_.size())) : result<void>());
        return sync_folder();
    }
    ZTENSOR_COLD result<void> remove_old(const string& name) {
        const native_path native = file_path(name).native();
        return in_->remove(native) ? result<void>()
                                   : fail(errc::io_error, "can't remove this file of the model that is to be replaced")
                                         .in_file(path_of(native));
    }

    ZTENSOR_COLD result<void> sync_folder() const {
        const std::error_code failure = options_.sync() == sync_level::durable ? in_->sync() : std::error_code();
        return failure ? result<void>(os_failure("can't make sure that names are on the disk", failure))
                       : result<void>();
    }

    native_path path_; ///< as it was given
    native_path folder_;
    string stem_; ///< of the path's last name: without ".zt"
    write_options options_;
    write_options of_files_; ///< what each file is written with
    os_calls& os_;
    uint64_t process_;
    optional<directory> in_; ///< the folder; of version 2 not needed
    bool is_open_ = false;

    optional<writer> file_;     ///< the one that is being written
    vector<native_path> names_; ///< of all files, that one last, so far; "" once published
    native_path index_name_;    ///< likewise
    optional<attributes> attributes_;
    file_numbers file_of_;                     ///< each object's, from 1 on
    optional<file_numbers::iterator> pending_; ///< of what was begun and is not known to have gone in
    uint64_t held_bytes_ = 0;                  ///< of tensors, in the file that is being written
    uint64_t total_bytes_ = 0;                 ///< in all files
    uint64_t last_bytes_ = 0;                  ///< of what was begun last, as it was given
    uint64_t last_position_ = 0;               ///< where that was in the file
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
