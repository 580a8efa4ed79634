#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes packages of the library with every option and uses them: packages.sh [conan|vcpkg], both if none is named. Works
# in a folder that it removes.
#
# conan comes from the Python package index, and needs none of its own servers: zstd, zlib, xxHash and nlohmann/json are
# small packages around the system's. The vcpkg port is run by vcpkg where that is installed, else by functions like its own.
#
# Status 77 with a line "SKIPPED: why" where conan can't be had and nothing else was asked for.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
version=$(sed -n 's/^#define ZTENSOR_VERSION_[A-Z]* //p' "$source/include/ztensor/version.hpp" | paste -sd.)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

skip() {
    echo "SKIPPED: $*"
    exit 77
}

# ---- vcpkg

by_vcpkg() {
    local work=$1 features=$2
    if command -v vcpkg >/dev/null; then
        vcpkg install "ztensor[core${features:+,$features}]" --overlay-ports="$source/cmake/packaging/vcpkg/ports" \
            --x-install-root="$work/installed"
        package=$(dirname "$(dirname "$(dirname "$(find "$work/installed" -name ztensorConfig.cmake)")")")
    else
        cmake -DPORT_DIR="$source/cmake/packaging/vcpkg/ports/ztensor" -DWORK_DIR="$work" -DFEATURES="${features//,/;}" \
            -P "$source/tests/structure/vcpkg_functions.cmake"
        package=$work/package
    fi
}
test_vcpkg() {
    local features mode
    command -v vcpkg >/dev/null || echo "There is no vcpkg here: its functions are played."
    for features in '' json,zlib compiled compiled,json,zlib; do
        echo "-- vcpkg features: ${features:-none}"
        mode=ztensor
        [[ $features != *compiled* ]] || mode='ztensor;compiled'
        by_vcpkg "$scratch/vcpkg_$features" "$features"
        cmake -S "$source/tests/structure/consumer" -B "$scratch/uses_$features" -DCONSUMER_MODES="$mode" \
            -DZTENSOR_VERSION="$version" -DCMAKE_PREFIX_PATH="$package" \
            "-DCONSUMER_COMPONENTS=$([[ $features != *json* ]] || echo json)"
        cmake --build "$scratch/uses_$features"
        for mode in ${mode//;/ }; do
            "$scratch/uses_$features/consumer_$mode" "$scratch/vcpkg.zt"
        done
    done
}

# ---- conan

test_conan() {
    { python3 -m venv "$scratch/venv" && "$scratch/venv/bin/pip" install --quiet 'conan>=2,<3'; } >"$scratch/pip.log" 2>&1 ||
        skip "conan can't be installed: $(tail -n 1 "$scratch/pip.log")"
    export CONAN_HOME=$scratch/home PATH=$scratch/venv/bin:$PATH
    conan remote disable '*' >/dev/null
    conan profile detect >/dev/null
    make_dependencies
    create json=True
    create json=False zlib=False
    create compiled=True
    create compiled=True shared=True json=False zlib=False
}
settings=(-s compiler.cppstd=17 -s build_type=Debug) # quicker to compile
create() { # OPTION...
    echo "-- conan package: $*"
    conan create "$source/cmake/packaging/conan" -vwarning "${settings[@]}" "${@/#/-oztensor/*:}" \
        -c 'tools.cmake.cmake_layout:test_folder=$TMP' -c tools.cmake.cmaketoolchain:user_presets=
}

# What conan's zstd, zlib, xxhash and nlohmann_json call their targets and components.
make_dependencies() {
    mkdir -p "$scratch/zstd" "$scratch/zlib" "$scratch/xxhash" "$scratch/nlohmann_json"
    cat >"$scratch/zstd/conanfile.py" <<'RECIPE'
from conan import ConanFile

class SystemZstd(ConanFile):
    name = "zstd"
    version = "1.5.0"
    settings = "os", "arch", "compiler", "build_type"
    package_type = "shared-library"

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "zstd")
        self.cpp_info.components["zstdlib"].set_property("cmake_target_name", "zstd::libzstd_shared")
        self.cpp_info.components["zstdlib"].system_libs = ["zstd"]
        self.cpp_info.components["zstdlib"].includedirs = []
        self.cpp_info.components["zstdlib"].libdirs = []
RECIPE
    cat >"$scratch/zlib/conanfile.py" <<'RECIPE'
from conan import ConanFile

class SystemZlib(ConanFile):
    name = "zlib"
    version = "1.2.13"
    settings = "os", "arch", "compiler", "build_type"
    package_type = "shared-library"

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "ZLIB")
        self.cpp_info.set_property("cmake_target_name", "ZLIB::ZLIB")
        self.cpp_info.system_libs = ["z"]
        self.cpp_info.includedirs = []
        self.cpp_info.libdirs = []
RECIPE
    cat >"$scratch/xxhash/conanfile.py" <<'RECIPE'
from conan import ConanFile

class SystemXxhash(ConanFile):
    name = "xxhash"
    version = "0.8.1"
    package_type = "header-library"

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "xxHash")
        self.cpp_info.components["libxxhash"].set_property("cmake_target_name", "xxHash::xxhash")
        self.cpp_info.components["libxxhash"].includedirs = []
        self.cpp_info.components["libxxhash"].bindirs = []
        self.cpp_info.components["libxxhash"].libdirs = []
RECIPE
    cat >"$scratch/nlohmann_json/conanfile.py" <<'RECIPE'
from conan import ConanFile

class SystemJson(ConanFile):
    name = "nlohmann_json"
    version = "3.8.0"
    package_type = "header-library"

    def package_info(self):
        self.cpp_info.set_property("cmake_target_name", "nlohmann_json::nlohmann_json")
        self.cpp_info.includedirs = []
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
RECIPE
    conan create "$scratch/zstd" -vquiet "${settings[@]}"
    conan create "$scratch/zlib" -vquiet "${settings[@]}"
    conan create "$scratch/xxhash" -vquiet "${settings[@]}"
    conan create "$scratch/nlohmann_json" -vquiet "${settings[@]}"
}

# ----

tests=("$@")
if (($# == 0)); then
    tests=(vcpkg conan)
fi
for test in "${tests[@]}"; do
    "test_$test"
done
