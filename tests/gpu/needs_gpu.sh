# Sourced by what only a GPU runs.
#   needs_gpu ISOTOPE WHAT     where there is no GPU: one line that says so and what WHAT means, and the end, as skipped
#   end_without_gpu WHY WHAT   that end
# ctest and the Makefile know the status 77 as "skipped", which is neither passed nor failed. A machine that has a GPU which
# nobody hides (CUDA_VISIBLE_DEVICES) and cannot use it has failed.
readonly skipped=77
end_without_gpu() {
  local gpus first=${CUDA_VISIBLE_DEVICES-0}
  gpus=$(compgen -G "${GPU_FILES:-/dev/nvidia[0-9]*}" | wc -l || true)
  first=${first%%,*}
  if [[ $first =~ ^[0-9]+$ ]] && [ "$first" -lt "$gpus" ]; then
    echo "FAILED: this machine has a GPU and it cannot be used ($1): $2"
    exit 1
  fi
  echo "no GPU here ($1): $2"
  exit $skipped
}
needs_gpu() {
  local why_not
  why_not=$("$1" info --json | sed -n 's/.*"why_not": "\(.*\)",/\1/p')
  [ -z "$why_not" ] || end_without_gpu "$why_not" "$2"
}
