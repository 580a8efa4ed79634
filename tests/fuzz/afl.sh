#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds all targets for AFL++ and lets it fuzz each for some seconds: bash tests/fuzz/afl.sh [SECONDS [FOLDER]]. A crash, a
# hang or a target that does not start ends with status 1.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-10}
out=${2:-build/afl}

bash cmake/install_dependencies.sh clang++ afl-fuzz
AFL_QUIET=1 bash tests/fuzz/build.sh afl "$out"
# shellcheck disable=SC2086 # several folders
python3 tests/fuzz/seeds.py "$out/seeds" tests/corpus ${ZTENSOR_FUZZ_SEEDS:-}
# shellcheck source=tests/fuzz/seeds_of.sh
source tests/fuzz/seeds_of.sh
export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_AFFINITY=1

stat_of() { # TARGET NAME
    awk -v name="$2" '$1 == name { print $3 }' "$out/state/$1/default/fuzzer_stats"
}
findings=0
echo "| target | executions | edges found | inputs kept | findings |"
echo "| --- | ---: | ---: | ---: | ---: |"
while read -r target; do
    inputs=$out/inputs/$target
    rm -rf "$inputs" "$out/state/$target"
    mkdir -p "$inputs" "$out/state"
    # It looks at each of its seeds for long before it changes any.
    find "$out/seeds/$(seeds_of "$target")" -type f -size -3k | sort | awk 'NR % 7 == 1 && ++count <= 12' |
        xargs -d '\n' cp -t "$inputs"
    afl-fuzz -V "$seconds" -t 5000 -m none -i "$inputs" -o "$out/state/$target" -- "$out/$target" \
        >"$out/state/$target.log" 2>&1 || { tail -n 20 "$out/state/$target.log" >&2 && exit 1; }
    found=$(($(stat_of "$target" saved_crashes) + $(stat_of "$target" saved_hangs)))
    findings=$((findings + found))
    echo "| $target | $(stat_of "$target" execs_done) | $(stat_of "$target" edges_found)" \
        "| $(stat_of "$target" corpus_count) | $found |"
done <"$out/targets"
((findings == 0))
