// The rig of PEs whose kernels run on the CPU: calls from host code.
#include <cstring>

#include "bench/collectives/rig.hpp"
#include "bench/topics/raw.hpp"

namespace isotope::bench {

namespace {

class CpuRig : public Rig {
 public:
  CpuRig(World& world, std::size_t most)
      : world_(world), src_(world.alloc<float>(most)), dst_(world.alloc<float>(most)), collectives_(world) {
    const int me = world.rank();
    for (std::size_t i = 0; i < most; ++i) src_[i] = source_value(me, i);
    std::memset(dst_.data(), 0, most * sizeof(float));  // makes the pages
    neighbour_ = world.team().at(src_.data(), (me + 1) % world.size());
  }

  void prepare(const CollectiveCase& one, std::size_t count, const How& how) override {
    case_ = &one;
    count_ = count;
    how_ = how;
    result_bytes_ = result_count(one, count, world_.size()) * sizeof(float);
  }
  void call(long n) override {
    for (; n > 0; --n) case_->call(collectives_, dst_.data(), src_.data(), count_, how_);
  }
  void copy(long n) override {
    for (; n > 0; --n) {
      std::memcpy(dst_.data(), neighbour_, result_bytes_);
      keep_memory();
    }
  }
  void poison() override { std::memset(dst_.data(), 0xff, result_bytes_); }
  const float* result() override { return dst_.data(); }
  long step() const override { return 1; }
  const char* copy_name() const override { return "memcpy"; }
  bool drops_laggards() const override { return false; }

 private:
  World& world_;
  Symmetric<float> src_, dst_;
  Collectives collectives_;
  const float* neighbour_ = nullptr;
  const CollectiveCase* case_ = nullptr;
  std::size_t count_ = 0, result_bytes_ = 0;
  How how_;
};

}  // namespace

std::unique_ptr<Rig> make_cpu_rig(World& world, std::size_t most) { return std::make_unique<CpuRig>(world, most); }

MakeRig& gpu_rig_maker() {
  static MakeRig maker = nullptr;
  return maker;
}

}  // namespace isotope::bench
