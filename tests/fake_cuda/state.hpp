// What the fake driver keeps: one set a process, one lock around every call.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "fake_cuda.hpp"

namespace fake_cuda {

/// An allocation. The file is closed when the last handle and the last mapping are gone.
struct Memory {
  int file = -1;
  std::size_t bytes = 0;
  CUdevice device = 0;    // whose memory it is; -1 of a multicast object
  bool imported = false;  // another process has made it
  unsigned types = 0;     // of handles that may be exported
  bool multicast = false;
  std::map<std::size_t, std::shared_ptr<Memory>> bound;  // to a multicast object, by this process
  ~Memory();
};

/// By this a multicast object's file is longer than the object, and is known.
inline constexpr std::size_t kMulticastTail = 4096;

struct Held {
  std::shared_ptr<Memory> memory;
  int references = 1;
  int named = -1;  // what its fabric handle names: goes with the handle, whoever has the memory mapped
};

struct Mapping {
  std::size_t bytes = 0;
  std::shared_ptr<Memory> memory;
  bool accessible = false;
};

struct Stream {
  CUcontext context = nullptr;
  unsigned flags = 0;
  std::vector<std::function<void()>> callbacks;  // that wait
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
};

struct State {
  std::mutex mutex;
  Machine machine;
  std::map<std::string, int> calls;
  std::map<CUmemAllocationHandleType, int> exports;
  std::map<CUdevice, int> contexts;              // primary ones, by how often they are retained
  std::map<CUdevice, std::size_t> local_memory;  // where a context was asked for more of it
  std::map<CUmemGenericAllocationHandle, Held> handles;
  std::map<CUdeviceptr, Mapping> mappings;
  std::map<CUdeviceptr, std::size_t> reservations;
  std::map<CUdeviceptr, std::pair<std::size_t, CUdevice>> plain;
  std::map<void*, Stream> streams;
  std::set<void*> events, registered;
  std::map<void*, std::size_t> pinned;
  std::uint64_t next = 1;
  bool spinning = false;             // a peer's kernel waits for this process
  std::vector<std::string> waiting;  // calls that would wait for it
  CUresult lost = CUDA_SUCCESS;      // what work on a lost GPU ends with
};

State& state();
/// One letter of Machine::links.
char link_between(CUdevice from, CUdevice to);
inline bool reaches(CUdevice from, CUdevice to) { return link_between(from, to) != 'n'; }
/// The thread's current context; null for none.
CUcontext& current();
CUcontext primary(CUdevice device);

CUmemGenericAllocationHandle add_handle(std::shared_ptr<Memory> memory);
/// Success for a stream that is there, the default one among them.
CUresult known_stream(CUstream stream);
/// Success for a question or a wait that no capture forbids; `stream` is what it is about. Else the captures fail.
CUresult may_ask(CUstream stream = nullptr);
/// Note calls that wait for a peer's kernel, of every call one, and of work on a stream the other. Under the lock.
void note_call(const std::string& name);
void note_default_stream(const char* call, CUstream stream);
/// Whether all GPUs that it was made for are in it.
bool multicast_ready(CUmemGenericAllocationHandle handle);

/// Counts the call, and fails it if the test wants that or if it needs a context and there is none. The lock is held
/// from then on.
class Call {
 public:
  enum class Needs { nothing, context };
  explicit Call(const char* name, Needs needs = Needs::nothing);
  CUresult result = CUDA_SUCCESS;

 private:
  std::lock_guard<std::mutex> lock_;
};

}  // namespace fake_cuda

/// The first line of every function of the driver.
#define FAKE_CALL_THAT(needs)                                              \
  const ::fake_cuda::Call call(__func__, ::fake_cuda::Call::Needs::needs); \
  if (call.result != CUDA_SUCCESS) return call.result
#define FAKE_CALL() FAKE_CALL_THAT(nothing)
#define FAKE_CALL_IN_CONTEXT() FAKE_CALL_THAT(context)
