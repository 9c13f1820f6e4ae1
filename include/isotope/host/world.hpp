// World: one PE's membership in a job. The entry point of the host side.
//
//   World world = init();                                   // isotope run, torchrun, mpirun, srun, or one PE alone
//   auto x = world.alloc<float>(1 << 20);
//   world.launch<kernel>({.grid = 1, .block = 256}, world.team(), x.span());
//   world.synchronize();
//
// Collective calls (alloc, free, register_memory, barrier, split_...) are made by all PEs in the same order; each
// compares what the PEs passed (alloc also from which line, so that two objects of one size cannot be swapped) and, on
// a difference, throws the same Error on every PE and changes nothing. They may run on any thread, one at a time.
// launch, streams, rank, size, team, status and abort are thread-safe. Several Worlds may live in one process; they
// share nothing.
//
// Every blocking call ends: with its result, or with an Error that names who is to blame (Code::peer_lost, peer_left,
// timeout, aborted, ...). The destructor never communicates and never throws. When an exception unwinds it, the other
// PEs' waits end with that news.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "isotope/base/call_site.hpp"
#include "isotope/base/error.hpp"
#include "isotope/device/signal.hpp"
#include "isotope/device/team.hpp"
#include "isotope/host/launch.hpp"
#include "isotope/host/stream.hpp"
#include "isotope/host/symmetric.hpp"
#include "isotope/host/team.hpp"
#include "isotope/host/unique_id.hpp"

namespace isotope {

/// What init() may be told; what is left out comes from the ISOTOPE_* variables.
struct InitOptions {
  std::optional<std::chrono::nanoseconds> wait_deadline = {};
  std::optional<std::chrono::nanoseconds> bootstrap_deadline = {};
  std::optional<std::uint64_t> heap_max_bytes = {};
};

struct AllocOptions {
  bool zeroed = false;
  std::size_t alignment = 256;  // a power of two, at most 2 MiB
};

/// An Epoch's memory. Collective to make; get() is the value for kernels.
class OwnedEpoch {
 public:
  Epoch get() const { return Epoch(reinterpret_cast<Signal*>(words_.data()), words_.data() + 8); }

 private:
  friend class World;
  explicit OwnedEpoch(Symmetric<std::uint64_t> words) : words_(std::move(words)) {}
  // The signal, which others write, and on a cache line of its own the round, which only this PE does.
  Symmetric<std::uint64_t> words_;
};

/// How the heap stands on this PE.
struct HeapUse {
  std::uint64_t limit = 0, used = 0, free = 0, largest_free = 0;
  std::size_t objects = 0, free_ranges = 0, waiting_for_peers = 0;  // the last: destroyed here, not yet on every PE
};

/// What World::status tells: Code::ok, or what the next synchronize would throw.
struct Status {
  Code code = Code::ok;
  int peer = Error::kNobody;
  std::string message;
};

class World {
 public:
  World(World&&) noexcept = default;
  World& operator=(World&& other) noexcept;
  ~World();

  int rank() const;
  int size() const;
  /// Among the PEs of this host.
  int node_rank() const;
  int node_size() const;
  /// "launcher", "torchrun", "unique id", ...: how this PE found the others.
  std::string bootstrap_name() const;

