#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds and runs a consumer project in every way that the README names: find_package, add_subdirectory, FetchContent,
# pkg-config and without any of them; header-only, with a static and with a shared compiled library; with and without
# nlohmann/json. What is installed is moved before it is used. Works in a folder that it removes.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
consumer=$source/tests/structure/consumer
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
version=$(sed -n 's/^#define ZTENSOR_VERSION_[A-Z]* //p' "$source/include/ztensor/version.hpp" | paste -sd.)

stop() {
    echo "$*" >&2
    exit 1
}

by_cmake() { # NAME WAY MODES OPTION...: leaves a build folder of that name
    local name=$1 way=$2 modes=$3 mode
    echo "-- consumer by $way: $name"
    cmake -S "$consumer" -B "$scratch/$name" -DCONSUMER_WAY="$way" -DCONSUMER_MODES="$modes" \
        -DZTENSOR_SOURCE="$source" -DZTENSOR_VERSION="$version" "${@:4}"
    cmake --build "$scratch/$name"
    for mode in ${modes//;/ }; do
        "$scratch/$name/consumer_$mode" "$scratch/$name.zt"
    done
}

by_pkg_config() { # PACKAGE PREFIX: leaves its flags
    local pc
    pc=$(dirname "$(find "$2" -name "$1.pc")")
    echo "-- consumer by pkg-config: $1"
    eval "flags=($(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs "$1"))" # its output is quoted for a shell
    "${CXX:-c++}" -std=c++17 "$consumer/main.cpp" "${flags[@]}" -o "$scratch/by_pkg_config"
    LD_LIBRARY_PATH=$pc/.. "$scratch/by_pkg_config" "$scratch/pkg_config.zt"
}

# Installed with a static compiled library. Building that takes no nlohmann/json: this one would stop it.
mkdir -p "$scratch/refused/nlohmann"
echo '#error "the compiled library includes nlohmann/json"' >"$scratch/refused/nlohmann/json.hpp"
cmake -S "$source" -B "$scratch/library" -DZTENSOR_BUILD_TESTS=OFF -DZTENSOR_BUILD_EXAMPLES=OFF \
    -DZTENSOR_BUILD_COMPILED=ON
CPLUS_INCLUDE_PATH=$scratch/refused cmake --build "$scratch/library"
cmake --install "$scratch/library" --prefix "$scratch/first place"
mv "$scratch/first place" "$scratch/static place"
by_cmake installed_static find_package 'ztensor;compiled' -DCMAKE_PREFIX_PATH="$scratch/static place"
cmake --install "$scratch/installed_static" --prefix "$scratch/ignored" >/dev/null
by_pkg_config ztensor "$scratch/static place"
by_pkg_config ztensor-compiled "$scratch/static place"

# Part of a project that hides its own symbols, and installed with it: shared, and without nlohmann/json.
by_cmake part_shared add_subdirectory compiled -DZTENSOR_BUILD_COMPILED=ON -DBUILD_SHARED_LIBS=ON -DZTENSOR_JSON=OFF \
    -DCMAKE_CXX_VISIBILITY_PRESET=hidden -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON
cmake --install "$scratch/part_shared" --prefix "$scratch/second place"
mv "$scratch/second place" "$scratch/shared place"
by_cmake installed_shared find_package compiled -DZTENSOR_JSON=OFF -DCMAKE_PREFIX_PATH="$scratch/shared place"
by_pkg_config ztensor-compiled "$scratch/shared place"
[[ ${flags[*]} != *zstd* ]] || stop "Whoever uses the shared library links to zstd: ${flags[*]}"

# Part of a project that uses it header-only: nothing of the library is built.
by_cmake part_header_only FetchContent ztensor
cmake --install "$scratch/part_header_only" --prefix "$scratch/ignored" >/dev/null
[[ -z $(find "$scratch/part_header_only" -name 'libztensor*' -o -name 'ztensor.cpp.*') ]] ||
    stop "The compiled library is built although nothing links to it."

echo "-- consumer without a build system"
printf '%s\n' '#define ZTENSOR_COMPILED' '#include <ztensor/compiled.hpp>' >"$scratch/definitions.cpp"
"${CXX:-c++}" -std=c++17 -I"$source/include" "$scratch/definitions.cpp" -c -o "$scratch/definitions.o"
"${CXX:-c++}" -std=c++17 -I"$source/include" -DZTENSOR_COMPILED "$consumer/main.cpp" "$scratch/definitions.o" \
    -lzstd -lz -pthread -o "$scratch/plain"
"$scratch/plain" "$scratch/plain.zt"
