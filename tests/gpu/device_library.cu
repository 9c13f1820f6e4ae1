// The device library on a GPU, several PEs on one device: the same calls as on the CPU, held against exact results.
//   nvcc -std=c++20 --expt-relaxed-constexpr -arch=native -I include tests/gpu/device_library.cu -o device_library
// With -DISOTOPE_CHECKED=1 also the errors that the checked build records.
#include <cstring>

#include "isotope/device/atomic.hpp"
#include "isotope/device/multimem.hpp"
#include "isotope/device/rma.hpp"
#include "isotope/device/sync.hpp"
#include "isotope/device/waits.hpp"
#include "one_gpu_job.hpp"

using namespace isotope;
using isotope::testing::OneGpuJob;

namespace {

int failures = 0;
void expect(bool good, const std::string& what) {
  if (!good) ++failures;
  if (!good || std::getenv("VERBOSE")) std::printf("%s  %s\n", good ? "ok    " : "FAILED", what.c_str());
}

struct Result {
  std::uint64_t wrong, waits_lost;
};

ISOTOPE_HD std::uint64_t pattern(int pe, std::uint64_t round, std::uint64_t i) {
  return (static_cast<std::uint64_t>(pe) + 1) * 0x9e3779b97f4a7c15ull + round * 1000003 + i;
}

/// Message passing around a ring, by a whole group: data of this round with its signal, checked on arrival.
template <class G>
ISOTOPE_HD void ring(G group, const Team& team, std::uint64_t* inbox, std::uint64_t* outbox, Signal* arrived,
                     Signal* taken, int rounds, int words, Result* result) {
  const int right = (team.rank() + 1) % team.size(), left = (team.rank() + team.size() - 1) % team.size();
  for (std::uint64_t round = 1; round <= static_cast<std::uint64_t>(rounds); ++round) {
    // The box of the round before last must have been read.
    if (round > 2 && !wait_until(group, team, taken, Cmp::ge, round - 2)) {
      if (group.is_leader()) ++result->waits_lost;
      return;
    }
    const std::uint64_t half = round % 2 * static_cast<std::uint64_t>(words);
    for (int i = static_cast<int>(group.thread_rank()); i < words; i += static_cast<int>(group.size()))
      outbox[half + i] = pattern(team.rank(), round, i);
    put_signal(group, team, Span<std::uint64_t>(inbox + half, words), Span<const std::uint64_t>(outbox + half, words),
               arrived, 1, SignalOp::add, right);
    if (!wait_until(group, team, arrived, Cmp::ge, round)) {
      if (group.is_leader()) ++result->waits_lost;
      return;
    }
    for (int i = static_cast<int>(group.thread_rank()); i < words; i += static_cast<int>(group.size()))
      if (inbox[half + i] != pattern(left, round, i)) fetch_add(&result->wrong, 1ull);
    signal(group, team, taken, 1, SignalOp::add, left);
  }
}

ISOTOPE_KERNEL void ring_block(Team team, std::uint64_t* in, std::uint64_t* out, Signal* a, Signal* t, int rounds,
                               int words, Result* r) {
  ring(this_block(), team, in, out, a, t, rounds, words, r);
}
ISOTOPE_KERNEL void ring_warp(Team team, std::uint64_t* in, std::uint64_t* out, Signal* a, Signal* t, int rounds,
                              int words, Result* r) {
  if (this_warp().rank() == 0) ring(this_warp(), team, in, out, a, t, rounds, words, r);
}
ISOTOPE_KERNEL void ring_thread(Team team, std::uint64_t* in, std::uint64_t* out, Signal* a, Signal* t, int rounds,
                                int words, Result* r) {
  if (this_block().is_leader()) ring(this_thread(), team, in, out, a, t, rounds, words, r);
}

/// Everybody writes to everybody, then a barrier, then everybody reads everything.
ISOTOPE_KERNEL void barrier_shows(Team team, std::uint64_t* slots, int rounds, Result* result) {
  const Block block = this_block();
  std::uint64_t* mine = slots + 64 * block.rank();
  for (int round = 1; round <= rounds; ++round) {
    std::uint64_t* half = mine + round % 2 * 32;
    for (int to = static_cast<int>(block.thread_rank()); to < team.size(); to += static_cast<int>(block.size()))
      p(team, &half[team.rank()], pattern(team.rank(), round, block.rank()), to);
    if (!barrier(block, team, static_cast<int>(block.rank()))) {
      if (block.is_leader()) ++result->waits_lost;
      return;
    }
    for (int from = static_cast<int>(block.thread_rank()); from < team.size(); from += static_cast<int>(block.size()))
      if (half[from] != pattern(from, round, block.rank())) fetch_add(&result->wrong, 1ull);
  }
}

ISOTOPE_KERNEL void tickets(Team team, std::uint64_t* counter, std::uint32_t* seen, float* sum, f16* half_sum,
                            bf16* bhalf_sum, int each) {
  for (int i = 0; i < each; ++i) {
    const std::uint64_t ticket = atomic_fetch_inc(team, counter, 0);
    atomic_add(team, &seen[ticket], 1u, 0);
  }
  atomic_add(team, sum, 1.0f, 0);
  if (this_block().is_leader()) {
    atomic_add(team, half_sum, f16(1.0f), 0);
    atomic_add(team, bhalf_sum, bf16(1.0f), 0);
  }
}

ISOTOPE_KERNEL void any_and_some(Team team, Signal* flags, int rounds, Result* result) {
  const Block block = this_block();
  ISOTOPE_SHARED(std::size_t[64], indices);
  ISOTOPE_SHARED(std::uint64_t[64], next);
  for (std::uint32_t i = block.thread_rank(); i < 64; i += block.size()) next[i] = 1;
  block.sync();
  for (int round = 1; round <= rounds; ++round)
    for (int to = 0; to < team.size(); ++to) signal(block, team, &flags[team.rank()], 1, SignalOp::add, to);
  // Every member's flag comes to `rounds`; each step of each is seen once.
  const auto members = static_cast<std::size_t>(team.size());
  for (std::uint64_t left = members * rounds; left > 0;) {
    const std::size_t found =
        wait_until_some_vector(block, team, flags, members, indices, Cmp::ge, static_cast<std::uint64_t*>(next));
    if (found == 0) {
      if (block.is_leader()) ++result->waits_lost;
      return;
    }
    left -= found;
    if (block.is_leader())
      for (std::size_t i = 0; i < found; ++i) {
        ++next[indices[i]];
        // One that is done waits for a value that never comes.
        if (next[indices[i]] > static_cast<std::uint64_t>(rounds)) next[indices[i]] = ~0ull;
      }
    block.sync();
  }
  if (!wait_until_all(block, team, flags, members, Cmp::eq, rounds) && block.is_leader()) ++result->waits_lost;
}

ISOTOPE_KERNEL void grids(Team team, std::uint32_t* counts, int rounds, Result* result) {
  const Block block = this_block();
  for (int round = 1; round <= rounds; ++round) {
    if (block.is_leader()) fetch_add(&counts[round], 1u, Order::relaxed, Scope::device);
    if (!grid_sync(team)) return;
    if (block.is_leader() && load(&counts[round], Order::relaxed, Scope::device) != block.grid_size())
      fetch_add(&result->wrong, 1ull);
  }
}

template <class T, int N>
ISOTOPE_HD void reduce_one(const Team& team, Vec<T, N>* in, Vec<T, N>* out, Result* result) {
  Vec<T, N> mine;
  for (int i = 0; i < N; ++i) mine[i] = static_cast<T>(static_cast<float>(team.rank() + i % 4 + 1));
  *in = mine;
  if (!barrier(this_thread(), team)) return;
  const Vec<T, N> sum = multimem_load_reduce<ReduceOp::add>(team, in);
  const Vec<T, N> most = multimem_load_reduce<ReduceOp::max>(team, in);
  for (int i = 0; i < N; ++i) {
    const int members = team.size();
    const auto expected = static_cast<float>(members * (i % 4 + 1) + members * (members - 1) / 2);
    if (static_cast<float>(sum[i]) != static_cast<float>(static_cast<T>(expected))) ++result->wrong;
    if (static_cast<float>(most[i]) != static_cast<float>(members + i % 4)) ++result->wrong;
  }
  multimem_reduce<ReduceOp::add>(team, out, mine);  // out begins as zeros
  if (!barrier(this_thread(), team)) return;
  for (int i = 0; i < N; ++i) {
    const int members = team.size();
    const auto expected = static_cast<float>(members * (i % 4 + 1) + members * (members - 1) / 2);
    if (static_cast<float>((*out)[i]) != static_cast<float>(static_cast<T>(expected))) ++result->wrong;
  }
  barrier(this_thread(), team);
}

ISOTOPE_KERNEL void multimem(Team team, char* area, Result* result) {
  const auto at = [&](int i) { return area + i * 32; };
  reduce_one(team, reinterpret_cast<Vec<float, 4>*>(at(0)), reinterpret_cast<Vec<float, 4>*>(at(1)), result);
  reduce_one(team, reinterpret_cast<Vec<f16, 8>*>(at(2)), reinterpret_cast<Vec<f16, 8>*>(at(3)), result);
  reduce_one(team, reinterpret_cast<Vec<bf16, 2>*>(at(4)), reinterpret_cast<Vec<bf16, 2>*>(at(5)), result);
  reduce_one(team, reinterpret_cast<Vec<double, 2>*>(at(6)), reinterpret_cast<Vec<double, 2>*>(at(7)), result);
  reduce_one(team, reinterpret_cast<Vec<std::int64_t, 2>*>(at(8)), reinterpret_cast<Vec<std::int64_t, 2>*>(at(9)),
             result);
  reduce_one(team, reinterpret_cast<Vec<std::uint32_t, 4>*>(at(10)), reinterpret_cast<Vec<std::uint32_t, 4>*>(at(11)),
             result);
}

/// The GPU's conversions against the formats in software, for every bit pattern and for floats spread over all of them.
template <class T, class Format>
ISOTOPE_HD std::uint64_t conversions_that_differ(std::uint64_t first, std::uint64_t step) {
  std::uint64_t wrong = 0;
  for (std::uint64_t bits = first; bits < (1ull << (8 * sizeof(T))); bits += step) {
    const float hard = static_cast<float>(T::from_bits(static_cast<decltype(T::bits)>(bits)));
    const float soft = Format::decode(static_cast<std::uint32_t>(bits));
    if (hard != soft && (hard == hard || soft == soft)) ++wrong;
  }
  for (std::uint64_t bits = first * 61; bits < (1ull << 32); bits += step * 61) {
    const float value = bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (value != value) continue;
    if (T(value).bits != Format::encode(value)) ++wrong;
  }
  return wrong;
}
ISOTOPE_KERNEL void conversions(Result* results) {
  const std::uint64_t first = this_block().rank() * this_block().size() + this_block().thread_rank();
  const std::uint64_t step = static_cast<std::uint64_t>(this_block().size()) * this_block().grid_size();
  fetch_add(&results[0].wrong, conversions_that_differ<f16, detail::Format_f16>(first, step));
  fetch_add(&results[1].wrong, conversions_that_differ<bf16, detail::Format_bf16>(first, step));
  fetch_add(&results[2].wrong, conversions_that_differ<e4m3, detail::Format_e4m3>(first, step));
  fetch_add(&results[3].wrong, conversions_that_differ<e5m2, detail::Format_e5m2>(first, step));
}

ISOTOPE_KERNEL void copies(Team team, char* dst, const char* src, std::size_t bytes, int to, int how) {
  const Block block = this_block();
  if (how == 0) put_bytes(block, team, dst, src, bytes, to);
  if (how == 1) get_bytes(block, team, dst, src, bytes, to);
  if (how == 2 && block.thread_rank() < 32) put_bytes(this_warp(), team, dst, src, bytes, to);
  if (how == 3 && block.is_leader()) put_bytes(this_thread(), team, dst, src, bytes, to);
}

ISOTOPE_KERNEL void wait_for_nothing(Team team, Signal* flag) {
  wait_until(this_block(), team, flag, Cmp::ge, 7, Order::acquire, 0);
  // Drains: nothing of this may be sent.
  signal(this_block(), team, flag, 1, SignalOp::add, 0);
}

ISOTOPE_KERNEL void put_badly(Team team, char* dst, const char* src, std::size_t bytes, int to) {
  put_bytes(this_block(), team, dst, src, bytes, to);
}
ISOTOPE_KERNEL void signal_badly(Team team, Signal* flag, int to) {
  signal(this_block(), team, flag, 1, SignalOp::add, to);
}

void check_rings(int pes) {
  OneGpuJob job(pes);
  int which = 0;
  for (const int threads : {1, 32, 48, 128, 1024}) {
    for (int scope = 0; scope < 3; ++scope, ++which) {
      const std::size_t at = 1 << 16, flags = static_cast<std::size_t>(which) * 256;
      const int rounds = 5000, words = scope == 2 ? 3 : 70;
      std::vector<Result*> results;
      for (int pe = 0; pe < pes; ++pe) results.push_back(job.heap<Result>(pe, (1 << 15) + which * 16));
      for (int pe = 0; pe < pes; ++pe) {
        auto* in = job.heap<std::uint64_t>(pe, at);
        auto* out = job.heap<std::uint64_t>(pe, at + 8192);
        auto* arrived = job.heap<Signal>(pe, flags);
        auto* taken = job.heap<Signal>(pe, flags + 128);
        if (scope == 0)
          job.launch<ring_block>(pe, 1, threads, job.team(pe), in, out, arrived, taken, rounds, words, results[pe]);
        if (scope == 1)
          job.launch<ring_warp>(pe, 1, threads, job.team(pe), in, out, arrived, taken, rounds, words, results[pe]);
        if (scope == 2)
          job.launch<ring_thread>(pe, 1, threads, job.team(pe), in, out, arrived, taken, rounds, words, results[pe]);
      }
      job.synchronize();
      for (int pe = 0; pe < pes; ++pe) {
        Result result;
        CUDA_OK(cudaMemcpy(&result, results[pe], sizeof result, cudaMemcpyDefault));
        expect(result.wrong == 0 && result.waits_lost == 0,
               "ring of " + std::to_string(pes) + ", scope " + std::to_string(scope) + ", " + std::to_string(threads) +
                   " threads, PE " + std::to_string(pe) + ": " + std::to_string(result.wrong) + " wrong, " +
                   std::to_string(result.waits_lost) + " lost");
      }
    }
  }
}

template <auto Kernel, class Launch>
void check(const char* name, int pes, Launch launch) {
  OneGpuJob job(pes);
  launch(job);
  job.synchronize();
  for (int pe = 0; pe < pes; ++pe) {
    Result result;
    CUDA_OK(cudaMemcpy(&result, job.heap<Result>(pe), sizeof result, cudaMemcpyDefault));
    expect(result.wrong == 0 && result.waits_lost == 0 && job.fault(pe).complete == 0,
           std::string(name) + ", " + std::to_string(pes) + " PEs, PE " + std::to_string(pe) + ": " +
               std::to_string(result.wrong) + " wrong, " + std::to_string(result.waits_lost) + " lost");
  }
}

void check_tickets(int pes) {
  OneGpuJob job(pes);
  const int blocks = 4, threads = 128, each = 50, total = pes * blocks * threads * each;
  for (int pe = 0; pe < pes; ++pe)
    job.launch<tickets>(pe, blocks, threads, job.team(pe), job.heap<std::uint64_t>(pe, 256),
                        job.heap<std::uint32_t>(pe, 1 << 20), job.heap<float>(pe, 512), job.heap<f16>(pe, 1024),
                        job.heap<bf16>(pe, 1026), each);
  job.synchronize();
  std::vector<std::uint32_t> seen(static_cast<std::size_t>(total));
  CUDA_OK(cudaMemcpy(seen.data(), job.heap<char>(0, 1 << 20), seen.size() * 4, cudaMemcpyDefault));
  int twice = 0;
  for (const std::uint32_t count : seen) twice += count != 1;
  expect(twice == 0, "tickets of " + std::to_string(pes) + " PEs: " + std::to_string(twice) + " not seen once");
  float sum = 0;
  f16 half;
  bf16 bhalf;
  CUDA_OK(cudaMemcpy(&sum, job.heap<char>(0, 512), 4, cudaMemcpyDefault));
  CUDA_OK(cudaMemcpy(&half, job.heap<char>(0, 1024), 2, cudaMemcpyDefault));
  CUDA_OK(cudaMemcpy(&bhalf, job.heap<char>(0, 1026), 2, cudaMemcpyDefault));
  expect(sum == static_cast<float>(pes * blocks * threads), "float adds: " + std::to_string(sum));
  expect(static_cast<float>(half) == static_cast<float>(pes * blocks),
         "f16 adds: " + std::to_string(static_cast<float>(half)));
  expect(static_cast<float>(bhalf) == static_cast<float>(pes * blocks),
         "bf16 adds: " + std::to_string(static_cast<float>(bhalf)));
}

void check_copies() {
  OneGpuJob job(2);
  std::vector<unsigned char> source(1 << 16), found(1 << 16), poison(1 << 16, 0xcd);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i * 7 + i / 251);
  CUDA_OK(cudaMemcpy(job.heap(0, 1 << 20), source.data(), source.size(), cudaMemcpyDefault));
  CUDA_OK(cudaMemcpy(job.heap(1, 3 << 20), source.data(), source.size(), cudaMemcpyDefault));
  for (const std::size_t bytes : {0ul, 1ul, 3ul, 15ul, 16ul, 17ul, 255ul, 4096ul, 4099ul, 60000ul}) {
    for (const std::size_t from : {0ul, 1ul, 4ul, 8ul, 13ul}) {
      for (const std::size_t into : {0ul, 1ul, 4ul, 5ul, 12ul, 16ul}) {
        for (int how = 0; how < 4; ++how) {
          const int target = how == 1 ? 0 : 1;
          CUDA_OK(cudaMemcpy(job.heap(target, 2 << 20), poison.data(), poison.size(), cudaMemcpyDefault));
          job.launch<copies>(0, 1, 128, job.team(0), job.heap(0, (2 << 20) + into),
                             static_cast<const char*>(job.heap(0, (how == 1 ? 3 << 20 : 1 << 20) + from)), bytes, 1,
                             how);
          job.synchronize();
          CUDA_OK(cudaMemcpy(found.data(), job.heap(target, 2 << 20), found.size(), cudaMemcpyDefault));
          std::vector<unsigned char> expected = poison;
          std::memcpy(expected.data() + into, source.data() + from, bytes);
          expect(found == expected, "copy of " + std::to_string(bytes) + " bytes from +" + std::to_string(from) +
                                        " to +" + std::to_string(into) + ", way " + std::to_string(how));
        }
      }
    }
  }
}