  // ---- memory -------------------------------------------------------------------------------------------------------
  /// Collective. n elements, 256-byte aligned, contents unspecified.
  template <class T>
  Symmetric<T> alloc(std::size_t n, AllocOptions options = {}, CallSite site = CallSite::current()) {
    static_assert(std::is_trivially_copyable_v<T>, "symmetric objects hold plain data: peers copy their bytes");
    if (options.alignment < alignof(T)) options.alignment = alignof(T);
    return Symmetric<T>(allocate(bytes_of(n, sizeof(T), site), options, site), n);
  }
  /// Collective. All bytes zero on every PE when it returns.
  template <class T>
  Symmetric<T> alloc_zeroed(std::size_t n, CallSite site = CallSite::current()) {
    return alloc<T>(n, {.zeroed = true}, site);
  }
  /// Collective. An Epoch at round 0.
  OwnedEpoch alloc_epoch(CallSite site = CallSite::current()) {
    return OwnedEpoch(alloc<std::uint64_t>(16, {.zeroed = true}, site));
  }
  /// Collective. Gives the memory back now, on every PE. The object is empty afterwards.
  template <class T>
  void free(Symmetric<T>& object, CallSite site = CallSite::current()) {
    release(object.allocation_, site);
    object = Symmetric<T>();
  }
  /// Collective. Makes memory that the caller owns reachable by all PEs without moving it: its address stays valid, and
  /// the Symmetric names the same bytes at another one. When this PE's Symmetric is destroyed the memory is the
  /// caller's alone again and may be freed; what peers still put there is lost. Throws the same Error on every PE, and
  /// nothing is mapped, where one PE's memory will not do.
  ///
  /// On the CPU `data` and its size in bytes are multiples of the page size (4096), the memory is private and anonymous
  /// (malloc, new, mmap), and nobody writes to it during the call. While it is registered, a fork shares it with the
  /// child.
  ///
  /// On a GPU it is memory of the GPU that this PE drives, any part of what isotope_gpu_alloc, PyTorch's expandable
  /// segments or cuMemCreate and cuMemMap have made, in one allocation or several back to back; it begins at the same
  /// distance from a multiple of 2 MiB on every PE (else Error misaligned). Memory of cudaMalloc cannot be: CUDA maps
  /// it nowhere else (Error not_supported, with what to do). What the caller frees is really free after the first
  /// alloc, free or register_memory that follows when all PEs have let go. Kernels that use both addresses of a byte
  /// order their accesses by the end of a kernel, or by fence.proxy.alias.
  template <class T>
  Symmetric<T> register_memory(Span<T> data, CallSite site = CallSite::current()) {
    static_assert(std::is_trivially_copyable_v<T>, "symmetric objects hold plain data: peers copy their bytes");
    return Symmetric<T>(register_bytes(data.data(), data.size_bytes(), site), data.size());
  }
  HeapUse heap_use() const;

  // ---- teams --------------------------------------------------------------------------------------------------------
  /// All PEs.
  Team team() const;
  /// The PEs of this host.
  Team node_team() const;
  /// Collective over `parent`: members start, start + stride, ... of it, `count` of them. A PE that is no member gets
  /// an empty handle.
  OwnedTeam split_strided(const Team& parent, int start, int stride, int count, CallSite site = CallSite::current());
  /// Collective over `parent`: member i is parent rank members[i]. Each at most once.
  OwnedTeam split_list(const Team& parent, const std::vector<int>& members, CallSite site = CallSite::current());
  /// Collective over `parent`, laid out in rows of `x_range`: rank = y * x_range + x. The last row may be shorter.
  Teams2d split_2d(const Team& parent, int x_range, CallSite site = CallSite::current());

  // ---- kernels ------------------------------------------------------------------------------------------------------
  /// Enqueues `Kernel(arguments...)` for every thread of the grid. Returns at once; failures come from synchronize().
  /// Where PEs are threads that share a GPU it first waits until the stream's last launch is over (docs/gpu.md says
  /// why): what that one waits for must not come after this call. `MaxThreads`: blocks have no more threads than this,
  /// so that on a GPU each may have more registers. `Gpu` is not for callers: it tells the launches of files that were
  /// compiled for a GPU from the others'.
  template <auto Kernel, int MaxThreads = static_cast<int>(kMaxBlockThreads), bool Gpu = ISOTOPE_GPU_COMPILER,
            class... A>
  void launch(const LaunchConfig& config, A&&... arguments) {
    if (!drives_gpu()) {
      enqueue(config, detail::bind_kernel<Kernel>(std::forward<A>(arguments)...));
      return;
    }
    auto bound = detail::bind_arguments<Kernel>(std::forward<A>(arguments)...);
    auto addresses = detail::addresses_of(bound);
    enqueue_gpu(config, detail::KernelTraits<decltype(Kernel)>::template on_gpu<Kernel, MaxThreads, Gpu>(),
                addresses.data());
  }
  /// Whether all blocks of such a launch fit on this PE's share of its GPU at once; without that, `launch` takes it
  /// only with resident = false. On the CPU nothing has to fit.
  template <auto Kernel, int MaxThreads = static_cast<int>(kMaxBlockThreads), bool Gpu = ISOTOPE_GPU_COMPILER>
  bool fits(const LaunchConfig& config) const {
    return !drives_gpu() ||
           fits_gpu(config, detail::KernelTraits<decltype(Kernel)>::template on_gpu<Kernel, MaxThreads, Gpu>());
  }
  /// Whether kernels of this PE run on a GPU. Then symmetric memory is the GPU's: host code reaches it by
  /// Symmetric::read and write, not by x[i].
  bool drives_gpu() const;
  /// How many multiprocessors of its GPU this PE may fill: its share, where PEs share one. 0 on the CPU.
  int multiprocessors() const;
  /// Of its GPU, ten times the major number and the minor one: 90 for sm_90. 0 on the CPU.
  int compute_capability() const;
  /// A CUDA stream of the caller's, as one of this World's. It stays the caller's to destroy, after the World. Throws
  /// Error(invalid_argument) for a default stream, for one of another GPU or context, and, where PEs that are threads
  /// share a GPU, for one made without cudaStreamNonBlocking.
  Stream wrap_stream(void* cuda_stream);
  /// The default stream.
  Stream stream() const;
  Stream create_stream();
  /// Waits for all streams of this World, then throws the first failure, if any. Passes over streams that a graph is
  /// captured from: what is enqueued there runs when the graph does.
  void synchronize();

