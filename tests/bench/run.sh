#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Installs the rivals that can be had, builds and runs all benchmarks, and prints their tables: whole operations, reading
# where requests take time, opening beside the reference and safetensors (as processes of their own, alternating with
# ours), kernels.
# usage: tests/bench/run.sh [FOLDER [ROUNDS]]; FOLDER gets about 2 GB, on the disk that matters
set -euo pipefail
cd "$(dirname "$0")/../.."
build=build/bench
folder=${1:-$PWD/$build/files}
rounds=${2:-9}

bash cmake/install_dependencies.sh
as_root=()
((EUID == 0)) || as_root=(sudo)
for package in libbenchmark-dev libisal-dev libssl-dev cargo; do
    command -v "$package" > /dev/null ||
        "${as_root[@]}" apt-get install -y "$package" > /dev/null 2>&1 || echo "absent: $package"
done
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DZTENSOR_BUILD_BENCHMARKS=ON -DZTENSOR_BUILD_TESTS=OFF \
    -DZTENSOR_BUILD_EXAMPLES=OFF
cmake --build "$build" --parallel 2
mkdir -p "$folder"

printf '\n== operations (files in the page cache, written by this library) ==\n\n'
"$build/tests/bench/operations" "$folder" "$rounds"

printf '\n== where requests take time ==\n\n'
"$build/tests/bench/waiting" "$folder" "$rounds"

printf '\n== opening, beside other processes ==\n\n'
if CARGO_TARGET_DIR=$PWD/$build/peers cargo build --quiet --release --manifest-path tests/bench/peers/Cargo.toml; then
    python3 tests/bench/peers.py "$build" "$folder" "$rounds"
else
    echo "absent: the reference and safetensors, whose Rust packages could not be built"
fi

if [[ -x $build/tests/bench/kernels ]]; then
    printf '\n== kernels ==\n\n'
    "$build/tests/bench/kernels" --benchmark_min_time=0.05
fi
rm -rf "$folder"
