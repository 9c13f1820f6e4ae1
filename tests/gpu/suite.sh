#!/usr/bin/env bash
# Runs the suite of tests/multi on the GPU: PEs as processes, under an MPS of the job's own, and as threads. Then, where there is
# compute-sanitizer, some of it under memcheck. Without a GPU it prints one line and is skipped (needs_gpu.sh): on the CPU each test has its own entry.
#   suite.sh ISOTOPE PROGRAM [gtest options]
set -uo pipefail
isotope=$1 program=$2
shift 2
. "$(dirname "$0")/needs_gpu.sh"
needs_gpu "$isotope" "the suite was built for one and not run on it"
# A test that fails on one PE lets the others wait: not for long.
export ISOTOPE_WAIT_DEADLINE=${ISOTOPE_WAIT_DEADLINE:-10s} ISOTOPE_BOOTSTRAP_DEADLINE=${ISOTOPE_BOOTSTRAP_DEADLINE:-20s}
failed=0

# report NAME COMMAND...: a line for a run in which every test passed, and there were some; else what was printed.
report() {
  printf '%-22s ' "$1:"
  shift
  if output=$(timeout 600 "$@" 2>&1) && [[ $output == *"[  PASSED  ]"* && $output != *"[  PASSED  ] 0 tests"* ]]; then
    echo "$output" | sed -n 's/^\[==========\] \(.* ran\. (.*\))$/\1)/p'
  else
    echo "FAILED"
    echo "$output" | tail -n "${SUITE_LINES:-60}"
    failed=1
  fi
}

for pes in 1 2 3 5 8 17; do
  report "$pes processes" "$isotope" run -n "$pes" --platform cuda "$program" --gtest_brief=1 "$@"
done
report "1 to 20 threads" env ISOTOPE_PLATFORM=cuda "$program" --gtest_brief=1 "$@"

# As processes: of threads the tool lets a PE's copy or launch wait for the kernels of all, so that PEs in different places stand
# still. Left out, unless SUITE_MEMCHECK=all, is what waits 100,000 times, or for a deadline, or runs hundreds of programs. CUDA's
# own refusals are no errors here: the library tries what may not work, such as fabric handles, and takes no for an answer.
left_out='Litmus*:*WaitsDeadline*:*RandomProgram*'
[ "${SUITE_MEMCHECK:-}" = all ] && left_out=
memcheck=$(command -v compute-sanitizer || command -v /usr/local/cuda/bin/compute-sanitizer)
if [ -z "$memcheck" ]; then
  echo "memcheck: left out, no compute-sanitizer here"
else
  report "memcheck, 2 processes" env ISOTOPE_WAIT_DEADLINE=60s "$isotope" run -n 2 --platform cuda "$memcheck" --tool memcheck \
    --report-api-errors no --error-exitcode 9 "$program" --gtest_brief=1 --gtest_filter="*/2Processes:-$left_out"
fi
exit $failed
