#include "runtime/gpu_pe.hpp"

#if ISOTOPE_HAVE_CUDA

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "cuda/errors.hpp"
#include "cuda/local_memory.hpp"
#include "cuda/peer_atomics.hpp"
#include "cuda/queue.hpp"
#include "cuda/user_stream.hpp"
#include "os/memory.hpp"
#include "os/process.hpp"
#include "runtime/gpu_memory.hpp"
#include "runtime/gpu_multicast.hpp"
#include "runtime/lazy_modules.hpp"
#include "runtime/log.hpp"
#include "runtime/outcome.hpp"
#include "runtime/peer_atomics.hpp"
#include "runtime/residency.hpp"

namespace isotope::runtime {

namespace {

// Places in the control range of a slot on the GPU.
constexpr std::uint64_t kWordsAt = 0, kStateAt = 36 * 1024, kTableAt = 40 * 1024;  // in a team's cell
constexpr std::uint64_t kControlAt = std::uint64_t{kGpuTeams} * kTeamCellBytes;
constexpr std::uint64_t kRangesAt = kControlAt + 4096;
constexpr std::uint64_t kControlBytes = kControlAt + cuda::kChunkGranule;
constexpr std::uint64_t kMostMembers = (kTeamCellBytes - kTableAt) / sizeof(std::int32_t);
static_assert(sizeof(TeamWords) <= kStateAt && sizeof(TeamState) <= kTableAt - kStateAt && sizeof(Control) <= 4096);
static_assert(kControlBytes % cuda::kChunkGranule == 0 && kControlBytes <= kTeamCells * kTeamCellBytes);

/// What a PE says when the GPUs are set up.
struct GpuHello {
  std::int32_t pid = 0;
  cuda::SharedPiece cells;
  std::int32_t device = -1;
  std::int32_t mps = 0;
  std::int32_t multicast = 0;
  double percentage = 0;  // of the multiprocessors, as its environment asks MPS for; 0: not said
  std::int32_t lazy = 0;  // kernels are loaded at their first launch
  cuda::GpuUuid uuid{};
};

class CudaHold final : public GpuHold {
 public:
  explicit CudaHold(int device) : gpu(std::make_shared<cuda::Gpu>(device)) {}
  std::uint64_t memory_bytes() const override { return gpu->memory_bytes(); }
  bool fabric_works() const override { return cuda::fabric_works(gpu->calls(), gpu->device()); }

  const std::shared_ptr<const cuda::Gpu> gpu;
};

class CudaPe final : public GpuPe {
 public:
  CudaPe(ProcessJob& job, int rank, const Options& options)
      : job_(&job),
        rank_(rank),
        cells_of_teams_(options.cells),
        gpu_(static_cast<const CudaHold&>(*options.gpu).gpu),
        local_memory_(gpu_),
        fault_(*gpu_, sizeof(FaultRecord)) {
    new (fault_.data()) FaultRecord;
    share_ = std::static_pointer_cast<GpuShare>(job.gpu_share([&]() -> std::shared_ptr<void> {
      auto share = std::make_shared<GpuShare>();
      share->gpu = gpu_;
      share->segment = std::make_unique<cuda::RegisteredMemory>(*gpu_, &job.segment().header(), sizeof(SegmentHeader));
      share->space = std::make_unique<cuda::AddressSpace>(*gpu_, job.size(), job.layout().slot_bytes());
      share->travel = options.fabric ? cuda::Travel::fabric : cuda::Travel::descriptors;
      return share;
    }));
    share_->streams.add(gpu_, gpu_->index());
    share_->space->add_device(gpu_->device());
    cells_ = cuda::Chunk::create(*gpu_, kControlBytes, share_->travel);
    exported_ = cells_.export_as(share_->travel);
    share_->space->map(rank, 0, cells_);
    gpu_->fill(at(0), 0, kControlBytes);

    Control control;
    const auto offset = reinterpret_cast<const char*>(&job.segment().header().abort_word) -
                        reinterpret_cast<const char*>(&job.segment().header());
    control.abort_word =
        reinterpret_cast<const std::uint64_t*>(static_cast<const char*>(share_->segment->device_address()) + offset);
    control.wait_deadline_ns = options.wait_deadline_ns;
    control.pe = rank;
    control.fault = static_cast<FaultRecord*>(fault_.data());
    gpu_->copy(at(kControlAt), &control, sizeof control);
  }

