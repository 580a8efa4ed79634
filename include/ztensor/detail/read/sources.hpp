// SPDX-License-Identifier: MIT
//
// The library's own sources of bytes: files, memory, ranges of others, and several in one row. They know nothing of
// what the bytes mean.
#ifndef ZTENSOR_DETAIL_READ_SOURCES_HPP
#define ZTENSOR_DETAIL_READ_SOURCES_HPP

#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/os/memory.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Of two sizes, of which at least one is of memory.
[[nodiscard]] constexpr size_t smaller_size(uint64_t a, uint64_t b) noexcept {
    return static_cast<size_t>(a < b ? a : b);
}

// -- source access
//
// Which bytes of a source stay as they are: the one place for the difference between memory that was lent for reading,
// or a file of which the caller promised it, and another mapped file, which others may write to and cut off.

/// Between two ranges of a file: a call takes as long as reading so much into memory that the cache keeps.
inline constexpr uint64_t most_gap_bytes = uint64_t{8} << 10;

/// From so many bytes on the system is asked whether they are in its cache.
inline constexpr uint64_t cold_bytes = uint64_t{8} << 20;
/// So many reads at once keep a disk busy, whatever the number of processors.
inline constexpr unsigned reads_at_once = 16;

struct source_access {
    /// The range where it lies, if what is looked at there twice is the same both times. Else nothing: what is to be
    /// checked, hashed or decoded is then read into memory of our own.
    [[nodiscard]] static optional<bytes_view> stable_range(const byte_source& source, uint64_t offset,
                                                           uint64_t length) noexcept {
        return source.range_in_memory(offset, length, true);
    }
    /// The same, if the source says that all of it is still there. Errors: those of byte_source::check_unchanged().
    static result<optional<bytes_view>> find_stable_range(const byte_source& source, uint64_t offset, uint64_t length) {
        const optional<bytes_view> range = stable_range(source, offset, length);
        ZTENSOR_TRY(range ? source.check_unchanged() : result<void>());
        return range;
    }
    /// The range where it lies, which may be a mapped file.
    [[nodiscard]] static optional<bytes_view> mapped_range(const byte_source& source, uint64_t offset,
                                                           uint64_t length) noexcept {
        return source.range_in_memory(offset, length, false);
    }
    /// Something of it can be viewed.
    [[nodiscard]] static bool is_mapped(const byte_source& source) noexcept {
        return source.size() != 0 && mapped_range(source, 0, 1);
    }
    /// The file that all bytes lie in, at the same offsets; null if there is none.
    [[nodiscard]] static const file* file_of(const byte_source& source) noexcept { return source.as_file(); }
    /// Which file it is, if it is one that is not always open.
    [[nodiscard]] static bool identify(const byte_source& source, uint64_t& device, uint64_t& file_id) noexcept {
        return source.identify(device, file_id);
    }
    /// Read by calls of the system, each of which costs as much as copying a few pages.
    [[nodiscard]] static bool is_file(const byte_source& source) noexcept { return source.reads_files(); }
    /// The source that reads ahead and holds the range, and the range's begin in it; null if there is none.
    [[nodiscard]] static const far_source* far_at(const byte_source& source, uint64_t& offset,
                                                  uint64_t length) noexcept {
        return source.far_at(offset, length);
    }
    [[nodiscard]] static bool is_far(const byte_source& source, uint64_t offset, uint64_t length) noexcept {
        return source.far_at(offset, length) != nullptr;
    }
    /// A large range of a file that would have to be fetched from the disk: many reads at once take less time.
    [[nodiscard]] static bool is_cold(const byte_source& source, uint64_t offset, uint64_t length) noexcept {
        const file* const from = length >= cold_bytes && is_file(source) ? file_of(source) : nullptr;
        return from != nullptr && from->is_cold(offset, length);
    }
    /// Better read in one piece than in several.
    [[nodiscard]] static bool is_made(const byte_source& source, uint64_t offset, uint64_t length) noexcept {
        return source.is_made(offset, length);
    }
};

// -- sources
//
// The library's own sources of bytes: a file, mapped or not, and memory. Know nothing of what the bytes mean.

