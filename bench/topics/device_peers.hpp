// The foreign peers of the topics but `startup`: one program per library, told which topic.
#pragma once

#include <string>

#include "bench/harness/peer.hpp"

namespace isotope::bench {

inline ForeignPeer ucx_peer(const std::string& topic) {
  return {.name = "UCX", .launcher = Launcher::none, .program = "ucx_device", .arguments = {topic}, .pinned = true};
}

inline ForeignPeer oshmem_peer(const std::string& topic) {
  // With its memory hooks, Debian's OSHMEM crashes at the end: they call into a component that is unloaded by then.
  return {.name = "OSHMEM",
          .launcher = Launcher::oshmem,
          .program = "oshmem_device",
          .launcher_options = {"--mca", "opal_common_ucx_opal_mem_hooks", "0"},
          .arguments = {topic},
          .pinned = true};
}

inline ForeignPeer open_mpi_peer(const std::string& topic) {
  return {.name = "Open MPI",
          .launcher = Launcher::open_mpi,
          .program = "mpi_device",
          .arguments = {topic},
          .pinned = true};
}

}  // namespace isotope::bench
