#!/usr/bin/env bash
# Where there is no GPU its tests are skipped; where there is one that is not tested, something has failed.
#   absent_test.sh SOURCE_FOLDER
set -uo pipefail
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect STATUS TEXT COMMAND...
expect() {
  local status=$1 text=$2 output found
  shift 2
  output=$("$@" 2>&1)
  found=$?
  [ $found -eq "$status" ] && [[ $output == *"$text"* ]] && return
  echo "FAILED: status $found where $status was expected, or no '$text': $*"
  echo "$output"
  failed=1
}

# An `isotope` that finds no GPU, and one that finds some; a driver's files of two GPUs.
printf '#!/bin/sh\necho "  \\"why_not\\": \\"the driver is ill\\","\n' >"$work/ill"
printf '#!/bin/sh\necho "{}"\n' >"$work/well"
chmod +x "$work/ill" "$work/well"
mkdir "$work/dev" && touch "$work/dev/nvidia0" "$work/dev/nvidia1"
needs=". '$root/tests/gpu/needs_gpu.sh'; needs_gpu \"\$0\" 'not run'; echo it runs"
alone=(env -u CUDA_VISIBLE_DEVICES -u NVCC -u GPU_BUILT -u MAKEFLAGS -u MAKEOVERRIDES)
none=("${alone[@]}" "GPU_FILES=$work/none/nvidia[0-9]*")
some=("${alone[@]}" "GPU_FILES=$work/dev/nvidia[0-9]*")
expect 0 "it runs" "${some[@]}" bash -c "$needs" "$work/well"
expect 77 "no GPU here (the driver is ill): not run" "${none[@]}" bash -c "$needs" "$work/ill"
expect 1 "FAILED: this machine has a GPU" "${some[@]}" bash -c "$needs" "$work/ill"
expect 1 "FAILED" "${some[@]}" CUDA_VISIBLE_DEVICES=1,0 bash -c "$needs" "$work/ill"
for hidden in "" -1 2 NoDevFiles; do
  expect 77 "no GPU here" "${some[@]}" CUDA_VISIBLE_DEVICES="$hidden" bash -c "$needs" "$work/ill"
done

# Programs that were compiled already: one that finds no GPU, one that fails.
printf '#!/bin/sh\nexit 77\n' >"$work/finds_none"
printf '#!/bin/sh\nexit 3\n' >"$work/fails"
chmod +x "$work/finds_none" "$work/fails"
run=("$root/tests/gpu/run.sh" - "$root" "$work" source)
expect 77 "compiled, not run" "${none[@]}" "${run[@]}" finds_none
expect 1 "FAILED" "${some[@]}" "${run[@]}" finds_none
expect 3 "" "${some[@]}" "${run[@]}" fails

# The Makefile, without an nvcc that it would find by itself: GPU_NVCC is what came of the search.
for target in test-gpu bench-gpu; do
  make=(make -s --no-print-directory -C "$root" "$target")
  expect 0 "no nvcc here" "${none[@]}" "${make[@]}" NVCC= GPU_NVCC=
  expect 2 "has a GPU and no nvcc" "${some[@]}" "${make[@]}" NVCC= GPU_NVCC=
  expect 2 "which is not there" "${none[@]}" "${make[@]}" NVCC=nvccc
done
# What fails is not hidden by what shows it, and ends it: to configure would be next.
mkdir -p "$work/built/gpu" && cp "$work/fails" "$work/built/gpu/primitives"
expect 2 "bench-gpu] Error 1" "${none[@]}" ISOTOPE_SKIP_SETUP=1 make -s --no-print-directory -C "$root" bench-gpu GPU_BUILT="$work/built" \
  GPU_RESULTS="$work/results" CONFIGURE="exit 5"
exit $failed