/// In the place of a source that was asked for.
[[nodiscard]] ZTENSOR_COLD inline error no_source() {
    return fail(errc::invalid_argument, "there is no source: the pointer is null");
}

/// `length` bytes at `offset` of a source of `size` bytes, or errc::out_of_bounds.
ZTENSOR_COLD inline result<void> check_range(uint64_t offset, uint64_t length, uint64_t size) {
    if (fits(offset, length, size)) {
        return {};
    }
    return fail(errc::out_of_bounds, "{} bytes were asked for, of a source that holds {}", {length, size}).at(offset);
}

/// A file, mapped or not, that is open or can be opened again. read_at() never goes through the mapping, so that it
/// reports errors and truncation where touching the mapping would end the process. The mapping is made when it is first
/// asked for: mapping and unmapping a file takes longer than opening one of 300 tensors.
class path_source : public byte_source {
public:
    ~path_source() override {
        if (const bytes_view all = mapped_before(); !all.empty()) {
            const mapping unmapped(os_, all);
        }
    }

    [[nodiscard]] uint64_t size() const noexcept override { return size_bytes_; }
    /// Where a request takes time, many of them at once.
    [[nodiscard]] read_preferences preferences() const noexcept override {
        read_preferences best;
        best.request_bytes = size_t{1} << 20;
        best.requests_in_flight = takes_time_ ? 32 : 1;
        return best;
    }

    result<void> read_at(uint64_t offset, span<byte> destination) const override {
        result<void> read = check_range(offset, destination.size(), size_bytes_);
        if (read) {
            read = read_file(offset, destination);
        }
        return read ? read : std::move(read).error().in_file(path_);
    }

    [[nodiscard]] bytes_view mapped() const noexcept override {
        if (mapping_.load(std::memory_order_acquire) == nullptr) {
            static_cast<void>(map());
        }
        return mapped_before();
    }
    /// Maps the file. Threads that meet here map it each, and all but the first undo that. Errors: unmappable, and
    /// those of opening it.
    ZTENSOR_COLD result<void> map() const noexcept {
        result<mapping> made = guard_memory([&]() -> result<mapping> {
            const result<std::shared_ptr<const file>> opened = held();
            return opened ? (*opened)->map() : opened.error();
        });
        const byte* before = nullptr;
        const byte* const now = made && !made->bytes().empty() ? made->bytes().data() : &nothing;
        if (mapping_.compare_exchange_strong(before, now, std::memory_order_acq_rel) && now != &nothing) {
            made->release();
        }
        return made ? result<void>() : std::move(made).error();
    }

    ZTENSOR_COLD result<void> check_unchanged() const override {
        const result<std::shared_ptr<const file>> opened = held();
        result<void> same = opened ? (*opened)->check_size() : opened.error();
        return same ? same : std::move(same).error().in_file(path_);
    }

    ZTENSOR_COLD void prefetch(uint64_t offset, uint64_t length) const noexcept override {
        advise(offset, length, true);
    }
    ZTENSOR_COLD void evict(uint64_t offset, uint64_t length) const noexcept override {
        if (const bytes_view all = mapped_before(); !all.empty()) {
            forget_pages(all, offset, length);
        }
        advise(offset, length, false);
    }

protected:
    /// `path` is for messages only. Nothing is mapped before somebody asks, and never if requests take time.
    path_source(os_reading& os, uint64_t size_bytes, const read_options& options, string path, bool takes_time)
        : os_(os), size_bytes_(size_bytes), path_(std::move(path)), is_stable_(options.is_stable_file()),
          drops_behind_(options.drops_behind()), takes_time_(takes_time),
          mapping_(options.mode() != io_mode::positional && !takes_time ? nullptr : &nothing) {}

    /// What is mapped so far: empty where the file can't be mapped, too.
    [[nodiscard]] bytes_view mapped_before() const noexcept {
        const byte* const first = mapping_.load(std::memory_order_acquire);
        return first != nullptr && first != &nothing ? bytes_view(first, static_cast<size_t>(size_bytes_))
                                                     : bytes_view();
    }

private:
    static constexpr byte nothing{}; ///< its address stands for a file that can't be mapped, or should not be

