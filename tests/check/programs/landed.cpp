// reduce_scatter through shared memory (collective/landed.hpp), which calls from host code take on GPUs, by the blocks
// that a GPU would launch: for the checker, where copies travel by themselves.
#include <isotope/collective/landed.hpp>
#include <isotope/isotope.hpp>

using namespace isotope;

namespace {

namespace landed = detail::landed;

constexpr std::size_t kFloats = 4;  // of a word

float value(int pe, std::size_t i, int round) {
  return static_cast<float>((pe * 131 + static_cast<int>(i) * 7 + round * 17) % 1009);
}

struct Sizes {
  std::size_t words;  // of each member's result
  std::uint32_t each_block;
};

template <int Members>
ISOTOPE_KERNEL void scatter_sums(Team team, Workspace workspace, float* dst, const float* src, Sizes sizes) {
  const Block block = this_block();
  const Channel channel = workspace.channel(static_cast<int>(block.rank()));
  const detail::Stage<Block> on{block, team,         channel,          {"scatter_sums", CallSite::current()},
                                false, block.rank(), block.grid_size()};
  detail::reduce_scatter_landed<Members>(on, Reduction<float, ReduceOp::add>{}, reinterpret_cast<char*>(dst),
                                         reinterpret_cast<const char*>(src), sizes.words, sizes.each_block,
                                         dynamic_shared<char>().data(), [] {});
}

template <int Members>
class Checks {
 public:
  explicit Checks(World& world)
      : world_(world),
        coll_(world, {.channels = 2, .slot_bytes = 1920}),
        src_(world.alloc<float>(kMost * Members)),
        dst_(world.alloc<float>(kMost)) {}

  bool all() {
    // Less than a line, two chunks and a piece by a block each, and all chunks of a block: those that have no place of
    // their own wait for one, where members are many.
    return sums(5, 2, false) && sums(600, 2, false) && sums(600, 1, true) && sums(kMost / kFloats, 1, false);
  }

 private:
  static constexpr std::size_t kMost = landed::kMostBytes / sizeof(float);

  /// Twice, with other values: the second round's inputs are written when the first one's result is there, while others
  /// may still be at it.
  bool sums(std::size_t words, std::uint32_t blocks, bool in_place) {
    const std::size_t each = words * kFloats;
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 0; i < each * Members; ++i) src_[i] = value(world_.rank(), i, round);
      float* result = in_place ? src_.data() + static_cast<std::size_t>(world_.rank()) * each : dst_.data();
      world_.launch<scatter_sums<Members>>(
          {.grid = blocks, .block = landed::kThreads, .shared_bytes = landed::shared_bytes(Members)}, coll_.team(),
          coll_.workspace(), result, src_.data(), Sizes{words, landed::words_of_block(words * 16, blocks)});
      world_.synchronize();
      for (std::size_t i = 0; i < each; ++i) {
        float sum = 0;
        for (int pe = 0; pe < Members; ++pe)
          sum += value(pe, static_cast<std::size_t>(world_.rank()) * each + i, round);
        if (result[i] != sum) return false;
      }
    }
    return true;
  }

  World& world_;
  Collectives coll_;
  Symmetric<float> src_, dst_;
};

}  // namespace

ISOTOPE_MAIN(argc, argv) {
  (void)argc, (void)argv;
  World world = init();
  if (world.size() == 2) return Checks<2>(world).all() ? 0 : 1;
  if (world.size() == 3) return Checks<3>(world).all() ? 0 : 1;
  if (world.size() == 4) return Checks<4>(world).all() ? 0 : 1;
  return 1;
}
