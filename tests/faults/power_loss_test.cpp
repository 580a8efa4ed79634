// SPDX-License-Identifier: MIT
//
// States that a power cut may leave: some thousands here, as many as wanted by programs/power_cuts.cpp. What a careless
// library would do to the disk is found out by the same means.
#include "faults/power_loss.hpp"
#include "support/catch.hpp"

#include <ztensor/detail/write/old_file.hpp>

#include <cstddef>
#include <random>
#include <string>

namespace {

using faults::memory_disk;
using faults::sabotage;
using faults::scenario;

constexpr std::uint64_t file_seed = 489; // the footers stand across the ends of sectors

bool is_called(const scenario& each, const std::string& beginning) {
    return each.name.rfind(beginning, 0) == 0;
}

/// What is found out about scenarios whose names begin so.
faults::tally sabotaged(sabotage how, const std::string& beginning) {
    std::mt19937_64 random(1);
    faults::tally seen;
    for (const scenario& each : faults::scenarios(file_seed)) {
        if (is_called(each, beginning)) {
            faults::explore(each, {how, memory_disk::never, 1}, {64, 24, 8}, random, seen);
        }
    }
    REQUIRE(seen.states > 20);
    return seen;
}

} // namespace

TEST_CASE("after a power cut at any moment a file is the complete old or the complete new one") {
    std::mt19937_64 random(1);
    faults::tally seen;
    for (const std::uint64_t seed : {file_seed, std::uint64_t{1}, std::uint64_t{100}, std::uint64_t{222}}) {
        for (const scenario& each : faults::scenarios(seed)) {
            faults::explore(each, {}, {128, 48, 8}, random, seen);
        }
    }
    CAPTURE(seen.first_violations);
    CHECK(seen.violations == 0);
    CHECK(seen.distinct.size() > 2000);
}

TEST_CASE("after a call that failed and a power cut a file is the complete old or the complete new one") {
    std::mt19937_64 random(1);
    faults::tally seen;
    for (const scenario& each : faults::scenarios(file_seed)) {
        const std::size_t calls = faults::explore(each, {}, {}, random, seen);
        for (std::size_t failing = 0; failing < calls; ++failing) {
            faults::explore(each, {sabotage::none, failing, 1}, {16, 3, 8}, random, seen);
        }
    }
    CAPTURE(seen.first_violations);
    CHECK(seen.violations == 0);
    CHECK(seen.distinct.size() > 1000);
}

TEST_CASE("after a call that failed while a file was edited in place, whatever reached the disk makes no mixture") {
    std::mt19937_64 random(1);
    for (const scenario& each : faults::scenarios(file_seed)) {
        if (!is_called(each, "edit in place 1.2 durable")) {
            continue;
        }
        faults::tally seen;
        const std::size_t calls = faults::explore(each, {}, {}, random, seen);
        for (std::size_t failing = 0; failing < calls; ++failing) {
            faults::explore(each, {sabotage::none, failing, 1}, {64, 24, 8}, random, seen);
        }
        CAPTURE(seen.first_violations);
        CHECK(seen.violations == 0);
    }
}

TEST_CASE("a library that syncs no file is found out") {
    for (const char* const change : {"create", "replace 1.2", "append 1.2", "edit 1.2", "append in place", "edit in"}) {
        CAPTURE(change);
        CHECK(sabotaged(sabotage::no_file_sync, change).violations > 0);
    }
}

TEST_CASE("a library that syncs no directory is found out") {
    for (const char* const change : {"create 1.2 durable", "replace 1.2 durable", "append 1.2 durable",
                                     "edit 1.2 durable", "append in place", "edit in place"}) {
        CAPTURE(change);
        CHECK(sabotaged(sabotage::no_directory_sync, change).violations > 0);
    }
}

TEST_CASE("a library that renames before it syncs is found out") {
    for (const char* const change : {"replace 1.2", "append 1.2", "edit 1.2"}) {
        CAPTURE(change);
        CHECK(sabotaged(sabotage::rename_first, change).violations > 0);
    }
}

TEST_CASE("a library that truncates the old file and writes over it is found out") {
    CHECK(sabotaged(sabotage::truncate_in_place, "replace 1.2").violations > 0);
}

TEST_CASE("a library that tries a failed sync again is found out") {
    for (const char* const change :
         {"create 1.2 durable", "replace 1.2", "append 1.2", "edit 1.2", "append in place", "edit in place"}) {
        CAPTURE(change);
        CHECK(sabotaged(sabotage::retry_failed_sync, change).violations > 0);
    }
}

TEST_CASE("a library that extends a file without an undo record is found out") {
    for (const char* const change : {"append in place", "edit in place"}) {
        CAPTURE(change);
        CHECK(sabotaged(sabotage::no_record, change).violations > 0);
    }
}

TEST_CASE("a file that reads is not taken for the new one before it is as long") {
    const scenario like = faults::scenarios(file_seed).front();
    REQUIRE(is_called(like, "append in place"));
    memory_disk disk(like.before);
    REQUIRE(like.run(disk));
    faults::disk_image left = like.before;
    std::size_t last_write = disk.journal().size();
    while (disk.journal()[--last_write].what != faults::change::written) {
    }
    for (std::size_t at = 0; at < last_write; ++at) { // all but the footer is on the disk
        faults::apply(disk.journal()[at], left);
    }
    left.files[0] = like.before.files[0]; // its writer went back
    memory_disk after(left);
    CHECK(ztensor::detail::recover_by("f", after).value() == ztensor::recovery::not_needed);
    CHECK(after.image().names.size() == 1);
    CHECK(after.image().files[0] == like.before.files[0]);
}
