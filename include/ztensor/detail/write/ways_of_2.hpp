// SPDX-License-Identifier: MIT
//
// What version 2 takes of a writer besides what all versions do, as a table that write_options::version() leads to:
// programs which never ask for a version hold no code of it. SPEC.md section 13.
#ifndef ZTENSOR_DETAIL_WRITE_WAYS_OF_2_HPP
#define ZTENSOR_DETAIL_WRITE_WAYS_OF_2_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/core/stored_component.hpp>
#include <ztensor/detail/manifest/entries.hpp>
#include <ztensor/detail/write/blob_encoder.hpp>
#include <ztensor/detail/write/shard_output.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/options.hpp>
#include <ztensor/result.hpp>
#include <ztensor/store.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

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
