// ChoiceTable: which algorithm a collective uses for how many PEs and bytes. `isotope tune` measures one for this
// machine.
//
//   isotope-tuning 1                       the format's version
//   # platform cpu                         where it was measured
//   # collective  pes  up to bytes  algorithm
//   all_reduce    2    16384        one_shot
//   all_reduce    2    *            two_shot
//
// The library reads ISOTOPE_TUNE_FILE, or $XDG_CACHE_HOME/isotope/tuning, or ~/.cache/isotope/tuning, and where PEs
// drive GPUs tuning-cuda instead of tuning: what is fastest on one says nothing about the other. Where there is no
// file, or no row for a collective, it has a table of its own. ISOTOPE_TRACE_CHOICES=1 prints each choice.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "isotope/collective/algorithm.hpp"
#include "isotope/collective/run.hpp"

namespace isotope {

inline constexpr std::size_t kAnyBytes = ~std::size_t{0};

struct ChoiceRow {
  Collective collective = Collective::all_reduce;
  int pes = 2;
  std::size_t most_bytes = kAnyBytes;  // of `count` elements as the call is given them; kAnyBytes: the rest
  Algo algo = Algo::automatic;
};

class ChoiceTable {
 public:
  explicit ChoiceTable(std::vector<ChoiceRow> rows, std::string name, std::string platform = {})
      : rows_(std::move(rows)), name_(std::move(name)), platform_(std::move(platform)) {}

  /// What the library knows by itself. Has an answer for everything.
  static ChoiceTable built_in();
  /// The same for PEs that drive GPUs.
  static ChoiceTable built_in_for_gpus();
  static ChoiceTable built_in(bool gpu) { return gpu ? built_in_for_gpus() : built_in(); }
  /// Throws Error(invalid_argument) naming `name` and the line.
  static ChoiceTable parse(std::string_view text, const std::string& name);
  /// The machine's: `file`, or the one at default_path(gpu) when that is empty; built_in(gpu) when there is none.
  /// Throws as parse does, and Error(invalid_argument) when a `file` that was named cannot be read.
  static ChoiceTable load(const std::string& file, bool gpu = false);
  /// Where `isotope tune` writes unless told otherwise, with --platform cuda if `gpu`; empty when there is no home
  /// folder.
  static std::string default_path(bool gpu = false);

  /// As parse reads it.
  std::string text() const;
  const std::string& name() const { return name_; }
  const std::vector<ChoiceRow>& rows() const { return rows_; }
  /// Where it was measured, from a line `# platform NAME`; empty when it does not say. `isotope tune` keeps it;
  /// others are warned of.
  const std::string& platform() const { return platform_; }

  /// The algorithm for that many PEs (or the nearest number of PEs that has rows, of two the greater) and bytes of the
  /// call's `count` elements. Algo::automatic when no row fits.
  Algo choose(Collective collective, int pes, std::size_t bytes) const;
  /// The same for one call of `pes` members. The library's own table for GPUs knows that some reduce-scatters go
  /// through shared memory (collective/landed.hpp), where every member has `landing_blocks` blocks that can, and takes
  /// those sooner. Looks only at what all members have in common.
  Algo choose(const CollectiveCall& call, int pes, std::size_t landing_blocks) const;
  /// The same table, in which choices for teams of `pes` are found sooner: a call of host code makes one.
  ChoiceTable ranked_for(int pes) const;
  /// Tables that always choose alike have the same.
  std::size_t fingerprint() const;

 private:
  bool lands_sums_ = false;
  std::vector<ChoiceRow> rows_;
  // The rows of each collective, in the order in which choose() prefers them for teams of ranked_pes_.
  int ranked_pes_ = 0;
  std::vector<ChoiceRow> ranked_[kCollectives];
  std::string name_, platform_;
};

/// By name, as name_of gives it; throws Error(invalid_argument) listing what there is.
Collective collective_named(std::string_view name);
Algo algo_named(std::string_view name);
/// Those of one collective, in the table's order.
std::vector<Algo> algorithms_of(Collective collective);

}  // namespace isotope
