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
. tests/support/debian_folder.sh
warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)

# NAME KIND WHERE COMPILER-OR-TARGET RUNNER. Debian's: the release, the program, and the package of libc++ if it is used.
# No release of Debian has clang 20; ziglang 0.15 is made of it.
# zig links no exceptions for WASI: its program is compiled without.
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
wasi zig 0.17.1 wasm32-wasi node
ROWS
}

# A Debian in a folder, made once, and packages in it: one row at a time.
debian_folder() { # RELEASE
    local folder=$build/debian/$1
    if [[ ! -e $folder/is_made ]]; then
        ((EUID == 0)) || { echo "only root can make a Debian in a folder"; return 1; } >&2
        bash cmake/install_dependencies.sh debootstrap >&2 || return 1
        rm -rf --one-file-system "$folder" && mkdir -p "$folder"
        debootstrap --variant=minbase "$1" "$folder" "$(mirror_of "$1")" >"$folder.log" 2>&1 || { tail -n 1 "$folder.log" >&2; return 1; }
        let_into_the_network "$folder"
        touch "$folder/is_made"
    fi
}
install_in() { # FOLDER PACKAGE...
    chroot "$1" env DEBIAN_FRONTEND=noninteractive sh -c 'dpkg -s "$@" >/dev/null 2>&1 ||
        { apt-get -q update && apt-get -q -y install --no-install-recommends "$@"; }' sh "${@:2}" </dev/null
}
one_at_a_time() { # COMMAND...
    (flock 9 && "$@") 9>"$build/lock"
}

# What each row does with a compiler: the rest of the line names what was done.
compile_row() { # FLAG-OF-OUTPUT-FOLDER COMPILER...
    local out=$1
    shift
    if [[ $syntax_only == 1 ]]; then
        "$@" -fsyntax-only -DZTENSOR_COMPILED cmake/ztensor.cpp &&
            "$@" -fsyntax-only tests/structure/consumer/main.cpp
        return
    fi
    "$@" -c -DZTENSOR_COMPILED cmake/ztensor.cpp -o "$out/ztensor.o" &&
        "$@" -c -DZTENSOR_COMPILED examples/save_model.cpp -o "$out/save_model.o" &&
        "$@" -c -DZTENSOR_COMPILED examples/load_model.cpp -o "$out/load_model.o" &&
        "$@" "${program_flags[@]}" -c tests/structure/consumer/main.cpp -o "$out/main.o"
}

debian_row() { # RELEASE COMPILER LIBCXX-PACKAGE
    local folder=$build/debian/$1 work=work-$2-$3 packages=(libc6-dev libzstd-dev nlohmann-json3-dev libxxhash-dev zlib1g-dev) flags=(-std=c++17)
    one_at_a_time debian_folder "$1" || return 2
    packages+=("${2/clang++/clang}")
    if [[ $3 != - ]]; then
        packages+=("$3" "${3/libc++/libc++abi}")
        flags+=(-stdlib=libc++)
    elif [[ $2 == clang* ]]; then
        packages+=(libstdc++-12-dev)
        [[ $1 == trixie ]] && packages[-1]=libstdc++-14-dev
        [[ $1 == sid ]] && packages[-1]=libstdc++-16-dev
    fi
    one_at_a_time install_in "$folder" "${packages[@]}" >&2 || return 2
    rm -rf "${folder:?}/$work" && mkdir -p "$folder/$work"/{out,tests/structure}
    cp -r include cmake examples "$folder/$work"
    cp -r tests/structure/consumer "$folder/$work/tests/structure"
    in_folder() { chroot "$folder" sh -c 'cd "/$0" && exec "$@"' "$work" "$@" </dev/null; }
    compile_row out in_folder "$2" "${flags[@]}" "${warnings[@]}" -Iinclude >&2 || return 1
    version=$(in_folder "$2" --version | head -n 1)
    did="library, examples and header-only program"
    [[ $syntax_only == 1 ]] && { did+=", syntax only"; return; }
    in_folder "$2" "${flags[@]}" out/main.o -o out/main -lzstd -lxxhash -lz -pthread >&2 || return 1
    in_folder out/main out/model.zt >&2 || return 1
    did+="; ran: wrote and read a file"
}

