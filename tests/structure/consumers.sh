#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds and runs a consumer project in every way that the README names, or in those that are given; --list tells their
# names. Works in folders that it removes. CMAKE names another cmake than the one in the path, CONSUMER_JOBS how many
# ways are gone at once, if not as many as there are processors.
#
# Status 77 with a line "SKIPPED: why" if one way alone was asked for and this machine lacks what it takes.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
consumer=$source/tests/structure/consumer
cmake=${CMAKE:-cmake}
compiler=${CXX:-c++}
version=$(sed -n 's/^#define ZTENSOR_VERSION_[A-Z]* //p' "$source/include/ztensor/version.hpp" | paste -sd.)

stop() {
    echo "$*" >&2
    exit 1
}
skip() {
    echo "SKIPPED: $*"
    exit 77
}

# ---- steps

configure() { # NAME WAY MODES OPTION...: makes a build folder of that name for the consumer
    "$cmake" -S "$consumer" -B "$scratch/$1" -DCONSUMER_WAY="$2" -DCONSUMER_MODES="$3" -DZTENSOR_SOURCE="$source" \
        -DZTENSOR_VERSION="$version" "${@:4}"
}
by_cmake() { # NAME WAY MODES OPTION...: builds and runs it, too
    local mode
    configure "$@"
    "$cmake" --build "$scratch/$1"
    for mode in ${3//;/ }; do
        "$scratch/$1/consumer_$mode" "$scratch/$1.zt"
    done
}
install_to() { # BUILD_FOLDER PREFIX: of any CMake; 3.14 has no --install
    "$cmake" -DCMAKE_INSTALL_PREFIX="$2" -P "$1/cmake_install.cmake"
}
install_library() { # PREFIX OPTION...: installs it elsewhere and moves it there
    "$cmake" -S "$source" -B "$scratch/library" -DZTENSOR_BUILD_TESTS=OFF -DZTENSOR_BUILD_EXAMPLES=OFF "${@:2}"
    "$cmake" --build "$scratch/library"
    install_to "$scratch/library" "$scratch/first place"
    mv "$scratch/first place" "$1"
    [[ -f $1/share/licenses/ztensor/LICENSE ]] || stop "The licence is not installed."
}
by_pkg_config() { # PACKAGE PREFIX: leaves its flags
    local pc
    pc=$(dirname "$(find "$2" -name "$1.pc")")
    command -v pkg-config >/dev/null || skip "there is no pkg-config"
    eval "flags=($(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs "$1"))" # its output is quoted for a shell
    "$compiler" -std=c++17 "$consumer/main.cpp" "${flags[@]}" -o "$scratch/by_pkg_config"
    LD_LIBRARY_PATH=$2/lib "$scratch/by_pkg_config" "$scratch/pkg_config.zt"
}
make_repository() { # FOLDER: with the files that an installation takes
    mkdir "$1"
    cp -r "$source"/{CMakeLists.txt,LICENSE,cmake,include} "$1"
    git -C "$1" init -q
    git -C "$1" add -A
    git -C "$1" -c user.name=consumer -c user.email=consumer@localhost commit -qm "As it is"
    git -C "$1" branch -M main
}

# ---- ways: each a function way_NAME that takes no argument

# Of every architecture, so nothing of it lies in lib/.
way_find_package() {
    install_library "$scratch/a place"
    [[ ! -e $scratch/a\ place/lib ]] || stop "A header-only package is installed into lib/."
    by_cmake uses find_package 'ztensor;import' -DCMAKE_PREFIX_PATH="$scratch/a place"
    install_to "$scratch/uses" "$scratch/ignored"
}
way_find_package_static() {
    install_library "$scratch/a place" -DZTENSOR_BUILD_COMPILED=ON
    by_cmake uses find_package 'ztensor;compiled' -DCMAKE_PREFIX_PATH="$scratch/a place"
    install_to "$scratch/uses" "$scratch/ignored"
}
# Without nlohmann/json and zlib: these would stop it.
way_find_package_shared() {
    mkdir -p "$scratch/refused/nlohmann"
    echo '#error "this is included although it is turned off"' | tee "$scratch/refused/nlohmann/json.hpp" >"$scratch/refused/zlib.h"
    CPLUS_INCLUDE_PATH=$scratch/refused install_library "$scratch/a place" -DZTENSOR_BUILD_COMPILED=ON \
        -DBUILD_SHARED_LIBS=ON -DZTENSOR_JSON=OFF -DZTENSOR_ZLIB=OFF
    by_cmake uses find_package compiled -DZTENSOR_JSON=OFF -DCMAKE_PREFIX_PATH="$scratch/a place"
}
# nlohmann/json and zlib are there when the library is installed, and not when it is used.
way_find_package_without_json() {
    local absent=(-DCMAKE_PREFIX_PATH="$scratch/a place" -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON
        -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON)
    install_library "$scratch/a place" -DZTENSOR_JSON=ON
    by_cmake uses find_package 'ztensor;import' "${absent[@]}"
    if configure asks find_package ztensor "${absent[@]}" -DCONSUMER_COMPONENTS=json >"$scratch/asks.log" 2>&1; then
        stop "The component json was found without nlohmann/json."
    fi
    grep -q 'json: nlohmann/json is not installed' "$scratch/asks.log" || stop "What the component json lacks is not said."
    if configure knows find_package ztensor "${absent[@]}" '-DCONSUMER_COMPONENTS=compiled;jason' >"$scratch/asks.log" 2>&1; then
        stop "A component was found that is not installed."
    fi
    grep -q 'ZTENSOR_BUILD_COMPILED=ON' "$scratch/asks.log" || stop "What the component compiled lacks is not said."
    grep -q 'jason: there is no such component' "$scratch/asks.log" || stop "A component that there is not is not named."
    configure imports find_package ztensor "${absent[@]}" -DCONSUMER_COMPONENTS=import
    configure has find_package ztensor -DCMAKE_PREFIX_PATH="$scratch/a place" -DCONSUMER_COMPONENTS=json
}

way_pkg_config() {
    install_library "$scratch/a place"
    by_pkg_config ztensor "$scratch/a place"
}
way_pkg_config_static() {
    install_library "$scratch/a place" -DZTENSOR_BUILD_COMPILED=ON
    by_pkg_config ztensor-compiled "$scratch/a place"
}
way_pkg_config_shared() {
    install_library "$scratch/a place" -DZTENSOR_BUILD_COMPILED=ON -DBUILD_SHARED_LIBS=ON -DZTENSOR_JSON=OFF
    by_pkg_config ztensor-compiled "$scratch/a place"
    [[ ${flags[*]} != *zstd* ]] || stop "Whoever uses the shared library links to zstd: ${flags[*]}"
}

# A parent that says nothing gets nothing built that it does not link to, and nothing installed but its own.
way_add_subdirectory() {
    by_cmake part add_subdirectory ztensor
    [[ -z $(find "$scratch/part" -name 'libztensor*' -o -path '*/compiled/*.cpp.*') ]] ||
        stop "The compiled library is built although nothing links to it."
    install_to "$scratch/part" "$scratch/prefix"
    [[ $(ls "$scratch/prefix") == bin ]] || stop "The parent installs ztensor, unasked: $(ls "$scratch/prefix")"
}
way_add_subdirectory_compiled() {
    by_cmake part add_subdirectory compiled
}
# Of detail, what headers declare that users include: nothing else is called from outside.
exports_what_public_headers_declare() { # LIBRARY
    local exported name
    exported=$(nm -DC --defined-only "$1" | sed -nE 's/.* [TWBDR] ztensor::[a-z0-9_]+::detail::(~?[a-z0-9_]+).*/\1/p' | sort -u)
    [[ $exported == *raise* ]] || stop "The shared library $1 does not export what its users call."
    for name in $exported; do
        grep -qw -- "$name" "$source"/include/ztensor/*.hpp "$source"/include/ztensor/detail/base/*.hpp ||
            stop "The shared library $1 exports detail::$name, which no public header declares."
    done
}
# Part of a project that hides its own symbols, and installed with it: shared, and without nlohmann/json.
way_add_subdirectory_installed() {
    by_cmake part add_subdirectory compiled -DZTENSOR_INSTALL=ON -DBUILD_SHARED_LIBS=ON \
        -DZTENSOR_JSON=OFF -DCMAKE_CXX_VISIBILITY_PRESET=hidden -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON
    install_to "$scratch/part" "$scratch/first place"
    mv "$scratch/first place" "$scratch/a place"
    exports_what_public_headers_declare "$(find "$scratch/a place" -name 'libztensor.so' | head -n 1)"
    by_cmake uses find_package compiled -DZTENSOR_JSON=OFF -DCMAKE_PREFIX_PATH="$scratch/a place"
}

way_fetch_content_folder() {
    by_cmake part FetchContent_folder ztensor
}
way_fetch_content_git() {
    command -v git >/dev/null || skip "there is no git"
    make_repository "$scratch/repository"
    by_cmake part FetchContent_git compiled -DZTENSOR_SOURCE="file://$scratch/repository"
}

# A parent's own zstd under every name that zstd's packages give it, under one of the parent's, and under ours. What is
# generated with ZTENSOR_INSTALL shows that all of it can be exported.
way_own_zstd() {
    local name
    for name in zstd::libzstd zstd::libzstd_shared zstd::libzstd_static zstd::zstd libzstd_shared libzstd_static \
        ztensor::zstd; do
        own_zstd "$name"
    done
    "$cmake" --build "$scratch/ztensor__zstd"
    install_to "$scratch/ztensor__zstd" "$scratch/a place" # what was built with an alias finds its own
    by_cmake uses find_package 'ztensor;compiled' -DCMAKE_PREFIX_PATH="$scratch/a place"
    own_zstd consumer_zstd -DZTENSOR_ZSTD_TARGET=consumer_zstd
    if configure absent add_subdirectory ztensor -DZTENSOR_ZSTD_TARGET=nothing >"$scratch/absent.log" 2>&1; then
        stop "ZTENSOR_ZSTD_TARGET may name what is not there."
    fi
}
own_zstd() { # NAME OPTION...: configures alone
    configure "${1//:/_}" add_subdirectory 'ztensor;compiled' -DCONSUMER_ZSTD="$1" -DZTENSOR_INSTALL=ON "${@:2}"
    grep -q CONSUMER_ZSTD "$scratch/${1//:/_}/definitions_ztensor.txt" || stop "The parent's $1 is not used."
}

way_plain_header_only() {
    "$compiler" -std=c++17 -I"$source/include" "$consumer/main.cpp" -lzstd -lz -pthread -o "$scratch/plain"
    "$scratch/plain" "$scratch/plain.zt"
}
way_plain_compiled() {
    printf '%s\n' '#include <ztensor/compiled.hpp>' >"$scratch/definitions.cpp"
    "$compiler" -std=c++17 -I"$source/include" -DZTENSOR_COMPILED "$consumer/main.cpp" "$scratch/definitions.cpp" -lzstd \
        -lz -pthread -o "$scratch/plain"
    "$scratch/plain" "$scratch/plain.zt"
}

# The oldest CMake that will do, and the newest there is, both from the Python package index.
way_oldest_cmake() {
    another_cmake '==3.14.4'
}
way_newest_cmake() {
    another_cmake ''
}
another_cmake() { # VERSION
    local log=$scratch/pip.log
    { python3 -m venv "$scratch/venv" && "$scratch/venv/bin/pip" install --quiet "cmake$1"; } >"$log" 2>&1 ||
        skip "the Python package index has no cmake$1 for this machine: $(tail -n 1 "$log")"
    "$scratch/venv/bin/cmake" --version
    CMAKE=$scratch/venv/bin/cmake CONSUMER_JOBS=1 bash "$0" find_package_static add_subdirectory fetch_content_folder own_zstd
}

# ---- which of them

all=$(declare -F | sed -n 's/^declare -f way_//p')
if [[ ${1-} == --list ]]; then
    echo "$all"
    exit
fi
ways=("$@")
if (($# == 0)); then
    mapfile -t ways <<<"$all"
fi
for way in "${ways[@]}"; do
    grep -qx -- "$way" <<<"$all" || stop "No way is called $way: $0 --list"
done

# One alone: in a folder of its own.
if ((${#ways[@]} == 1)); then
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    "way_${ways[0]}"
    exit
fi

# Several side by side, each a run of this script whose output stands together.
report_way() { # SCRIPT WAY
    local status=0 output
    output=$(bash "$1" "$2" 2>&1) || status=$?
    printf '== consumer: %s\n%s\n' "$2" "$output"
    ((status == 0 || status == 77)) || { echo "Failed: $2" && return 1; }
}
export -f report_way
printf '%s\0' "${ways[@]}" | xargs -0 -n 1 -P "${CONSUMER_JOBS:-$(nproc)}" bash -c 'report_way "$0" "$1"' "$0" ||
    stop "Not every consumer was built and run."
