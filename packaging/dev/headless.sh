#!/usr/bin/env bash
# What the window does when it opens, without a window: a real model is served by the local engine, answers a
# question, and its metrics are read while it does.   headless.sh BIN_DIR [QUESTION]
set -euo pipefail
bin=$1
case ${2:-} in -*)
    echo "Without a display ./dev run takes a question, not options: ${2} is none. See ./dev exec slipwayctl --help" >&2
    exit 2
    ;;
esac
question=${2:-"What is Kubernetes? Answer in one sentence."}
log=$(mktemp "${TMPDIR:-/tmp}/slipway-engine-XXXXXX.log")
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
url=http://127.0.0.1:$port

"$bin/slipwayctl" serve smollm2-135m-instruct --host 127.0.0.1 --port "$port" --max-model-len 4096 >"$log" 2>&1 &
engine=$!
trap 'kill "$engine" 2>/dev/null; wait "$engine" 2>/dev/null || true; rm -f "$log"' EXIT

printf 'engine      %s (smollm2-135m-instruct), starting\n' "$url"
for _ in $(seq 600); do
    if ! kill -0 "$engine" 2>/dev/null; then
        echo "The engine ended before it was ready. What it said:" >&2
        cat "$log" >&2
        exit 1
    fi
    curl -sf -o /dev/null "$url/health" && break
    sleep 0.1
done
curl -sf -o /dev/null "$url/health" || { echo "The engine was not ready within a minute." >&2; exit 1; }

printf 'you         %s\n' "$question"
printf 'answer      '
"$bin/slipwayctl" chat --base-url "$url/v1" --max-tokens 120 --temperature 0 -m "$question"
printf '\nmetrics     of %s/metrics\n' "$url"
"$bin/slipwayctl" metrics --base-url "$url"
printf '\nOn a desktop, ./dev run opens the window. More: ./dev exec slipwayctl --help\n'
