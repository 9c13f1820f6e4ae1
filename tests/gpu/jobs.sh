#!/usr/bin/env bash
# Runs a program of ours as jobs on the GPU: PEs as threads, and as processes under an MPS of the job's own. Without a GPU it
# prints one line and is skipped (needs_gpu.sh).
#   jobs.sh ISOTOPE PROGRAM [arguments]
set -uo pipefail
isotope=$1
shift
. "$(dirname "$0")/needs_gpu.sh"
. "$(dirname "$0")/mps_left.sh"
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

no_mps_left() {
  local found
  found=$(mps_left)
  [ -z "$found" ] && return
  echo "FAILED: of the MPS of a job that has ended there is left:"
  echo "$found"
  failed=1
}
no_mps_left

# A PE that dies while the others' kernels wait for it: all end soon, with an error, and nothing is left.
[ "$#" -eq 1 ] && for how in kill trap; do
  for pes in 2 3 8; do
    for way in --threads ""; do
      [ "$how$way" = kill--threads ] && continue
      printf '%-12s %d PEs, %s: ' "${way:-processes}" "$pes" "$how"
      # shellcheck disable=SC2086
      output=$(timeout 60 "$isotope" run -n "$pes" $way --platform cuda "$1" "$how" 2>&1)
      status=$?
      learned=$(grep -c "in time" <<<"$output")
      # The one that was killed says nothing.
      [ "$how" = kill ] && expected=$((pes - 1)) || expected=$pes
      if [ $status -eq 0 ] || [ $status -eq 124 ] || [[ $output == *FAILED* ]] || [ "$learned" -ne $expected ]; then
        echo "FAILED with status $status"
        echo "$output" | tail -n 20
        failed=1
      else
        echo "$learned PEs learned it in time"
      fi
      no_mps_left
    done
  done
done
exit $failed
