#!/usr/bin/env bash
# The programs that the tests hold ours against: the official openai client for Python, and the real Prometheus.
# Each goes into the cache; nothing is installed into the system. What cannot be had is said, and its tests say "skipped".
#   test-tools.sh --have   exit status 0 if there is nothing to do
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=packaging/setup/common.sh
. "$here/common.sh"

openai_mark=$cache/openai/.$(sha256sum <"$here/openai-requirements.txt" | cut -c1-12)
prometheus=$cache/prometheus

have() { [ -e "$openai_mark" ] && [ -x "$prometheus/prometheus" ] && [ -x "$prometheus/promtool" ]; }

get_openai() {
    [ -e "$openai_mark" ] && return
    rm -rf "$cache/openai"
    python3 -m venv "$cache/openai"
    "$cache/openai/bin/pip" install -q --require-hashes --no-deps -r "$here/openai-requirements.txt"
    touch "$openai_mark"
}

get_prometheus() { # unpacked, not installed: the package would start a daemon
    [ -x "$prometheus/prometheus" ] && [ -x "$prometheus/promtool" ] && return
    local work
    work=$(mktemp -d "$cache/prometheus.XXXXXX")
    (cd "$work" && apt-get download -q prometheus >apt.log 2>&1 && dpkg -x prometheus_*.deb tree)
    mkdir -p "$prometheus"
    cp "$work/tree/usr/bin/prometheus" "$work/tree/usr/bin/promtool" "$prometheus/"
    rm -rf "$work"
}

if [ "${1:-}" = --have ]; then
    have
    exit
fi
(get_openai) || echo "set-up: no openai client (PyPI not reached?): its tests will be skipped" >&2
(get_prometheus) || echo "set-up: no Prometheus (Debian archive not reached?): its tests will be skipped" >&2
