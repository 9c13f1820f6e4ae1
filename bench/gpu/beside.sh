#!/usr/bin/env bash
# Ours beside NVSHMEM on this machine's GPU, PEs as processes under the job's own MPS, in turns; writes one JSON file.
#   beside.sh ISOTOPE JOB_PRIMITIVES OUTPUT
# NVSHMEM comes from the Python package nvidia-nvshmem-cu13, where it is installed; without it only ours is measured.
set -uo pipefail
isotope=$1 ours=$2 output=$3
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
  if nvcc -O3 -std=c++17 -rdc=true -gencode=arch=compute_90,code=sm_90 -I"$nvshmem/include" -I"$here" "$here/nvshmem_peer.cu" \
    -o "$work/nvshmem_peer" -L"$work/lib" -lnvshmem_host -lnvshmem_device -lnvidia-ml -L"$stubs" -lcuda >"$work/build.log" 2>&1; then
    peer=$work/nvshmem_peer
  else
    echo "NVSHMEM's program does not build:" && tail -n 5 "$work/build.log"
  fi
fi
export NVSHMEM_REMOTE_TRANSPORT=none NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=lo NVSHMEM_SYMMETRIC_SIZE=512M
lines=$work/lines
for pes in 2 4 8; do
  for turn in 1 2 3; do
    timeout 60 "$isotope" run -n $pes --platform cuda "$ours" | sed "s/^{/{\"turn\": $turn, /" >>"$lines"
    if [ -n "$peer" ]; then
      LD_LIBRARY_PATH=$work/lib:${LD_LIBRARY_PATH:-} timeout 60 "$isotope" run -n $pes --platform cuda "$peer" "$work/id.$pes.$turn" \
        2>"$work/peer.err" | grep '^{' | sed "s/^{/{\"turn\": $turn, /" >>"$lines" || tail -n 3 "$work/peer.err"
    fi
  done
done
version=$(python3 -c 'import importlib.metadata as m; print(m.version("nvidia-nvshmem-cu13"))' 2>/dev/null || echo unknown)
"$isotope" info --json >"$work/info.json"
python3 "$here/merge.py" "$lines" "$work/info.json" "$version" "$(nvcc --version | sed -n 's/.*V\([0-9.]*\).*/\1/p')" "$output"
