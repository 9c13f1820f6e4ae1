// Random programs of puts, gets, atomics and signals over all PEs, made by threads, warps and blocks together, held
// against their serial outcome, byte for byte.
//
// ISOTOPE_TEST_SEED=<seed> runs that one program in each shape.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "support/job_shape.hpp"
#include "support/random_program.hpp"
#include "support/symmetric.hpp"

namespace isotope {
namespace {

using testing::AtomicOp;
using testing::AtomicType;
using testing::kNowhere;
using testing::Op;
using testing::Place;
using testing::Section;
using testing::Step;
using testing::Who;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kPrograms = 25;
#else
constexpr std::uint64_t kPrograms = 300;  // in each of eight shapes
#endif  // __SANITIZE_ADDRESS__ || __SANITIZE_THREAD__

class RandomProgram : public testing::JobTest {};
INSTANTIATE_TEST_SUITE_P(All, RandomProgram,
                         ::testing::Values(testing::JobShape{2, false}, testing::JobShape{3, false},
                                           testing::JobShape{5, false}, testing::JobShape{8, false},
                                           testing::JobShape{2, true}, testing::JobShape{3, true},
                                           testing::JobShape{5, true}, testing::JobShape{8, true}),
                         testing::shape_name);

// ---- the interpreter ------------------------------------------------------------------------------------------------
struct Machine {
  Span<unsigned char> region;
  unsigned char* log;
  const unsigned char* constants;
  Span<const Step> steps;
  Span<const Section> sections;

