// Peers that are programs of other projects, run by their own launcher. All optional: built when their compiler was
// there, run when their launcher is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/harness/launcher.hpp"

namespace isotope::bench {

/// A program of bench/peers. It is started as `program FILE ROUNDS argument... [quick]`, and its rank 0 writes to FILE.
struct ForeignPeer {
  std::string name;  // in the table: "OSHMEM"
  Launcher launcher;
  std::string program;  // "oshmem_device"
  std::vector<std::string> launcher_options = {};
  std::vector<std::string> arguments = {};  // what of it to measure
  bool pinned = false;                      // each rank to a CPU of its own, if there are as many
};

/// Whether it was built and its launcher is here.
bool available(const ForeignPeer& peer);

/// What the program wrote, told `before` and then its own arguments. When it fails: nothing, and `why` says why.
std::optional<std::string> run_peer(const ForeignPeer& peer, int pes, const std::vector<std::string>& before,
                                    bool quick, std::string& why);

}  // namespace isotope::bench
