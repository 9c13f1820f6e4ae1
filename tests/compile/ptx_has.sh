#!/usr/bin/env bash
# Compiles a file to PTX and looks for what has to be in it: ptx_has.sh NVCC ARCH INCLUDE SOURCE TEXT...
set -euo pipefail
nvcc=$1 arch=$2 include=$3 source=$4
shift 4
ptx=$(mktemp)
trap 'rm -f "$ptx"' EXIT
"$nvcc" -std=c++20 --expt-relaxed-constexpr -Werror all-warnings -arch="$arch" -ptx -o "$ptx" -I "$include" "$source"
missing=0
for text; do
  grep -qF -- "$text" "$ptx" || { echo "not in the PTX of $(basename "$source") for $arch: $text"; missing=1; }
done
exit $missing
