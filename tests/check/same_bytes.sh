#!/bin/sh
# Runs a command twice: the output must be the same to the byte, not empty, and of at most 80 columns.
first=$("$@"); second=$("$@")
[ -n "$first" ] && [ "$first" = "$second" ] || { echo "two runs differ, or say nothing"; exit 1; }
# The last line is the command itself, which may hold a long path.
printf '%s\n' "$first" | grep -v '^replay: ' | awk 'length > 80 { print "more than 80 columns: " $0; bad = 1 } END { exit bad }'
