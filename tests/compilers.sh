#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The compilers and systems that the library is tried with, as a table that runs: tests/compilers.sh [NAME...], all without
# names; --list names them; SYNTAX_ONLY=1 builds and runs nothing. Compilers of Debian's releases live in folders below
# build/compilers (needs root, for chroot and debootstrap), others are those of PyPI's ziglang. Each row compiles the
# library's source and the program of tests/structure/consumer, header-only, with warnings as errors; where this machine
# can run that program, by an emulator perhaps, it writes a file and reads it back. Exits with 1 if a row FAILED.
set -uo pipefail
cd "$(dirname "$0")/.."
build=$PWD/build/compilers
syntax_only=${SYNTAX_ONLY:-0}
warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
failed=()

# NAME KIND WHERE COMPILER-OR-TARGET RUNNER. Debian's: the release, the program, and the package of libc++ if it is used.
# No release of Debian has clang 20; ziglang 0.15 is made of it.
table() {
    cat <<'ROWS'
g++-11 debian bookworm g++-11 -
g++-12 debian bookworm g++-12 -
g++-13 debian trixie g++-13 -
g++-14 debian trixie g++-14 -
g++-15 debian sid g++-15 -
g++-16 debian sid g++-16 -
clang-13 debian bookworm clang++-13 -
clang-14 debian bookworm clang++-14 -
clang-15 debian bookworm clang++-15 -
clang-16 debian bookworm clang++-16 -
clang-17 debian trixie clang++-17 -
clang-18 debian trixie clang++-18 -
clang-19 debian trixie clang++-19 -
clang-21 debian sid clang++-21 -
clang-22 debian sid clang++-22 -
clang-22-libc++ debian sid clang++-22 libc++-22-dev
clang-20-libc++ zig 0.15.2 x86_64-linux-gnu native
musl-x86_64 zig 0.17.1 x86_64-linux-musl native
musl-aarch64 zig 0.17.1 aarch64-linux-musl qemu-aarch64-static
musl-riscv64 zig 0.17.1 riscv64-linux-musl qemu-riscv64-static
musl-powerpc64le zig 0.17.1 powerpc64le-linux-musl qemu-ppc64le-static
musl-s390x zig 0.17.1 s390x-linux-musl qemu-s390x-static
windows-x86_64 zig 0.17.1 x86_64-windows-gnu wine
windows-aarch64 zig 0.17.1 aarch64-windows-gnu -
macos-x86_64 zig 0.17.1 x86_64-macos -
macos-aarch64 zig 0.17.1 aarch64-macos -
freebsd-x86_64 zig 0.17.1 x86_64-freebsd -
openbsd-x86_64 zig 0.17.1 x86_64-openbsd -
wasi zig 0.17.1 wasm32-wasi -
ROWS
}

# A Debian in a folder, made once: prints its place.
debian_folder() { # RELEASE
    local folder=$build/debian/$1
    if [[ ! -x $folder/usr/bin/apt-get ]]; then
        mkdir -p "$build/debian"
        debootstrap --variant=minbase "$1" "$folder" >"$build/debian/$1.log" 2>&1 || return 1
    fi
    echo "$folder"
}
install_in() { # FOLDER PACKAGE...
    chroot "$1" env DEBIAN_FRONTEND=noninteractive sh -c 'dpkg -s "$@" >/dev/null 2>&1 ||
        { apt-get -q update && apt-get -q -y install --no-install-recommends "$@"; }' sh "${@:2}"
}

# What each row does with a compiler: the rest of the line names what was done.
compile_row() { # FLAG-OF-OUTPUT-FOLDER COMPILER...
    local out=$1
    shift
    if [[ $syntax_only == 1 ]]; then
        "$@" -fsyntax-only -DZTENSOR_COMPILED cmake/ztensor.cpp && "$@" -fsyntax-only tests/structure/consumer/main.cpp
        return
    fi
    "$@" -c -DZTENSOR_COMPILED cmake/ztensor.cpp -o "$out/ztensor.o" &&
        "$@" -c tests/structure/consumer/main.cpp -o "$out/main.o"
}

