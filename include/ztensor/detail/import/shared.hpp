// SPDX-License-Identifier: MIT
//
// What importers share: names and paths, tables and shapes, other files that a file says its data lies in, and how what
// was imported is handed over.
#ifndef ZTENSOR_DETAIL_IMPORT_SHARED_HPP
#define ZTENSOR_DETAIL_IMPORT_SHARED_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/output_file.hpp>
#include <ztensor/detail/os/tasks.hpp>
#include <ztensor/detail/read/siblings.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/format.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- names and paths

/// A name that leads nowhere else: UTF-8, relative, without `..`.
[[nodiscard]] inline bool is_plain_path(string_view name) noexcept {
    if (name.empty() || name.size() > max_name_bytes || name[0] == '/' || !is_utf8(name) ||
        name.find_first_of(string_view("\\\0", 2)) != std::string_view::npos) {
        return false;
    }
    while (!name.empty()) {
        if (take_until(name, '/') == "..") {
            return false;
        }
    }
    return true;
}

/// Likewise on every system: no drive of Windows, nor a stream of a file there.
[[nodiscard]] inline bool is_path_below(string_view name) noexcept {
    return is_plain_path(name) && name.find(':') == std::string_view::npos;
}

/// What macOS keeps beside a file where the file system has no place for it: it is called "._" and as the file.
[[nodiscard]] inline bool is_of_macos(string_view path) noexcept {
    const string_view name = path.substr(path.find_last_of('/') + 1);
    return name.substr(0, 2) == "._";
}

// -- numbered names

/// The name of a file that is a part of a model, such as "model-00002-of-00003.safetensors", taken apart.
struct numbered_name {
    string_view before; ///< "model-"
    string_view number; ///< "00002"; nine digits at most, as of the next
    string_view of;     ///< "-of-"
    string_view count;  ///< "00003"
    string_view after;  ///< ".safetensors"

    /// Nothing if the name is none of a part.
    [[nodiscard]] ZTENSOR_COLD static optional<numbered_name> parse(string_view name) noexcept {
        constexpr size_t most_digits = 9;
        constexpr string_view digits = "0123456789";
        for (const string_view of : {"-of-", "_of_"}) {
            const size_t at = name.rfind(of);
            if (at == std::string_view::npos) {
                continue;
            }
            const string_view front = name.substr(0, at), back = name.substr(at + of.size());
            const size_t begin = front.find_last_not_of(digits) + 1; // 0 where there is nothing else
            const size_t end = (std::min)(back.find_first_not_of(digits), back.size());
            const numbered_name found = {front.substr(0, begin), front.substr(begin), of, back.substr(0, end),
                                         back.substr(end)};
            const bool stands_alone = begin == 0 || found.before.find_last_of("-_.") == begin - 1;
            const bool has_numbers = !found.number.empty() && !found.count.empty() &&
                                     found.number.size() <= most_digits && found.count.size() <= most_digits;
            if (stands_alone && has_numbers) {
                return found;
            }
        }
        return std::nullopt;
    }

    /// What the part is called that has these digits in place of the number.
    [[nodiscard]] string name_of(string_view digits) const {
        return string(before) += string(digits) + string(of) + string(count) + string(after);
    }
};

inline constexpr size_t gguf_part_digits = 5;

/// The name of one of the GGUF files of a model, NAME-00001-of-00003.gguf; nothing for a name of another form.
[[nodiscard]] inline optional<numbered_name> parse_gguf_part(string_view file_name) noexcept {
    const optional<numbered_name> name = numbered_name::parse(file_name);
    const bool is_of_form = name && !name->before.empty() && name->before.back() == '-' && name->of == "-of-" &&
                            name->number.size() == gguf_part_digits && name->count.size() == gguf_part_digits &&
                            name->after.size() == 5 && name->after[0] == '.';
    return is_of_form ? name : std::nullopt;
}

// -- tables and shapes

/// How many elements of `unit` each a shape has, be they bytes or bits. Nothing if 64 bits can't count them.
template <class Dimensions>
[[nodiscard]] optional<uint64_t> count_elements(const Dimensions& dimensions, uint64_t unit = 1) noexcept {
    element_counter counter;
    for (const uint64_t dimension : dimensions) {
        if (!counter.multiply(dimension)) {
            return std::nullopt;
        }
    }
    return checked_multiply(counter.count(), unit);
}

// -- header stream
//
// A header that states nowhere how long it is, read from front to back through a window. Knows no format.

