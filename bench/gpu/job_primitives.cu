// Our primitives between PEs of a job on GPUs, one JSON line a figure. nvshmem_peer.cu measures the same of NVSHMEM,
// and beside.sh runs the two in turns: isotope run -n 2 --platform cuda job_primitives
#include <iterator>
#include <utility>

#include "isotope/isotope.hpp"
#include "timing.cuh"

namespace job_primitives {

using namespace isotope;

ISOTOPE_KERNEL void barriers(Team team, int rounds) {
  for (int i = 0; i < rounds; ++i)
    if (!barrier(this_block(), team)) return;
}
template <Order order>
ISOTOPE_KERNEL void syncs(Team team, int rounds) {
  for (int i = 0; i < rounds; ++i)
    if (!sync(this_block(), team, 1, order)) return;
}
template <Order order>
ISOTOPE_KERNEL void sessions(Team team, int rounds) {
  SyncSession meeting(this_block(), team, 2);
  for (int i = 0; i < rounds; ++i)
    if (!meeting.sync(order)) return;
}
/// PE 0 sends first. The places of the next round are worked out before the wait.
template <Order Send, Order Receive>
ISOTOPE_KERNEL void ping_pong(Team team, Signal* flag, std::uint64_t first, int rounds) {
  const std::uint64_t end = first + static_cast<std::uint64_t>(rounds);
  Signal* now = beside::at_place(flag, first);
  if (team.rank() == 0) {
    for (std::uint64_t i = first; i < end; ++i) {
      signal(this_thread(), team, now, i, SignalOp::set, 1, Send);
      Signal* next = beside::at_place(flag, i + 1);
      if (!wait_until(this_thread(), team, now, Cmp::ge, i, Receive)) return;
      now = next;
    }
  } else {
    for (std::uint64_t i = first; i < end; ++i) {
      if (!wait_until(this_thread(), team, now, Cmp::ge, i, Receive)) return;
      signal(this_thread(), team, now, i, SignalOp::set, 0, Send);
      now = beside::at_place(flag, i + 1);
    }
  }
}
ISOTOPE_KERNEL void put_ping_pong(Team team, char* dst, const char* src, std::size_t bytes, Signal* flag,
                                  std::uint64_t first, int rounds) {
  const Block block = this_block();
  const std::uint64_t end = first + static_cast<std::uint64_t>(rounds);
  beside::Place now(dst, src, flag, first);
  if (team.rank() == 0) {
    for (std::uint64_t i = first; i < end; ++i) {
      put_signal_bytes(block, team, now.to, now.from, bytes, now.flag, i, SignalOp::set, 1);
      const beside::Place next(dst, src, flag, i + 1);
      if (!wait_until(block, team, now.flag, Cmp::ge, i)) return;
      now = next;
    }
  } else {
    for (std::uint64_t i = first; i < end; ++i) {
      if (!wait_until(block, team, now.flag, Cmp::ge, i)) return;
      put_signal_bytes(block, team, now.to, now.from, bytes, now.flag, i, SignalOp::set, 0);
      now = beside::Place(dst, src, flag, i + 1);
    }
  }
}
template <bool Get>
ISOTOPE_KERNEL void copies(Team team, char* dst, const char* src, std::size_t bytes) {
  const Block block = this_block();
  const std::size_t each = bytes / block.grid_size();
  if constexpr (Get) {
    get_bytes(block, team, dst + each * block.rank(), src + each * block.rank(), each, 1);
  } else {
    put_bytes(block, team, dst + each * block.rank(), src + each * block.rank(), each, 1);
  }
}
/// The same by the copy engine, through all of the block's dynamic shared memory.
template <bool Get>
ISOTOPE_KERNEL void bulk_copies(Team team, char* dst, const char* src, std::size_t bytes) {
  const Block block = this_block();
  const std::size_t each = bytes / block.grid_size();
  const Span<char> scratch = dynamic_shared<char>();
  if constexpr (Get) {
    get_bytes(block, team, dst + each * block.rank(), src + each * block.rank(), each, 1, scratch);
  } else {
    put_bytes(block, team, dst + each * block.rank(), src + each * block.rank(), each, 1, scratch);
  }
}
ISOTOPE_KERNEL void adds(Team team, std::uint64_t* words, int rounds, int spread) {
  const Block block = this_block();
  std::uint64_t* word =
      words + (block.rank() * block.size() + block.thread_rank()) * static_cast<std::uint32_t>(spread) % (1 << 16);
  for (int i = 0; i < rounds; ++i) atomic_add(team, word, 1ull, 1);
}
ISOTOPE_KERNEL void fetch_adds(Team team, std::uint64_t* word, int rounds) {
  std::uint64_t sum = 0;
  for (int i = 0; i < rounds; ++i) sum += atomic_fetch_add(team, beside::at_place(word, i), 1 + (sum & 1), 1);
  if (sum == 1) store(word, sum);
}

ISOTOPE_KERNEL void one_put(Team team, char* dst, const char* src, std::size_t bytes, int to) {
  put_bytes(this_block(), team, dst, src, bytes, to);
}

class Bench {
 public:
  explicit Bench(World& world) : world_(world), pes_(world.size()) {
    cudaStreamCreateWithFlags(&raw_, cudaStreamNonBlocking);
    stream_ = world.wrap_stream(raw_);
  }