    /// The file, which stays open as long as it is held. Errors: file_changed if it is another one by now; what the
    /// system says.
    virtual result<std::shared_ptr<const file>> held() const = 0;

    result<void> read_file(uint64_t offset, span<byte> destination) const {
        const result<std::shared_ptr<const file>> opened = held();
        result<void> read = opened ? (*opened)->read_at(offset, destination) : opened.error();
        if (drops_behind_) { // with what was read before: the system's units are larger than pieces, and forgotten
                             // whole
            const uint64_t before = (std::min)(offset, uint64_t{2} << 20);
            evict(offset - before, before + destination.size());
        }
        return read;
    }
    void advise(uint64_t offset, uint64_t length, bool is_wanted) const noexcept {
        static_cast<void>(guard_memory([&]() -> result<void> {
            ZTENSOR_TRY_ASSIGN(const std::shared_ptr<const file> opened, held());
            opened->advise(offset, length, is_wanted);
            return {};
        }));
    }

    [[nodiscard]] bool is_stable() const noexcept override { return is_stable_; }

    os_reading& os_;
    uint64_t size_bytes_;
    string path_;
    bool is_stable_;                           ///< read_options::stable_file()
    bool drops_behind_;                        ///< read_options::drop_behind()
    bool takes_time_;                          ///< each request goes to a disk or to another machine
    mutable std::atomic<const byte*> mapping_; ///< its first byte; null before it is asked for
};

/// A file that is open as long as this.
class file_source final : public path_source {
public:
    file_source(file content, const read_options& options, string path, bool takes_time = false)
        : path_source(content.os(), content.size_bytes(), options, std::move(path), takes_time),
          file_(std::move(content)) {
        if (options.is_direct()) {
            file_.read_uncached();
        }
    }

private:
    result<std::shared_ptr<const file>> held() const override {
        return std::shared_ptr<const file>(std::shared_ptr<void>(), &file_);
    }
    [[nodiscard]] const file* as_file() const noexcept override { return &file_; }

    file file_;
};

/// A container in memory: the caller's, which must outlive the source, or its own.
class memory_source final : public byte_source {
public:
    explicit memory_source(bytes_view borrowed) noexcept : bytes_(borrowed) {}
    explicit memory_source(vector<byte> owned) noexcept : owned_(std::move(owned)), bytes_(owned_) {}

    [[nodiscard]] uint64_t size() const noexcept override { return bytes_.size(); }

    result<void> read_at(uint64_t offset, span<byte> destination) const override {
        ZTENSOR_TRY(check_range(offset, destination.size(), size()));
        const bytes_view asked = bytes_.subspan(static_cast<size_t>(offset), destination.size());
        std::copy(asked.begin(), asked.end(), destination.begin());
        return {};
    }

    [[nodiscard]] bytes_view mapped() const noexcept override { return bytes_; }

private:
    vector<byte> owned_;
    bytes_view bytes_;
};

/// Each request of the file goes to a disk or to another machine, unless its mapping was asked for.
[[nodiscard]] inline bool takes_time_to_read(const file& content, const read_options& options) noexcept {
    return options.mode() != io_mode::mapped && (options.is_direct() || content.is_remote());
}

/// An open file, reached as mode() and stable_file() of the options say. Errors: unmappable.
ZTENSOR_COLD inline result<std::shared_ptr<const byte_source>> source_of_file(file content, const read_options& options,
                                                                              const native_path& path) {
    const bool is_slow = takes_time_to_read(content, options);
    auto source = std::make_shared<file_source>(std::move(content), options, path_text(path), is_slow);
    if (options.mode() == io_mode::mapped) {
        ZTENSOR_TRY(source->map());
    }
    return source;
}

