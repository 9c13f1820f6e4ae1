// The words of the memory model: what an access orders, and for whom. docs/memory-model.md is the normative page.
#pragma once

namespace isotope {

/// As in C++ and PTX.
enum class Order { relaxed, acquire, release, acq_rel, seq_cst };

/// Who must see it: a PE is a device, so only `system` reaches another PE.
enum class Scope { thread, block, cluster, device, system };

/// How a signal changes.
enum class SignalOp { set, add };

/// How values are combined. `bit_and`, `bit_or` and `bit_xor` are for integers. `multiply` and `average` (the sum
/// divided by the number of members) are the collectives'; multimem calls and atomics have no such instruction.
enum class ReduceOp { add, min, max, bit_and, bit_or, bit_xor, multiply, average };

constexpr const char* name_of(ReduceOp op) {
  constexpr const char* kNames[] = {"add", "min", "max", "bit_and", "bit_or", "bit_xor", "multiply", "average"};
  return static_cast<unsigned>(op) < 8 ? kNames[static_cast<unsigned>(op)] : "?";
}

/// How a wait compares what it finds with what it was given.
enum class Cmp { eq, ne, gt, ge, lt, le };

}  // namespace isotope
