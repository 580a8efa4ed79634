#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds the tests for another machine and runs them all: tests/cross.sh i686 (32-bit), s390x (big-endian), aarch64, the
# latter two by qemu, or windows (by Wine, the tests alone). Further arguments go to cmake; BUILD_DIR names another build
# folder than build/PROCESSOR. Needs the packages of a Debian; changes nothing but by installing compilers and emulators.
set -euo pipefail
cd "$(dirname "$0")/.."
processor=${1:-}
flags=-O1 # the time goes into compiling
case $processor in
    i686)
        debian_architecture=i386
        programs=(i686-linux-gnu-g++)
        ;;
    s390x)
        debian_architecture=s390x
        programs=(s390x-linux-gnu-g++ qemu-s390x-static)
        ;;
    aarch64)
        debian_architecture=arm64
        programs=(aarch64-linux-gnu-g++ qemu-aarch64-static)
        ;;
    windows)
        programs=(x86_64-w64-mingw32-g++-posix libz-mingw-w64-dev wine)
        ;;
    *)
        echo "usage: tests/cross.sh i686|s390x|aarch64|windows [CMAKE_ARGUMENT...]" >&2
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

# For Windows Debian has zlib, but not zstd, whose source in one file comes with a Python package. The headers that any
# machine takes must not be looked for where those of this machine are.
gather_libraries_for_windows() {
    local prefix=$build/prefix source=$build/zstandard
    mkdir -p "$prefix"/{include,lib/cmake,share/cmake} "$source"
    cp -r /usr/include/{nlohmann,catch2,xxhash.h} "$prefix/include"
    cp -r /usr/lib/cmake/Catch2 "$prefix/lib/cmake"
    cp -r /usr/share/cmake/nlohmann_json "$prefix/share/cmake"
    cp /usr/lib/libCatch2WithMain.a "$prefix/lib" 2>/dev/null || true # only because the package names it
    python3 -m venv "$build/python"
    "$build/python/bin/pip" download --quiet --no-deps --no-binary :all: --dest "$source" zstandard==0.23.0
    tar -xzf "$source"/zstandard-*.tar.gz -C "$source" --strip-components=1
    cp "$source"/zstd/zstd*.h "$prefix/include"
    x86_64-w64-mingw32-gcc-posix -O2 -c "$source/zstd/zstd.c" -o "$source/zstd.o"
    x86_64-w64-mingw32-ar rcs "$prefix/lib/libzstd.a" "$source/zstd.o"
}
test_on_windows() { # CMAKE_ARGUMENT...
    local prefix=$build/prefix
    [[ -e $prefix/lib/libzstd.a ]] || gather_libraries_for_windows
    cmake -S . -B "$build" -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/windows.cmake" -DCMAKE_CXX_FLAGS="$flags" \
        -DZTENSOR_WARNINGS_AS_ERRORS=ON -DZTENSOR_BUILD_EXAMPLES=OFF -DCMAKE_DISABLE_FIND_PACKAGE_zstd=ON -DZTENSOR_HDF5=OFF -DZTENSOR_HTTP=OFF \
        -DZTENSOR_ZSTD_INCLUDE_DIR="$prefix/include" -DZTENSOR_ZSTD_LIBRARY="$prefix/lib/libzstd.a" \
        -DZTENSOR_XXHASH_INCLUDE_DIR="$prefix/include" -DZLIB_INCLUDE_DIR=/usr/x86_64-w64-mingw32/include \
        -DZLIB_LIBRARY=/usr/x86_64-w64-mingw32/lib/libz.a -DCatch2_DIR="$prefix/lib/cmake/Catch2" \
        -Dnlohmann_json_DIR="$prefix/share/cmake/nlohmann_json" "$@"
    cmake --build "$build" --parallel "$(nproc)" --target ztensor_tests
    LC_ALL=C.UTF-8 WINEDEBUG=-all WINEPREFIX=$build/wine wine "$build/tests/ztensor_tests.exe" # names outside ASCII need it
}

runs_here() { # PROGRAM
    echo 'int main() {}' | i686-linux-gnu-g++ -static -x c++ - -o "$1" && "$1"
}

bash cmake/install_dependencies.sh "${programs[@]}"
mkdir -p "$build"
if [[ $processor == windows ]]; then
    test_on_windows "${@:2}"
    exit
fi
emulator=()
if [[ $processor != i686 ]]; then
    export ZTENSOR_EMULATED=1 # what no emulator does well is skipped
elif ! runs_here "$build/runs_here"; then # not every kernel runs 32-bit programs
    export ZTENSOR_EMULATED=1
    bash cmake/install_dependencies.sh qemu-i386-static
    emulator=(-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-i386-static)
fi
if ! compgen -G "$build/zstd/usr/lib/*/libzstd.a" >/dev/null || ! compgen -G "$build/zlib/usr/lib/*/libz.a" >/dev/null; then
    unpack_libraries
fi
cmake -S . -B "$build" -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/$processor.cmake" -DCMAKE_CXX_FLAGS="$flags" \
    "${emulator[@]}" \
    -DZTENSOR_WARNINGS_AS_ERRORS=ON -DCMAKE_DISABLE_FIND_PACKAGE_zstd=ON -DZTENSOR_HDF5=OFF -DZTENSOR_HTTP=OFF \
    -DZTENSOR_ZSTD_INCLUDE_DIR="$build/zstd/usr/include" \
    -DZTENSOR_ZSTD_LIBRARY="$(echo "$build"/zstd/usr/lib/*/libzstd.a)" \
    -DZLIB_INCLUDE_DIR="$build/zlib/usr/include" -DZLIB_LIBRARY="$(echo "$build"/zlib/usr/lib/*/libz.a)" "${@:2}"
cmake --build "$build" --parallel "$(nproc)"
(cd "$build" && ctest --output-on-failure --parallel "$(nproc)")
bash tests/skipped.sh "$build"