  GpuHello hello() const {
    GpuHello mine;
    mine.cells = exported_.piece;
    mine.device = gpu_->index();
    mine.mps = cuda::mps_answers();
    const char* percentage = std::getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    mine.percentage = percentage != nullptr ? std::strtod(percentage, nullptr) : 0;
    mine.uuid = cuda::uuid_of(*gpu_);
    mine.multicast = cuda::multicast_works(gpu_->calls(), gpu_->device());
    mine.lazy = gpu_->loads_lazily();
    return mine;
  }

  /// Maps the cells of PEs in other processes, and counts who shares this GPU.
  void meet(const std::vector<GpuHello>& all, const Options& options) {
    const GpuHello& mine = all[static_cast<std::size_t>(rank_)];
    std::vector<Tenant> tenants;
    std::vector<GpuMulticast::Seat> seats;
    int first_here = kNoPe;
    for (std::size_t pe = 0; pe < all.size(); ++pe) {
      const GpuHello& other = all[pe];
      const bool same_gpu = other.uuid == mine.uuid;
      const bool same_process = other.pid == mine.pid;
      on_this_gpu_.push_back(same_gpu);
      seats.push_back({other.uuid, other.multicast != 0});
      if (same_gpu && same_process && threads_here_++ == 0) first_here = static_cast<int>(pe);
      if (same_gpu) tenants.push_back({other.pid, other.percentage});
      if (same_gpu && !same_process && mine.mps == 0 && !options.allow_time_slicing) {
        throw Error(
            Code::not_supported,
            fmt::format("PE {} and PE {} are processes that share GPU {} without MPS, so their kernels never run at "
                        "the same time; start the job with `isotope run --platform cuda`, which brings MPS, or with "
                        "PEs as threads, or say --allow-time-slicing",
                        rank_, pe, gpu_->index()));
      }
      if (same_process || job_->lead_rank() != rank_) continue;
      share_->space->map(static_cast<int>(pe), 0, cuda::Chunk::import(*gpu_, other.pid, other.cells));
    }
    settle(mine, tenants);
    // Before any launch: nobody launches until all have met.
    if (threads_here_ > 1 && first_here == rank_) local_memory_.set_aside(options.local_memory_bytes);
    keeps_to_local_memory_ = options.local_memory_bytes != 0;
    multicast_ = std::make_shared<GpuMulticast>(gpu_, share_, job_->layout().slot_bytes(), rank_, std::move(seats),
                                                *cells_of_teams_);
  }
  /// What this PE may count on where others are on its GPU. Throws where that is nothing.
  void settle(const GpuHello& mine, const std::vector<Tenant>& tenants) {
    const int all = gpu_->multiprocessors();
    const Residency residency = residency_of(mine.pid, tenants, all, mine.mps != 0);
    if (residency.multiprocessors == 0) {
      throw Error(
          Code::not_supported,
          fmt::format("{} PEs share GPU {}, where this process may use {} multiprocessors: that is less than one "
                      "for each PE, and kernels that wait for each other must all be there at once. Use fewer "
                      "PEs or more GPUs",
                      tenants.size(), gpu_->index(), all));
    }
    multiprocessors_ = residency.multiprocessors;
    sharing_ = residency.sharing;
  }
  void met(const std::vector<GpuHello>& all) {
    exported_ = {};
    cells_ = {};
    if (rank_ != 0) return;  // one line a job, not one for each PE
    std::vector<int> lazy, without_atomics;
    for (std::size_t pe = 0; pe < all.size(); ++pe) {
      if (all[pe].lazy != 0) lazy.push_back(static_cast<int>(pe));
      if (cuda::lacks_atomics_on(*gpu_, all[pe].uuid)) without_atomics.push_back(static_cast<int>(pe));
    }
    warn_of_lazy_modules(lazy, static_cast<int>(all.size()));
    warn_of_peer_atomics(rank_, without_atomics);
  }

  std::unique_ptr<HeapMemory> memory() override {
    const GpuObjectTable objects{&reinterpret_cast<Control*>(at(kControlAt))->objects,
                                 reinterpret_cast<ObjectRange*>(at(kRangesAt)),
                                 (kControlBytes - kRangesAt) / sizeof(ObjectRange)};
    return gpu_memory(gpu_, share_, *job_, rank_, objects, multicast_);
  }

