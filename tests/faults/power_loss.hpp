// SPDX-License-Identifier: MIT
//
// Files written, appended to, edited and recovered on a disk in memory, and what is promised of them after a power cut
// at any moment, and of folders that are copied then, with other inodes, or in which another whole file is put in the
// target's place, with its inode: with recover() the target is the complete old file or the complete new one; once a
// durable finish() has returned, the new one; and nothing lies beside it that the sweep does not remove.
#ifndef ZTENSOR_TESTS_FAULTS_POWER_LOSS_HPP
#define ZTENSOR_TESTS_FAULTS_POWER_LOSS_HPP

#include "faults/memory_disk.hpp"
#include "faults/power_cuts.hpp"

#include <ztensor/options.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

namespace faults {

/// A change of the file "f".
struct scenario {
    std::string name;
    disk_image before;
    std::function<ztensor::result<void>(ztensor::detail::os_calls&)> run;
    ztensor::sync_level sync = ztensor::sync_level::durable;
    bool has_unnamed_files = true;
    std::size_t most_moved = memory_disk::never;
    bool is_always_whole = true; ///< else nothing is promised before a durable finish()
    /// What the target was, where `before` is what a change in place has left of it, with its undo record.
    std::optional<std::string> old_state;
};

/// Every kind of change, on files whose sizes hang on `seed`.
[[nodiscard]] std::vector<scenario> scenarios(std::uint64_t seed);

struct fault {
    faults::sabotage sabotage = faults::sabotage::none;
    std::size_t first_failing_call = memory_disk::never;
    std::size_t failing_calls = 1;
};

struct effort {
    std::uint64_t most_enumerated = 0; ///< states of one cut; where there are more, they are sampled
    std::size_t samples = 0;           ///< of such a cut
    std::size_t again_one_in = 8;      ///< of so many states with an undo record, recover() is cut off itself
};

/// What was seen.
struct tally {
    std::uint64_t states = 0;
    std::unordered_set<std::uint64_t> distinct;
    std::uint64_t violations = 0;
    std::string first_violations; ///< a line each
};

/// Runs the change once, then cuts the power after every operation. Gives how many calls the run made.
std::size_t explore(const scenario& each, const fault& what, const effort& how, std::mt19937_64& random, tally& into);

} // namespace faults

#endif
