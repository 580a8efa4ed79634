// SPDX-License-Identifier: MIT
//
// Where the bytes of a container come from: a mapped file, positional reads, memory, or a class of the user's own; and
// where they go: a file that appears all at once, memory, or likewise. And what opening read of a file, as a value to
// be sent to others. Knows nothing of what the bytes mean.
#ifndef ZTENSOR_IO_HPP
#define ZTENSOR_IO_HPP

#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

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

class far_source;
class section_writer;
class file;
struct source_access;

} // namespace detail

/// A range of a source, and the memory that its bytes go to.
struct read_request {
    std::uint64_t offset;        ///< of its first byte
    span<std::byte> destination; ///< as many bytes as are wanted
};

/// What one call of byte_source::read_many() is to read. Its members may be called from several threads at once.
class read_requests {
public:
    read_requests(const read_requests&) = delete;
    read_requests& operator=(const read_requests&) = delete;

    /// The next range; nothing if there is none, if there is none for now because what was read before still takes the
    /// memory that there is, or if the call is cancelled. Ranges come about in ascending order, and no two of them are
    /// the same memory.
    [[nodiscard]] virtual std::optional<read_request> next() = 0;

    /// To be called once for each range that next() gave, in any order: it holds the source's bytes, or reading it
    /// failed. The memory is no longer the source's afterwards.
    virtual void complete(const read_request& request, result<void> outcome) = 0;

    /// True once nobody wants the ranges that are under way any more. A source that waits asks now and then, ends them,
    /// and completes them with any error.
    [[nodiscard]] virtual bool is_cancelled() const noexcept { return false; }

protected:
    read_requests() = default;
    ~read_requests() = default;
};

/// How a source is read best. Where a request takes time, what counts is how many are under way at once, whatever the
/// number of processors. A call that reads much holds up to request_bytes * requests_in_flight in memory, beside the
/// destinations.
struct read_preferences {
    std::size_t request_bytes = std::size_t{8} << 20; ///< larger ranges are read in pieces of so many bytes; not 0
    std::size_t gap_bytes = std::size_t{64} << 10; ///< so many bytes between two ranges take less time than a request
    unsigned requests_in_flight = 32;              ///< so many requests at once; 1: reading does not wait
    /// So many of these one call of read_many() has under way; with fewer than requests_in_flight the library calls it
    /// from several threads.
    unsigned requests_per_call = 1;
    /// One call of read_many() reads small neighbours, which next() gives one after the other, by one request into all
    /// their places. Without that the library asks for them together, and copies.
    bool joins_requests = false;
};

/// Bytes at known places: derive from it to read containers out of an archive, a database or a network store.
/// Every member may be called from many threads at once, and the content must not change while a reader uses it.
class byte_source {
    friend class detail::section_writer;
    friend struct detail::source_access;

public:
    virtual ~byte_source() = default;
    byte_source(const byte_source&) = delete;
    byte_source& operator=(const byte_source&) = delete;