void check_deadline() {
  OneGpuJob job(2, 200'000'000);
  job.launch<wait_for_nothing>(1, 1, 64, job.team(1), job.heap<Signal>(1, 64));
  job.synchronize();
  const FaultRecord& fault = job.fault(1);
  expect(fault.complete == 1 && fault.fault == Fault::deadline && fault.expected == 7 && fault.found == 0 &&
             fault.from == 0,
         "deadline: recorded");
  expect(OneGpuJob::text(fault.call) == "wait_until", "deadline: names the call: " + OneGpuJob::text(fault.call));
  expect(OneGpuJob::text(fault.site.file).find("device_library.cu") != std::string::npos && fault.site.line > 0,
         "deadline: names the place: " + OneGpuJob::text(fault.site.file));
  std::uint64_t sent = 1;
  CUDA_OK(cudaMemcpy(&sent, job.heap(0, 64), 8, cudaMemcpyDefault));
  expect(sent == 0, "deadline: a stopped team sends nothing");
  job.rearm();
  job.launch<wait_for_nothing>(1, 1, 64, job.team(1), job.heap<Signal>(1, 64));
  job.abort();
  job.synchronize();
  expect(job.fault(1).complete == 1 && job.fault(1).fault == Fault::aborted, "abort: ends the wait");
}

