#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Fuzzes every target, or those named, as many at once as there are cores: bash tests/fuzz/campaign.sh MINUTES [FOLDER] [TARGET...]
#
# FOLDER (build/fuzz) keeps the programs and the corpora, which the next campaign goes on from, and gets summary.md. The
# minutes are those of the whole campaign; where they are few, a target starts from a part of its seeds. A crash, a hang, a
# leak or a broken promise ends with status 1, and its input stays in FOLDER/findings. ZTENSOR_FUZZ_SEEDS names more folders
# of .zt files to start from.
set -euo pipefail
cd "$(dirname "$0")/../.."
minutes=$1
out=${2:-build/fuzz}
targets=("${@:3}")
jobs=$(nproc)

bash tests/fuzz/build.sh libfuzzer "$out" "${targets[@]}"
# shellcheck disable=SC2086 # several folders
python3 tests/fuzz/seeds.py "$out/seeds" tests/corpus ${ZTENSOR_FUZZ_SEEDS:-}
if ((${#targets[@]} == 0)); then
    mapfile -t targets < "$out/targets"
fi
seconds=$(awk -v minutes="$minutes" -v count="${#targets[@]}" -v jobs="$jobs" \
    'BEGIN { seconds = int(minutes * 60 * jobs / count); print(seconds < 10 ? 10 : seconds) }') # less is no campaign
mkdir -p "$out/findings" "$out/logs"

# shellcheck source=tests/fuzz/seeds_of.sh
source tests/fuzz/seeds_of.sh
# Where an input takes microseconds, so must all that is done about it: it is small, and the corpus is kept simply.
options_of() { # TARGET
    case $1 in
    cbor_cursor) echo -max_len=96 -entropic=0 -reduce_inputs=0 ;;
    fast_path | http_response | s3_texts) echo -max_len=256 -entropic=0 -reduce_inputs=0 ;;
    layouts | digests_and_names | history) echo -max_len=512 ;;
    planes) echo -max_len=2048 ;;
    version_2 | shards) echo -max_len=1024 ;;
    *) echo -max_len=8192 ;;
    esac
}
# A sanitized target reads some tens of seeds in a second on a busy machine, and tries nothing of its own before that.
few_seeds_of() { # TARGET: the folder of its seeds, or of as many of them as there is time for, evenly from all
    local all few=$out/few_seeds/$1 most=$((seconds * 20)) step
    all=$out/seeds/$(seeds_of "$1")
    step=$((($(find "$all" -type f | wc -l) + most - 1) / most))
    if ((step > 1)); then
        rm -rf "$few"
        mkdir -p "$few"
        find "$all" -type f | sort | awk -v step="$step" 'NR % step == 0' | xargs -d '\n' cp -t "$few"
        all=$few
    fi
    echo "$all"
}
fuzz() { # TARGET
    mkdir -p "$out/corpus/$1"
    # shellcheck disable=SC2046 # several options
    ASAN_OPTIONS=quarantine_size_mb=2:malloc_context_size=0:max_malloc_fill_size=64 \
        "$out/$1" "$out/corpus/$1" "$(few_seeds_of "$1")" -artifact_prefix="$out/findings/$1-" \
        -dict=tests/fuzz/ztensor.dict $(options_of "$1") -timeout=10 -rss_limit_mb=1024 -max_total_time="$seconds" \
        -print_final_stats=1 > "$out/logs/$1" 2>&1 || true # the findings tell
}
export -f fuzz seeds_of options_of few_seeds_of
export out seconds
printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I{} bash -c 'fuzz {}'

summary() {
    echo "| target | executions | edges covered | inputs kept | findings |"
    echo "| --- | ---: | ---: | ---: | ---: |"
    local target executions edges total=0
    for target in "${targets[@]}"; do
        executions=$(awk '/stat::number_of_executed_units/ { print $2 }' "$out/logs/$target")
        edges=$(awk 'match($0, /cov: [0-9]+/) { found = substr($0, RSTART + 5, RLENGTH - 5) } END { print found }' \
            "$out/logs/$target") # nothing where the time ended before all seeds were read
        echo "| $target | ${executions:-?} | ${edges:-?} | $(find "$out/corpus/$target" -type f | wc -l)" \
            "| $(find "$out/findings" -name "$target-*" | wc -l) |"
        total=$((total + ${executions:-0}))
    done
    echo "| all | $total | | | $(find "$out/findings" -type f | wc -l) |"
}
summary | tee "$out/summary.md"
for target in "${targets[@]}"; do
    if ! grep -q 'stat::number_of_executed_units: *[1-9]' "$out/logs/$target"; then
        echo "$target ran no input:" >&2
        tail -n 20 "$out/logs/$target" >&2
        exit 1
    fi
done
# Where the machine is gone with its files, as CI's is, what is printed is all that is left: base64 -d gives the input.
find "$out/findings" -type f | while read -r finding; do
    target=$(basename "$finding" | sed 's/-[a-z]*-[0-9a-f]*$//')
    echo "$finding: $(grep -aE '^(BROKEN PROMISE|==[0-9]+== *ERROR|SUMMARY|.*runtime error)' "$out/logs/$target" | head -n 4)"
    base64 -w 0 "$finding" && echo
done >&2
[[ -z $(find "$out/findings" -type f) ]]
