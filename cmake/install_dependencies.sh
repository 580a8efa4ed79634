#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Installs what building and testing needs, by apt and only what is missing. Further words on the command line name
# programs that are needed too, such as clang++ or s390x-linux-gnu-g++. What can be done without is left out where it can't
# be had.
set -euo pipefail

packages=()
wanted=()

need_program() { # PROGRAM PACKAGE
    command -v "$1" >/dev/null || packages+=("$2")
}
has_header() { # HEADER...: any of them will do
    local header
    if command -v c++ >/dev/null; then
        for header in "$@"; do
            if printf '#include <%s>\n' "$header" | c++ -std=c++17 -x c++ -fsyntax-only - 2>/dev/null; then
                return
            fi
        done
    fi
    return 1
}
want_program() { # PROGRAM PACKAGE...
    command -v "$1" >/dev/null || wanted+=("${@:2}")
}
need_header() { # PACKAGE HEADER...
    has_header "${@:2}" || packages+=("$1")
}
want_header() { # PACKAGE HEADER...
    has_header "${@:2}" || wanted+=("$1")
}

need_program cmake cmake
need_program make make
need_program c++ g++
need_program pkg-config pkg-config
need_program python3 python3
need_program strace strace # faults.syscalls lets system calls fail by it
need_program zstd zstd     # interop.zstd_tool
if ! python3 -c 'import ensurepip' 2>/dev/null; then # tests/interop makes a virtual environment
    packages+=(python3-venv)
fi
need_header libzstd-dev zstd.h
need_header libxxhash-dev xxhash.h
need_header zlib1g-dev zlib.h
need_header nlohmann-json3-dev nlohmann/json.hpp
need_header catch2 catch2/catch_all.hpp catch2/catch.hpp
need_header libcli11-dev CLI/CLI.hpp
need_header libeigen3-dev eigen3/Eigen/Core Eigen/Core
want_header libcurl4-openssl-dev curl/curl.h # else its tests are skipped
want_program mpirun.openmpi openmpi-bin libopenmpi-dev # else the tests of mpi.hpp are skipped, as without the next
want_program mpirun.mpich mpich libmpich-dev
want_header libhdf5-dev hdf5/serial/hdf5.h hdf5.h # else its tests are skipped, and zt refuses HDF5
for program in "$@"; do
    case $program in
        clang++) need_program "$program" clang ;;
        clang++-19) # the profiles' part of it is a package of its own, which Debian only recommends
            need_program "$program" clang-19
            if ! compgen -G '/usr/lib/llvm-19/lib/clang/19/lib/*/libclang_rt.profile*' >/dev/null; then
                packages+=(libclang-rt-19-dev)
            fi
            ;;
        llvm-cov-19) need_program "$program" llvm-19 ;;
        libc++-19-dev)
            if [[ ! -e /usr/lib/llvm-19/include/c++/v1/mdspan ]]; then
                packages+=("$program")
            fi
            ;;
        afl-fuzz) need_program "$program" afl++ ;;
        libcbor-dev) need_header libcbor-dev cbor.h ;;
        libz-mingw-w64-dev)
            if [[ ! -e /usr/x86_64-w64-mingw32/include/zlib.h ]]; then
                packages+=("$program")
            fi
            ;;
        x86_64-w64-mingw32-g++-posix) need_program "$program" g++-mingw-w64-x86-64-posix ;;
        *-linux-gnu-g++) need_program "$program" "g++-${program%-g++}" ;;
        qemu-*-static) need_program "$program" qemu-user-static ;;
        *) need_program "$program" "$program" ;;
    esac
done

# Installs what is named, if anything is.
lists_are_fresh=false
install() { # PACKAGE...
    if (($# == 0)); then
        return
    fi
    if ! command -v apt-get >/dev/null; then
        echo "Please install what Debian calls: $*" >&2
        exit 1
    fi
    echo "Installing: $*"
    update_lists
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null
}
update_lists() {
    if ! $lists_are_fresh; then
        as_root apt-get update -qq </dev/null ||
            echo "Not all package lists could be had; going on with those that there are." >&2
        lists_are_fresh=true
    fi
}
as_root() {
    if ((EUID == 0)); then
        "$@"
    else
        sudo "$@"
    fi
}

# clang's sanitizers are a package of their own, which Debian only recommends, and whose name is not the same everywhere.
links_sanitized() {
    local program links=0
    program=$(mktemp)
    echo 'int main() {}' | clang++ -fsanitize=address,undefined -x c++ - -o "$program" 2>/dev/null || links=$?
    rm -f "$program"
    return $links
}
sanitizer_package() {
    local major package
    major=$(clang++ -dumpversion | cut -d. -f1)
    for package in "libclang-rt-$major-dev" libclang-rt-dev "libclang-common-$major-dev"; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            echo "$package"
            return
        fi
    done
    echo "libclang-rt-$major-dev"
}

install "${packages[@]}"
if ((${#wanted[@]} > 0)); then
    (install "${wanted[@]}") || for package in "${wanted[@]}"; do # one that can't be had does not keep the others away
        (install "$package") || echo "Going on without: $package" >&2
    done
fi
if [[ " $* " == *' clang++ '* ]] && ! links_sanitized; then
    if command -v apt-get >/dev/null; then
        update_lists
    fi
    install "$(sanitizer_package)"
    links_sanitized || {
        echo "clang++ links no program with -fsanitize=address,undefined." >&2
        exit 1
    }
fi
