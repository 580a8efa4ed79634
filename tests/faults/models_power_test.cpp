// SPDX-License-Identifier: MIT
//
// What a power cut leaves of a model in many files that takes the place of an older one.
#include "faults/memory_disk.hpp"
#include "faults/power_cuts.hpp"
#include "support/catch.hpp"
#include "write/models_saved.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace {

namespace models_power {

using faults::disk_image;
using faults::memory_disk;
using faults::native_path;
using models_saved::head_of;
using models_saved::options_of;
using ztensor::format_version;
using ztensor::sync_level;

/// Its files under their names, on a disk of their own.
disk_image settled(const disk_image& image) {
    disk_image alone;
    for (const auto& [name, file] : image.names) {
        alone.put(name, image.files[file]);
    }
    return alone;
}

/// Whether every file of the model is there as it was.
bool holds(const disk_image& left, const disk_image& model) {
    for (const auto& [name, file] : model.names) {
        const std::string* const found = left.find(name);
        if (found == nullptr || *found != model.files[file]) {
            return false;
        }
    }
    return true;
}

/// How many states hold neither model; counts all in `states`.
std::size_t broken_states(format_version version, sync_level sync, std::size_t& states) {
    const auto options = options_of(version).sync(sync);
    memory_disk first({});
    models_saved::save("m.zt", options, 1, 2, first).value();
    const disk_image old_model = settled(first.image());
    memory_disk disk(old_model);
    models_saved::save("m.zt", options, 2, 3, disk).value();
    const disk_image new_model = settled(disk.image());
    const native_path head = ztensor::file_path(head_of(version)).native();
    REQUIRE(new_model.names.size() == 4);
    std::mt19937_64 random(1);
    std::size_t broken = 0;
    for (std::size_t cut = 0; cut <= disk.journal().size(); ++cut) {
        const bool must_be_new = sync == sync_level::durable && cut == disk.journal().size();
        const faults::power_cut after(old_model, disk.journal(), cut);
        const bool is_small = after.state_count() <= 64;
        for (std::uint64_t i = 0; i < (is_small ? after.state_count() : 48); ++i, ++states) {
            const disk_image left = is_small ? after.state(i) : after.random_state(random);
            const std::string* const found = left.find(head);
            const bool is_old = found != nullptr && *found == *old_model.find(head) && holds(left, old_model);
            const bool is_new = found != nullptr && *found == *new_model.find(head) && holds(left, new_model);
            broken += is_new || (is_old && !must_be_new) ? 0u : 1u;
        }
    }
    return broken;
}

} // namespace models_power

} // namespace

TEST_CASE("after a power cut at any moment a model in many files is the whole old or the whole new one") {
    using namespace models_power;
    for (const format_version version :
         {format_version::v0_1, format_version::v1_1, format_version::v1_2, format_version::v2}) {
        for (const sync_level sync : {sync_level::durable, sync_level::atomic}) {
            CAPTURE(static_cast<int>(version), static_cast<int>(sync));
            std::size_t states = 0;
            CHECK(broken_states(version, sync, states) == 0);
            CHECK(states > 500);
        }
    }
    std::size_t states = 0;
    CHECK(broken_states(format_version::v1_2, sync_level::none, states) != 0); // which shows that it would be found
}