install_zig() { # ZIG-VERSION
    local python=$build/zig/$1
    if ! "$python/bin/python" -m ziglang version >/dev/null 2>&1; then
        python3 -m venv "$python" && "$python/bin/pip" install -q "ziglang==$1" || return 1
    fi
    [[ -e $build/zstd/zstd.c ]] || gather_sources
}

zig_row() { # ZIG-VERSION TARGET RUNNER
    local python=$build/zig/$1 out=$build/out/$2 zig_flags=(-std=c++17 -Iinclude -isystem "$build/include" -DZTENSOR_WITHOUT_ZLIB
        -Wno-unused-command-line-argument) # of those that zig adds
    [[ $2 == wasm32-wasi ]] && program_flags=(-fno-exceptions)
    one_at_a_time install_zig "$1" >&2 || return 2
    local zig=("$python/bin/python" -m ziglang)
    version=$("${zig[@]}" c++ --version | head -n 1)
    mkdir -p "$out"
    # zig has no -fsyntax-only: an object file is what it can make.
    syntax_only=0 compile_row "$out" "${zig[@]}" c++ -target "$2" "${zig_flags[@]}" "${warnings[@]}" >&2 || return 1
    did="library, examples and header-only program"
    [[ $3 == - ]] && { did+="; nothing here runs it"; return; }
    local runner=()
    [[ $3 == native ]] || runner=("$3")
    [[ $3 == node ]] && runner=(node --no-warnings "$PWD/tests/structure/consumer/wasi.mjs")
    if [[ $3 != native ]] && ! command -v "$3" >/dev/null; then
        one_at_a_time bash cmake/install_dependencies.sh "$3" >&2 || { did+="; $3 is not available"; return; }
    fi
    [[ -e $out/zstd.o ]] || "${zig[@]}" cc -w -target "$2" -O1 -c "$build/zstd/zstd.c" -o "$out/zstd.o" >&2 || return 1
    "${zig[@]}" c++ -target "$2" "$out/main.o" "$out/zstd.o" -o "$out/main.exe" >&2 || return 1
    (cd "$out" && rm -f model.zt && "${runner[@]}" ./main.exe model.zt) >&2 || return 1
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

row() { # NAME KIND WHERE WHAT RUNNER: prints one line, and the first errors where there are some
    local log=$build/log/$1.log version='' did='' status=0
    local program_flags=() # arrays are not exported
    "${2}_row" "${@:3}" 2>"$log" || status=$?
    case $status in
        0) echo "$1: ${version:-?}: $did: ok" ;;
        2) echo "$1: not available: $(tail -n 1 "$log")" ;;
        *)
            echo "$1: ${version:-?}: FAILED (see $log)"
            { grep -E 'error|undefined' "$log" || tail -n 3 "$log"; } | head -n 3 | cut -c 1-300 | sed 's/^/    /'
            return 1
            ;;
    esac
}

if [[ ${1:-} == --list ]]; then
    table | cut -d ' ' -f 1
    exit
fi
for name in "$@"; do
    if ! table | grep -q "^$name "; then
        echo "There is no row $name; --list names them." >&2
        exit 2
    fi
done
mkdir -p "$build/log"
table | if (($# > 0)); then grep -E "^($(IFS='|' && sed 's/[+.]/\\&/g' <<<"$*")) "; else cat; fi >"$build/rows"
export -f row debian_row zig_row install_zig gather_sources compile_row debian_folder install_in one_at_a_time \
    mirror_of let_into_the_network
export build syntax_only warning_flags="${warnings[*]}"
# A line each as soon as it is known; xargs tells by its status whether one FAILED.
status=0
xargs -P "$(nproc)" -L 1 bash -c 'read -r -a warnings <<<"$warning_flags"; row "$@"' bash <"$build/rows" || status=1
if [[ $status == 0 ]]; then
    echo "all $(wc -l <"$build/rows") are ok or not available"
else
    echo "some FAILED"
fi
exit $status
