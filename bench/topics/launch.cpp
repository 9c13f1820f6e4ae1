// launch: what an empty kernel costs.
#include "bench/harness/job_bench.hpp"
#include "bench/harness/topic.hpp"
#include "bench/peers/thread_queue.hpp"
#include "isotope/device/group.hpp"

namespace isotope::bench {
namespace {

constexpr long kBatch = 1000;

ISOTOPE_KERNEL void empty() {}
ISOTOPE_KERNEL void one_sync() { this_block().sync(); }

/// The least that a launch has to do: call the function once per thread. The compiler must not see through it. A block
/// sync splits the kernel in two, so the function is called once for each half.
class Calls {
 public:
  explicit Calls(long count) : count_(count) {}
  void operator()() const {
    const std::function<void()>* volatile function = &function_;
    for (long i = 0; i < count_; ++i) (*function)();
  }

 private:
  long count_;
  std::function<void()> function_ = [] { asm volatile(""); };
};

class Launch : public Topic {
 public:
  std::string name() const override { return "launch"; }
  std::string summary() const override { return "an empty kernel: launch and synchronize, and launches in a row"; }

  void measure(JobBench& bench) const override {
    ThreadQueue queue;
    each_by_itself<empty>(bench, queue, "launch_sync_1x1", 1, 1, 1);
    in_a_row(bench, queue);
    each_by_itself<empty>(bench, queue, "launch_sync_1x32", 1, 32, 1);
    each_by_itself<one_sync>(bench, queue, "launch_sync_1x256_block_sync", 1, 256, 2);
    each_by_itself<empty>(bench, queue, "launch_sync_64x1", 64, 1, 1);
  }

 private:
  template <auto Kernel>
  static void each_by_itself(JobBench& bench, ThreadQueue& queue, const char* name, std::uint32_t grid,
                             std::uint32_t block, long halves) {
    World& world = bench.world();
    const Calls calls(halves * grid * block);
    bench.measure({.name = name, .blocks = grid, .limit_name = "function call"},
                  {{Role::ours, "",
                    [&](long n) {
                      for (; n > 0; --n) {
                        world.launch<Kernel>({.grid = grid, .block = block});
                        world.stream().synchronize();
                      }
                    }},
                   {Role::limit, "",
                    [&](long n) {
                      for (; n > 0; --n) calls();
                    }},
                   {Role::peer, "thread queue", [&](long n) {
                      for (; n > 0; --n) {
                        queue.submit([&] { calls(); });
                        queue.wait();
                      }
                    }}});
  }

  static void in_a_row(JobBench& bench, ThreadQueue& queue) {
    World& world = bench.world();
    const Calls one(1);
    bench.measure({.name = "launch_1000_1x1", .blocks = 1, .limit_name = "function call"},
                  {{Role::ours, "",
                    [&](long n) {
                      for (; n > 0; n -= kBatch) {
                        for (long i = 0; i < kBatch; ++i) world.launch<empty>({});
                        world.stream().synchronize();
                      }
                    },
                    kBatch},
                   {Role::limit, "",
                    [&](long n) {
                      for (; n > 0; --n) one();
                    },
                    kBatch},
                   {Role::peer, "thread queue",
                    [&](long n) {
                      for (; n > 0; n -= kBatch) {
                        for (long i = 0; i < kBatch; ++i) queue.submit([&] { one(); });
                        queue.wait();
                      }
                    },
                    kBatch}});
  }
};

const TopicRegistration registration{1, [] { return std::unique_ptr<Topic>(new Launch); }};

}  // namespace
}  // namespace isotope::bench