  template <class Launch>
  double time(Launch&& launch) {
    return beside::microseconds(raw_, [&] { world_.barrier(); }, launch);
  }
  void say(const char* who, const char* name, std::size_t bytes, int blocks, int threads, const char* unit,
           double figure) const {
    if (world_.rank() == 0) beside::print(who, name, pes_, bytes, blocks, threads, unit, figure);
  }

  void meeting() {
    constexpr int kRounds = 2000;
    for (const int threads : {32, 256}) {
      const LaunchConfig one{.grid = 1, .block = static_cast<std::uint32_t>(threads), .stream = stream_};
      const Team team = world_.team();
      say("isotope", "barrier", 0, 1, threads, "us",
          time([&] { world_.launch<barriers>(one, team, kRounds); }) / kRounds);
      say("isotope", "sync", 0, 1, threads, "us",
          time([&] { world_.launch<syncs<Order::acq_rel>>(one, team, kRounds); }) / kRounds);
      say("isotope", "sync_relaxed", 0, 1, threads, "us",
          time([&] { world_.launch<syncs<Order::relaxed>>(one, team, kRounds); }) / kRounds);
      say("isotope", "sync_session", 0, 1, threads, "us",
          time([&] { world_.launch<sessions<Order::acq_rel>>(one, team, kRounds); }) / kRounds);
      say("isotope", "sync_session_relaxed", 0, 1, threads, "us",
          time([&] { world_.launch<sessions<Order::relaxed>>(one, team, kRounds); }) / kRounds);
    }
  }