void check_arguments() {
  if constexpr (!detail::kCheckAddresses) return;
  OneGpuJob job(2);
  const auto bad = [&](const char* name, Fault why, const char* argument, auto launch) {
    launch();
    job.synchronize();
    const FaultRecord fault = job.fault(0);
    expect(fault.complete == 1 && fault.fault == why && OneGpuJob::text(fault.argument) == argument,
           std::string("refused: ") + name + " (" + OneGpuJob::text(fault.argument) + " = " +
               std::to_string(fault.value) + ", " + std::to_string(fault.low) + " to " + std::to_string(fault.high) +
               ")");
    std::vector<unsigned char> heap(4096);
    CUDA_OK(cudaMemcpy(heap.data(), job.heap(1), heap.size(), cudaMemcpyDefault));
    bool untouched = true;
    for (const unsigned char byte : heap) untouched = untouched && byte == 0;
    expect(untouched, std::string("nothing written: ") + name);
    job.rearm();
  };
  void* elsewhere = nullptr;
  CUDA_OK(cudaMalloc(&elsewhere, 4096));
  auto* other = static_cast<char*>(elsewhere);
  const char* src = job.heap(0, 8192);
  bad("rank", Fault::rank, "to", [&] { job.launch<put_badly>(0, 1, 64, job.team(0), job.heap(0), src, 64, 2); });
  bad("negative rank", Fault::rank, "to",
      [&] { job.launch<put_badly>(0, 1, 64, job.team(0), job.heap(0), src, 64, -1); });
  bad("not symmetric", Fault::not_symmetric, "dst",
      [&] { job.launch<put_badly>(0, 1, 64, job.team(0), other, src, 64, 1); });
  bad("past the object", Fault::past_object, "dst", [&] {
    job.launch<put_badly>(0, 1, 64, job.team(0), job.heap(0, OneGpuJob::kHeapBytes - (1 << 20) - 32), src, 64, 1);
  });
  bad("null with a length", Fault::null_pointer, "src",
      [&] { job.launch<put_badly>(0, 1, 64, job.team(0), job.heap(0), static_cast<const char*>(nullptr), 64, 1); });
  bad("misaligned signal", Fault::misaligned, "signal",
      [&] { job.launch<signal_badly>(0, 1, 64, job.team(0), job.heap<Signal>(0, 4), 1); });
  CUDA_OK(cudaFree(elsewhere));
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    return 77;  // skipped: run.sh says so
  }
  for (const int pes : {1, 2, 3, 5, 8}) {
    check_rings(pes);
    check<barrier_shows>("barrier", pes, [&](OneGpuJob& job) {
      for (int pe = 0; pe < pes; ++pe)
        job.launch<barrier_shows>(pe, 4, 64, job.team(pe), job.heap<std::uint64_t>(pe, 4096), 3000,
                                  job.heap<Result>(pe));
    });
    check<any_and_some>("any and some", pes, [&](OneGpuJob& job) {
      for (int pe = 0; pe < pes; ++pe)
        job.launch<any_and_some>(pe, 1, 64, job.team(pe), job.heap<Signal>(pe, 4096), 300, job.heap<Result>(pe));
    });
    check<multimem>("multimem", pes, [&](OneGpuJob& job) {
      for (int pe = 0; pe < pes; ++pe)
        job.launch<multimem>(pe, 1, 1, job.team(pe), job.heap(pe, 4096), job.heap<Result>(pe));
    });
    check_tickets(pes);
  }
  for (const int blocks : {1, 3, 7, 66}) {
    check<grids>("grid sync", 1, [&](OneGpuJob& job) {
      for (int again = 0; again < 2; ++again)
        job.launch<grids>(0, blocks, 64, job.team(0), job.heap<std::uint32_t>(0, 4096 + again * 65536), 1000,
                          job.heap<Result>(0));
    });
  }
  check<conversions>("conversions", 4, [&](OneGpuJob& job) {
    // One result per type, in the four PEs' places.
    Result* results = nullptr;
    CUDA_OK(cudaMalloc(&results, 4 * sizeof(Result)));
    CUDA_OK(cudaMemset(results, 0, 4 * sizeof(Result)));
    job.launch<conversions>(0, 512, 256, results);
    job.synchronize();
    for (int type = 0; type < 4; ++type)
      CUDA_OK(cudaMemcpy(job.heap<Result>(type), &results[type], sizeof(Result), cudaMemcpyDefault));
    CUDA_OK(cudaFree(results));
  });
  check_copies();
  check_deadline();
  check_arguments();
  std::printf("%s: %d failures (checked: %s)\n", failures == 0 ? "passed" : "FAILED", failures,
              detail::kCheckAddresses ? "yes" : "no");
  return failures == 0 ? 0 : 1;
}
