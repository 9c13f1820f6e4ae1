// Peers that are programs of other projects, run by their own launcher. All optional: built when their compiler was
// there, run when their launcher is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/harness/system.hpp"

namespace isotope::bench {

/// A program of bench/peers. It is started as `program FILE ROUNDS argument...`, and its rank 0 writes to FILE.
struct ForeignPeer {
  std::string name;      // in the table: "OSHMEM"
  std::string launcher;  // "oshrun"; empty: a program over UCX, which starts its second process itself
  std::string program;   // "oshmem_alloc"
  std::vector<std::string> launcher_options = {};
  std::vector<std::string> arguments = {};  // what of it to measure
  bool pinned = false;                      // each rank to a CPU of its own, if there are as many
};

/// Version of the Open MPI on PATH, whose launchers mpirun and oshrun are; nothing when there is none.
std::optional<std::string> open_mpi_version();
/// Version of the UCX whose ucx_info is on PATH.
std::optional<std::string> ucx_version();
bool available(const ForeignPeer& peer);

/// The command line of a peer on a machine with `cpus` CPUs, without what the peer is told besides its file.
std::vector<std::string> peer_command(const ForeignPeer& peer, int pes, int cpus, const std::string& program,
                                      const std::string& file);

/// What the program wrote. When it fails: nothing, and `why` says why.
std::optional<std::string> run_peer(const ForeignPeer& peer, int pes, const std::vector<std::string>& arguments,
                                    std::string& why);

}  // namespace isotope::bench
