#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# untraced.sh DISTURB...: what the command, a call of disturb.sh, does where nothing may be traced or mounted: it skips what
# takes that, by name, and passes the rest.
set -uo pipefail
here=$(dirname "$0")
out=$(mktemp)
trap 'rm -f "$out"' EXIT

ends_with() { # STATUS WORDS ARGUMENT...
    local status=0
    python3 -B "$here/untraced.py" "${command[@]}" "${@:3}" >"$out" 2>&1 || status=$?
    if [[ $status != "$1" ]] || ! grep -q -- "$2" "$out"; then
        echo "${*:3}: exit status $status, not $1 with \"$2\":"
        cat "$out"
        exit 1
    fi
}

command=("$@")
if ! python3 -B "$here/untraced.py" true; then
    echo "SKIPPED: nothing can be forbidden to a process here"
    exit 77
fi
ends_with 77 '^SKIPPED: strace' calls
ends_with 77 '^SKIPPED: ' full_disk
ends_with 0 '^in all ' limits 20
