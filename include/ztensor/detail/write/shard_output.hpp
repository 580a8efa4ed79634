// SPDX-License-Identifier: MIT
//
// What differs where version 2 is written, to shards or not.
#ifndef ZTENSOR_DETAIL_WRITE_SHARD_OUTPUT_HPP
#define ZTENSOR_DETAIL_WRITE_SHARD_OUTPUT_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/byte_sink.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- shard output
//
// Where blobs go that do not go into the file itself, as its writer sees it: the shards of version 2 are reached
// through this class alone, so that programs which never ask for them hold no code of theirs. SPEC.md section 13.

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

// -- ways of 2
//
// What version 2 takes of a writer besides what all versions do, as a table that write_options::version() leads to:
// programs which never ask for a version hold no code of it. SPEC.md section 13.

class section_writer;
struct blob_content;
struct manifest_content;

struct ways_of_2 {
    /// Whose digest every component has; null where memory runs out.
    blob_digester* (*make_xxh3)();
    result<void> (*encode_or_share)(section_writer& file, const blob_content& content, const store& how,
                                    component_entry& entry);
    result<void> (*copy_or_share)(section_writer& file, const stored_component& stored, component_entry& entry);
    result<std::unique_ptr<shard_output>> (*make_shards)(const file_path& root, const write_options& options);
    /// Attributes whose values will be enclosed by `depth` arrays and maps, in the one form that they have there.
    result<attributes> (*in_one_form)(const attributes& values, std::size_t depth);
    void (*encode_object)(cbor_encoder& out, const object_entry& object);
    result<void> (*write_manifest)(section_writer& file, const manifest_content& content);
    /// Of a name in canonical form.
    result<void> (*check_form_of_name)(std::string_view name);
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
