// The rest of the fake driver: how it is found, its devices, contexts, copies and pinned memory.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "driver.hpp"
#include "state.hpp"

namespace fake_cuda {

State& state() {
  static State* const all = [] {
    auto* made = new State;  // outlives every static object that still holds a GPU
    if (const char* links = std::getenv("FAKE_CUDA_LINKS")) {
      made->machine.links = links;
      made->machine.gpus = static_cast<int>(1 + std::count(links, links + std::strlen(links), ';'));
    }
    return made;
  }();
  return *all;
}

char link_between(CUdevice from, CUdevice to) {
  const Machine& machine = state().machine;
  if (machine.links.empty()) return from == to ? 's' : 'a';
  return machine.links.at(static_cast<std::size_t>(from * (machine.gpus + 1) + to));
}

CUcontext& current() {
  thread_local CUcontext context = nullptr;
  return context;
}

namespace {

struct Failure {
  std::string call;
  int left = 0;
  CUresult with = CUDA_SUCCESS;
};
thread_local Failure t_failure;

struct Before {
  std::string call;
  std::function<void()> what;
};
thread_local Before t_before;
/// CUDA ranks links among those that there are.
bool has_fast_links() { return state().machine.links.find('a') != std::string::npos; }

std::string plain_name(const char* name) {
  std::string text = name;
  if (text.ends_with("_v2")) text.resize(text.size() - 3);
  return text;
}

std::mutex& mutex_for(const std::string& call) {
  if (t_before.what && t_before.call == call) std::exchange(t_before, {}).what();
  return state().mutex;
}

}  // namespace

CUcontext primary(CUdevice device) {
  return reinterpret_cast<CUcontext>(std::uintptr_t{0xC000} + static_cast<unsigned>(device));
}
CUcontext other_context() { return reinterpret_cast<CUcontext>(std::uintptr_t{0xD000}); }
CUdevice device_of(CUcontext context) {
  return static_cast<CUdevice>(reinterpret_cast<std::uintptr_t>(context) - 0xC000);
}

Call::Call(const char* name, Needs needs) : lock_(mutex_for(plain_name(name))) {
  const std::string plain = plain_name(name);
  ++state().calls[plain];
  note_call(plain);
  if (t_failure.left > 0 && t_failure.call == plain && --t_failure.left == 0) {
    result = t_failure.with;
  } else if (needs == Needs::context && (current() == nullptr || state().contexts.count(device_of(current())) == 0)) {
    result = CUDA_ERROR_INVALID_CONTEXT;  // none, or one that was released
  }
}

void before(const char* call, std::function<void()> what) { t_before = {call, std::move(what)}; }

void fail(const char* call, int nth, CUresult with) { t_failure = {call, nth, with}; }

int calls(const char* call) {
  const std::lock_guard lock(state().mutex);
  return state().calls[call];
}

int exports(CUmemAllocationHandleType type) {
  const std::lock_guard lock(state().mutex);
  return state().exports[type];
}

Live live() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  Live now;
  for (const auto& [device, count] : s.contexts) now.contexts += count;
  now.handles = static_cast<int>(s.handles.size());
  now.mappings = static_cast<int>(s.mappings.size());
  now.reservations = static_cast<int>(s.reservations.size());
  now.streams = static_cast<int>(s.streams.size());
  now.events = static_cast<int>(s.events.size());
  now.pinned = static_cast<int>(s.pinned.size());
  now.registered = static_cast<int>(s.registered.size());
  return now;
}

std::ostream& operator<<(std::ostream& out, const Live& live) {
  return out << live.contexts << " contexts, " << live.handles << " handles, " << live.mappings << " mappings, "
             << live.reservations << " reservations, " << live.streams << " streams, " << live.events << " events, "
             << live.pinned << " pinned, " << live.registered << " registered";
}

void reset(const Machine& machine) {
  if (live() != Live{}) std::abort();
  const std::lock_guard lock(state().mutex);
  state().machine = machine;
  state().calls.clear();
  state().exports.clear();
  state().lost = CUDA_SUCCESS;
  state().spinning = false;
  state().waiting.clear();
  t_failure = {};
}

void lose_gpu(CUresult with) {
  const std::lock_guard lock(state().mutex);
  state().lost = with;
}

void* plain_memory(int gpu, std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const std::lock_guard lock(state().mutex);
  state().plain[reinterpret_cast<CUdeviceptr>(at)] = {bytes, gpu};
  return at;
}

