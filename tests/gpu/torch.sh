#!/usr/bin/env bash
# Registers tensors of PyTorch in jobs on the GPU. Without PyTorch or a GPU it prints one line and is skipped (needs_gpu.sh).
#   torch.sh ISOTOPE LIBRARY_FOLDER
set -uo pipefail
isotope=$1 folder=$2
script=$(dirname "$0")/torch_register.py
. "$(dirname "$0")/needs_gpu.sh"
needs_gpu "$isotope" "built, not run"
if ! python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  echo "no PyTorch that finds a GPU: built, not run"
  exit $skipped
fi
failed=0
for pes in 1 2 3; do
  for how in pool expandable; do
    settings=$([ $how = expandable ] && echo expandable_segments:True)
    PYTORCH_CUDA_ALLOC_CONF=$settings timeout 120 "$isotope" run -n $pes --platform cuda python3 "$script" "$folder" $how || failed=1
  done
done
# A job whose Worlds fail has not ended well; what counts is what the PEs say.
output=$(timeout 120 "$isotope" run -n 2 --platform cuda python3 "$script" "$folder" plain 2>&1)
if [ "$(grep -c 'refused, as it must be' <<<"$output")" != 2 ] || ! grep -q 'isotope_gpu_alloc' <<<"$output"; then
  echo "FAILED: memory of cudaMalloc was not refused in words"
  echo "$output" | tail -n 20
  failed=1
fi
exit $failed