  void signals() {
    if (pes_ != 2) return;
    constexpr int kRounds = 2000;
    auto flag = world_.alloc_zeroed<Signal>(beside::kPlaces * beside::kPlaceBytes / sizeof(Signal));
    std::uint64_t next = 1;
    const LaunchConfig single{.grid = 1, .block = 1, .stream = stream_};
    const auto step = [&] { return std::exchange(next, next + kRounds); };
    say("isotope", "ping_pong_relaxed", 8, 1, 1, "us", time([&] {
                                                         world_.launch<ping_pong<Order::relaxed, Order::relaxed>>(
                                                             single, world_.team(), flag.data(), step(), kRounds);
                                                       }) / kRounds);
    say("isotope", "ping_pong", 8, 1, 1, "us", time([&] {
                                                 world_.launch<ping_pong<Order::release, Order::acquire>>(
                                                     single, world_.team(), flag.data(), step(), kRounds);
                                               }) / kRounds);
    constexpr std::size_t kRoom = std::end(beside::kMessages)[-1] + beside::kPlaces * beside::kPlaceBytes;
    auto from = world_.alloc_zeroed<char>(kRoom), to = world_.alloc_zeroed<char>(kRoom);
    for (const std::size_t bytes : beside::kMessages) {
      for (const int threads : beside::kMessageThreads) {
        const LaunchConfig block{.grid = 1, .block = static_cast<std::uint32_t>(threads), .stream = stream_};
        say("isotope", "put_signal", bytes, 1, threads, "us",
            time([&] {
              world_.launch<put_ping_pong>(block, world_.team(), to.data(), from.data(), bytes, flag.data(), step(),
                                           kRounds);
            }) / kRounds /
                2);
        if (bytes % 16 != 0) continue;
        const Team team = world_.team();
        const int me = team.rank();
        auto* mine = reinterpret_cast<unsigned long long*>(&flag.data()->value);
        say("by hand", "put_signal", bytes, 1, threads, "us",
            time([&] {
              beside::hand_ping_pong<<<1, threads, 0, raw_>>>(
                  me, reinterpret_cast<uint4*>(team.at(to.data(), 1 - me)), reinterpret_cast<const uint4*>(from.data()),
                  static_cast<unsigned>(bytes / 16), team.at(mine, 1 - me), mine, step(), kRounds);
            }) / kRounds /
                2);
      }
    }
  }

  /// PE 0 alone works; the others wait in the host's barriers.
  void bandwidth() {
    if (pes_ != 2) return;
    const std::size_t most = std::size_t{64} << 20;
    auto from = world_.alloc_zeroed<char>(most), to = world_.alloc_zeroed<char>(most);
    constexpr int kRepeats = 20;
    const bool works = world_.rank() == 0;
    for (const int blocks : beside::kCopyBlocks) {
      const std::size_t bytes = beside::copy_bytes(blocks);
      const LaunchConfig shape{.grid = static_cast<std::uint32_t>(blocks), .block = 1024, .stream = stream_};
      const auto rate = [&](double us) { return static_cast<double>(bytes) * kRepeats / us * 1e-3; };
      const Team team = world_.team();
      say("isotope", "put", bytes, blocks, 1024, "GB/s", rate(time([&] {
            for (int i = 0; works && i < kRepeats; ++i)
              world_.launch<copies<false>>(shape, team, to.data(), from.data(), bytes);
          })));
      const double put_by_hand = rate(time([&] {
        for (int i = 0; works && i < kRepeats; ++i)
          beside::hand_copy<8><<<blocks, 1024, 0, raw_>>>(reinterpret_cast<uint4*>(team.at(to.data(), 1)),
                                                          reinterpret_cast<const uint4*>(from.data()), bytes / 16);
      }));
      say("by hand", "put", bytes, blocks, 1024, "GB/s", put_by_hand);
      say("isotope", "get", bytes, blocks, 1024, "GB/s", rate(time([&] {
            for (int i = 0; works && i < kRepeats; ++i)
              world_.launch<copies<true>>(shape, team, to.data(), from.data(), bytes);
          })));
      const double get_by_hand = rate(time([&] {
        for (int i = 0; works && i < kRepeats; ++i)
          beside::hand_copy<8><<<blocks, 1024, 0, raw_>>>(
              reinterpret_cast<uint4*>(to.data()), reinterpret_cast<const uint4*>(team.at(from.data(), 1)), bytes / 16);
      }));
      say("by hand", "get", bytes, blocks, 1024, "GB/s", get_by_hand);
      // By one thread of a small block and the copy engine. The limit is the same copy by hand, by 1024 threads.
      constexpr int kFew = 128;
      LaunchConfig bulk = shape;
      bulk.block = kFew;
      bulk.shared_bytes = 6 * 32 * 1024;
      say("isotope", "put_bulk", bytes, blocks, kFew, "GB/s", rate(time([&] {
            for (int i = 0; works && i < kRepeats; ++i)
              world_.launch<bulk_copies<false>>(bulk, team, to.data(), from.data(), bytes);
          })));
      say("by hand", "put_bulk", bytes, blocks, kFew, "GB/s", put_by_hand);
      say("isotope", "get_bulk", bytes, blocks, kFew, "GB/s", rate(time([&] {
            for (int i = 0; works && i < kRepeats; ++i)
              world_.launch<bulk_copies<true>>(bulk, team, to.data(), from.data(), bytes);
          })));
      say("by hand", "get_bulk", bytes, blocks, kFew, "GB/s", get_by_hand);
    }
  }

