// SPDX-License-Identifier: MIT
//
// Any bytes as the manifest of a root of version 2 beside shards that are there (those of tests/corpus/v2/sharded): it
// is refused with a sentence, or opens, mapped and by positional reads alike, and everything can be asked for.
#include "fuzz/every_way.hpp"
#include "fuzz/file_around_2.hpp"
#include "fuzz/fuzzing.hpp"
#include "fuzz/walk.hpp"
#include "fuzz/work_file.hpp"

#include <ztensor/reader.hpp>

#include <filesystem>
#include <string>
#include <vector>

// The digest of a shard is taken in pieces of a MiB.
const std::size_t fuzzing::working_bytes = (std::size_t{4} << 20) + 16 * fuzzing::max_decoded_bytes;

namespace {

constexpr std::uint64_t blobs_end = 4096;

/// The folder that the root is put into.
const fuzzing::work_file& folder_of_shards() {
    static const fuzzing::work_file made;
    static const bool is_filled = [] {
        const std::filesystem::path from = "tests/corpus/v2/sharded";
        for (const auto& each : std::filesystem::directory_iterator(from)) {
            std::filesystem::copy_file(each.path(), made.folder() / each.path().filename());
        }
        return true;
    }();
    fuzzing::require(is_filled, "the shards are there");
    return made;
}

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    const work_file& folder = folder_of_shards();
    folder.write("model.zt", file_around_2(input, blobs_end));
    const std::filesystem::path root = folder.folder() / "model.zt";
    const auto mapped = ztensor::reader::open(root, small_limits().shards(ztensor::shard_lookup::by_digest));
    const auto positional = ztensor::reader::open(
        root, small_limits().shards(ztensor::shard_lookup::by_digest).mode(ztensor::io_mode::positional));
    require(mapped.has_value() == positional.has_value(), "a mapped model and one that is read open alike");
    if (!mapped) {
        require(!mapped.error().what().empty(), "a refusal says why");
        require(mapped.error().code() == positional.error().code(), "they are refused alike");
        return;
    }
    std::size_t count = 0;
    for (const ztensor::object_view object : *mapped) {
        const auto other = positional->find(object.name());
        require(other.has_value(), "an object is in both");
        const auto here = object.read<std::byte>();
        const auto there = other->read<std::byte>();
        require(here.has_value() == there.has_value() && (!here || *here == *there), "positional reads give the same");
        for (const ztensor::component_view component : object) {
            const auto stored = component.bytes();
            require(!stored || stored->size() == component.stored_bytes(), "stored bytes are lent whole");
            static_cast<void>(component.verify());
        }
        walk_layouts(object);
        if (++count == 32) {
            break;
        }
    }
    ask_every_way(*mapped);
    ask_every_way(*positional);
    static_cast<void>(mapped->verify(1));
}