  std::shared_ptr<exec::StreamQueue> create_queue(exec::FailureProbe probe, LossReport lost) override {
    return add_queue(std::move(probe), std::move(lost), nullptr);
  }

  std::shared_ptr<exec::StreamQueue> wrap_queue(exec::FailureProbe probe, LossReport lost, void* theirs) override {
    const auto stream = static_cast<CUstream>(theirs);
    cuda::check_user_stream(*gpu_, stream, threads_here_ > 1, rank_);
    return add_queue(std::move(probe), std::move(lost), stream);
  }

  bool fits(const LaunchConfig& config, const detail::GpuKernel& kernel) override {
    const std::uint64_t threads = config.block.count(), blocks = config.grid.count();
    if (kernel.entry == nullptr || threads == 0 || threads > static_cast<std::uint64_t>(kernel.max_threads))
      return false;
    const detail::GpuLaunch how = shape_of(config);
    if (keeps_to_local_memory_ && lacks_local_memory(kernel)) return false;
    const Room room = room_for(how, kernel);
    return room.error == 0 && blocks != 0 && blocks <= blocks_at_once(room, how);
  }

  void launch(exec::StreamQueue& queue, const LaunchConfig& config, const detail::GpuKernel& kernel,
              void** arguments) override {
    if (kernel.entry == nullptr) {
      throw Error(Code::not_supported,
                  "the kernel was compiled for the CPU alone and this PE drives a GPU; build the program with "
                  "isotope_add_executable and nvcc, or run it with ISOTOPE_PLATFORM=cpu");
    }
    auto* stream = dynamic_cast<cuda::GpuQueue*>(&queue);
    if (stream == nullptr) throw Error(Code::invalid_argument, "launch: the stream belongs to a World on the CPU");
    detail::GpuLaunch how = shape_of(config);
    if (!check_shape(how, kernel, config.resident, *stream)) how.programmatic = false;
    if (lacks_local_memory(kernel)) tell_of_local_memory(kernel);
    stream->launch_gpu(kernel, how, arguments);
  }

  int multiprocessors() const override { return multiprocessors_; }
  bool is_shared() const override { return std::count(on_this_gpu_.begin(), on_this_gpu_.end(), true) > 1; }
  int compute_capability() const override { return gpu_->compute_capability(); }

  void open_multicast(std::uint32_t id, const std::vector<std::int32_t>& members, Exchange& over,
                      const std::vector<std::int32_t>& over_members, CallSite site) override {
    multicast_->open(id, members, over, over_members, site);
  }

  TeamParts make_team(std::uint32_t id, const std::vector<std::int32_t>& members,
                      const std::vector<std::int32_t>& table) override {
    if (table.size() > kMostMembers) {
      throw Error(Code::out_of_range,
                  fmt::format("a team of {} PEs that are no arithmetic sequence; on a GPU it can have {}", table.size(),
                              kMostMembers));
    }
    const std::uint64_t cell = id * kTeamCellBytes;
    gpu_->fill(at(cell + kWordsAt), 0, sizeof(TeamWords));
    if (!table.empty()) gpu_->copy(at(cell + kTableAt), table.data(), table.size() * sizeof table[0]);
    write_state(id);
    return {reinterpret_cast<TeamState*>(at(cell + kStateAt)), reinterpret_cast<TeamWords*>(at(cell + kWordsAt)),
            table.empty() ? nullptr : reinterpret_cast<const std::int32_t*>(at(cell + kTableAt)),
            std::all_of(members.begin(), members.end(),
                        [&](std::int32_t pe) { return on_this_gpu_[static_cast<std::size_t>(pe)]; }),
            multicast_->bytes_to(id)};
  }

  void rearm(const std::vector<std::uint32_t>& teams) override {
    for (const std::uint32_t id : teams) write_state(id);
  }

  void release_record() override {
    const std::uint32_t free = 0;
    try {
      gpu_->copy(&reinterpret_cast<Control*>(at(kControlAt))->fault_claimed, &free, sizeof free);
    } catch (const Error&) {
      // The GPU is lost, and what ended the job is told.
    }
  }

  bool stopped(std::uint32_t team) override {
    TeamState state;
    try {
      gpu_->copy(&state, at(team * kTeamCellBytes + kStateAt), sizeof state);
    } catch (const Error&) {
      return true;
    }
    return state.stopped != 0;
  }

