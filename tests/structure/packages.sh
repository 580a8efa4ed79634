#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes conan packages of the library with every option and runs their test package. Needs the Python package index for
# conan itself, but none of conan's own servers: zstd and nlohmann/json are small packages around the system's. Works in
# a folder that it removes.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet 'conan>=2,<3'
export CONAN_HOME=$scratch/home PATH=$scratch/venv/bin:$PATH
conan remote disable '*' >/dev/null
conan profile detect >/dev/null

# What conan's zstd and nlohmann_json call their targets and components.
mkdir -p "$scratch/zstd" "$scratch/nlohmann_json"
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
settings=(-s compiler.cppstd=17 -s build_type=Debug) # quicker to compile
conan create "$scratch/zstd" -vquiet "${settings[@]}"
conan create "$scratch/nlohmann_json" -vquiet "${settings[@]}"

create() { # OPTION...
    echo "-- conan package: $*"
    conan create "$source/cmake/packaging/conan" -vwarning "${settings[@]}" "${@/#/-oztensor/*:}" \
        -c 'tools.cmake.cmake_layout:test_folder=$TMP' -c tools.cmake.cmaketoolchain:user_presets=
}
create json=True
create json=False
create compiled=True
create compiled=True shared=True json=False
