#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Installs the library, moves what was installed, and builds and runs a consumer project in every way that the README
# names: find_package, add_subdirectory, FetchContent, pkg-config. Works in a folder that it removes.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
consumer=$source/tests/structure/consumer
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
version=$(sed -n 's/^#define ZTENSOR_VERSION_[A-Z]* //p' "$source/include/ztensor/version.hpp" | paste -sd.)

cmake -S "$source" -B "$scratch/library" -DZTENSOR_BUILD_TESTS=OFF -DZTENSOR_BUILD_EXAMPLES=OFF
cmake --install "$scratch/library" --prefix "$scratch/first place"
mv "$scratch/first place" "$scratch/second place"
prefix="$scratch/second place"

for way in find_package add_subdirectory FetchContent; do
    echo "-- consumer by $way"
    cmake -S "$consumer" -B "$scratch/$way" -DCONSUMER_WAY="$way" -DCMAKE_PREFIX_PATH="$prefix" \
        -DZTENSOR_SOURCE="$source" -DZTENSOR_VERSION="$version"
    cmake --build "$scratch/$way"
    "$scratch/$way/consumer" "$scratch/$way.zt"
    cmake --install "$scratch/$way" --prefix "$scratch/installed by $way" >/dev/null
done

echo "-- consumer by pkg-config"
pc=$(dirname "$(find "$prefix" -name ztensor.pc)")
eval "flags=($(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs ztensor))" # its output is quoted for a shell
"${CXX:-c++}" -std=c++17 "$consumer/main.cpp" "${flags[@]}" -o "$scratch/by_pkg_config"
"$scratch/by_pkg_config" "$scratch/pkg_config.zt"
