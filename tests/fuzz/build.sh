#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds fuzz targets under ASan and UBSan, all unless some are named: bash tests/fuzz/build.sh libfuzzer|afl FOLDER
# [TARGET...]. ZTENSOR_FUZZ_OPTIMISE is the optimisation (-O2), less of which is built sooner.
set -euo pipefail
cd "$(dirname "$0")/../.."
engine=$1
out=$2
jobs=${JOBS:-$(nproc)}
case $engine in
libfuzzer)
    compiler=clang++ link=-fsanitize=fuzzer
    coverage=-fsanitize=fuzzer-no-link edges=-fsanitize-coverage=inline-8bit-counters,pc-table
    ;;
afl) compiler=afl-clang-fast++ coverage='' edges='' link=-fsanitize=fuzzer ;; # AFL++ puts a driver of its own behind this flag
*) echo "what is $engine?" >&2 && exit 2 ;;
esac
targets=(open_and_read zstd_component layouts digests_and_names round_trip append_edit history version_2 pieces exports
         sets shards ways planes)
foreign_targets=(foreign_safetensors foreign_npy foreign_npz foreign_gguf foreign_pt foreign_onnx)
# What takes microseconds is built header-only, so that there are no more counters to look at after each input than
# its own code has, and is guided by edges alone: that makes it several times as fast.
quick_targets=(cbor_cursor fast_path http_response s3_texts)
wanted() { # LIST NAME...: leaves in the list what is named, all if nothing is
    local -n list=$1
    local each kept=()
    for each in "${list[@]}"; do
        if (($# == 1)) || [[ " ${*:2} " == *" $each "* ]]; then
            kept+=("$each")
        fi
    done
    list=("${kept[@]}")
}
for list_name in targets foreign_targets quick_targets; do
    wanted "$list_name" "${@:3}"
done
shared=(fuzz/fuzzing fuzz/cbor_tree fuzz/well_formed fuzz/work_file support/bytes support/cbor support/plane_content
        support/zstd_frames support/zt_builder)
if [[ $engine == libfuzzer ]]; then
    shared+=(fuzz/mutator) # AFL++ has no function for a custom mutator to fall back on
fi
flags=(-std=c++17 "${ZTENSOR_FUZZ_OPTIMISE:--O2}" -g1 -ffunction-sections -Iinclude -Itests -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
# What only serves the tests is neither watched nor a goal, which makes a target several times as fast, too.
watched=(-fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all)
mkdir -p "$out/objects/quick"
printf '%s\n' "${quick_targets[@]}" "${targets[@]}" "${foreign_targets[@]}" > "$out/targets"

compile() { # FOLDER SOURCE FLAG...
    echo "$compiler ${flags[*]} ${*:3} -c $2.cpp -o $out/$1/$(basename "$2").o"
}
{
    compile objects cmake/ztensor -DZTENSOR_COMPILED "${watched[@]}" $coverage
    for name in "${targets[@]}" "${foreign_targets[@]}" walk every_way foreign; do
        compile objects "tests/fuzz/$name" -DZTENSOR_COMPILED "${watched[@]}" $coverage
    done
    for name in "${quick_targets[@]}"; do
        compile objects/quick "tests/fuzz/$name" "${watched[@]}" $edges
    done
    for name in "${shared[@]/#/tests/}"; do
        compile objects "$name" -DZTENSOR_COMPILED
        compile objects/quick "$name"
    done
} | xargs -P "$jobs" -I{} sh -c '{}'

# Of an inline function that several objects have the first is taken: those that are watched come first.
link_target() { # NAME OBJECT...
    "$compiler" -fsanitize=address,undefined $link -Wl,--gc-sections "${@:2}" -lzstd -lz -o "$out/$1"
}
common=()
quick_common=()
for name in "${shared[@]}"; do
    common+=("$out/objects/$(basename "$name").o")
    quick_common+=("$out/objects/quick/$(basename "$name").o")
done
for name in "${targets[@]}"; do
    link_target "$name" "$out/objects/$name.o" "$out"/objects/{walk,every_way,ztensor}.o "${common[@]}"
done
for name in "${foreign_targets[@]}"; do
    link_target "$name" "$out/objects/$name.o" "$out"/objects/{foreign,walk,every_way,ztensor}.o "${common[@]}"
done
for name in "${quick_targets[@]}"; do
    link_target "$name" "$out/objects/quick/$name.o" "${quick_common[@]}"
done
