#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# language_modes.sh [--library] ['COMPILER -std=MODE'...]: all code compiles cleanly in these modes, all that have no test build
# of their own unless some are given: the tests as users of the compiled library, that library, and header-only what includes
# everything. By clang++ in C++17 each file of tests compiles by itself; in the others, those of a folder are one. --library
# leaves out the tests and the tool.
set -euo pipefail
cd "$(dirname "$0")/.."

one_of_each_folder() { # SOURCE...: makes a file of those in each folder, another of its tests, and names them
    local source unit
    for source in "$@"; do
        unit=build/modes/$(basename "$(dirname "$source")")
        [[ $source == *_test.cpp ]] && unit+=_tests
        [[ -e $unit.cpp ]] || printf '%s\0' "$unit.cpp"
        echo "#include \"$PWD/$source\"" >>"$unit.cpp"
    done
}
compile_only() { # COMPILER FLAG...: the files on standard input
    xargs -0 -n 1 -P "$(nproc)" "$@" -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror \
        -Iinclude -Itests
}

bash cmake/install_dependencies.sh clang++
all=yes
if [[ ${1:-} == --library ]]; then
    all=no
    shift
fi
modes=("$@")
((${#modes[@]} > 0)) || modes=('g++ -std=c++20' 'g++ -std=c++2b' 'clang++ -std=c++17' 'clang++ -std=c++2b')
tests=(tests/{support,base,os,cbor,codec,index,read,write,transfer,import,faults}/*.cpp)
mkdir -p build/modes
rm -f build/modes/*.cpp
one_of_each_folder "${tests[@]}" >build/modes/tests
one_of_each_folder examples/zt/*.cpp >build/modes/zt
for mode in "${modes[@]}"; do
    echo "-- $mode"
    if [[ $all == no ]]; then
        printf '%s\0' cmake/ztensor.cpp | compile_only $mode -DZTENSOR_COMPILED
    elif [[ $mode == 'clang++ -std=c++17' ]]; then
        printf '%s\0' cmake/ztensor.cpp "${tests[@]}" | compile_only $mode -DZTENSOR_COMPILED
        printf '%s\0' examples/zt/*.cpp | compile_only $mode
    else
        { printf '%s\0' cmake/ztensor.cpp && cat build/modes/tests; } | compile_only $mode -DZTENSOR_COMPILED
        compile_only $mode <build/modes/zt
    fi
    printf '%s\0' examples/*.cpp tests/structure/consumer/main.cpp tests/structure/*_{test,unit}.cpp |
        compile_only $mode
done
