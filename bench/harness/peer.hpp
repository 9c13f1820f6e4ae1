// Peers that are programs of other projects, run by their own launcher. All optional: built when their compiler was
// there, run when their launcher is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/harness/system.hpp"

namespace isotope::bench {

/// A program of bench/peers. It is started as `program FILE argument...`, and its rank 0 writes to FILE.
struct ForeignPeer {
  std::string name;      // in the table: "OSHMEM"
  std::string launcher;  // "oshrun"
  std::string program;   // "oshmem_alloc"
  std::vector<std::string> launcher_options = {};
};

/// Version of the Open MPI on PATH, whose launchers mpirun and oshrun are; nothing when there is none.
std::optional<std::string> open_mpi_version();
bool available(const ForeignPeer& peer);

/// What the program wrote. When it fails: nothing, and `why` says why.
std::optional<std::string> run_peer(const ForeignPeer& peer, int pes, const std::vector<std::string>& arguments,
                                    std::string& why);

}  // namespace isotope::bench