  FaultRecord& fault() override { return *static_cast<FaultRecord*>(fault_.data()); }

  Texts texts_of(const FaultRecord& fault) override {
    return {gpu_->text_at(fault.call), gpu_->text_at(fault.site.file), gpu_->text_at(fault.argument)};
  }

 private:
  std::shared_ptr<exec::StreamQueue> add_queue(exec::FailureProbe probe, LossReport lost, CUstream theirs) {
    auto queue =
        std::make_shared<cuda::GpuQueue>(gpu_, std::move(probe), theirs, threads_here_ > 1, std::move(lost), rank_);
    share_->streams.add(queue, gpu_->index());
    return queue;
  }

  std::byte* at(std::uint64_t offset) const { return share_->space->slot(rank_) + offset; }

  void write_state(std::uint32_t id) const {
    TeamState state;
    state.control = reinterpret_cast<Control*>(at(kControlAt));
    gpu_->copy(at(id * kTeamCellBytes + kStateAt), &state, sizeof state);
  }

  /// Blocks of a multiprocessor, clusters of the GPU where the launch has some, and what the code was made for; or what
  /// CUDA said instead.
  struct Room {
    int blocks = 0, clusters = 0, code_version = 0, error = 0;
  };

  /// Throws for a launch that cannot be. Whether it would fit twice: once more beside the kernel before it. PEs that
  /// are threads of one process share multiprocessors as they come: there a kernel that came early could keep out one
  /// of a peer.
  bool check_shape(const detail::GpuLaunch& how, const detail::GpuKernel& kernel, bool resident,
                   const cuda::GpuQueue& stream) {
    const std::uint64_t threads = how.block.count(), blocks = how.grid.count();
    if (threads == 0 || blocks == 0 || threads > static_cast<std::uint64_t>(kernel.max_threads)) {
      throw Error(
          Code::invalid_argument,
          fmt::format("launch: {} blocks of {} threads; at least 1 block, and 1 to {} threads were expected{}", blocks,
                      threads, kernel.max_threads,
                      kernel.max_threads < static_cast<int>(kMaxBlockThreads) ? " (MaxThreads of the launch)" : ""));
    }
    if (!resident && !how.programmatic) return false;
    const Room room = known_room(how, kernel, stream);
    const std::uint64_t fits = blocks_at_once(room, how);
    // Code for older GPUs has no instruction by which it would wait for the kernel before it.
    if (blocks <= fits || !resident) return sharing_ <= 1 && room.code_version >= 90 && 2 * blocks <= fits;
    const bool clusters = how.cluster.count() > 1;
    throw Error(
        Code::invalid_argument,
        fmt::format("launch: {} blocks of {} threads with {} bytes of shared memory{}; this PE's {} multiprocessors of "
                    "GPU {}{} hold {} at once, and blocks that wait for each other must all be there. Use fewer "
                    "blocks, or say resident = false for a kernel that waits for nobody",
                    blocks, threads, how.shared_bytes,
                    clusters ? fmt::format(", in clusters of {}", how.cluster.count()) : std::string(),
                    multiprocessors_, gpu_->index(),
                    sharing_ > 1 ? fmt::format(" (shared by {} PEs)", sharing_) : std::string(), fits));
  }

  /// How many blocks of that shape this PE's multiprocessors hold. A cluster needs neighbours: of those the GPU, and so
  /// this PE's part of it, may hold fewer than its multiprocessors would.
  std::uint64_t blocks_at_once(const Room& room, const detail::GpuLaunch& how) const {
    const auto here = static_cast<std::uint64_t>(multiprocessors_);
    const std::uint64_t blocks = static_cast<std::uint64_t>(room.blocks) * here, cluster = how.cluster.count();
    if (cluster <= 1) return blocks;
    const auto all = static_cast<std::uint64_t>(gpu_->multiprocessors());
    return std::min(blocks, static_cast<std::uint64_t>(room.clusters) * here / all * cluster);
  }

  bool lacks_local_memory(const detail::GpuKernel& kernel) {
    return threads_here_ > 1 && !local_memory_.enough_for(kernel);
  }
  /// Throws where the user has said how much there is to be. Elsewhere a word, once: all may go well.
  void tell_of_local_memory(const detail::GpuKernel& kernel) {
    const std::string text = local_memory_.shortage(kernel);
    if (keeps_to_local_memory_) throw Error(Code::invalid_argument, text, rank_);
    if (!warned_of_local_memory_.exchange(true)) log_warn(text);
  }

