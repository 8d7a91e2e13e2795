#!/bin/sh
# A libFuzzer target for SLIPWAY_FUZZ_SECONDS (60) on its corpus. What it finds stays in the build folder: an input
# that breaks it is FOLDER/crash-…, and belongs into the corpus together with what mends it.
#   fuzz_a_while.sh PROGRAM CORPUS FOLDER
set -eu
program=$1 corpus=$2 folder=$3
mkdir -p "$folder/found"
exec "$program" "$folder/found" "$corpus" -max_total_time="${SLIPWAY_FUZZ_SECONDS:-60}" -timeout=10 \
    -rss_limit_mb=1024 -artifact_prefix="$folder/" -print_final_stats=1 -print_funcs=0
