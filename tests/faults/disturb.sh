#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# disturb.sh VICTIM calls|full_disk|limits [KILLS]: runs the program (programs/victim.cpp) again and again, and disturbs it:
#   calls      each system call of a change fails (EIO, ENOSPC, EDQUOT, EINTR; once and for ever), or the process is killed there
#   full_disk  the change is on a file system with too little room
#   limits     files may have a certain size only; the process is killed KILLS (300) times at random moments; into /dev/full
# After each, recover() and the sweep must leave the complete old or the complete new file and nothing else. Prints a table;
# exit status 1 if anything was broken, 77 with a line "SKIPPED: why" if that can't be tried here.
set -uo pipefail
victim=$(realpath "${1:?usage: disturb.sh VICTIM calls|full_disk|limits}")
export LC_ALL=C

skip() { # WORDS...
    echo "SKIPPED: $*"
    exit 77
}
can_trace() {
    command -v strace >/dev/null && strace -o /dev/null -e inject=fsync:error=EIO true 2>/dev/null
}

scratch_of() { # on a file system in memory where there is one: thousands of syncs take their time
    [[ -d /dev/shm && -w /dev/shm ]] && mktemp -d /dev/shm/ztensor-faults.XXXXXX || mktemp -d
}
scratch=$(scratch_of)
trap 'rm -rf "$scratch"' EXIT

actions=(create append append_in_place edit edit_in_place recover_append recover_edit)
once=(openat readlink read pread64 newfstatat fstat write fsync ftruncate lseek flock fcntl linkat renameat unlinkat
    close copy_file_range sync_file_range fallocate fchmod fchown getxattr fremovexattr)
for_ever=(openat write fsync ftruncate linkat renameat unlinkat)
full=(openat write fsync ftruncate linkat renameat copy_file_range)
over_quota=(openat write fsync close) # some file systems say so only when they write back
interrupted=(openat read pread64 write fsync flock close copy_file_range ftruncate)

verb_of() { # ACTION
    [[ $1 == recover_* ]] && echo recover || echo "$1"
}

# FOLDER/work/f to change, FOLDER/model with what work is like before, FOLDER/new: f after a change that nothing disturbed.
prepare() { # ACTION FOLDER
    local action=$1 at=$2 cause=
    mkdir -p "$at/work" "$at/model"
    "$victim" old "$at/work/f" || return 1
    cp "$at/work/f" "$at/model/f.old"
    cp "$at/work/f" "$at/model/f"
    case $action in
    recover_append) cause=append_in_place ;;
    recover_edit) cause=edit_in_place ;;
    esac
    "$victim" "${cause:-$action}" "$at/work/f" || return 1
    cp "$at/work/f" "$at/new"
    cp "$at/model/f" "$at/work/f" # the same file, which an undo record is about
    if [[ -n $cause ]]; then
        # In a shell that may say "Killed" to nobody.
        { strace -o /dev/null -e inject=fsync:signal=SIGKILL:when=3 "$victim" "$cause" "$at/work/f"; } 2>"$at/stderr"
        cp "$at/work/f" "$at/model/f"
        cp "$at"/work/.ztensor-*.undo "$at/model/" || return 1
    fi
}

# Counts: what was tried, errors, done all the same, killed, broken.
tried=0 errors=0 succeeded=0 killed=0 broken=0
judge() { # FOLDER STATUS WHAT...: how it ended, and what had been done to it
    local at=$1 status=$2 what="${*:3}" changed=$1/new said
    tried=$((tried + 1))
    case $status in
    0) succeeded=$((succeeded + 1)) && [[ $action != recover_* ]] && changed="!$changed" ;;
    1) errors=$((errors + 1)) ;;
    137) killed=$((killed + 1)) ;;
    *) broken=$((broken + 1)) && echo "BROKEN: $action, $what: exit status $status" >&2 ;;
    esac
    if ! said=$("$victim" check "$at/work" "$at/model" "$changed" 2>&1); then
        broken=$((broken + 1)) && echo "BROKEN: $action, $what: $said" >&2
    fi
}

inject() { # FOLDER CALL WHEN HOW
    # In a shell of its own, which says nothing of a process that was killed.
    (exec strace -o /dev/null -e trace="$2" -e inject="$2:$4:when=$3" "$victim" "$verb" "$1/work/f") 2>"$1/stderr"
    judge "$1" $? "$2 number $3, $4"
}

