#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# skipped.sh FOLDER: how many tests of the last run of ctest in that build folder skipped something, and which and why, which
# ctest does not say. A test tells so by a line "SKIPPED: why".
set -euo pipefail
LC_ALL=C awk '
    /^[0-9]+\/[0-9]+ Test: / { name = substr($0, index($0, ": ") + 2) }
    /^SKIPPED: / {
        if (!(name in seen)) { count++ }
        seen[name] = 1
        list = list "  " name ": " substr($0, 10) "\n"
    }
    END {
        if (count > 0) {
            printf "\n==== NOT TESTED HERE: %d %s skipped something ====\n%s", count, count == 1 ? "test" : "tests", list
        } else {
            print "\nNothing was skipped."
        }
    }' "${1:?usage: skipped.sh FOLDER}/Testing/Temporary/LastTest.log"
