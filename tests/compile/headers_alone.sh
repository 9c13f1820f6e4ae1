#!/usr/bin/env bash
# Compiles every public header by itself: a header that leans on what its includer happened to include fails here.
#   headers_alone.sh COMPILER INCLUDE_FOLDER [ROOM]     ROOM such as isotope/base; all of isotope/ without it
set -euo pipefail

compiler=$1
include=$2
room=${3:-isotope}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

case $(basename "$compiler") in
  nvcc*) flags=(-x cu -std=c++20 -arch=sm_90 --expt-relaxed-constexpr -Werror all-warnings -ptx) ;;
  *) flags=(-x c++ -std=c++20 -fsyntax-only -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Werror) ;;
esac

mapfile -t headers < <(cd "$include" && find "$room" \( -name '*.hpp' -o -name '*.h' \) | sort)
if [ ${#headers[@]} -eq 0 ]; then
  echo "no headers under $include/$room" >&2
  exit 1
fi

compile_one() {
  local header=$1 unit
  unit=$scratch/${header//\//_}.cpp
  # Twice: #pragma once, or a guard, has to work too.
  printf '#include "%s"\n#include "%s"\n' "$header" "$header" >"$unit"
  local output=()
  [[ " ${flags[*]} " == *" -ptx "* ]] && output=(-o "$unit.ptx")
  if ! "$compiler" "${flags[@]}" "${output[@]}" -I "$include" "$unit"; then
    echo "FAILED alone: $header" >&2
    return 1
  fi
}

failed=0
running=0
for header in "${headers[@]}"; do
  compile_one "$header" &
  running=$((running + 1))
  if [ "$running" -ge 2 ]; then
    wait -n || failed=$((failed + 1))
    running=$((running - 1))
  fi
done
while [ "$running" -gt 0 ]; do
  wait -n || failed=$((failed + 1))
  running=$((running - 1))
done
echo "${#headers[@]} headers, $failed failed, with $compiler"
[ "$failed" -eq 0 ]
