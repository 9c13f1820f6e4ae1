# Sourced by what runs jobs as processes on a GPU.
#   mps_left     prints what is left of the MPS of jobs that have ended: a line for each process and each folder. Those of the
#                machine's own MPS, or of another user's temporary folder, have other pipes.
mps_left() {
  local folder=${TMPDIR:-/tmp} process name entry
  for process in /proc/[0-9]*; do
    { read -r name <"$process/comm"; } 2>/dev/null || continue
    [[ $name == nvidia-cuda-mps* ]] || continue
    # A process on its way out has no environment any more.
    while IFS= read -r -d '' entry; do
      [[ $entry == "CUDA_MPS_PIPE_DIRECTORY=$folder/isotope-mps-"* ]] && echo "process ${process#/proc/} $name, $entry"
    done 2>/dev/null <"$process/environ"
  done
  compgen -G "$folder/isotope-mps-*"
}
