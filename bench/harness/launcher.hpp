// Launchers of other projects: which of them are on this machine, in which version, and how they start ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace isotope::bench {

/// Who starts a peer's ranks. `none`: a program over UCX, which starts its second process itself.
enum class Launcher { none, open_mpi, oshmem, mpich };

/// Version of the library whose launcher is on PATH; nothing when there is none. `none`: the UCX whose ucx_info is.
std::optional<std::string> version_of(Launcher launcher);
/// The launcher's program on this machine; nothing when there is none, and for `none`.
std::optional<std::string> program_of(Launcher launcher);
/// What stands between the launcher's program and the program that it starts. `pinned`: each rank gets a CPU of its
/// own, if there are as many; else ranks are left to the kernel, as our PEs are.
std::vector<std::string> launch_options(Launcher launcher, int pes, int cpus, bool pinned,
                                        const std::vector<std::string>& more);

}  // namespace isotope::bench