/// The file at `path`, reached as mode() and stable_file() of the options say. io_mode::automatic falls back to
/// positional reads for any reason that keeps the system from mapping: no support in the file system, no room in the
/// address space.
///
/// Fails with errc::file_not_found, errc::not_regular_file, errc::io_error, or errc::unmappable where
/// io_mode::mapped can't be had.
ZTENSOR_COLD inline result<std::shared_ptr<const byte_source>>
open_source(const file_path& path, const read_options& options, os_reading& os = operating_system_for_reading()) {
    const native_path native = path.native();
    result<file> opened = file::open(native, os);
    result<std::shared_ptr<const byte_source>> source =
        opened ? source_of_file(*std::move(opened), options, native) : std::move(opened).error();
    return source ? std::move(source) : std::move(source).error().in_file(path_text(native));
}

// -- range source
//
// A range of another source, as a source of its own: of a file that lies in a file.

class range_source final : public byte_source {
public:
    range_source(std::shared_ptr<const byte_source> whole, uint64_t begin, uint64_t size) noexcept
        : whole_(std::move(whole)), begin_(begin), size_(size) {}

    [[nodiscard]] uint64_t size() const noexcept override { return size_; }
    result<void> read_at(uint64_t offset, span<byte> destination) const override {
        result<void> inside = check_range(offset, destination.size(), size_);
        return inside ? whole_->read_at(begin_ + offset, destination) : inside;
    }

private:
    [[nodiscard]] const far_source* far_at(uint64_t& offset, uint64_t length) const noexcept override {
        offset += begin_;
        return source_access::far_at(*whole_, offset, length);
    }

    std::shared_ptr<const byte_source> whole_;
    uint64_t begin_;
    uint64_t size_;
};

// -- assembled source
//
// Ranges of several sources, and bytes that are made, as one source.

/// Bytes that stand nowhere as they are. Called from many threads at once.
class made_bytes {
public:
    made_bytes() = default;
    made_bytes(const made_bytes&) = delete;
    made_bytes& operator=(const made_bytes&) = delete;
    virtual ~made_bytes() = default;

    /// Fills all of `destination`, which has exactly as many bytes as were announced, or fails. What it needs besides
    /// it bounds itself.
    virtual result<void> make(span<byte> destination) const = 0;
};

/// Ranges of other sources in one row of offsets. The first file keeps its own, so that what is said of it is said of
/// the whole; the others follow at multiples of 4,096, as shard_record
/// says, with zeros between. Put together by one thread, then never changed.
class assembled_source final : public byte_source {
public:
    /// `max_made_bytes` is read_options::max_decoded_bytes: no range that is made may be larger.
    assembled_source(std::shared_ptr<const byte_source> file, uint64_t max_made_bytes)
        : max_made_bytes_(max_made_bytes), size_(file->size()) {
        parts_.push_back({0, size_, 0, file.get(), nullptr});
        sources_.push_back(std::move(file));
    }

    /// The first file.
    [[nodiscard]] const byte_source& file() const noexcept { return *sources_.front(); }

    /// A further range of one of the sources that are here already, or of another; gives its offset. Errors:
    /// out_of_bounds if it does not lie in that, or if 64 bits can't count all.
    result<uint64_t> add(std::shared_ptr<const byte_source> source, uint64_t offset, uint64_t length) {
        ZTENSOR_TRY(check_range(offset, length, source->size()));
        const result<uint64_t> at = add({0, length, offset, source.get(), nullptr});
        if (at && source != sources_.front() && source != sources_.back()) { // else it is held already
            sources_.push_back(std::move(source));
        }
        return at;
    }

    /// A range of `length` bytes that is made; gives its offset. A length that is more than max_made_bytes is no error
    /// before somebody reads it. Errors: out_of_bounds, if 64 bits can't count all.
    result<uint64_t> add(std::unique_ptr<const made_bytes> made, uint64_t length) {
        const result<uint64_t> at = add({0, length, 0, nullptr, made.get()});
        if (at) {
            made_.push_back(std::move(made));
        }
        return at;
    }

    [[nodiscard]] uint64_t size() const noexcept override { return size_; }

    [[nodiscard]] uint64_t max_made_bytes() const noexcept { return max_made_bytes_; }