/// Once a take fails, failure() says why, and the header is given up.
class header_stream {
public:
    /// Bytes [begin, end) of `source`, of which a header may take at most `most_bytes`.
    header_stream(const byte_source& source, uint64_t begin, uint64_t end, uint64_t most_bytes) noexcept
        : source_(source), begin_(begin), position_(begin), window_begin_(begin), window_end_(begin), end_(end),
          most_bytes_(most_bytes) {}

    [[nodiscard]] uint64_t position() const noexcept { return position_; }
    [[nodiscard]] uint64_t left() const noexcept { return end_ - position_; }
    [[nodiscard]] error failure() const noexcept { return failure_ ? missing(1) : failure_.error(); }

    /// The next `size` bytes, which stay until the next take.
    [[nodiscard]] bool take(uint64_t size, bytes_view& bytes) {
        if (size > window_end_ - position_ && !refill(size)) {
            return false;
        }
        bytes = {window_.data() + static_cast<size_t>(position_ - window_begin_), static_cast<size_t>(size)};
        position_ += size;
        return true;
    }
    /// The next byte, as a number.
    [[nodiscard]] bool take_byte(uint64_t& value) {
        if (position_ == window_end_ && !refill(1)) {
            return false;
        }
        value = std::to_integer<uint64_t>(window_.data()[static_cast<size_t>(position_ - window_begin_)]);
        ++position_;
        return true;
    }

    /// The next byte, if it is in the window already and less than 128; else nothing is taken.
    [[nodiscard]] bool take_small(uint64_t& value) noexcept {
        if (position_ == window_end_) {
            return false;
        }
        value = std::to_integer<uint64_t>(window_.data()[static_cast<size_t>(position_ - window_begin_)]);
        position_ += value < 0x80 ? 1 : 0;
        return value < 0x80;
    }

    /// Passes over `size` bytes, which are none of the header's.
    [[nodiscard]] bool skip(uint64_t size) {
        if (size > left()) {
            return give_up(missing(size));
        }
        seek(position_ + size);
        return true;
    }

    /// Goes on at any byte of the range, be it one before. What is read again counts again as the header's.
    void seek(uint64_t position) noexcept {
        begin_ += position - position_; // modulo 2^64: what counts is how far it is from the position
        position_ = position;
        if (position < window_begin_ || position > window_end_) {
            window_begin_ = window_end_ = position;
            window_bytes_ = least_window_bytes;
        }
    }

    /// The next `size` bytes, at most 8, as an unsigned number.
    [[nodiscard]] bool take_unsigned(size_t size, bool is_big_endian, uint64_t& value) {
        bytes_view bytes;
        if (!take(size, bytes)) {
            return false;
        }
        value = is_big_endian ? load_big(bytes.data(), size) : load_little(bytes.data(), size);
        return true;
    }

private:
    static constexpr uint64_t least_window_bytes = uint64_t{256} << 10;
    static constexpr uint64_t most_window_bytes = uint64_t{8} << 20;

    [[nodiscard]] ZTENSOR_COLD bool give_up(error why) {
        failure_ = std::move(why);
        return false;
    }
    [[nodiscard]] ZTENSOR_COLD error missing(uint64_t size) const {
        return fail(errc::truncated, "{} more bytes are expected here, but the file ends after {}", {size, left()})
            .at(position_);
    }

    /// The window starts where the next byte is, and holds `size` bytes and more.
    [[nodiscard]] bool refill(uint64_t size) {
        if (size > left()) {
            return give_up(missing(size));
        }
        const uint64_t allowed = most_bytes_ - (position_ - begin_);
        if (size > allowed) {
            return give_up(fail(errc::manifest_too_large,
                                "the header takes more than the {} bytes of read_options::max_manifest_bytes",
                                {most_bytes_}));
        }
        const auto wanted = static_cast<size_t>((std::min)({left(), allowed, (std::max)(size, window_bytes_)}));
        if (source_access::is_far(source_, position_, wanted)) { // a long header takes few trips
            window_bytes_ = (std::min)(2 * window_bytes_, most_window_bytes);
        }
        if (wanted != window_.size() && !window_.allocate(wanted)) {
            return give_up(fail(errc::out_of_memory, "no memory for {} bytes of the header", {wanted}));
        }
        window_begin_ = window_end_ = position_; // of what was there nothing is left
        if (result<void> read = source_.read_at(position_, window_.writable_bytes()); !read) {
            return give_up(std::move(read).error());
        }
        window_begin_ = position_;
        window_end_ = position_ + wanted;
        return true;
    }

