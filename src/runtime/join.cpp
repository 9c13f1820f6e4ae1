// init(): from a bootstrap to a World. Three all-gathers: who is there, where their memory is, and whether everyone
// could map it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "exec/backoff.hpp"
#include "os/memory.hpp"
#include "os/process.hpp"
#include "os/thread.hpp"
#include "runtime/log.hpp"
#include "runtime/outcome.hpp"
#include "runtime/platform_choice.hpp"
#include "runtime/world_core.hpp"

namespace isotope::runtime {

namespace {

/// Changes whenever the segment, the cells or the slot layout do: PEs of one job must agree on all of it.
constexpr std::uint32_t kAbi = 4;

struct Hello {
  std::uint32_t abi = kAbi;
  std::int32_t pid = 0;
  std::uint64_t start_time = 0;
  std::array<std::byte, 16> host{};
  os::CpuSet cpus{};
  PlatformBid platform;
  char version[16] = ISOTOPE_VERSION;
};

struct Whereabouts {
  Outcome outcome;
  std::int32_t segment_fd = -1;
  std::int32_t heap_fd = -1;
  JobId job{};
};

template <class T>
std::vector<T> gather(bootstrap::Bootstrap& bootstrap, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= bootstrap::kMaxAllgatherBytes);
  const auto bytes = bootstrap.allgather(std::as_bytes(std::span(&mine, 1)));
  std::vector<T> all(static_cast<std::size_t>(bootstrap.size()));
  if (bytes.size() != all.size() * sizeof(T)) {
    throw Error(Code::bootstrap_failed,
                fmt::format("the {} bootstrap returned {} bytes where {} were due", bootstrap.name(), bytes.size(),
                            all.size() * sizeof(T)),
                bootstrap.rank());
  }
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

void check_hellos(const std::vector<Hello>& hellos, int rank) {
  for (std::size_t pe = 0; pe < hellos.size(); ++pe) {
    const Hello& hello = hellos[pe];
    if (hello.abi != hellos[0].abi || std::strncmp(hello.version, hellos[0].version, sizeof hello.version) != 0) {
      throw Error(Code::refused,
                  fmt::format("PE 0 runs Isotope {} (abi {}), PE {} runs {} (abi {}); all PEs of a job need the same",
                              hellos[0].version, hellos[0].abi, pe,
                              std::string(hello.version, strnlen(hello.version, 16)), hello.abi),
                  rank, static_cast<int>(pe));
    }
    if (hello.host != hellos[0].host) {
      throw Error(Code::not_supported,
                  fmt::format("PE 0 and PE {} are on different hosts (or in different PID namespaces); this build "
                              "reaches PEs of one host only",
                              pe),
                  rank, static_cast<int>(pe));
    }
  }
}

/// Whether there are more PEs than CPUs that any of them may use.
bool crowded(const std::vector<Hello>& hellos) {
  std::size_t cpus = 0;
  for (std::size_t word = 0; word < hellos[0].cpus.size(); ++word) {
    std::uint64_t together = 0;
    for (const Hello& hello : hellos) together |= hello.cpus[word];
    cpus += static_cast<std::size_t>(std::popcount(together));
  }
  return cpus != 0 && hellos.size() > cpus;
}

}  // namespace

std::shared_ptr<WorldCore> WorldCore::join(std::unique_ptr<bootstrap::Bootstrap> bootstrap, const Knobs& knobs) {
  std::shared_ptr<WorldCore> core(new WorldCore);
  core->rank_ = bootstrap->rank();
  core->size_ = bootstrap->size();
  core->node_rank_ = core->rank_;  // check_hellos has made sure that there is one host
  core->node_size_ = core->size_;
  core->bootstrap_name_ = bootstrap->name();
  core->bootstrap_ = std::move(bootstrap);
  core->fork_generation_ = os::fork_generation();
  core->wait_deadline_ns_ = knobs.wait_deadline_ns;
  core->exec_limits_ = {.stack_bytes = knobs.stack_bytes, .max_fibers = knobs.max_fibers};
  core->map_job(knobs);
  log_debug(fmt::format("PE {} of {} joined through {}", core->rank_, core->size_, core->bootstrap_name_));
  return core;
}

void WorldCore::map_job(const Knobs& knobs) {
  bootstrap::Bootstrap& boot = *bootstrap_;
  Hello hello;
  hello.pid = os::process_id();
  hello.start_time = os::process_start_time(hello.pid);
  hello.host = os::host_identity();
  hello.cpus = os::allowed_cpus();
  Bidder bidder = make_bid(knobs, boot);
  hello.platform = bidder.bid;
  const std::vector<Hello> hellos = gather(boot, hello);
  check_hellos(hellos, rank_);
  std::vector<PlatformBid> bids;
  for (const Hello& h : hellos) bids.push_back(h.platform);
  const PlatformChoice choice = choose_platform(bids, rank_);
  if (!choice.gpus) bidder.gpu.reset();
  if (!choice.why_cpu.empty()) tell_of_cpu(rank_, choice.why_cpu);
  std::uint64_t heap_max = choice.gpus ? bidder.bid.heap_max : bidder.bid.host_heap_max;
  exec::set_crowded(crowded(hellos));
  const Layout layout = make_layout(size_, choice.largest_heap);

  // Each PE makes its own file; PE 0 makes the segment too. `made` stays open until everyone has mapped it.
  Whereabouts mine;
  mine.outcome = bidder.outcome;
  std::optional<Segment> made;
  os::Fd file;
  try {
    if (mine.outcome.code == 0 && heap_max < kMinHeapBytes) {
      throw Error(Code::invalid_argument,
                  fmt::format("ISOTOPE_HEAP_MAX is {} bytes; at least {} are needed", heap_max, kMinHeapBytes));
    }
    file = os::create_shared_file("isotope-heap", layout.heap_offset());
    mine.heap_fd = file.get();
    if (rank_ == 0) {
      made = Segment::create(size_);
      mine.segment_fd = made->fd();
      mine.job = {made->header().job_id[0], made->header().job_id[1]};
    }
  } catch (const Error& error) {
    mine.outcome.fail(error);
  }
  const std::vector<Whereabouts> where = gather(boot, mine);
  std::vector<Outcome> outcomes;
  for (const Whereabouts& w : where) outcomes.push_back(w.outcome);
  throw_if_any_failed(outcomes, "init", rank_);

  Outcome mapped;
  try {
    std::vector<PeFiles> files;
    for (std::size_t pe = 0; pe < where.size(); ++pe)
      files.push_back({hellos[pe].pid, hellos[pe].start_time, where[pe].heap_fd});
    job_ = ProcessJob::get(where[0].job, [&] {
      Segment segment = Segment::open(os::open_descriptor_of(hellos[0].pid, where[0].segment_fd), size_);
      if (segment.header().job_id[0] != where[0].job[0] || segment.header().job_id[1] != where[0].job[1]) {
        throw Error(Code::refused, "the segment belongs to another job");
      }
      return std::make_shared<ProcessJob>(std::move(segment), layout, files, rank_, boot.watch_fd() >= 0);
    });
    job_->segment().pe(rank_).state.store(static_cast<std::uint32_t>(PeState::joined), std::memory_order_release);
  } catch (const Error& error) {
    mapped.fail(error);
  }
  throw_if_any_failed(gather(boot, mapped), "init", rank_);

  control_.abort_word = reinterpret_cast<const std::uint64_t*>(&job_->segment().header().abort_word);
  control_.wait_deadline_ns = wait_deadline_ns_;
  control_.pe = rank_;
  control_.fault = &fault_;
  cells_ = std::make_unique<TeamCells>(*job_, rank_, choice.gpus ? kGpuTeams : kTeamCells);
  world_team_ = std::make_shared<TeamRecord>();
  TeamRecord& world = *world_team_;
  world.state.control = &control_;
  for (int pe = 0; pe < size_; ++pe) world.members.push_back(pe);
  fill_team(world, rank_);
  world.cell = cells_->cell(0);
  world.job = job_;
  world.exchange = std::make_unique<Exchange>(job_->segment(), world.team, world.cell, wait_deadline_ns_);
  teams_.push_back(world_team_);
  // Watched from here on: what follows waits for the others.
  if (job_->watch() != nullptr) job_->watch()->add(rank_, bootstrap_.get());
  if (choice.gpus) {
    GpuPe::Joined joined = GpuPe::join(*job_, *world.exchange, rank_,
                                       {.gpu = std::move(bidder.gpu),
                                        .wait_deadline_ns = wait_deadline_ns_,
                                        .allow_time_slicing = knobs.allow_time_slicing,
                                        .fabric = choice.fabric,
                                        .local_memory_bytes = knobs.local_memory_bytes,
                                        .cells = cells_.get()});
    gpu_ = std::move(joined.pe);
    // Now, not at the first launch: the driver may make it wait until the GPU is idle, and by then peers' kernels wait
    // for ours.
    if (gpu_ != nullptr) joined.refusal = failure_of_any(*world.exchange, "init", rank_, [&] { default_stream(); });
    if (joined.refusal && !choice.may_change) throw *joined.refusal;
    if (joined.refusal) {
      streams_.clear();
      gpu_.reset();
      tell_of_cpu(rank_, joined.refusal->what());
      heap_max = bidder.bid.host_heap_max;
      cells_ = std::make_unique<TeamCells>(*job_, rank_, kTeamCells);
    }
  }
  if (gpu_ != nullptr) {
    faults_ = &gpu_->fault();
    gpu_->open_multicast(world.id, world.members, *world.exchange, world.members, {"init", 0});
    fill_team(world, rank_);  // now as kernels on the GPU see it
  }
  heap_ =
      std::make_unique<Heap>(*job_, *world.exchange, gpu_ ? gpu_->memory() : host_memory(*job_, rank_, std::move(file)),
                             rank_, size_, heap_max, knobs.heap_prefault, gpu_ ? gpu_objects_ : control_.objects);
}

}  // namespace isotope::runtime