debian_row() { # RELEASE COMPILER LIBCXX-PACKAGE
    local folder packages=(libc6-dev libzstd-dev nlohmann-json3-dev libxxhash-dev zlib1g-dev) flags=(-std=c++17)
    folder=$(debian_folder "$1") || return 2
    packages+=("${2/clang++/clang}")
    if [[ $3 != - ]]; then
        packages+=("$3" "${3/libc++/libc++abi}")
        flags+=(-stdlib=libc++)
    elif [[ $2 == clang* ]]; then
        packages+=(libstdc++-12-dev)
        [[ $1 == trixie ]] && packages[-1]=libstdc++-14-dev
        [[ $1 == sid ]] && packages[-1]=libstdc++-16-dev
    fi
    install_in "$folder" "${packages[@]}" >&2 || return 2
    rm -rf "$folder/work" && mkdir -p "$folder/work/out"
    cp -r include cmake tests/structure "$folder/work" # the last one by itself
    mkdir -p "$folder/work/tests" && mv "$folder/work/structure" "$folder/work/tests"
    in_folder() { chroot "$folder" sh -c 'cd /work && exec "$@"' sh "$@"; }
    compile_row out in_folder "$2" "${flags[@]}" "${warnings[@]}" -Iinclude >&2 || return 1
    version=$(in_folder "$2" --version | head -n 1)
    did="library and header-only program"
    [[ $syntax_only == 1 ]] && { did+=", syntax only"; return; }
    in_folder "$2" "${flags[@]}" out/main.o -o out/main -lzstd -lxxhash -lz -pthread >&2 || return 1
    in_folder out/main out/model.zt >&2 || return 1
    did+="; ran: wrote and read a file"
}

zig_row() { # ZIG-VERSION TARGET RUNNER
    local python=$build/zig/$1 out=$build/out/$2 zig_flags=(-std=c++17 -Iinclude -isystem "$build/include" -DZTENSOR_WITHOUT_ZLIB)
    if [[ ! -x $python/bin/python ]] || ! "$python/bin/python" -m ziglang version >/dev/null 2>&1; then
        { python3 -m venv "$python" && "$python/bin/pip" install -q "ziglang==$1"; } >&2 || return 2
    fi
    [[ -e $build/zstd/zstd.c ]] || gather_sources >&2 || return 2
    local zig=("$python/bin/python" -m ziglang)
    version=$("${zig[@]}" c++ --version | head -n 1)
    mkdir -p "$out"
    # zig has no -fsyntax-only: an object file is what it can make.
    syntax_only=0 compile_row "$out" "${zig[@]}" c++ -target "$2" "${zig_flags[@]}" "${warnings[@]}" >&2 || return 1
    did="library and header-only program"
    [[ $3 == - ]] && { did+="; nothing here runs it"; return; }
    local runner=()
    [[ $3 == native ]] || runner=("$3")
    if [[ $3 != native ]] && ! command -v "$3" >/dev/null; then
        bash cmake/install_dependencies.sh "$3" >&2 || { did+="; $3 is not available"; return; }
    fi
    [[ -e $out/zstd.o ]] || "${zig[@]}" cc -w -target "$2" -O1 -c "$build/zstd/zstd.c" -o "$out/zstd.o" >&2 || return 1
    "${zig[@]}" c++ -target "$2" "$out/main.o" "$out/zstd.o" -o "$out/main.exe" >&2 || return 1
    "${runner[@]}" "$out/main.exe" "$out/model.zt" >&2 || return 1
    did+="; ran: wrote and read a file"
}

# zstd's source in one file comes with a Python package; headers of any machine are this one's.
gather_sources() {
    mkdir -p "$build/include" "$build/zstd" "$build/download"
    python3 -m venv "$build/python"
    "$build/python/bin/pip" download -q --no-deps --no-binary :all: --dest "$build/download" zstandard==0.23.0 || return 1
    tar -xzf "$build"/download/zstandard-*.tar.gz -C "$build/download" --strip-components=1
    cp "$build"/download/zstd/*.h "$build/include"
    cp -r /usr/include/nlohmann /usr/include/xxhash.h "$build/include"
    cp "$build"/download/zstd/zstd.* "$build/zstd"
}

row() { # NAME KIND WHERE WHAT RUNNER
    local log=$build/log/$1.log version='' did='' status=0
    mkdir -p "$build/log"
    "${2}_row" "${@:3}" 2>"$log" || status=$?
    case $status in
        0) echo "$1: ${version:-?}: $did: ok" ;;
        2) echo "$1: not available: $(tail -n 1 "$log")" ;;
        *)
            echo "$1: ${version:-?}: FAILED: $(grep -m 1 -E 'error|undefined' "$log" || tail -n 1 "$log") (see $log)"
            failed+=("$1")
            ;;
    esac
}

if [[ ${1:-} == --list ]]; then
    table | cut -d ' ' -f 1
    exit
fi
while read -r -a words <&3; do
    if [[ $# == 0 || " $* " == *" ${words[0]} "* ]]; then
        row "${words[@]}"
    fi
done 3< <(table)
echo "${#failed[@]} failed${failed:+: ${failed[*]}}"
[[ ${#failed[@]} == 0 ]]