    const byte_source& source_;
    uint64_t begin_; ///< less what was passed over
    uint64_t position_;
    uint64_t window_begin_; ///< in the source
    uint64_t window_end_;
    uint64_t end_;
    uint64_t most_bytes_;
    uint64_t window_bytes_ = least_window_bytes; ///< of the next window
    byte_buffer window_;
    result<void> failure_;
};

// -- handing over

/// An index may not become larger while it grows than it may be in the end. `what` is what it is of.
inline result<void> check_index_size(const foreign_index& index, const read_options& options, const char* what) {
    return index.bytes() <= options.max_manifest_bytes()
               ? result<void>()
               : fail(errc::manifest_too_large, "the index of the {} takes more than the {} bytes allowed",
                      {what, options.max_manifest_bytes()});
}

/// Lists what is skipped, as long as the list takes no more than so many bytes: what comes next is only counted.
class bounded_skips {
public:
    bounded_skips(foreign_index& index, uint64_t most_bytes) noexcept : index_(index), left_(most_bytes) {}

    void allow(uint64_t more_bytes) noexcept { left_ += more_bytes; }
    void add(string_view name, string_view where, string why) {
        constexpr uint64_t bytes_each = 256; // of an item besides its texts
        const uint64_t bytes = bytes_each + name.size() + where.size() + why.size();
        if (bytes > left_) {
            ++unlisted_;
            return;
        }
        left_ -= bytes;
        index_.skip(name, where, std::move(why));
    }
    /// After all were added; `what` tells what the number of those is that are not listed.
    void finish(const char* what) {
        if (unlisted_ != 0) {
            index_.skip("", "", std::to_string(unlisted_) + what);
        }
    }

private:
    foreign_index& index_;
    uint64_t left_;
    uint64_t unlisted_ = 0;
};

/// Errors: those of foreign_index::finish().
ZTENSOR_COLD inline result<imported> finish_import(container_kind kind, foreign_index& index,
                                                   std::shared_ptr<const byte_source> source,
                                                   const read_options& options) {
    imported made;
    made.kind = kind;
    made.source = std::move(source);
    ZTENSOR_TRY_ASSIGN(made.index, index.finish(options.max_manifest_bytes()));
    made.skipped = index.take_skipped();
    return made;
}

// -- sibling files

/// The files beside one, by paths that it gives: those that its source brings, or else those in its folder.
class files_beside {
public:
    /// Of a file that was opened as `source`, by the path that the caller gave. Errors: io_error.
    ZTENSOR_COLD static result<files_beside> of(std::shared_ptr<const byte_source> source, const native_path& path,
                                                const read_options& options) {
        result<beneath_folder> folder = folder_beside(*source, path, options);
        if (!folder && !takes_time(*source)) { // else it may have no folder
            return std::move(folder).error();
        }
        files_beside found(directory_of(path));
        found.source_ = std::move(source);
        found.folder_ = folder ? optional<beneath_folder>(*std::move(folder)) : std::nullopt;
        return found;
    }
    /// Of a folder.
    explicit files_beside(beneath_folder folder) : path_(folder.path()), folder_(std::move(folder)) {}

    /// Opening one takes trips to a server, and there may be many of them at once.
    [[nodiscard]] bool are_far() const noexcept { return !folder_; }
    [[nodiscard]] native_path path_of(const native_path& name) const { return joined_path(path_, name); }

    /// The file of that relative path. Errors: file_not_found; those of open_sibling(), and what the source says.
    ZTENSOR_COLD result<std::shared_ptr<const byte_source>> open(const native_path& name,
                                                                 const read_options& options) const {
        if (source_ != nullptr) {
            ZTENSOR_TRY_ASSIGN(std::shared_ptr<const byte_source> brought, source_->open_beside(path_text(name)));
            if (brought != nullptr) {
                return with_read_ahead(std::move(brought), options);
            }
        }
        return folder_ ? open_sibling(*folder_, name, options)
                       : fail(errc::file_not_found, "there is no such file beside it");
    }

private:
    explicit files_beside(native_path path) : path_(std::move(path)) {}

    native_path path_;
    std::shared_ptr<const byte_source> source_;
    optional<beneath_folder> folder_;
};

/// Files that a file says its data lies in. They must lie in its own folder, or below it, whatever the file says: see
/// detail/os/directory.hpp.
class sibling_files {
public:
    sibling_files(const foreign_file& file, assembled_source& all) : file_(file), all_(all) {}

