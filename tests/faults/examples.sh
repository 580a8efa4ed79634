#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# examples.sh FOLDER: the examples built there end with an error where their output or their arguments come to nothing.
set -uo pipefail
programs=$(realpath "${1:?usage: examples.sh FOLDER}")
cd "$(dirname "$0")/../.."
model=tests/corpus/golden/silero-vad-16k.zt
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
wrong=0

refuses() { # OUTPUT WORDS PROGRAM ARGUMENT...: exit status 1, and these words on the standard error
    local status=0
    "$programs/$3" "${@:4}" >"$1" 2>"$scratch/stderr" || status=$?
    if [[ $status != 1 ]] || ! grep -qF -- "$2" "$scratch/stderr"; then
        echo "${*:3} > $1: exit status $status, $(<"$scratch/stderr")"
        wrong=1
    fi
}

if [[ -c /dev/full ]]; then
    refuses /dev/full "can't write to the standard output" inspect "$model"
    refuses /dev/full "can't write to the standard output" inspect --json "$model"
    refuses /dev/full "can't write to the standard output" rewrite "$model" "$scratch/rewritten.zt"
    refuses /dev/full "can't write to the standard output" load_model "$model" "$scratch/copy.zt"
    refuses /dev/full "can't write to the standard output" save_model "$scratch/saved.zt"
else
    echo "SKIPPED: there is no /dev/full" >&2
fi
refuses /dev/null 'given twice for "a"' migrate --rename a=x --rename a=y "$model" "$scratch/out.zt"
refuses /dev/null 'OLD=NEW, not "a"' migrate --rename a "$model" "$scratch/out.zt"
if [[ -e $scratch/out.zt ]]; then
    echo "a refused migration left a file" && wrong=1
fi
exit $wrong