  ISOTOPE_HD unsigned char* own(const Step& s) const { return (s.place == Place::log ? log : region.data()) + s.local; }
  ISOTOPE_HD const unsigned char* source(const Step& s) const {
    return (s.place == Place::constants ? constants : region.data()) + s.local;
  }
};

template <class F>
ISOTOPE_HD void with_width(std::uint32_t width, const F& f) {
  if (width == 1) f(Word<1>{});
  if (width == 2) f(Word<2>{});
  if (width == 4) f(Word<4>{});
  if (width == 8) f(Word<8>{});
  if (width == 16) f(Word<16>{});
}

template <class T>
ISOTOPE_HD T from_words(std::uint64_t low, std::uint64_t high) {
  const std::uint64_t words[2] = {low, high};
  T value;
  std::memcpy(static_cast<void*>(&value), words, sizeof(T));
  return value;
}

template <class T>
ISOTOPE_KERNEL void atomic_as(const Team& team, const Machine& machine, const Step& s) {
  T* word = reinterpret_cast<T*>(machine.region.data() + s.remote);
  const T value = from_words<T>(s.value, 0), condition = from_words<T>(s.other, 0);
  T old{};
  if (s.atomic == AtomicOp::set) atomic_set(team, word, value, s.pe);
  if (s.atomic == AtomicOp::fetch) old = atomic_fetch(team, word, s.pe);
  if (s.atomic == AtomicOp::swap) old = atomic_swap(team, word, value, s.pe);
  if (s.atomic == AtomicOp::add) atomic_add(team, word, value, s.pe);
  if (s.atomic == AtomicOp::fetch_add) old = atomic_fetch_add(team, word, value, s.pe);
  if constexpr (AtomicWord<T>) {
    if (s.atomic == AtomicOp::compare_swap) old = atomic_compare_swap(team, word, condition, value, s.pe);
    if (s.atomic == AtomicOp::inc) atomic_inc(team, word, s.pe);
    if (s.atomic == AtomicOp::fetch_inc) old = atomic_fetch_inc(team, word, s.pe);
    if (s.atomic == AtomicOp::bit_and) atomic_and(team, word, value, s.pe);
    if (s.atomic == AtomicOp::fetch_and) old = atomic_fetch_and(team, word, value, s.pe);
    if (s.atomic == AtomicOp::bit_or) atomic_or(team, word, value, s.pe);
    if (s.atomic == AtomicOp::fetch_or) old = atomic_fetch_or(team, word, value, s.pe);
    if (s.atomic == AtomicOp::bit_xor) atomic_xor(team, word, value, s.pe);
    if (s.atomic == AtomicOp::fetch_xor) old = atomic_fetch_xor(team, word, value, s.pe);
  }
  if (s.local != kNowhere) std::memcpy(machine.log + s.local, &old, sizeof(T));
}

/// Calls that one thread makes: the group's leader does.
ISOTOPE_KERNEL void perform_alone(const Team& team, const Machine& machine, const Step& s) {
  if (s.op == Op::p) {
    with_width(s.width, [&](auto type) {
      using T = decltype(type);
      p(team, reinterpret_cast<T*>(machine.region.data() + s.remote), from_words<T>(s.value, s.other), s.pe);
    });
  } else if (s.op == Op::g) {
    with_width(s.width, [&](auto type) {
      using T = decltype(type);
      const T value = g(team, reinterpret_cast<const T*>(machine.region.data() + s.remote), s.pe);
      std::memcpy(machine.own(s), &value, sizeof(T));
    });
  } else if (s.op == Op::atomic) {
    if (s.type == AtomicType::u32) atomic_as<std::uint32_t>(team, machine, s);
    if (s.type == AtomicType::i32) atomic_as<std::int32_t>(team, machine, s);
    if (s.type == AtomicType::u64) atomic_as<std::uint64_t>(team, machine, s);
    if (s.type == AtomicType::i64) atomic_as<std::int64_t>(team, machine, s);
    if (s.type == AtomicType::f32) atomic_as<float>(team, machine, s);
    if (s.type == AtomicType::f64) atomic_as<double>(team, machine, s);
  }
}

template <Group G>
ISOTOPE_KERNEL void perform(G group, const Team& team, const Machine& machine, const Step& s) {
  const Span<unsigned char> remote(machine.region.data() + s.remote, s.count);
  Signal* flag = s.flag == kNowhere ? nullptr : reinterpret_cast<Signal*>(machine.region.data() + s.flag);
  switch (s.op) {
    case Op::put:
      return put(group, team, remote, Span<const unsigned char>(machine.source(s), s.count), s.pe);
    case Op::put_nbi:
      return put_nbi(group, team, remote, Span<const unsigned char>(machine.source(s), s.count), s.pe);
    case Op::put_signal:
      return put_signal(group, team, remote, Span<const unsigned char>(machine.source(s), s.count), flag, s.value,
                        s.signal_op, s.pe);
    case Op::put_signal_nbi:
      return put_signal_nbi(group, team, remote, Span<const unsigned char>(machine.source(s), s.count), flag, s.value,
                            s.signal_op, s.pe);
    case Op::get:
      return get(group, team, Span<unsigned char>(machine.own(s), s.count), remote, s.pe);
    case Op::get_nbi:
      return get_nbi(group, team, Span<unsigned char>(machine.own(s), s.count), remote, s.pe);
    case Op::iput:
      return with_width(s.width, [&](auto type) {
        using T = decltype(type);
        iput(group, team, reinterpret_cast<T*>(remote.data()), reinterpret_cast<const T*>(machine.source(s)),
             s.remote_stride, s.local_stride, s.count, s.pe);
      });
    case Op::iget:
      return with_width(s.width, [&](auto type) {
        using T = decltype(type);
        iget(group, team, reinterpret_cast<T*>(machine.own(s)), reinterpret_cast<const T*>(remote.data()),
             s.local_stride, s.remote_stride, s.count, s.pe);
      });
    case Op::signal:
      return signal(group, team, flag, s.value, s.signal_op, s.pe);
    case Op::await:
      if (!wait_until(group, team, flag, s.cmp, s.value)) return;
      for (std::uint32_t i = group.thread_rank(); i < s.count; i += group.size()) machine.own(s)[i] = remote[i];
      return;
    case Op::fence:
      return fence(group, team);
    case Op::quiet:
      return quiet(group, team);
    default:
      if (group.is_leader()) perform_alone(team, machine, s);
  }
}

/// This unit's steps of a section: those of every `units`-th chain.
template <Group G>
ISOTOPE_KERNEL void perform_share(G group, std::uint32_t unit, std::uint32_t units, const Team& team,
                                  const Machine& machine, const Section& section) {
  std::uint32_t chain = ~0u;
  for (std::uint32_t i = section.first; i < section.last; ++i) {
    const Step& step = machine.steps[i];
    chain += !step.same_unit;
    if (chain % units == unit) perform(group, team, machine, step);
  }
}

ISOTOPE_KERNEL void interpret(Team team, Machine machine) {
  const Block block = this_block();
  const std::uint32_t warps = (block.size() + kWarpSize - 1) / kWarpSize, blocks = block.grid_size();
  for (const Section& section : machine.sections) {
    if (section.who == Who::thread) {
      perform_share(this_thread(), block.rank() * block.size() + block.thread_rank(), blocks * block.size(), team,
                    machine, section);
    } else if (section.who == Who::warp) {
      perform_share(this_warp(), block.rank() * warps + this_warp().rank(), blocks * warps, team, machine, section);
    } else {
      perform_share(block, block.rank(), blocks, team, machine, section);
    }
    block.sync();
    // All blocks of all PEs: this grid, and then every PE's block of this index, which has seen its grid come.
    if (section.ends_phase && (!grid_sync(team) || !barrier(block, team, static_cast<int>(block.rank())))) return;
  }
}

// ---- the comparison -------------------------------------------------------------------------------------------------
/// Whether the bytes are as they should be. `report`: fails the test if not, and names the step that wrote the first.
bool same(const testing::Program& program, int me, const char* what, const std::vector<unsigned char>& found,
          const std::vector<unsigned char>& expected, const std::vector<std::uint32_t>& writers, bool report) {
  if (std::memcmp(found.data(), expected.data(), expected.size()) == 0) return true;
  if (!report) return false;
  std::size_t i = 0;
  while (found[i] == expected[i]) ++i;
  ADD_FAILURE() << "seed " << program.seed << ", " << program.pes.size() << " PEs, grid " << program.grid << ", block "
                << program.block << ": byte " << i << " of the " << what << " of PE " << me << " is " << int{found[i]}
                << ", expected " << int{expected[i]} << "; last written in " << describe(program, writers[i])
                << "\nISOTOPE_TEST_SEED=" << program.seed << " replays it";
  return false;
}

/// What a program runs in, used again for the next. Constants and log are private to a PE, but kernels must reach them.
struct Stage {
  Symmetric<unsigned char> region, constants, log;
  Symmetric<Step> steps;
  Symmetric<Section> sections;