// ---- devices and contexts -------------------------------------------------------------------------------------------
CUresult cuGetErrorName(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_UNKNOWN ? "CUDA_ERROR_UNKNOWN" : "CUDA_ERROR_OF_THE_FAKE_DRIVER";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "the fake driver refuses";
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = state().machine.version;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  FAKE_CALL();
  *count = state().machine.gpus;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int index) {
  FAKE_CALL();
  *device = index;
  return index >= 0 && index < state().machine.gpus ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* name, int room, CUdevice device) {
  std::snprintf(name, static_cast<std::size_t>(room), "Fake GPU %d", device);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char* name, int room, CUdevice device) {
  std::snprintf(name, static_cast<std::size_t>(room), "0000:%02x:00.0", device);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  std::memset(uuid, device + 1, sizeof *uuid);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  FAKE_CALL();
  *bytes = state().machine.memory;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  FAKE_CALL();
  const Machine& machine = state().machine;
  *value = which == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED           ? machine.shares_memory
           : which == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED ? machine.shares_memory
           : which == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED                ? machine.fabric
           : which == CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED                         ? machine.multicast
           : which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT                        ? machine.multiprocessors
           : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR                    ? 9
                                                                                      : 0;
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice from, CUdevice to) {
  *can = from != to && reaches(from, to);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute which, CUdevice from, CUdevice to) {
  if (from == to) return CUDA_ERROR_INVALID_DEVICE;
  const char link = link_between(from, to);
  *value = which == CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK          ? link != 'a' && has_fast_links()
           : which == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED ? link == 'a'
                                                                      : link != 'n';
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  FAKE_CALL();
  ++state().contexts[device];
  *context = primary(device);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  FAKE_CALL();
  const auto context = state().contexts.find(device);
  if (context == state().contexts.end()) return CUDA_ERROR_INVALID_CONTEXT;
  if (--context->second == 0) {
    if (state().spinning) state().waiting.emplace_back("cuDevicePrimaryCtxRelease of the last");
    state().contexts.erase(context);
    state().local_memory.erase(device);
  }
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  FAKE_CALL();
  *context = current();
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  FAKE_CALL();
  if (current() == nullptr || current() == other_context()) return CUDA_ERROR_INVALID_CONTEXT;
  *device = device_of(current());
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  FAKE_CALL();
  current() = context;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetLimit(std::size_t* value, CUlimit limit) {
  FAKE_CALL_IN_CONTEXT();
  if (limit != CU_LIMIT_STACK_SIZE) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  const auto asked = state().local_memory.find(device_of(current()));
  *value = asked != state().local_memory.end() ? asked->second : state().machine.local_memory;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetLimit(CUlimit limit, std::size_t value) {
  FAKE_CALL_IN_CONTEXT();
  if (limit != CU_LIMIT_STACK_SIZE) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  state().local_memory[device_of(current())] = std::min((value + 15) / 16 * 16, state().machine.local_memory_max);
  return CUDA_SUCCESS;
}
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  FAKE_CALL();
  *mode = state().machine.lazy_modules ? CU_MODULE_LAZY_LOADING : CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}

// ---- memory of the host, copies -------------------------------------------------------------------------------------
CUresult cuMemHostAlloc(void** data, std::size_t bytes, unsigned) {
  FAKE_CALL_IN_CONTEXT();
  *data = std::malloc(bytes);
  state().pinned[*data] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* data) {
  FAKE_CALL_IN_CONTEXT();
  if (state().pinned.erase(data) == 0) return CUDA_ERROR_INVALID_VALUE;
  std::free(data);
  return CUDA_SUCCESS;
}
CUresult cuMemHostRegister(void* data, std::size_t, unsigned) {
  FAKE_CALL_IN_CONTEXT();
  return state().registered.insert(data).second ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}
CUresult cuMemHostUnregister(void* data) {
  FAKE_CALL_IN_CONTEXT();
  return state().registered.erase(data) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemHostGetDevicePointer(CUdeviceptr* at, void* data, unsigned) {
  FAKE_CALL_IN_CONTEXT();
  *at = reinterpret_cast<CUdeviceptr>(data);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  FAKE_CALL_IN_CONTEXT();
  note_default_stream(__func__, stream);
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return known_stream(stream);
}
CUresult cuMemsetD8Async(CUdeviceptr at, unsigned char value, std::size_t bytes, CUstream stream) {
  FAKE_CALL_IN_CONTEXT();
  note_default_stream(__func__, stream);
  // Fresh files are zero: a hole is as good, and no memory is touched.
  if (value != 0 || at % 4096 != 0 || bytes % 4096 != 0 ||
      ::madvise(reinterpret_cast<void*>(at), bytes, MADV_REMOVE) != 0)
    std::memset(reinterpret_cast<void*>(at), value, bytes);
  return known_stream(stream);
}

namespace {

void* function_of(const std::string& name) {
  static const std::map<std::string, void*> all = {
#define X(name) {plain_name(#name), reinterpret_cast<void*>(&fake_cuda::name)},
#include "cuda/calls.def"
#include "cuda/newer_calls.def"
#undef X
  };
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace

}  // namespace fake_cuda

extern "C" {

CUresult cuInit(unsigned) {
  const fake_cuda::Machine& machine = fake_cuda::state().machine;
  return machine.gpus == 0 ? CUDA_ERROR_NO_DEVICE : machine.init;
}
CUresult cuDriverGetVersion(int* version) { return fake_cuda::cuDriverGetVersion(version); }
#undef cuGetProcAddress
CUresult cuGetProcAddress_v2(const char* symbol, void** function, int, cuuint64_t, CUdriverProcAddressQueryResult*) {
  *function = fake_cuda::function_of(symbol);
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
}