    /// Bytes that stay as long as this.
    struct lent_bytes {
        std::shared_ptr<const byte_buffer> of;
        bytes_view bytes;
    };
    /// A range that is made, in memory that the next call for some of the same part gets, too: many views of one
    /// storage make it once. Nothing where the range is not made. Errors: limit_exceeded, if the whole part takes more
    /// than `most_bytes`; out_of_memory; those of making it.
    ZTENSOR_COLD result<optional<lent_bytes>> lend(uint64_t offset, uint64_t length, uint64_t most_bytes) const {
        const part* const from = part_of(offset, length);
        if (from == nullptr || from->source != nullptr) {
            return optional<lent_bytes>();
        }
        ZTENSOR_TRY_ASSIGN(std::shared_ptr<const byte_buffer> whole, make(*from, most_bytes));
        const bytes_view bytes =
            whole->bytes().subspan(static_cast<size_t>(offset - from->begin), static_cast<size_t>(length));
        return optional<lent_bytes>(lent_bytes{std::move(whole), bytes});
    }

    result<void> read_at(uint64_t offset, span<byte> destination) const override {
        ZTENSOR_TRY(check_range(offset, destination.size(), size_));
        for (size_t i = part_at(offset); !destination.empty(); ++i) {
            const part& from = parts_[i];
            const uint64_t skipped = offset - from.begin;
            const uint64_t in_part = skipped < from.length ? from.length - skipped : 0;
            const auto count = smaller_size(in_part, destination.size());
            if (count != 0) {
                ZTENSOR_TRY(read_part(from, skipped, destination.first(count)));
            }
            const uint64_t end = i + 1 < parts_.size() ? parts_[i + 1].begin : size_;
            const auto zeros = smaller_size(end - (offset + count), destination.size() - count);
            std::fill_n(destination.data() + count, zeros, byte{0});
            destination = destination.subspan(count + zeros);
            offset += count + zeros;
        }
        return {};
    }

    result<void> check_unchanged() const override {
        for (const std::shared_ptr<const byte_source>& each : sources_) {
            ZTENSOR_TRY(each->check_unchanged());
        }
        return {};
    }

    void prefetch(uint64_t offset, uint64_t length) const noexcept override {
        if (const part* const from = part_of(offset, length); from != nullptr && from->source != nullptr) {
            from->source->prefetch(from->there(offset), length);
        }
    }
    void evict(uint64_t offset, uint64_t length) const noexcept override {
        if (const part* const from = part_of(offset, length); from != nullptr && from->source != nullptr) {
            from->source->evict(from->there(offset), length);
        }
    }

private:
    struct part {
        uint64_t begin; ///< here
        uint64_t length;
        uint64_t offset;           ///< in the source
        const byte_source* source; ///< null: it is made
        const made_bytes* made;

        /// In the source, of an offset in this.
        [[nodiscard]] uint64_t there(uint64_t here) const noexcept { return offset + (here - begin); }
    };

    /// What was made, to be read piece by piece.
    struct kept {
        const made_bytes* of;
        std::shared_ptr<const byte_buffer> bytes;
    };
    static constexpr uint64_t most_kept_bytes = uint64_t{64} << 20; ///< besides, one range that is larger

    result<uint64_t> add(part added) {
        const optional<uint64_t> begin = checked_align(size_, shard_alignment);
        const optional<uint64_t> end = begin ? checked_add(*begin, added.length) : std::nullopt;
        if (!end) {
            return fail(errc::out_of_bounds, "the parts of the file are together more than 64 bits can count");
        }
        added.begin = *begin;
        parts_.push_back(added);
        size_ = *end;
        return added.begin;
    }

    /// The last part that begins there or before.
    [[nodiscard]] size_t part_at(uint64_t offset) const noexcept {
        const auto behind = std::upper_bound(parts_.begin(), parts_.end(), offset,
                                             [](uint64_t wanted, const part& each) { return wanted < each.begin; });
        return static_cast<size_t>(behind - parts_.begin()) - 1;
    }
    /// The part that the whole range lies in, or null.
    [[nodiscard]] const part* part_of(uint64_t offset, uint64_t length) const noexcept {
        const part& found = parts_[part_at(offset)];
        return fits(offset - found.begin, length, found.length) ? &found : nullptr;
    }