  explicit Stage(World& world)
      : region(world.alloc<unsigned char>(testing::kRegionBytes)),
        constants(world.alloc<unsigned char>(testing::kConstantBytes)) {}

  /// Makes room for the longest of each, on any PE. Collective.
  void fit(World& world, const testing::Program& program) {
    std::size_t log_bytes = 0, step_count = 0, section_count = 0;
    for (const testing::PeProgram& pe : program.pes) {
      log_bytes = std::max(log_bytes, pe.log.size());
      step_count = std::max(step_count, pe.steps.size());
      section_count = std::max(section_count, pe.sections.size());
    }
    grow(world, log, log_bytes + 64);  // what is past the end must stay as it was
    grow(world, steps, step_count);
    grow(world, sections, section_count);
  }

 private:
  template <class T>
  static void grow(World& world, Symmetric<T>& object, std::size_t count) {
    if (object.size() >= count) return;
    if (object) world.free(object);
    object = world.alloc<T>(count * 2);
  }
};

/// Runs it on all PEs; whether this PE has the right outcome. `report`: fails the test when it has not.
bool run_program(World& world, Stage& stage, std::uint64_t seed, bool report) {
  const testing::Program program = testing::make_program(seed, world.size());
  const auto& mine = program.pes[static_cast<std::size_t>(world.rank())];
  stage.fit(world, program);
  stage.region.write(testing::first_region(seed, world.rank()));
  stage.constants.write(mine.constants);
  stage.steps.write(mine.steps);
  stage.sections.write(mine.sections);
  testing::fill(stage.log, testing::kLogPoison);
  try {
    world.barrier();
    world.launch<interpret>({.grid = program.grid, .block = program.block}, world.team(),
                            Machine{stage.region.span(), stage.log.data(), stage.constants.data(),
                                    stage.steps.span().subspan(0, mine.steps.size()),
                                    stage.sections.span().subspan(0, mine.sections.size())});
    world.synchronize();
    world.barrier();
  } catch (const Error& error) {
    ADD_FAILURE() << "seed " << seed << ": " << error.what();
    throw;
  }
  const std::vector<unsigned char> log = stage.log.read();
  const bool log_ends = std::all_of(log.begin() + static_cast<std::ptrdiff_t>(mine.log.size()), log.end(),
                                    [](unsigned char byte) { return byte == testing::kLogPoison; });
  if (report && !log_ends) ADD_FAILURE() << "seed " << seed << ": written past the log of PE " << world.rank();
  const bool region_same =
      same(program, world.rank(), "region", stage.region.read(), mine.region, mine.region_writer, report);
  return same(program, world.rank(), "log", log, mine.log, mine.log_writer, report) && region_same && log_ends;
}

TEST_P(RandomProgram, EndsAsItsSerialOutcome) {
  run([](World& world) {
    Stage stage(world);
    if (const char* seed = std::getenv("ISOTOPE_TEST_SEED")) {
      run_program(world, stage, std::stoull(seed), true);
    } else {
      int failures = 0;  // after some, this PE only keeps the others company
      for (std::uint64_t each = 1; each <= kPrograms; ++each)
        failures += !run_program(world, stage, each, failures < 3);
    }
    world.barrier();
  });
}

// The programs are worth running only if they hold every call, in every scope.
TEST(RandomProgramMaker, MakesEveryKindOfStep) {
  std::set<std::tuple<int, Who>> ops;
  std::set<std::tuple<AtomicOp, AtomicType>> atomics;
  std::set<std::tuple<SignalOp, Op>> signals;
  std::set<Cmp> comparisons;
  for (std::uint64_t seed = 1; seed <= kPrograms; ++seed) {
    for (const auto& pe : testing::make_program(seed, 3).pes) {
      for (const Section& section : pe.sections) {
        for (std::uint32_t i = section.first; i < section.last; ++i) {
          const Step& step = pe.steps[i];
          ops.insert({static_cast<int>(step.op), section.who});
          if (step.op == Op::atomic) atomics.insert({step.atomic, step.type});
          if (step.op != Op::await && step.flag != kNowhere) signals.insert({step.signal_op, step.op});
          if (step.op == Op::await) comparisons.insert(step.cmp);
        }
      }
    }
  }
  EXPECT_EQ(ops.size(), 15u * 3);
  EXPECT_EQ(atomics.size(), 14u * 4 + 5 * 2);  // integers, floats
  EXPECT_EQ(signals.size(), 2u * 3);
  EXPECT_EQ(comparisons.size(), 3u);
}

}  // namespace
}  // namespace isotope
