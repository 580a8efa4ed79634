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
#include <ztensor/detail/os/system.hpp>
#include <ztensor/detail/write/model_files.hpp>
#include <ztensor/detail/write/writer_core.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The files of a model that is written. Of version 2 one writer does all.
class sharded_core {
public:
    sharded_core(const file_path& path, const write_options& options, os_calls& os)
        : path_(path.native()), options_(options), of_files_(write_options(options).shard_bytes(0)), os_(os) {}
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
        ZTENSOR_TRY_ASSIGN(files_, model_files::hold(path_, file_path(name_of_index()).native(), of_files_, os_));
        is_open_ = true;
        return begin_file();
    }

    [[nodiscard]] format_version version() const noexcept { return options_.version(); }
    /// Of the file that is being written, from 1 on.
    [[nodiscard]] size_t file_number() const noexcept { return file_number_; }

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
        pending_ = file_of_.emplace(name, files_->count()).first;
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
        ZTENSOR_TRY(files_->name_files());
        ZTENSOR_TRY(files_->name_head());
        files_->sweep();
        files_.reset();
        is_open_ = false;
        return writing.done();
    }

    /// Nothing more can come of it, and what was written is removed.
    void break_off() noexcept {
        is_open_ = false;
        file_.reset();
        files_.reset();
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

    ZTENSOR_COLD result<void> begin_file() {
        ++file_number_;
        ZTENSOR_TRY_ASSIGN(std::unique_ptr<byte_sink> sink, files_->create());
        auto* const core = new writer_core(std::move(sink), nullptr, of_files_);
        file_ = writer_access::make(core);
        core->set_path(path_);
        ZTENSOR_TRY(core->begin());
        return attributes_ ? file_->attributes(*attributes_) : result<void>();
    }

    ZTENSOR_COLD result<void> complete_file() {
        held_bytes_ = 0;
        ZTENSOR_TRY(file_->finish());
        file_bytes_.push_back(section().position());
        return {};
    }

    /// The last one, unless all that was to go into it was refused.
    ZTENSOR_COLD result<void> complete_last() {
        const size_t last = files_->count();
        const bool is_used =
            std::any_of(file_of_.begin(), file_of_.end(), [&](const auto& each) { return each.second == last; });
        if (is_used || last == 1) {
            return complete_file();
        }
        file_.reset();
        files_->drop_last();
        return {};
    }

    // -- index

    [[nodiscard]] string name_of_index() const { return stem_ + ".zt.index.json"; }

    /// What it says of each file lets readers tell another one from it: see read_shard_index().
    ZTENSOR_COLD result<void> write_index() {
        ZTENSOR_TRY_ASSIGN(const std::unique_ptr<byte_sink> sink, files_->create_head());
        string text =
            "{\n  \"metadata\": {\n    \"total_size\": " + std::to_string(total_bytes_) + ",\n    \"file_sizes\": {";
        const auto add = [&](string_view key) {
            text += text.back() == '{' ? "\n    " : ",\n    ";
            append_json_text(text, key);
            text += ": ";
        };
        for (size_t i = 0; i < file_bytes_.size(); ++i) {
            add(files_->name(i + 1));
            text += std::to_string(file_bytes_[i]);
        }
        text += "\n    }\n  },\n  \"weight_map\": {";
        for (const auto& [name, number] : file_of_) {
            add(name);
            append_json_text(text, files_->name(number));
            ZTENSOR_TRY(sink->write(as_bytes(text)));
            text = " ";
        }
        text = text.back() == '{' ? text + "}\n}\n" : "\n  }\n}\n";
        ZTENSOR_TRY(sink->write(as_bytes(text)));
        return sink->finish();
    }

    native_path path_; ///< as it was given
    string stem_;      ///< of the path's last name: without ".zt"
    write_options options_;
    write_options of_files_; ///< what each file is written with
    os_calls& os_;
    std::unique_ptr<model_files> files_; ///< null once all is over, and of version 2
    bool is_open_ = false;

    optional<writer> file_;       ///< the one that is being written
    size_t file_number_ = 0;      ///< of that one, from 1 on
    vector<uint64_t> file_bytes_; ///< of each file that is complete
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
