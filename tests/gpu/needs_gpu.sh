# Sourced by what only a GPU runs.
#   needs_gpu ISOTOPE WHAT     where there is no GPU: one line that says so and what WHAT means, and the end, as skipped
# ctest and the Makefile know the status 77 as "skipped", which is neither passed nor failed.
readonly skipped=77
needs_gpu() {
  local why_not
  why_not=$("$1" info --json | sed -n 's/.*"why_not": "\(.*\)",/\1/p')
  [ -z "$why_not" ] && return
  echo "no GPU here ($why_not): $2"
  exit $skipped
}
