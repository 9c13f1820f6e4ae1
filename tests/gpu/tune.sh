#!/usr/bin/env bash
# `isotope tune` and `isotope bench` on the GPU: a table is written where the library looks for it, and is what chooses; every
# algorithm's result was compared on the way. Without a GPU it prints one line and is skipped (needs_gpu.sh).
#   tune.sh ISOTOPE
set -uo pipefail
isotope=$1
. "$(dirname "$0")/needs_gpu.sh"
needs_gpu "$isotope" "built, not run"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work ISOTOPE_TUNE_FILE=
table=$work/isotope/tuning-cuda
failed=0
fail() {
  echo "FAILED: $*"
  failed=1
}

# Collectives of which the built-in table has rows: a choice by name of the file shows that it was read.
timeout 300 "$isotope" tune --platform cuda --quick -n 2 >"$work/out" 2>"$work/err" || fail "tune: $(cat "$work/err")"
[ "$(grep -c ' 2 ' "$table")" -ge 5 ] || fail "a row for each of five collectives was expected in $table"
ISOTOPE_TRACE_CHOICES=1 timeout 120 "$isotope" bench broadcast --platform cuda --quick -n 2 --repeats 1 >"$work/out" 2>"$work/err" ||
  fail "bench: $(tail -n 3 "$work/err")"
grep -q "broadcast, .* ($table)" "$work/err" || fail "the table was not read: $(sort -u "$work/err" | head -n 3)"
for pes in 2 3 8; do
  timeout 300 "$isotope" bench all --platform cuda --algo all --quick -n "$pes" --repeats 1 --json "$work/$pes.json" >"$work/out" 2>"$work/err" ||
    fail "bench of $pes PEs: $(tail -n 3 "$work/err")"
  grep -q '"platform": "cuda"' "$work/$pes.json" || fail "no row of platform cuda at $pes PEs"
done
if compgen -G "${TMPDIR:-/tmp}/isotope-mps-*" >/dev/null; then
  fail "a job's MPS daemon, or its folder, is left"
fi
[ "$failed" -eq 0 ] && echo "tuned, chosen by the table, and every algorithm right at 2, 3 and 8 PEs"
exit $failed
