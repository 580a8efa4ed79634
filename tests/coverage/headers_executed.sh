#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# How many headers of the library have lines that run on five walks through it: one small program each, in
# tests/coverage/walks, header-only, counted by gcov. Prints a table.
# usage: tests/coverage/headers_executed.sh [FOLDER [COMMIT]]; FOLDER (build/walks) gets the programs and one list of
# headers for each; with COMMIT, the headers are those of that commit.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=${1:-build/walks}
include=$PWD/include
mkdir -p "$folder"
folder=$(realpath "$folder")
if [[ -n ${2:-} ]]; then
    rm -rf "$folder/$2"
    mkdir -p "$folder/$2"
    git archive "$2" include | tar -x -C "$folder/$2"
    include=$folder/$2/include
fi
compiler=(${CXX_LAUNCHER:-} "${CXX:-g++}")

cp -f tests/corpus/golden/silero-vad-16k.zt "$folder/appended.zt"
declare -A argument=(
    [open_view]=tests/corpus/golden/silero-vad-16k.zt
    [add]=$folder/added.zt
    [plan]=tests/corpus/golden/silero-vad-16k.zt
    [gguf]=tests/corpus/foreign/gguf/blocks.gguf
    [append]=$folder/appended.zt
)
declare -A meaning=(
    [open_view]='reader::open, view<float>'
    [add]='writer::add, to a disk'
    [plan]='load_plan::add_as, to memory'
    [gguf]='open_any of GGUF, read_as<float>'
    [append]='an append in place'
)

printf '| walk | headers executed | lines executed |\n| --- | ---: | ---: |\n'
for walk in open_view add plan gguf append; do
    work=$folder/$walk.gcov
    rm -rf "$work"
    mkdir "$work"
    "${compiler[@]}" -std=c++17 -O0 --coverage -fprofile-abs-path -I"$include" -c "tests/coverage/walks/$walk.cpp" -o "$work/walk.o"
    "${CXX:-g++}" --coverage "$work/walk.o" -o "$work/walk" -lzstd -lz -lxxhash -pthread
    rm -f "$folder/added.zt"
    "$work/walk" "${argument[$walk]}"
    "${GCOV:-gcov}" --json-format --stdout "$work/walk.gcda" > "$work/lines.json"
    python3 -B - "$work/lines.json" "$include/ztensor" "$folder/$walk.txt" "${meaning[$walk]}" << 'PYTHON'
import json
import sys

lines_of, include, listed, meaning = sys.argv[1:]
executed = {}
with open(lines_of) as report:
    for unit in map(json.loads, filter(str.strip, report)):
        for each in unit["files"]:
            if each["file"].startswith(include):
                ran = {line["line_number"] for line in each["lines"] if line["count"]}
                executed.setdefault(each["file"][len(include) + 1 :], set()).update(ran)
executed = {name: lines for name, lines in executed.items() if lines}
with open(listed, "w") as out:
    for name, lines in sorted(executed.items()):
        print(len(lines), name, file=out)
print(f"| {meaning} | {len(executed)} | {sum(map(len, executed.values()))} |")
PYTHON
done
