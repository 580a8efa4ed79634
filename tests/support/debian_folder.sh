# SPDX-License-Identifier: MIT
#
# For scripts that have a release of Debian in a folder: what of this machine's network such a system needs.

mirror_of() { # RELEASE: MIRROR, or where apt has its packages from here
    local mirror=${MIRROR:-}
    if [[ -z $mirror ]]; then # any suite but those of updates, which are no whole system
        mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | awk '$2 !~ /[-\/]/ { print $1; exit }')
    fi
    echo "${mirror:-/none}"
}

let_into_the_network() { # FOLDER: apt reaches the mirror as it does here, and trusts the same certificates
    cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
    apt-config dump | grep -E '^Acquire::(http|https|Check|Retries)[-:A-Za-z]* "[^"]' >"$1/etc/apt/apt.conf.d/90fresh" || true
    if [[ -e /etc/ssl/certs/ca-certificates.crt ]]; then
        mkdir -p "$1/etc/ssl/certs"
        cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
        cp -r /usr/local/share/ca-certificates "$1/usr/local/share/" # which the package of that name goes through
    fi
}