  // ---- together -----------------------------------------------------------------------------------------------------
  /// Collective. Everything that happened before it on each PE is visible to all after it. Does not wait for streams.
  void barrier(CallSite site = CallSite::current());
  /// The same over a team's members.
  void barrier(const Team& team, CallSite site = CallSite::current());

  // ---- the end ------------------------------------------------------------------------------------------------------
  /// Ends the job: every PE's waits and collective calls throw Error(aborted) with this message. First call wins. Any
  /// thread.
  void abort(const std::string& message);
  /// Ends every process of the job with this exit code, 0 included. The only call of the library that exits. Any
  /// thread.
  [[noreturn]] void global_exit(int exit_code);
  /// What the next synchronize would throw, without throwing. Any thread.
  Status status() const;

 private:
  friend World detail_make_world(std::shared_ptr<runtime::WorldCore> core);
  friend class Collectives;
  explicit World(std::shared_ptr<runtime::WorldCore> core);

  runtime::WorldCore& core() const;
  void leave() noexcept;
  detail::Allocation allocate(std::size_t bytes, const AllocOptions& options, CallSite site);
  detail::Allocation register_bytes(void* data, std::size_t bytes, CallSite site);
  void release(detail::Allocation& allocation, CallSite site);
  void enqueue(const LaunchConfig& config, std::function<void()> body);
  /// A kernel of the CPU on the default stream, and waits for it.
  void run_host_kernel(const LaunchConfig& config, const std::function<void()>& body);
  void enqueue_gpu(const LaunchConfig& config, const detail::GpuKernel& kernel, void** arguments);
  bool fits_gpu(const LaunchConfig& config, const detail::GpuKernel& kernel) const;
  ObjectRange object_at(const void* address) const;
  /// A barrier by another name, whose members may take several times the deadline.
  void barrier_of(const char* call, const Team& team, std::uint64_t deadlines, CallSite site);
  static std::size_t bytes_of(std::size_t n, std::size_t each, CallSite site);

  std::shared_ptr<runtime::WorldCore> core_;
  int exceptions_at_start_ = 0;
};

/// Joins the job that the environment describes: `isotope run`, run_threads, torchrun, mpirun, srun, ISOTOPE_ROOT, or
/// one PE alone. Collective over the job. Throws Error: bootstrap_failed or timeout (names the PEs that never came),
/// refused, invalid_argument (a contradicting environment or a bad ISOTOPE_* value), system.
World init(const InitOptions& options = {});
/// Joins as PE `rank` of `size`; all of them hold the same id (unique_id.hpp).
World init(int rank, int size, const UniqueId& id, const InitOptions& options = {});
/// Joins through the caller's own all-gather: every PE passes `bytes` bytes at `mine`; `all` receives size * bytes in
/// rank order. Called a few times during init(), never afterwards. For MPI communicators and PyTorch process groups.
World init(int rank, int size, std::function<void(const void* mine, void* all, std::size_t bytes)> allgather,
           const InitOptions& options = {});

}  // namespace isotope
