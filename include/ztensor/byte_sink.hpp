// SPDX-License-Identifier: MIT
//
// Where the bytes of a container go: a file that appears all at once, memory, or a class of the user's own.
// Knows nothing of what the bytes mean.
#ifndef ZTENSOR_BYTE_SINK_HPP
#define ZTENSOR_BYTE_SINK_HPP

#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class blob_writer;
class compared_bytes;
class file;
class section_writer;
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

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
