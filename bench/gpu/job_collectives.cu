// Our collectives between PEs of a job on GPUs, replayed from a CUDA graph of 20 calls, one JSON line a figure.
// beside.sh runs them in turns with PyTorch's and NVSHMEM's: isotope run -n 2 --platform cuda job_collectives
#include <string>
#include <vector>

#include "isotope/host/choice.hpp"
#include "isotope/isotope.hpp"
#include "timing.cuh"

namespace job_collectives {

using namespace isotope;

class Bench {
 public:
  explicit Bench(World& world)
      : world_(world),
        coll_(world),
        src_(world.alloc_zeroed<bf16>(beside::kLargest / 2)),
        dst_(world.alloc_zeroed<bf16>(beside::kLargest / 2)) {
    cudaStreamCreateWithFlags(&raw_, cudaStreamNonBlocking);
    stream_ = world.wrap_stream(raw_);
  }

  /// Microseconds of one call, by every algorithm that the collective has for these types.
  template <class Call>
  void measure(const char* name, Collective collective, std::size_t bytes, Call call) {
    std::vector<Algo> algorithms = algorithms_of(collective);
    algorithms.push_back(Algo::automatic);
    for (const Algo algo : algorithms) {
      // A word at a time is no way to move megabytes, and takes minutes.
      const bool by_words = algo == Algo::ll8 || algo == Algo::ll16 || algo == Algo::ll128 || algo == Algo::ring ||
                            algo == Algo::double_tree;
      if ((by_words && bytes > (64 << 10)) || ((algo == Algo::lamport || algo == Algo::one_shot) && bytes > (1 << 20)))
        continue;
      const double us =
          beside::microseconds_in_graph(raw_, [&] { world_.barrier(); }, [&] { call(How{.algo = algo}); });
      const std::string who = algo == Algo::automatic ? "isotope" : std::string("isotope ") + name_of(algo);
      const char* op = combines(collective) ? "add" : nullptr;
      if (world_.rank() == 0) beside::print(who.c_str(), name, world_.size(), bytes, 0, 0, "us", us, "bf16", op);
    }
  }

  void run() {
    const auto pes = static_cast<std::size_t>(world_.size());
    bf16 *dst = dst_.data(), *src = src_.data();
    for (const std::size_t bytes : beside::kReduced)
      measure("all_reduce", Collective::all_reduce, bytes,
              [&](const How& how) { on_stream::all_reduce(coll_, stream_, dst, src, bytes / 2, ReduceOp::add, how); });
    for (const std::size_t bytes : beside::kGathered) {
      const std::size_t each = bytes / 2 / pes;
      measure("reduce_scatter", Collective::reduce_scatter, bytes,
              [&](const How& how) { on_stream::reduce_scatter(coll_, stream_, dst, src, each, ReduceOp::add, how); });
      measure("all_gather", Collective::all_gather, bytes,
              [&](const How& how) { on_stream::all_gather(coll_, stream_, dst, src, each, how); });
      measure("all_to_all", Collective::all_to_all, bytes,
              [&](const How& how) { on_stream::all_to_all(coll_, stream_, dst, src, each, how); });
    }
  }

 private:
  World& world_;
  Collectives coll_;
  Symmetric<bf16> src_, dst_;
  cudaStream_t raw_ = nullptr;
  Stream stream_;
};

}  // namespace job_collectives

ISOTOPE_MAIN(argc, argv) {
  isotope::World world = isotope::init();
  if (!world.drives_gpu()) {
    std::printf("skipped: there is no GPU\n");
    return 0;
  }
  if (world.rank() == 0) beside::print_about();
  job_collectives::Bench bench(world);
  bench.run();
  world.synchronize();
  world.barrier();
  return 0;
}
