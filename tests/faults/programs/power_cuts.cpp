// SPDX-License-Identifier: MIT
//
// power_cuts [DISTINCT_STATES [SEED]]: cuts the power until so many distinct states of the disk (a million unless told
// otherwise) have been seen, in every scenario, with no fault and with one at a random call, and tells what it saw.
#include "faults/power_loss.hpp"

#include <cstdlib>
#include <iostream>
#include <random>

int main(int argc, char** argv) {
    const std::uint64_t wanted = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
    const std::uint64_t first_seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    std::mt19937_64 random(first_seed);
    faults::tally seen;
    const faults::effort how = {4096, 256, 8};
    std::uint64_t runs = 0;
    std::uint64_t seed = first_seed;
    for (; seen.distinct.size() < wanted; ++seed) {
        for (const faults::scenario& each : faults::scenarios(seed)) {
            const std::size_t calls = faults::explore(each, {}, how, random, seen);
            faults::fault failing;
            failing.first_failing_call = static_cast<std::size_t>(random() % calls);
            faults::explore(each, failing, how, random, seen);
            failing.failing_calls = faults::memory_disk::never;
            faults::explore(each, failing, how, random, seen);
            runs += 3;
        }
    }
    std::cout << runs << " runs of " << faults::scenarios(first_seed).size() << " scenarios on " << seed - first_seed
              << " sets of files\n"
              << seen.states << " states after a power cut, " << seen.distinct.size() << " distinct\n"
              << seen.violations << " broken promises\n"
              << seen.first_violations;
    return seen.violations == 0 ? 0 : 1;
}
