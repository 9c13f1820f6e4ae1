// Reads from the environment which launcher started this process, and as which PE. A pure function of the variables.
#pragma once

#include <string>

#include "runtime/knobs.hpp"

namespace isotope::bootstrap {

enum class Launcher { isotope_run, tcp, torchrun, mpi, slurm, single };
const char* launcher_name(Launcher launcher) noexcept;

struct Place {
  Launcher launcher = Launcher::single;
  int rank = 0;
  int size = 1;
  /// Equal for the PEs of one job on this host and for nobody else; for torchrun, mpi and slurm.
  std::string identity;
};

/// The order and the errors are those of from_environment() (select.hpp). Throws Error(not_supported) for PEs on
/// several hosts that torchrun, mpi or slurm started.
Place detect_place(const runtime::Knobs& knobs, const runtime::Getenv& lookup);

}  // namespace isotope::bootstrap
