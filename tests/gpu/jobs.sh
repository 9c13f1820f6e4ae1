#!/usr/bin/env bash
# Runs a program of ours as jobs on the GPU: PEs as threads, and as processes under an MPS of the job's own. Without a GPU it
# prints one line and is skipped (needs_gpu.sh).
#   jobs.sh ISOTOPE PROGRAM [arguments]
set -uo pipefail
isotope=$1
shift
. "$(dirname "$0")/needs_gpu.sh"
needs_gpu "$isotope" "built, not run"
failed=0
for pes in 1 2 3 4 5 8; do
  for way in --threads ""; do
    printf '%-12s %d PEs: ' "${way:-processes}" "$pes"
    # shellcheck disable=SC2086  # an empty way is no argument
    if output=$(timeout 120 "$isotope" run -n "$pes" $way --platform cuda "$@" 2>&1); then
      echo "$output" | tail -n 1
    else
      echo "FAILED"
      echo "$output" | tail -n 20
      failed=1
    fi
  done
done

# A PE that dies while the others' kernels wait for it: all end soon, with an error, and nothing is left.
[ "$#" -eq 1 ] && for how in kill trap; do
  for way in --threads ""; do
    [ "$how$way" = kill--threads ] && continue
    printf '%-12s %s: ' "${way:-processes}" "$how"
    # shellcheck disable=SC2086
    output=$(timeout 60 "$isotope" run -n 3 $way --platform cuda "$1" "$how" 2>&1)
    status=$?
    learned=$(grep -c "in time" <<<"$output")
    # Of the three the one that was killed says nothing.
    [ "$how" = kill ] && expected=2 || expected=3
    if [ $status -eq 0 ] || [ $status -eq 124 ] || [[ $output == *FAILED* ]] || [ "$learned" -ne $expected ]; then
      echo "FAILED with status $status"
      echo "$output" | tail -n 20
      failed=1
    else
      echo "$learned PEs learned it in time"
    fi
  done
done
if compgen -G "${TMPDIR:-/tmp}/isotope-mps-*" >/dev/null; then
  echo "FAILED: a job's MPS daemon, or its folder, is left"
  failed=1
fi
exit $failed