  /// Calls from the host, replayed from a graph.
  void on_streams() {
    const Team team = world_.team();
    const auto in_graph = [&](auto call) {
      return beside::microseconds_in_graph(raw_, [&] { world_.barrier(); }, call);
    };
    say("isotope", "barrier_on_stream", 0, 0, 0, "us", in_graph([&] { on_stream::barrier(world_, stream_, team); }));
    if (pes_ != 2) return;
    const std::size_t most = beside::kOnStream[2];
    auto from = world_.alloc_zeroed<char>(most), to = world_.alloc_zeroed<char>(most);
    // PE 0 alone copies; the other replays a graph of one thread that does nothing.
    const bool works = world_.rank() == 0;
    const auto idle = [&] { world_.launch<fetch_adds>({.grid = 1, .block = 1, .stream = stream_}, team, nullptr, 0); };
    for (const std::size_t bytes : beside::kOnStream) {
      say("isotope", "put_on_stream", bytes, 0, 0, "us",
          in_graph([&] { works ? on_stream::put(world_, stream_, team, to.data(), from.data(), bytes, 1) : idle(); }));
      say("isotope", "get_on_stream", bytes, 0, 0, "us",
          in_graph([&] { works ? on_stream::get(world_, stream_, team, to.data(), from.data(), bytes, 1) : idle(); }));
    }
  }

  void atomics() {
    if (pes_ != 2) return;
    auto words = world_.alloc_zeroed<std::uint64_t>(1 << 16);
    const bool works = world_.rank() == 0;
    constexpr int kAdds = 200, kRepeats = 5;
    for (const int blocks : beside::atomic_blocks(pes_)) {
      for (const int spread : {0, 1}) {
        const LaunchConfig shape{.grid = static_cast<std::uint32_t>(blocks), .block = 256, .stream = stream_};
        const double us = time([&] {
          for (int i = 0; works && i < kRepeats; ++i)
            world_.launch<adds>(shape, world_.team(), words.data(), kAdds, spread);
        });
        say("isotope", spread ? "atomic_add_spread" : "atomic_add_one_word", 8, blocks, 256, "Gop/s",
            static_cast<double>(blocks) * 256 * kAdds * kRepeats / us * 1e-3);
      }
    }
    cudaFuncAttributes put{};
    cudaFuncGetAttributes(&put, reinterpret_cast<const void*>(
                                    &cuda::gpu_entry<one_put, 1024, Team, char*, const char*, std::size_t, int>));
    say("isotope", "registers_of_one_put", 0, 1, 1024, "registers", put.numRegs);
    const LaunchConfig single{.grid = 1, .block = 1, .stream = stream_};
    say("isotope", "fetch_add", 8, 1, 1, "us", time([&] {
                                                 if (works)
                                                   world_.launch<fetch_adds>(single, world_.team(), words.data(), 1000);
                                               }) / 1000);
  }

 private:
  World& world_;
  int pes_;
  cudaStream_t raw_ = nullptr;
  Stream stream_;
};

}  // namespace job_primitives

ISOTOPE_MAIN(argc, argv) {
  isotope::World world = isotope::init();
  if (!world.drives_gpu()) {
    std::printf("skipped: there is no GPU\n");
    return 0;
  }
  if (world.rank() == 0) beside::print_about();
  job_primitives::Bench bench(world);
  bench.meeting();
  bench.signals();
  bench.bandwidth();
  bench.on_streams();
  bench.atomics();
  world.synchronize();
  world.barrier();
  return 0;
}
