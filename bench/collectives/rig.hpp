// Rig: where the vectors of a measured collective lie and how its calls are made, which is all that differs by
// platform. Plain enough for nvcc: the one for GPUs is bench/gpu/collective_rig.cu.
#pragma once

#include <cstddef>
#include <memory>

#include "bench/collectives/cases.hpp"
#include "isotope/host/world.hpp"

namespace isotope::bench {

/// Made by all PEs together. The source of PE `pe` is source_value(pe, i).
class Rig {
 public:
  virtual ~Rig() = default;

  /// Collective: what the following calls are about, until the next prepare.
  virtual void prepare(const CollectiveCase& one, std::size_t count, const How& how) = 0;
  /// n calls, a multiple of step(), complete on this PE when it returns.
  virtual void call(long n) = 0;
  /// n copies of as many bytes as the result has, from the next PE's source into the result.
  virtual void copy(long n) = 0;
  /// Makes every float of the result not a number.
  virtual void poison() = 0;
  /// The result, readable by the host until the next call of anything here.
  virtual const float* result() = 0;

  virtual long step() const = 0;
  /// What copy() is, in a table.
  virtual const char* copy_name() const = 0;
  /// Whether algorithms that fall behind (measure.hpp) are left out of larger sizes.
  virtual bool drops_laggards() const = 0;
};

/// Room for vectors of `most` floats.
using MakeRig = std::unique_ptr<Rig> (*)(World& world, std::size_t most);
std::unique_ptr<Rig> make_cpu_rig(World& world, std::size_t most);
/// The maker for PEs that drive GPUs, in programs that nvcc has compiled a part of; null in the others. That part sets
/// it before main.
MakeRig& gpu_rig_maker();

}  // namespace isotope::bench
