// The names of the collectives and of their algorithms, and which combinations there are.
//
//   all-reduce   one_shot            everyone sends all to everyone; through slots
//                two_shot            each reduces a part in place and gives it to everyone
//                ll8, ll16, ll128    one_shot with data and flag in one word, or line
//                lamport             one_shot whose data is its own flag; floats only
//                multimem_one_shot   each loads the sum from the multicast address
//                multimem_two_shot   each loads the sum of its part from there, and stores it there
//                ring, double_tree   sums pass from member to member
//   reduce       one_shot, two_shot  the root reduces all; each a part
//   reduce-scatter  pull, ring, ll8, ll16, lamport, multimem
//   all-gather   push, pull, push_2d (along rows, then columns), ll8, ll16, ll128,
//                eager (through slots, one flag a message)
//   all-to-all   direct, eager, ll8, ll16, ll128
//   broadcast    flat (all read from the root), eager (the root goes on), tree, pipelined (a chain)
//   scans        direct
//
// docs/collectives.md has the table of types and operations.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isotope/base/data_type.hpp"
#include "isotope/base/macros.hpp"
#include "isotope/base/order.hpp"
#include "isotope/collective/reduction.hpp"

namespace isotope {

enum class Collective : std::int32_t {
  all_reduce,
  reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  broadcast,
  inclusive_scan,
  exclusive_scan
};
inline constexpr int kCollectives = 8;

enum class Algo : std::int32_t {
  automatic,
  one_shot,
  two_shot,
  ll8,
  ll16,
  ll128,
  lamport,
  multimem_one_shot,
  multimem_two_shot,
  multimem,
  ring,
  double_tree,
  push,
  pull,
  push_2d,
  direct,
  eager,
  flat,
  tree,
  pipelined
};
inline constexpr int kAlgos = 20;

constexpr const char* name_of(Collective collective) {
  constexpr const char* kNames[kCollectives] = {"all_reduce", "reduce",    "reduce_scatter", "all_gather",
                                                "all_to_all", "broadcast", "inclusive_scan", "exclusive_scan"};
  const auto index = static_cast<unsigned>(collective);
  return index < kCollectives ? kNames[index] : "?";
}

constexpr const char* name_of(Algo algo) {
  constexpr const char* kNames[kAlgos] = {"automatic",
                                          "one_shot",
                                          "two_shot",
                                          "ll8",
                                          "ll16",
                                          "ll128",
                                          "lamport",
                                          "multimem_one_shot",
                                          "multimem_two_shot",
                                          "multimem",
                                          "ring",
                                          "double_tree",
                                          "push",
                                          "pull",
                                          "push_2d",
                                          "direct",
                                          "eager",
                                          "flat",
                                          "tree",
                                          "pipelined"};
  const auto index = static_cast<unsigned>(algo);
  return index < kAlgos ? kNames[index] : "?";
}

/// The calls of variable.hpp, which have no algorithms, where members compare what they call.
inline constexpr int kCollectCall = kCollectives, kAllToAllVCall = kCollectives + 1;
constexpr const char* name_of_call(int call) {
  return call == kCollectCall     ? "collect"
         : call == kAllToAllVCall ? "all_to_all_v"
                                  : name_of(static_cast<Collective>(call));
}

/// Whether a collective combines values; the others move bytes of any type.
constexpr bool combines(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce ||
         collective == Collective::reduce_scatter || collective == Collective::inclusive_scan ||
         collective == Collective::exclusive_scan;
}

/// Whether a collective has that algorithm.
constexpr bool has_algorithm(Collective collective, Algo algo) {
#define X(c, a, dst, src) \
  if (collective == Collective::c && algo == Algo::a) return true;
#include "isotope/collective/algorithms.def"
#undef X
  return false;
}

/// Which buffers of a call have to be symmetric: the same place of the same object on every member.
struct SymmetricNeeds {
  bool dst, src;
};
constexpr SymmetricNeeds needs_of(Collective collective, Algo algo) {
#define X(c, a, dst, src) \
  if (collective == Collective::c && algo == Algo::a) return {dst != 0, src != 0};
#include "isotope/collective/algorithms.def"
#undef X
  return {true, true};
}

/// Why a combination is none, or null when there is one. `op` counts only where the collective combines.
constexpr const char* why_not(Collective collective, Algo algo, DataType type, ReduceOp op) {
  if (static_cast<unsigned>(collective) >= kCollectives) return "there is no such collective";
  if (size_of(type) == 0) return "there is no such type";
  if (combines(collective)) {
    if (static_cast<unsigned>(op) > static_cast<unsigned>(ReduceOp::average)) return "there is no such operation";
    if (!reduces(type, op)) return "floats have no bitwise operations";
    const bool scan = collective == Collective::inclusive_scan || collective == Collective::exclusive_scan;
    if (scan && op == ReduceOp::average) return "a scan has no average";
    if (algo == Algo::lamport && !is_float(type)) return "lamport needs a value to spare, and integers have none";
    if (algo == Algo::ll8 && size_of(type) > 4) return "ll8 carries 4 bytes in a word";
  }
  if (algo != Algo::automatic && !has_algorithm(collective, algo)) return "the collective has no such algorithm";
  return nullptr;
}

}  // namespace isotope