  static detail::GpuLaunch shape_of(const LaunchConfig& config) {
    return {config.grid, config.block,       config.cluster,     config.shared_bytes,
            nullptr,     config.cooperative, config.programmatic};
  }

  Room room_for(const detail::GpuLaunch& how, const detail::GpuKernel& kernel) {
    const std::tuple key(kernel.entry, how.block.count(), how.shared_bytes, how.cluster.x, how.cluster.y,
                         how.cluster.z);
    const std::lock_guard lock(mutex_);
    const auto known = rooms_.find(key);
    if (known != rooms_.end()) return known->second;
    const cuda::Current current(gpu_->context());
    Room room;
    room.error = kernel.calls->blocks_per_multiprocessor(kernel.entry, how, &room.blocks);
    if (room.error == 0) room.error = kernel.calls->code_version(kernel.entry, &room.code_version);
    if (room.error == 0 && how.cluster.count() > 1) {
      detail::GpuLaunch one = how;
      one.grid = how.cluster;
      one.programmatic = one.cooperative = false;
      room.error = kernel.calls->clusters(kernel.entry, one, &room.clusters);
    }
    if (room.error == 0) rooms_[key] = room;
    return room;
  }

  Room known_room(const detail::GpuLaunch& how, const detail::GpuKernel& kernel, const cuda::GpuQueue& stream) {
    const Room room = room_for(how, kernel);
    if (room.error != 0) {
      stream.throw_if_lost();
      throw Error(Code::invalid_argument,
                  fmt::format("launch: {} threads with {} bytes of shared memory on GPU {}: {}", how.block.count(),
                              how.shared_bytes, gpu_->index(), kernel.calls->error_text(room.error)) +
                      cuda::advice_on_launch(room.error, *gpu_));
    }
    return room;
  }

  ProcessJob* job_;
  int rank_;
  const TeamCells* cells_of_teams_;
  std::shared_ptr<const cuda::Gpu> gpu_;
  cuda::LocalMemory local_memory_;  // looked after where PEs that are threads share the GPU
  bool keeps_to_local_memory_ = false;
  std::atomic<bool> warned_of_local_memory_{false};
  cuda::PinnedMemory fault_;
  std::shared_ptr<GpuShare> share_;
  cuda::Chunk cells_;  // and its export: until all have mapped it
  cuda::Chunk::Exported exported_;
  std::shared_ptr<GpuMulticast> multicast_;
  int multiprocessors_ = 1, sharing_ = 1;
  int threads_here_ = 0;           // PEs of this process on this GPU, this one among them
  std::vector<bool> on_this_gpu_;  // by rank of the World
  std::mutex mutex_;
  std::map<std::tuple<const void*, std::uint64_t, std::size_t, std::uint32_t, std::uint32_t, std::uint32_t>, Room>
      rooms_;
};

}  // namespace

int gpu_count() { return cuda::gpu_count(); }
bool processes_share_gpus() { return cuda::mps_answers(); }
bool gpu_driver_is_broken() { return cuda::driver_is_broken(); }

std::string why_no_gpu() {
  std::string why;
  if (cuda::find_driver(why) == nullptr) return why;
  return cuda::gpu_count() == 0 ? "the NVIDIA driver shows no GPU" + cuda::what_is_visible() : std::string();
}

std::shared_ptr<GpuHold> GpuHold::take(int device) { return std::make_shared<CudaHold>(device); }

GpuPe::Joined GpuPe::join(ProcessJob& job, Exchange& world, int rank, const Options& options) {
  std::unique_ptr<CudaPe> pe;
  GpuHello mine;
  auto refusal = failure_of_any(world, "init", rank, [&] {
    if (job.has_other_processes()) os::allow_peers_to_take_descriptors();
    pe = std::make_unique<CudaPe>(job, rank, options);
    mine = pe->hello();
  });
  if (refusal) return {nullptr, refusal};
  mine.pid = os::process_id();
  const std::vector<GpuHello> all = world.gather("init", mine, {"init", 0});
  refusal = failure_of_any(world, "init", rank, [&] { pe->meet(all, options); });
  if (refusal) return {nullptr, refusal};
  pe->met(all);
  return {std::move(pe), std::nullopt};
}

}  // namespace isotope::runtime

#endif  // ISOTOPE_HAVE_CUDA
