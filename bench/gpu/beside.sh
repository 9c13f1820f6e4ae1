#!/usr/bin/env bash
# Ours beside its peers on this machine's GPU, PEs as processes under the job's own MPS, in turns; writes one JSON file.
#   beside.sh ISOTOPE OUR_PROGRAM NVSHMEM_SOURCE OUTPUT "PES..." [TORCH_SCRIPT]
# Says what runs and how long it took. What was measured stays in OUTPUT.lines when it is cut short.
# NVSHMEM comes from the Python package nvidia-nvshmem-cu13, where it is installed, and PyTorch likewise; without them only
# ours is measured.
set -uo pipefail
isotope=$1 ours=$2 source=$3 output=$4 sizes=$5 script=${6:-}
here=$(cd "$(dirname "$0")" && pwd)
if [ -n "$("$isotope" info --json | sed -n 's/.*"why_not": "\(.*\)",/\1/p')" ]; then
  echo "no GPU here: nothing measured"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvshmem=$(python3 -c 'import nvidia.nvshmem as m; print(list(m.__path__)[0])' 2>/dev/null || true)
peer=""
if [ -n "$nvshmem" ] && command -v nvcc >/dev/null; then
  mkdir -p "$work/lib" && cp -r "$nvshmem/lib/." "$work/lib/" && ln -sf libnvshmem_host.so.3 "$work/lib/libnvshmem_host.so"
  stubs=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")/lib64/stubs
  if nvcc -O3 -std=c++17 -rdc=true -gencode=arch=compute_90,code=sm_90 -I"$nvshmem/include" -I"$here" "$here/$source" \
    -o "$work/nvshmem_peer" -L"$work/lib" -lnvshmem_host -lnvshmem_device -lnvidia-ml -L"$stubs" -lcuda >"$work/build.log" 2>&1; then
    peer=$work/nvshmem_peer
  else
    echo "NVSHMEM's program does not build:" && tail -n 5 "$work/build.log"
  fi
fi
[ -n "$script" ] && ! python3 -c 'import torch' 2>/dev/null && echo "no PyTorch here" && script=""
export TORCH_SYMM_MEM_ALLOW_OVERLAPPING_DEVICES=1  # PyTorch's ranks share a GPU only when told
export NVSHMEM_REMOTE_TRANSPORT=none NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=lo NVSHMEM_SYMMETRIC_SIZE=512M
lines=$output.lines
: >"$lines"
# One program as a job, by a name; what it prints for us goes to the lines, the end of its complaints to the terminal.
run() {
  local who=$1 begin=$SECONDS
  shift
  timeout 120 "$isotope" run -n "$pes" --platform cuda "$@" 2>"$work/err" | grep '^{' | sed "s/^{/{\"turn\": $turn, /" >>"$lines"
  [ "${PIPESTATUS[0]}" -eq 0 ] || tail -n 3 "$work/err"
  echo "$pes PEs, turn $turn: $who, $((SECONDS - begin)) s" >&2
}
for pes in $sizes; do
  for turn in 1 2 3; do
    run isotope "$ours"
    [ -n "$peer" ] && LD_LIBRARY_PATH=$work/lib:${LD_LIBRARY_PATH:-} run nvshmem "$peer" "$work/id.$pes.$turn"
    [ -n "$script" ] && run pytorch python3 "$here/$script" $((29500 + pes * 10 + turn))
  done
done
version() { python3 -c "import importlib.metadata as m; print(m.version('$1'))" 2>/dev/null || echo unknown; }
"$isotope" info --json >"$work/info.json"
python3 "$here/merge.py" "$lines" "$work/info.json" "$(version nvidia-nvshmem-cu13)" "$(version torch)" \
  "$(nvcc --version | sed -n 's/.*V\([0-9.]*\).*/\1/p')" "$output" && rm -f "$lines"
