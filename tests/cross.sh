#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds the tests for another machine and runs them all: tests/cross.sh i686 (32-bit) or s390x (big-endian, by qemu).
# Further arguments go to cmake; BUILD_DIR names another build folder than build/PROCESSOR. Needs the packages of a
# Debian; changes nothing but by installing cross compiler and qemu.
set -euo pipefail
cd "$(dirname "$0")/.."
processor=${1:-}
case $processor in
    i686)
        debian_architecture=i386
        flags=-O2
        programs=(i686-linux-gnu-g++)
        ;;
    s390x)
        debian_architecture=s390x
        flags=-O1 # the time goes into compiling
        programs=(s390x-linux-gnu-g++ qemu-s390x-static)
        ;;
    *)
        echo "usage: tests/cross.sh i686|s390x [CMAKE_ARGUMENT...]" >&2
        exit 2
        ;;
esac
build=$(realpath -m "${BUILD_DIR:-build/$processor}")

# zstd and zlib for the other machine. As apt sees it here, this is such a machine and nothing is installed on it.
unpack_libraries() {
    local apt=(apt-get -q -o "APT::Architecture=$debian_architecture" -o "APT::Architectures=$debian_architecture"
        -o APT::Sandbox::User=root -o "Dir::Cache=$build/apt" -o "Dir::State::Lists=$build/apt/lists"
        -o Dir::State::status=/dev/null)
    mkdir -p "$build/apt/lists/partial" "$build/apt/archives/partial"
    "${apt[@]}" update || echo "Not all package lists could be had; going on with the others." >&2
    (cd "$build/apt" && "${apt[@]}" download libzstd-dev zlib1g-dev)
    dpkg-deb --extract "$build"/apt/libzstd-dev_*.deb "$build/zstd"
    dpkg-deb --extract "$build"/apt/zlib1g-dev_*.deb "$build/zlib"
    find "$build/zlib/usr/include" -mindepth 2 -name zconf.h -exec cp {} "$build/zlib/usr/include" ';' # some keep it apart
}

runs_here() { # PROGRAM
    echo 'int main() {}' | i686-linux-gnu-g++ -static -x c++ - -o "$1" && "$1"
}

bash cmake/install_dependencies.sh "${programs[@]}"
mkdir -p "$build"
emulator=()
if [[ $processor == i686 ]] && ! runs_here "$build/runs_here"; then # not every kernel runs 32-bit programs
    bash cmake/install_dependencies.sh qemu-i386-static
    emulator=(-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-i386-static)
fi
if ! compgen -G "$build/zstd/usr/lib/*/libzstd.a" >/dev/null || ! compgen -G "$build/zlib/usr/lib/*/libz.a" >/dev/null; then
    unpack_libraries
fi
cmake -S . -B "$build" -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/$processor.cmake" -DCMAKE_CXX_FLAGS="$flags" \
    "${emulator[@]}" \
    -DZTENSOR_WARNINGS_AS_ERRORS=ON -DCMAKE_DISABLE_FIND_PACKAGE_zstd=ON \
    -DZTENSOR_ZSTD_INCLUDE_DIR="$build/zstd/usr/include" \
    -DZTENSOR_ZSTD_LIBRARY="$(echo "$build"/zstd/usr/lib/*/libzstd.a)" \
    -DZLIB_INCLUDE_DIR="$build/zlib/usr/include" -DZLIB_LIBRARY="$(echo "$build"/zlib/usr/lib/*/libz.a)" "${@:2}"
cmake --build "$build" --parallel "$(nproc)"
cd "$build"
ctest --output-on-failure --parallel "$(nproc)"
grep -a '^SKIPPED' Testing/Temporary/LastTest.log || true # ctest does not say why
