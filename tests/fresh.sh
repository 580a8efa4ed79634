#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# fresh.sh [--as root|user] [--only examples|tests] [--options WORDS] [--untraced] [RELEASE...]: the README's two commands on
# a RELEASE of Debian (bookworm unless given; trixie, sid, ...) with nothing on it, or of Ubuntu where debootstrap knows it
# and its keys are there: as root, and as a user with sudo, umask 077 and a folder whose name has spaces. The second command
# is given the options, as a shell reads them. --untraced lets nothing be traced or mounted there, as in many containers.
#
# The release is in a folder, which debootstrap fills from the mirror that apt uses here, or MIRROR. FRESH_DIR (build/fresh)
# keeps what was downloaded. Takes root. Status 77 with a line "SKIPPED: why" where this machine can't do that.
set -euo pipefail
umask 022 # The system's own folders are for all its users, whatever is private here.
script=$(realpath "$0")
cd "$(dirname "$script")/.."
. tests/support/debian_folder.sh
fresh=$(realpath -m "${FRESH_DIR:-build/fresh}")

skip() { # WORDS...
    echo "SKIPPED: $*"
    exit 77
}

# -- within a mount and a process name space of its own, which end with it: whatever was mounted or started is gone then

enter() { # FOLDER RELEASE USER UNTRACED COMMAND...: runs the commands in the folder
    local root=$1 release=$2 user=$3 untraced=$4 command home=/root place=/root/ztensor
    local variables=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C)
    mount --rbind "$root" "$root" # so that more can be mounted within it
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --make-rslave "$root/dev"
    mount --bind "$fresh/archives/$release" "$root/var/cache/apt/archives"
    if [[ $user != root ]]; then
        home=/home/$user place="/home/$user/a folder/ztensor"
    fi
    variables+=(HOME="$home" USER="$user" DEBIAN_FRONTEND=noninteractive)
    if [[ -e $root/etc/ssl/certs/ca-certificates.crt ]]; then
        variables+=(PIP_CERT=/etc/ssl/certs/ca-certificates.crt)
    fi
    if [[ -n ${OMP_NUM_THREADS:-} ]]; then # nproc heeds it
        variables+=(OMP_NUM_THREADS="$OMP_NUM_THREADS")
    fi
    local as=(chroot "$root" env -i "${variables[@]}")
    if [[ $user != root ]]; then
        "${as[@]}" bash -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends sudo' </dev/null >/dev/null
        echo "$user ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$user"
        as+=(setpriv --reuid="$user" --regid="$user" --init-groups)
    fi
    if [[ $untraced == yes ]]; then
        as=(python3 -B tests/faults/untraced.py "${as[@]}")
    fi
    for command in "${@:5}"; do
        printf '\n-- %s\n' "$command"
        "${as[@]}" bash -c 'if [[ $EUID != 0 ]]; then umask 077; fi; cd "$1" && eval "exec bash $2"' bash "$place" "$command" </dev/null
    done
}
if [[ ${1:-} == --within ]]; then
    enter "${@:2}"
    exit
fi

# -- outside

base_of() { # RELEASE: its file, which is made once
    local base=$fresh/$1.tar building
    if [[ ! -e $base ]]; then
        building=$(mktemp -d "$fresh/$1.XXXXXX")
        chmod 755 "$building" # as it is packed
        if ! debootstrap --variant=minbase "$1" "$building" "$(mirror_of "$1")" >"$fresh/$1.log" 2>&1; then
            rm -rf --one-file-system "$building"
            tail -n 3 "$fresh/$1.log" >&2
            return 1
        fi
        tar -C "$building" -cf "$base.part" .
        rm -rf --one-file-system "$building"
        mv "$base.part" "$base"
    fi
    echo "$base"
}

unpack() { # BASE FOLDER USER
    local root=$2 home=$2/root
    mkdir -p "$root"
    tar -C "$root" -xf "$1"
    let_into_the_network "$root"
    if [[ $3 != root ]]; then
        chroot "$root" useradd --create-home --shell /bin/bash "$3"
        home="$root/home/$3/a folder"
        mkdir -p "$home"
    fi
    git clone --quiet --no-hardlinks . "$home/ztensor"
    if [[ $3 != root ]]; then
        chroot "$root" chown -R "$3:$3" "/home/$3"
    fi
}

try() { # RELEASE USER UNTRACED COMMAND...
    local base root=$fresh/$1-$2 status=0
    printf '\n==== %s, as %s%s (after %d s) ====\n' "$1" "$2" "$([[ $3 == yes ]] && echo ', untraced')" "$SECONDS"
    rm -rf --one-file-system "$root"
    base=$(base_of "$1") || return 1
    unpack "$base" "$root" "$2"
    unshare --mount --propagation private --pid --fork --kill-child bash "$script" --within "$root" "$@" || status=$?
    if [[ $status != 0 ]]; then
        echo "FAILED on $1, as $2: it lies in $root" >&2
        return "$status"
    fi
    rm -rf --one-file-system "$root"
}

users=(root user) commands=(examples/run.sh tests/run.sh) options='' untraced=no releases=()
while (($# > 0)); do
    case $1 in
    --as) users=("$2") && shift ;;
    --only) commands=("$2/run.sh") && shift ;;
    --options) options=$2 && shift ;;
    --untraced) untraced=yes ;;
    *) releases+=("$1") ;;
    esac
    shift
done

((EUID == 0)) || skip "only root can make a fresh system in a folder"
command -v apt-get >/dev/null || skip "there is no apt-get, whose mirror would be used"
bash cmake/install_dependencies.sh debootstrap git
unshare --mount --propagation private --pid --fork bash -c 'mount -t proc proc "$0" && chroot / true' "$(mktemp -d)" 2>/dev/null ||
    skip "nothing may be mounted here, or no root changed: no fresh system can be tried"

for release in "${releases[@]:-bookworm}"; do
    mkdir -p "$fresh/archives/$release/partial"
    for user in "${users[@]}"; do
        try "$release" "$user" "$untraced" "${commands[@]/%tests\/run.sh/tests/run.sh $options}"
    done
done
printf '\n==== fresh: all good (after %d s) ====\n' "$SECONDS"
