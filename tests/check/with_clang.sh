#!/usr/bin/env bash
# The checker's first example as clang++ compiles it: the bug is found, its line is named, the repaired one is clean.
#   with_clang.sh CLANG ISOTOPE SOURCE_FOLDER CHECK_LIBRARY
set -euo pipefail
clang=$1 isotope=$2 root=$3 library=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$clang" -std=c++20 -DISOTOPE_SIM=1 -DISOTOPE_CHECKED=1 -I"$root/include" -fsanitize=thread -g -O1 -fno-omit-frame-pointer \
  -fno-optimize-sibling-calls -c "$root/tests/check/programs/mailbox.cpp" -o "$work/mailbox.o"
"$clang" "$work/mailbox.o" "$library" -lboost_context -lfmt -lsodium -lhwloc -ldl -lpthread \
  -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset -o "$work/mailbox.check"
found=$("$isotope" check -n 2 "$work/mailbox.check") && echo "nothing was found" && exit 1
for part in 'mailbox.cpp:11' 'verdict: scope too narrow'; do
  [[ $found == *"$part"* ]] || { printf 'no "%s" in:\n%s\n' "$part" "$found"; exit 1; }
done
"$isotope" check -n 2 --schedules 50 "$work/mailbox.check" repaired
