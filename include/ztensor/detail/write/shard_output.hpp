// SPDX-License-Identifier: MIT
//
// Where blobs go that do not go into the file itself, as its writer sees it: the shards of version 2 are reached
// through this class alone, so that programs which never ask for them hold no code of theirs. SPEC.md section 13.
#ifndef ZTENSOR_DETAIL_WRITE_SHARD_OUTPUT_HPP
#define ZTENSOR_DETAIL_WRITE_SHARD_OUTPUT_HPP

#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/result.hpp>

#include <cstdint>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// All but the last are complete, and none is published before the file itself is complete.
class shard_output {
public:
    virtual ~shard_output() = default;
    shard_output(const shard_output&) = delete;
    shard_output& operator=(const shard_output&) = delete;

    /// Of one shard, unless a single blob takes more.
    [[nodiscard]] virtual std::uint64_t most_bytes() const noexcept = 0;
    [[nodiscard]] virtual std::uint32_t count() const noexcept = 0;
    /// Of the number 1 to count().
    [[nodiscard]] virtual byte_sink& shard(std::uint32_t number) noexcept = 0;
    /// The next one, empty.
    [[nodiscard]] virtual result<void> open_next() = 0;
    /// Publishes them.
    [[nodiscard]] virtual result<void> finish() = 0;
    [[nodiscard]] virtual bool would_destroy(const file& source) const = 0;
    /// What the root's table says of them, at most.
    [[nodiscard]] virtual std::uint64_t most_table_bytes() const noexcept = 0;
    /// The value of the field "shards".
    virtual void encode_table(cbor_encoder& out) const = 0;

protected:
    shard_output() = default;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
