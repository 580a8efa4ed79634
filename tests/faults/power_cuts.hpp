// SPDX-License-Identifier: MIT
//
// What a disk may hold after a power cut. Of what was not synced each write is there, is not, is there in some sectors
// of 512 bytes only, or has left nothing but its size; each name that was given, moved or taken is there or is not;
// and all of that in any combination. A sync that failed says nothing about what it was to save, and neither does any
// later one.
#ifndef ZTENSOR_TESTS_FAULTS_POWER_CUTS_HPP
#define ZTENSOR_TESTS_FAULTS_POWER_CUTS_HPP

#include "faults/memory_disk.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace faults {

/// The operation as it takes effect where no power is cut.
void apply(const operation& each, disk_image& to);

/// A number by which disks with other names or other contents differ.
[[nodiscard]] std::uint64_t fingerprint(const disk_image& image);

/// The power goes after so many operations of a journal.
class power_cut {
public:
    /// The journal must outlive it.
    power_cut(disk_image before, const std::vector<operation>& journal, std::size_t cut);

    /// How many states state() tells apart: for each write not there, there, its size only, its first sector only,
    /// all but that one.
    [[nodiscard]] std::uint64_t state_count() const noexcept { return state_count_; }
    [[nodiscard]] disk_image state(std::uint64_t index) const;
    /// Any sectors of any write, and sizes without bytes that hold zeros or what lay there before.
    [[nodiscard]] disk_image random_state(std::mt19937_64& random) const;

private:
    struct step {
        const operation* what;
        bool is_certain;
    };

    disk_image base_;         ///< with what comes before all that is uncertain
    std::vector<step> steps_; ///< what is uncertain, and what comes after it
    std::uint64_t state_count_ = 1;
};

} // namespace faults

#endif
