#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds the examples and runs each: on a real model, then on files of its own in a temporary folder.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/examples
model=tests/corpus/golden/silero-vad-16k.zt

bash cmake/install_dependencies.sh
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DZTENSOR_BUILD_TESTS=OFF -DZTENSOR_BUILD_EXAMPLES=ON
cmake --build "$build" --parallel "$(nproc)"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

run_example() { # NAME ARGUMENT...
    printf '\n== %s\n' "$*"
    "$build/examples/$1" "${@:2}"
}

run_example load_model "$model" "$scratch/copy.zt"
run_example save_model "$scratch/saved.zt"
run_example inspect "$scratch/saved.zt"
run_example engine "$scratch"
run_example speech "$model" tests/corpus/speech/hello.wav tests/corpus/speech/hello.txt
run_example rewrite "$model" "$scratch/rewritten.zt"
run_example inspect "$scratch/rewritten.zt"
run_example migrate --version 2 "$model" "$scratch/migrated.zt"
run_example inspect "$scratch/migrated.zt"

weights=tests/corpus/foreign/safetensors/every_dtype.safetensors
run_example zt/zt convert --zstd --digest "$weights" "$scratch/converted.zt"
run_example zt/zt info "$scratch/converted.zt"
run_example zt/zt diff "$weights" "$scratch/converted.zt"
