// A CUDA driver without a GPU, for tests of the host's side of platform cuda.
//
// It is a library by the name of libcuda.so.1 that a test is linked with; src/cuda finds it as it finds the real one. A
// GPU's memory is an anonymous file, a mapping of it maps the file, so the addresses work on the host as well, and what
// one process exports another can import. Copies and fills are done when they are asked for. Kernels cannot be
// launched.
//
// What a driver refuses this one refuses too, as tried on an H200 (driver 580): a part of an allocation cannot be
// mapped, a range with mappings cannot be freed, memory without access cannot be touched, a call without a context is
// an error.
//
//   fake_cuda::reset({.gpus = 2, .fabric = true});
//   fake_cuda::fail("cuMemMap", 2);                 // the second one of this thread from now on
//   ...
//   EXPECT_EQ(fake_cuda::live(), before);           // nothing is left
//
// State is the process's own: a test that forks PEs sets it up before. To a program that is started with the fake on
// its LD_LIBRARY_PATH FAKE_CUDA_LINKS says what Machine::links would, and by that how many GPUs there are.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace fake_cuda {

struct Machine {
  int gpus = 8;
  std::uint64_t memory = std::uint64_t{1} << 30;  // of each GPU
  bool shares_memory = true;
  bool multicast = false;
  bool fabric = false;           // the attribute
  bool fabric_permitted = true;  // whether an export works, too
  int multiprocessors = 132;     // of each GPU
  /// How each GPU reaches each: a row a GPU, "sap;asn;pns". s: the same one; a: as a peer, atomics too; p: as a peer;
  /// n: not. Empty: all as peers, with atomics.
  std::string links = {};
  std::uint64_t local_memory = 1024;  // for each thread, before anybody asks for more
  std::uint64_t local_memory_max = 512 * 1024;
  bool lazy_modules = false;     // kernels are loaded at their first launch
  CUresult init = CUDA_SUCCESS;  // what cuInit says; called once a process
  int version = 13000;           // that the driver says; looked at once a process
};

/// What is there now. Everything in it must be given back.
struct Live {
  int contexts = 0, handles = 0, mappings = 0, reservations = 0, streams = 0, events = 0, pinned = 0, registered = 0;
  bool operator==(const Live&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Live& live);

/// A machine like that. Only while nothing is live.
void reset(const Machine& machine);
Live live();
/// The `nth` call of that name that this thread makes from now on fails. One at a time; nth 0: none does.
void fail(const char* call, int nth, CUresult with = CUDA_ERROR_UNKNOWN);
/// Before the next call of that name that this thread makes, what another thread might do just then.
void before(const char* call, std::function<void()> what);
/// From now on, until reset(): work on streams ends with this error, as after a kernel with a bad address.
void lose_gpu(CUresult with);
/// A graph is being captured from this stream by somebody in global mode, as PyTorch does it. A thread that then asks
/// or waits without being in relaxed mode is refused that, and so is everybody who does it to this stream; the capture
/// is no good any more.
void begin_capture(CUstream stream);
/// Whether what was captured is good.
bool end_capture(CUstream stream);

/// What was enqueued on all streams is done.
void run_callbacks();
/// How many calls of that name this process has made.
int calls(const char* call);

/// From now on, until peer_ends(): a kernel of a peer waits on this GPU for what this process will do.
void peer_spins();
void peer_ends();
/// What was called meanwhile that waits, or may wait, until all kernels of the GPU are over, in order: as CUDA's
/// documents say of pinned memory, limits of the context and the default stream.
std::vector<std::string> calls_that_wait();

/// How many handles of that type it has exported.
int exports(CUmemAllocationHandleType type);

/// How many bytes of all GPUs are bound to the multicast object that is mapped at `at`; 0 where none is.
std::uint64_t bound_to_multicast(const void* at);

/// Memory as cudaMalloc gives it: no handle behind it. Never freed.
void* plain_memory(int gpu, std::size_t bytes);
/// A context that is nobody's primary one.
CUcontext other_context();
/// A stream there.
CUstream other_stream();

}  // namespace fake_cuda
