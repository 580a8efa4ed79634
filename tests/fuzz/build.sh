#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds all fuzz targets under ASan and UBSan: bash tests/fuzz/build.sh libfuzzer|afl FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
engine=$1
out=$2
case $engine in
libfuzzer) compiler=clang++ coverage=-fsanitize=fuzzer-no-link link=-fsanitize=fuzzer ;;
afl) compiler=afl-clang-fast++ coverage='' link=-fsanitize=fuzzer ;; # AFL++ puts a driver of its own behind this flag
*) echo "what is $engine?" >&2 && exit 2 ;;
esac
targets=(cbor_cursor fast_path open_and_read zstd_component layouts digests_and_names round_trip append_edit history version_2)
foreign_targets=(foreign_safetensors foreign_npy foreign_npz)
targets+=("${foreign_targets[@]}")
shared=(fuzzing cbor_tree work_file)
if [[ $engine == libfuzzer ]]; then
    shared+=(mutator) # AFL++ has no function for a custom mutator to fall back on
fi
flags=(-std=c++17 -O2 -g1 -DZTENSOR_COMPILED -Iinclude -Itests -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
# What only serves the tests is neither watched nor a goal: that makes a target several times as fast.
instrumented=(-fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all $coverage)
mkdir -p "$out/objects"
printf '%s\n' "${targets[@]}" > "$out/targets"

compile() { # SOURCE FLAG...
    echo "$compiler ${flags[*]} ${*:2} -c $1 -o $out/objects/$(basename "$1" .cpp).o"
}
{
    for source in "${targets[@]/#/tests/fuzz/}" tests/fuzz/{walk,foreign} cmake/ztensor; do
        compile "$source.cpp" "${instrumented[@]}"
    done
    for source in "${shared[@]/#/tests/fuzz/}" tests/support/{bytes,cbor,zstd_frames,zt_builder}; do
        compile "$source.cpp"
    done
} | xargs -P "$(nproc)" -I{} sh -c '{}'

common=()
for name in "${shared[@]}" walk bytes cbor zstd_frames zt_builder ztensor; do
    common+=("$out/objects/$name.o")
done
for target in "${targets[@]}"; do
    own=("$out/objects/$target.o")
    if [[ " ${foreign_targets[*]} " == *" $target "* ]]; then
        own+=("$out/objects/foreign.o")
    fi
    "$compiler" -fsanitize=address,undefined $link "${own[@]}" "${common[@]}" -lzstd -lz -o "$out/$target"
done