    /// Length of the whole content in bytes. The same at every call.
    [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;

    /// Fills all of `destination` with the bytes that start at `offset`, or fails; what `destination` holds after a
    /// failure is never used. The library's own sources fail with errc::out_of_bounds for bytes after the end (a
    /// reader asks for none), errc::file_changed where a file has become shorter, and errc::io_error.
    virtual result<void> read_at(std::uint64_t offset, span<std::byte> destination) const = 0;

    /// Reads what `requests` gives, until it gives no more and all that it gave is complete. A source that can have
    /// many requests under way overrides it and preferences(): it takes more with next() whenever one is complete. This
    /// one calls read_at() for one after the other.
    virtual void read_many(read_requests& requests) const {
        while (const std::optional<read_request> request = requests.next()) {
            requests.complete(*request, read_at(request->offset, request->destination));
        }
    }

    /// How it is read best. The same at every call. Not asked of a source whose bytes are mapped().
    [[nodiscard]] virtual read_preferences preferences() const noexcept { return {}; }

    /// The whole content, where it lies in memory and stays there, unchanged, as long as this source; else empty, and
    /// then no tensor can be viewed without a copy. The library decodes, verifies and checks such bytes where they lie.
    /// (Of its own mapped files it does so only with read_options::stable_file(), because others can change them; views
    /// always look at the mapping.)
    [[nodiscard]] virtual bytes_view mapped() const noexcept { return {}; }

    /// Asked before the mapped bytes are read in bulk. Fails with errc::file_changed if they are fewer than size() by
    /// now, or with errc::io_error. That there are more behind them is no harm. Changes of another kind are not
    /// noticed.
    virtual result<void> check_unchanged() const { return {}; }

    /// Hints about `length` bytes at `offset`: that they will be wanted soon, so that fetching them may begin; and that
    /// they will not be wanted soon, so that nothing need be kept of them. The content stays the same, and nothing is
    /// promised: a source may ignore both, as this one does.
    virtual void prefetch(std::uint64_t /*offset*/, std::uint64_t /*length*/) const noexcept {}
    virtual void evict(std::uint64_t /*offset*/, std::uint64_t /*length*/) const noexcept {}

    /// The data shard of that name and digest ("algorithm:hex"), of a root of version 2 that this source holds: a
    /// source of a model in an object store brings its shards so. Null, as of this one, where there is none: its
    /// elements are then errc::shard_missing when they are read. What is given is checked like a shard in a file; an
    /// error is the reader's.
    virtual result<std::shared_ptr<const byte_source>> open_shard(std::string_view /*name*/,
                                                                  std::string_view /*digest*/) const {
        return std::shared_ptr<const byte_source>();
    }

    /// The file that lies beside this one, by its path from this one's folder, with '/' between its parts: a source of
    /// a model in an object store brings so the files that an index names, the parts of a GGUF model and the data of an
    /// ONNX model. Null, as of this one, where there is none; it is then looked for beside the path that open_any() was
    /// given.
    virtual result<std::shared_ptr<const byte_source>> open_beside(std::string_view /*path*/) const {
        return std::shared_ptr<const byte_source>();
    }

protected:
    byte_source() = default;

private:
    /// The library's own: the file that all bytes lie in, at the same offsets. Null for others.
    [[nodiscard]] virtual const detail::file* as_file() const noexcept { return nullptr; }

    /// The library's own: which file it reads, where as_file() gives none because it is not always open.
    [[nodiscard]] virtual bool identify(std::uint64_t& /*device*/, std::uint64_t& /*file_id*/) const noexcept {
        return false;
    }

    /// What mapped() gives stays as it is. False of the library's own mapped file, unless the caller promised it.
    [[nodiscard]] virtual bool is_stable() const noexcept { return true; }

    // The library's own sources that are put together from others answer these for each range by itself.

    /// The range where it lies in memory, or nothing; with `must_stay` only if what is looked at there twice is the
    /// same both times.
    [[nodiscard]] virtual std::optional<bytes_view> range_in_memory(std::uint64_t offset, std::uint64_t length,
                                                                    bool must_stay) const noexcept {
        const bytes_view all = must_stay && !is_stable() ? bytes_view() : mapped();
        if (length > all.size() || offset > all.size() - length) {
            return std::nullopt;
        }
        return all.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
    }
    /// Some of it is read by calls of the system, each of which costs as much as copying a few pages.
    [[nodiscard]] virtual bool reads_files() const noexcept { return as_file() != nullptr; }
    /// The source of a caller's that the range lies in and that reads ahead, and the range's begin in it; null if there
    /// is none, or the range lies in several.
    [[nodiscard]] virtual const detail::far_source* far_at(std::uint64_t& /*offset*/,
                                                           std::uint64_t /*length*/) const noexcept {
        return nullptr;
    }
    /// The range is made when it is asked for, and reading it piece by piece may mean to make it again each time.
    [[nodiscard]] virtual bool is_made(std::uint64_t /*offset*/, std::uint64_t /*length*/) const noexcept {
        return false;
    }
};

namespace detail {

class blob_writer;
class compared_bytes;
class shard_sink;

} // namespace detail

/// Takes bytes in order and makes them the result in one step at the end: derive from it to write containers into an
/// archive or a network store. One thread at a time calls it. After a failure the writer calls nothing but the
/// destructor, which without a successful finish() must leave no result behind.
class byte_sink {
    friend class detail::blob_writer;
    friend class detail::compared_bytes;
    friend class detail::section_writer;
    friend class detail::shard_sink;

public:
    virtual ~byte_sink() = default;
    byte_sink(const byte_sink&) = delete;
    byte_sink& operator=(const byte_sink&) = delete;

    /// Appends all of `bytes`, which are the caller's again when it returns.
    virtual result<void> write(bytes_view bytes) = 0;

    /// Makes all that was written the result.
    virtual result<void> finish() = 0;

protected:
    byte_sink() = default;

private:
    /// For the library's own: appends up to so many bytes of a file, and gives how many, perhaps none.
    virtual result<std::uint64_t> append_file(const detail::file&, std::uint64_t, std::uint64_t) {
        return std::uint64_t{0};
    }
    /// Likewise: whether writing on would destroy that file, from which bytes are to be copied.
    [[nodiscard]] virtual bool would_destroy(const detail::file&) const { return false; }
    /// Likewise: so many bytes, or a few less, are about to come. Gives in pieces of how many bytes the sink takes them
    /// best.
    virtual std::size_t expect(std::uint64_t) { return std::size_t{1} << 20; }
    /// Likewise: whether these bytes are what was written at `offset`; false where that can't be told any more.
    [[nodiscard]] virtual bool holds(std::uint64_t, bytes_view) { return false; }
};

namespace detail {
struct file_index_access;
} // namespace detail

/// What opening reads of a file: both ends and the index of a .zt file, the header of a file of another format; and
/// which file it is. With it another process opens the same file without reading: see reader::from_index(). A value;
/// copies share their memory.
class file_index {
public:
    /// From bytes that bytes() gave, in this process or in another one of any host. Errors: invalid_argument for any
    /// other bytes.
    static result<file_index> from_bytes(std::vector<std::byte> bytes);
    // No moves: an index that was moved from would hold no bytes, and a copy costs no more than a counter.
    file_index(const file_index&) noexcept = default;
    file_index& operator=(const file_index&) noexcept = default;
    ~file_index() = default;

    /// All of it, to be sent to others. They are understood by the same version of the library.
    [[nodiscard]] bytes_view bytes() const& noexcept { return *bytes_; }
    bytes_view bytes() const&& = delete;
    /// Length of the whole file in bytes.
    [[nodiscard]] std::uint64_t file_bytes() const noexcept;
    /// When the file's content last changed, in nanoseconds since 1970; 0 where that is not known, such as of memory.
    [[nodiscard]] std::int64_t modified_nanoseconds() const noexcept;
    /// Of the bytes that opening read, "crc32c:0x" and 8 digits.
    [[nodiscard]] std::string digest() const;

private:
    friend struct detail::file_index_access;
    explicit file_index(std::shared_ptr<const std::vector<std::byte>> bytes) noexcept : bytes_(std::move(bytes)) {}

    std::shared_ptr<const std::vector<std::byte>> bytes_;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
