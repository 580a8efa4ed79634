// SPDX-License-Identifier: MIT
//
// What opens is copied in its own version, read, and copied once more: the second copy is the first, byte for byte.
#include "fuzz/fuzzing.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <vector>

const std::size_t fuzzing::working_bytes = std::size_t{16} << 20; // compressors have large tables

namespace {

/// Nothing if something can't be said in that version.
std::vector<std::byte> copied(const ztensor::reader& from, ztensor::format_version version, bool reencodes) {
    ztensor::writer to = ztensor::writer::to_memory(ztensor::write_options().version(version).threads(1)).value();
    const auto done = ztensor::copy(from, to, ztensor::copy_options().reencode(reencodes));
    if (!done || !to.finish()) {
        return {};
    }
    return to.take_bytes();
}

void check_same_objects(const ztensor::reader& before, const ztensor::reader& after) {
    fuzzing::require(before.size() == after.size(), "a copy has as many objects");
    std::size_t count = 0;
    for (const ztensor::object_view object : before) {
        const auto other = after.find(object.name());
        fuzzing::require(other.has_value(), "every name is in the copy");
        fuzzing::require(other->shape() == object.shape(), "shapes are kept");
        if (const auto bools = object.read<bool>()) { // of which 0.1 lets any byte but 0 stand for true
            const auto copied_bools = other->read<bool>();
            fuzzing::require(copied_bools && *copied_bools == *bools, "bools are kept");
        } else if (const auto data = object.data(); data && !data->is_big_endian()) { // a copy turns those around
            const auto one = data->read<std::byte>();
            const auto two = other->read<std::byte>();
            fuzzing::require(!one || (two && *one == *two), "bytes are kept");
        }
        if (++count == 16) {
            return;
        }
    }
}

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    const own_copy content(input);
    const auto file = ztensor::reader::from_bytes(content.bytes(), small_limits());
    if (!file) {
        return;
    }
    for (const ztensor::format_version version :
         {ztensor::format_version::v1_2, ztensor::format_version::v1_1, ztensor::format_version::v0_1}) {
        const std::vector<std::byte> once = copied(*file, version, false);
        if (once.empty()) {
            continue;
        }
        const auto first = ztensor::reader::from_bytes(ztensor::bytes_view(once), small_limits());
        require(first.has_value(), "a copy opens", first ? std::string() : std::string(first.error().what()));
        if (version == ztensor::format_version::v1_2) {
            check_same_objects(*file, *first);
        }
        require(copied(*first, version, false) == once, "a copy of a copy is that copy");
        static_cast<void>(copied(*first, version, true));
    }
}