disturb_calls() { # ACTION FOLDER: leaves a row of the table in FOLDER/row
    local action=$1 at=$2 verb name before all index
    verb=$(verb_of "$action")
    prepare "$action" "$at" || { echo "BROKEN: $action can't be prepared" >&2 && echo "$action - - - - - 1" >"$at/row" && return; }
    strace -o "$at/log" "$victim" "$verb" "$at/work/f"
    judge "$at" $? undisturbed
    local -A of_start=() of_run=()
    while read -r name before all; do
        of_start[$name]=$before of_run[$name]=$all
    done < <(awk -F'(' '/ztensor-begins/ { begun = 1; next } /^[a-z0-9_]+\(/ { all[$1]++; if (!begun) start[$1]++ }
                        END { for (name in all) print name, start[name] + 0, all[name] }' "$at/log")
    local calls=0
    for name in "${!of_run[@]}"; do
        [[ " ${once[*]} " == *" $name "* ]] || continue
        for ((index = of_start[$name] + 1; index <= of_run[$name]; ++index)); do
            calls=$((calls + 1))
            inject "$at" "$name" "$index" error=EIO
            inject "$at" "$name" "$index" signal=SIGKILL
            [[ " ${for_ever[*]} " == *" $name "* ]] && inject "$at" "$name" "$index+" error=EIO
            [[ " ${full[*]} " == *" $name "* ]] && inject "$at" "$name" "$index" error=ENOSPC
            [[ " ${full[*]} " == *" $name "* ]] && inject "$at" "$name" "$index+" error=ENOSPC
            [[ " ${over_quota[*]} " == *" $name "* ]] && inject "$at" "$name" "$index" error=EDQUOT
            [[ " ${interrupted[*]} " == *" $name "* ]] && inject "$at" "$name" "$index" error=EINTR
        done
    done 2>>"$at/complaints"
    echo "$action $calls $tried $errors $succeeded $killed $broken" >"$at/row"
}

disturb_all_calls() {
    can_trace || skip "strace is missing or may trace nothing here: no system call is made to fail"
    for action in "${actions[@]}"; do
        while (($(jobs -rp | wc -l) >= $(nproc))); do
            wait -n
        done
        (trap - EXIT && disturb_calls "$action" "$scratch/$action") &
    done
    wait
}

limit_sizes() { # FOLDER
    local action limit
    for action in create append append_in_place edit edit_in_place; do # recovery writes nothing that is longer
        rm -rf "${1:?}" && prepare "$action" "$1" || return 1
        for limit in 0 1 2 1000 1092 1093 1094 1200 2000 2184 2185 2186 2187 2300; do
            (trap '' XFSZ && ulimit -f "$limit" && exec "$victim" "$action" "$1/work/f") 2>"$1/stderr"
            judge "$1" $? "files of $limit KiB at most"
        done
    done
    echo "size_limit - $tried $errors $succeeded $killed $broken"
}

limit() { # KILLS
    local into_full=0
    (trap - EXIT && limit_sizes "$scratch/size" >"$scratch/size_row" 2>"$scratch/size_complaints") ||
        echo "BROKEN: a limit of sizes can't be tried" >"$scratch/size_complaints"
    "$victim" kill_at_random "$scratch/random" "$1" 1 >"$scratch/random_row" 2>"$scratch/random_complaints"
    "$victim" create /dev/full 2>"$scratch/stderr" || into_full=$?
    if [[ $into_full != 1 ]] || ! grep -q '^not_regular_file' "$scratch/stderr"; then
        echo "BROKEN: /dev/full is written to" >"$scratch/full_complaints"
    fi
}

fill_disk() { # FOLDER: in a name space of its own
    local action room
    for action in "${actions[@]}"; do
        if [[ $action == recover_append ]] || { [[ $action == recover_edit ]] && ! can_trace; }; then
            continue # strace makes what there is to recover
        fi
        rm -rf "${1:?}" && mkdir -p "$1/work" && mount -t tmpfs -o size=8m none "$1/work" || return 1
        prepare "$action" "$1" || return 1
        for room in 0 1 4 8 64 1024 1092 1096 1100 1200 2176 2184 2188 2192 2300; do
            head -c "$(($(stat -f -c '%a*%S' "$1/work") - room * 1024))" /dev/zero >"$1/work/ballast" 2>/dev/null
            "$victim" "$(verb_of "$action")" "$1/work/f" 2>"$1/stderr"
            local status=$?
            rm "$1/work/ballast"
            judge "$1" $status "room for $room KiB"
        done
        umount "$1/work"
    done
    echo "full_disk - $tried $errors $succeeded $killed $broken"
}

fill_own_disk() {
    [[ $(id -u) == 0 ]] || skip "only root can mount a file system that is full"
    mkdir -p "$scratch/full"
    unshare -m mount -t tmpfs none "$scratch/full" 2>/dev/null || skip "no file system of its own size can be mounted here"
    unshare -m bash "$0" "$victim" in_own_name_space "$scratch/full" >"$scratch/full_row" 2>"$scratch/full_complaints" ||
        echo "BROKEN: a full disk can't be tried" >>"$scratch/full_complaints"
}

case ${2:-} in
in_own_name_space)
    trap - EXIT
    fill_disk "$3"
    exit
    ;;
calls) disturb_all_calls ;;
full_disk) fill_own_disk ;;
limits) limit "${3:-300}" ;;
*) echo "disturb.sh: calls, full_disk or limits?" >&2 && exit 1 ;;
esac

shopt -s nullglob
complaints=("$scratch"/*/complaints "$scratch"/*_complaints) rows=("$scratch"/*/row "$scratch"/*_row)
printf '%-16s %6s %6s %7s %6s %7s %7s\n' change calls tried errors done killed broken
cat "${rows[@]}" </dev/null | awk '
    { printf "%-16s %6s %6s %7s %6s %7s %7s\n", $1, $2, $3, $4, $5, $6, $7
      calls += $2; tried += $3; errors += $4; done += $5; killed += $6; broken += $7 }
    END { printf "%-16s %6d %6d %7d %6d %7d %7d\n", "in all", calls, tried, errors, done, killed, broken
          exit broken > 0 || tried == 0 }' || exit 1
! cat "${complaints[@]}" </dev/null | grep BROKEN