    struct sibling {
        uint64_t begin = 0; ///< in the assembled source
        uint64_t size = 0;
    };

    /// Files that somebody will ask for: where opening one takes trips to a server, several are opened at once, up to
    /// one that fails. Gives how many threads may read them at once.
    unsigned open_ahead(span<const string> locations) {
        if (!look_beside() || !files_->are_far()) {
            return 1;
        }
        vector<optional<opened_source>> opened(locations.size());
        std::atomic<bool> has_failed{false};
        for_each_in_parallel(locations.size(), files_opened_at_once, [&](size_t i) {
            if (!has_failed) {
                opened[i] = open(locations[i]);
                has_failed = has_failed || !*opened[i];
            }
        });
        for (size_t i = 0; i < opened.size(); ++i) {
            if (opened[i]) {
                ahead_.emplace(locations[i], *std::move(opened[i]));
            }
        }
        return files_opened_at_once;
    }

    /// The file of that relative path, opened once. Errors: name_invalid for a path that leads elsewhere, be it through
    /// a symbolic link; those of opening, such as not_regular_file.
    result<sibling> find(const string& location) {
        if (const auto known = known_.find(location); known != known_.end()) {
            return known->second;
        }
        const auto ahead = ahead_.find(location);
        opened_source source = ahead != ahead_.end() ? std::move(ahead->second) : open(location);
        if (!source) {
            const error& why = source.error();
            return fail(why.code(), "data is said to lie in {}: {}", {in_quotes(location), why.sentence()})
                .because(why.os_error());
        }
        sibling found;
        found.size = (*source)->size();
        ZTENSOR_TRY_ASSIGN(const uint64_t begin, all_.add(*std::move(source), 0, found.size));
        found.begin = begin;
        known_.emplace(location, found);
        return found;
    }

private:
    using opened_source = result<std::shared_ptr<const byte_source>>;

    result<void> look_beside() {
        if (file_.path.empty()) {
            return fail(errc::name_invalid, "what was opened lies in no folder");
        }
        if (!files_) {
            ZTENSOR_TRY_ASSIGN(files_beside files, files_beside::of(file_.source, file_.path, file_.options));
            files_ = std::move(files);
        }
        return {};
    }
    opened_source open(string_view location) {
        if (!file_.path.empty() && !is_path_below(location)) {
            return fail(errc::name_invalid, "it is no plain path below the file's folder");
        }
        ZTENSOR_TRY(look_beside());
        return files_->open(file_path(location).native(), file_.options);
    }

    const foreign_file& file_;
    assembled_source& all_;
    optional<files_beside> files_; ///< once somebody asked
    std::map<string, sibling> known_;
    std::map<string, opened_source> ahead_; ///< opened, and not asked for so far
};

// -- hdf5 signature
//
// What shows that a file is HDF5, or an archive of Keras with HDF5 in it. Knows nothing of libhdf5.

/// The entry of an archive that Keras 3 wrote which holds its weights.
inline constexpr string_view keras_weights = "model.weights.h5";

inline constexpr string_view hdf5_signature = "\x89HDF\r\n\x1a\n";

/// The signature stands at 0, or behind a block of the user's, such as that of MATLAB, of 512 bytes or a power of two
/// times that. Errors: what the source says.
ZTENSOR_COLD inline result<bool> has_hdf5_signature(const byte_source& source) {
    constexpr uint64_t least_user_block = 512;
    byte found[hdf5_signature.size()];
    const uint64_t size = source.size();
    for (uint64_t at = 0; size >= sizeof found && at <= size - sizeof found;) {
        ZTENSOR_TRY(source.read_at(at, span<byte>(found)));
        if (as_text(bytes_view(found)) == hdf5_signature) {
            return true;
        }
        if (at > size / 2) {
            break;
        }
        at = at == 0 ? least_user_block : 2 * at;
    }
    return false;
}

/// By what read_options::importer() gives. Errors: foreign_file where it gives nothing.
ZTENSOR_COLD inline result<imported> import_by_option(const foreign_file& file, bool is_keras) {
    if (const import_function given = importer_access::of(file.options)) {
        return given(file);
    }
    constexpr const char* reads = "<ztensor/hdf5.hpp> reads it through libhdf5: by open_hdf5(), or by open_any() with "
                                  "read_options::importer()";
    return fail(errc::foreign_file, "not a zTensor file: it is {}; {}",
                {is_keras ? "a Keras archive, whose weights are an HDF5 file" : "an HDF5 file", reads});
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
