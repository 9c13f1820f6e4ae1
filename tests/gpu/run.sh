#!/usr/bin/env bash
# Compiles a program for the GPU and runs it. Without a GPU, or without nvcc, it is skipped (needs_gpu.sh): compiling was the
# test then. The program ends with 77 where it finds no GPU.
#   run.sh NVCC SOURCE_ROOT BUILD_FOLDER SOURCE NAME [nvcc options]
# NVCC may be -: the program is there already.
set -euo pipefail
nvcc=$1 root=$2 build=$3 source=$4 name=$5
shift 5
if [ "$nvcc" != - ]; then
  if ! command -v "$nvcc" >/dev/null; then
    echo "no nvcc here ($nvcc): $name was neither compiled nor run"
    exit 77 # skipped
  fi
  mkdir -p "$build"
  "$nvcc" -std=c++20 --expt-relaxed-constexpr -Werror all-warnings -O3 -gencode arch=compute_90,code=[sm_90,compute_90] "$@" \
    -I "$root/include" -I "$root/tests/gpu" "$root/$source" -o "$build/$name"
fi
# A lazily loaded kernel would wait for the kernels that wait for it; and every PE needs a queue of its own.
status=0
CUDA_MODULE_LOADING=EAGER CUDA_DEVICE_MAX_CONNECTIONS=32 timeout 300 "$build/$name" || status=$?
[ $status -eq 77 ] || exit $status
. "$(dirname "$0")/needs_gpu.sh"
end_without_gpu "as $name says" "compiled, not run"
