#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The CBOR cursor beside libcbor and nlohmann/json: bash tests/fuzz/differential_cbor.sh [RANDOM-INPUTS [SEED]]
set -euo pipefail
cd "$(dirname "$0")/../.."
bash cmake/install_dependencies.sh libcbor-dev
mkdir -p build/fuzz
"${CXX:-c++}" -std=c++17 -O2 -Iinclude -Itests tests/fuzz/differential_cbor.cpp tests/fuzz/cbor_tree.cpp -lcbor \
    -o build/fuzz/differential_cbor
build/fuzz/differential_cbor "${1:-5000000}" "${2:-1}"