    result<void> read_part(const part& from, uint64_t at, span<byte> destination) const {
        if (from.source != nullptr) {
            return from.source->read_at(from.offset + at, destination);
        }
        if (destination.size() == from.length && find_kept(from.made) == nullptr) { // straight into its place
            return from.made->make(destination);
        }
        ZTENSOR_TRY_ASSIGN(const std::shared_ptr<const byte_buffer> whole, make(from, max_made_bytes_));
        std::memcpy(destination.data(), whole->data() + at, destination.size());
        return {};
    }

    /// All of a part. Threads that meet here make it each.
    result<std::shared_ptr<const byte_buffer>> make(const part& from, uint64_t most_bytes) const {
        if (from.length > most_bytes) {
            return fail(errc::limit_exceeded,
                        "the component takes {} bytes, more than the {} of read_options::max_decoded_bytes",
                        {from.length, max_made_bytes_});
        }
        if (std::shared_ptr<const byte_buffer> before = find_kept(from.made)) {
            return before;
        }
        auto bytes = std::make_shared<byte_buffer>();
        if (!fits_address_space(from.length) || !bytes->allocate(static_cast<size_t>(from.length))) {
            return fail(errc::out_of_memory, "no memory for a component of {} bytes", {from.length});
        }
        ZTENSOR_TRY(from.made->make(bytes->writable_bytes()));
        keep(from.made, bytes);
        return std::shared_ptr<const byte_buffer>(std::move(bytes));
    }

    [[nodiscard]] std::shared_ptr<const byte_buffer> find_kept(const made_bytes* wanted) const {
        const os_lock lock(mutex_);
        for (const kept& each : kept_) {
            if (each.of == wanted) {
                return each.bytes;
            }
        }
        return nullptr;
    }

    /// The newest stay; and so does the newest of those that are too large for that, since what is gathered of such a
    /// range is kept after it.
    void keep(const made_bytes* of, std::shared_ptr<const byte_buffer> bytes) const {
        const os_lock lock(mutex_);
        kept_.insert(kept_.begin(), {of, std::move(bytes)});
        uint64_t left = most_kept_bytes;
        bool has_large = false;
        const auto goes = [&](const kept& each) {
            const uint64_t size = each.bytes->size();
            if (size > most_kept_bytes) {
                return std::exchange(has_large, true);
            }
            const bool fits_in = size <= left;
            left = fits_in ? left - size : 0;
            return !fits_in;
        };
        kept_.erase(std::remove_if(kept_.begin(), kept_.end(), goes), kept_.end());
    }

    [[nodiscard]] optional<bytes_view> range_in_memory(uint64_t offset, uint64_t length,
                                                       bool must_stay) const noexcept override {
        const part* const from = part_of(offset, length);
        if (from == nullptr || from->source == nullptr) {
            return std::nullopt;
        }
        return must_stay ? source_access::stable_range(*from->source, from->there(offset), length)
                         : source_access::mapped_range(*from->source, from->there(offset), length);
    }
    [[nodiscard]] bool reads_files() const noexcept override {
        return std::any_of(sources_.begin(), sources_.end(),
                           [](const auto& each) { return source_access::is_file(*each); });
    }
    [[nodiscard]] const far_source* far_at(uint64_t& offset, uint64_t length) const noexcept override {
        const part* const from = part_of(offset, length);
        if (from == nullptr || from->source == nullptr) {
            return nullptr;
        }
        offset = from->there(offset);
        return source_access::far_at(*from->source, offset, length);
    }
    [[nodiscard]] bool is_made(uint64_t offset, uint64_t length) const noexcept override {
        const part* const from = part_of(offset, length);
        return from != nullptr && from->source == nullptr;
    }

    uint64_t max_made_bytes_;
    uint64_t size_;
    vector<part> parts_; ///< by their begin
    vector<std::shared_ptr<const byte_source>> sources_;
    vector<std::unique_ptr<const made_bytes>> made_;
    mutable os_mutex mutex_;
    mutable vector<kept> kept_; ///< from the newest on
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
