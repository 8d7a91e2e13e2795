# shellcheck shell=bash disable=SC2034
# Sourced by the set-up scripts: where the cache is, and the words for failing.
cache=${SLIPWAY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/slipway}
mkdir -p "$cache"

die() {
    printf 'set-up: %s\n' "$*" >&2
    exit 1
}

# check_sha256 HASH FILE: a file that is not the pinned one is moved aside, never used.
check_sha256() {
    local found
    found=$(sha256sum "$2" | cut -d' ' -f1)
    [ "$found" = "$1" ] && return
    mv "$2" "$2.rejected"
    die "$(basename "$2"): SHA-256 is $found, expected $1 (kept as $2.rejected)"
}
