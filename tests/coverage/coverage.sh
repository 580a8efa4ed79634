#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Which lines, branches and conditions of include/ztensor the tests reach: bash tests/coverage/coverage.sh [FOLDER]
#
# FOLDER (build/coverage) gets the build, summary.md and uncovered.txt: every line and branch that no test reached, with
# its text, and every condition of a decision that none showed to matter. Fails if more of them lack a reason
# in justified.txt than that still allows. Needs clang-19: GCC 12 knows no MC/DC.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build/coverage}
jobs=${JOBS:-$(nproc)}

bash cmake/install_dependencies.sh clang++-19 llvm-cov-19 libc++-19-dev
counted=(-O0 -g0 -fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc -fprofile-update=atomic
    -DZTENSOR_TESTS_ARE_COUNTED -w)
# clang counts nothing in what it has compiled before.
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=clang++-19 -DZTENSOR_BUILD_EXAMPLES=OFF \
    -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
    -DCMAKE_CXX_FLAGS="${counted[*]}"
cmake --build "$build" --target ztensor_tests ztensor_tests_{eigen,http,s3} --parallel "$jobs"
# By clang's own standard library, which has <mdspan> and <format>.
clang++-19 -stdlib=libc++ -std=c++23 "${counted[@]}" -Iinclude tests/adaptors/programs/mdspan.cpp -o "$build/mdspan" \
    -lzstd -lz -lxxhash -pthread

# Tests that run in processes of their own leave profiles of their own.
rm -rf "$build/profiles"
mkdir "$build/profiles"
export LLVM_PROFILE_FILE="$(realpath "$build")/profiles/%p-%m.profraw"
ctest --test-dir "$build" --output-on-failure \
    --parallel "$jobs" --no-tests=error -R '^(base|os|cbor|codec|index|read|write|transfer|import|faults|adaptors)\.' \
    -E '^(base\.one_category|import\.without_libraries|faults\.(syscalls|full_disk|limits|untraced|examples|scarce_memory|outside_main|plugin)|adaptors\.(mdspan|numpy|hdf5|h5py|mpi_.*|s3proxy|moto|s3_botocore))' |
    tee "$build/tests.log" | tail -n 20 || echo 'Not all tests passed.' >&2
"$build/mdspan"
mpi=()
if command -v mpicxx.mpich >/dev/null; then
    python3 -B tests/adaptors/mpi_test.py mpich "$build/mpi" clang++-19 -std=c++17 "${counted[@]}" -Iinclude -lzstd -lz -pthread ||
        echo 'Not all tests of MPI passed.' >&2
    mpi=("$build/mpi/mpi_ranks" "$build"/mpi/parallel_{save,load})
fi
# Tests kill processes of their own, one of them perhaps while it writes its profile.
llvm-profdata-19 merge -sparse --failure-mode=all "$build"/profiles/*.profraw -o "$build/all.profdata"

python3 -B tests/coverage/report.py "$build" "$build/all.profdata" "$build/tests/ztensor_tests" \
    "$build"/tests/adaptors/ztensor_tests_{eigen,http,s3} "$build/mdspan" "${mpi[@]}"
