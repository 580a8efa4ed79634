#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds and runs all tests, optimised a little: with -O3 the library would take as long to compile as it takes to run most
# tests. Arguments go to cmake instead, such as --preset asan; BUILD_DIR names another build folder than build/tests.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD_DIR:-build/tests}
jobs=$(nproc)
if (($# == 0)); then
    set -- -DCMAKE_BUILD_TYPE=Release '-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG'
fi

bash cmake/install_dependencies.sh
cmake -S . -B "$build" -DZTENSOR_BUILD_EXAMPLES=ON "$@" # the interop test runs them
cmake --build "$build" --parallel "$jobs"
failed=0
(cd "$build" && ctest --output-on-failure --parallel "$jobs") || failed=$?
bash tests/skipped.sh "$build"
exit $failed
