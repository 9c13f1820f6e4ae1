// Which calls would wait, or may, for a kernel that a peer has on the GPU: they are noted while one is said to be
// there.
#include "state.hpp"

namespace fake_cuda {

void peer_spins() {
  const std::lock_guard lock(state().mutex);
  state().spinning = true;
}

void peer_ends() {
  const std::lock_guard lock(state().mutex);
  state().spinning = false;
}

std::vector<std::string> calls_that_wait() {
  const std::lock_guard lock(state().mutex);
  return state().waiting;
}

void note_call(const std::string& name) {
  static const std::set<std::string> waiting = {"cuMemHostAlloc", "cuMemFreeHost", "cuMemHostRegister",
                                                "cuMemHostUnregister", "cuCtxSetLimit"};
  if (state().spinning && waiting.count(name) != 0) state().waiting.push_back(name);
}

void note_default_stream(const char* call, CUstream stream) {
  if (state().spinning && (stream == nullptr || stream == CU_STREAM_LEGACY))
    state().waiting.push_back(std::string(call) + " on the default stream");
}

}  // namespace fake_cuda
