# SPDX-License-Identifier: MIT
#
# For campaign.sh and afl.sh.

seeds_of() { # TARGET: what its inputs are
    case $1 in
    cbor_cursor | fast_path) echo indices ;;
    version_2 | shards) echo manifests_2 ;;
    http_response) echo responses ;;
    s3_texts) echo s3_texts ;;
    zstd_component) echo frames ;;
    layouts | digests_and_names | history) echo texts ;;
    sets) echo sets ;;
    planes) echo planes ;;
    foreign_*) echo "$1" ;;
    *) echo files ;;
    esac
}
