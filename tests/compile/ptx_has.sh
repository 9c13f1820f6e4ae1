#!/usr/bin/env bash
# Compiles a file to PTX and looks for what has to be in it: ptx_has.sh NVCC ARCH INCLUDE SOURCE TEXT...
# A text that is given several times has to be on as many lines.
set -euo pipefail
nvcc=$1 arch=$2 include=$3 source=$4
shift 4
ptx=$(mktemp)
trap 'rm -f "$ptx"' EXIT
"$nvcc" -std=c++20 --expt-relaxed-constexpr -Werror all-warnings -arch="$arch" -ptx -o "$ptx" -I "$include" "$source"
missing=0
declare -A wanted=()
for text; do
  wanted[$text]=$((${wanted[$text]:-0} + 1))
done
for text in "${!wanted[@]}"; do
  found=$(grep -cF -- "$text" "$ptx" || true)
  [ "$found" -ge "${wanted[$text]}" ] && continue
  echo "on $found lines of the PTX of $(basename "$source") for $arch, not ${wanted[$text]}: $text"
  missing=1
done
exit $missing
