// Streams and events of the fake driver: all is done at once, but for callbacks, which wait for cuStreamSynchronize.
#include <utility>

#include "driver.hpp"
#include "state.hpp"

namespace fake_cuda {

CUresult known_stream(CUstream stream) {
  return stream == nullptr || state().streams.count(stream) != 0 ? state().lost : CUDA_ERROR_INVALID_HANDLE;
}

namespace {

thread_local CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

}  // namespace

CUresult may_ask(CUstream asked) {
  CUresult result = CUDA_SUCCESS;
  for (auto& [stream, it] : state().streams) {
    if (it.capture == CU_STREAM_CAPTURE_STATUS_NONE) continue;
    if (t_mode == CU_STREAM_CAPTURE_MODE_RELAXED && stream != asked) continue;
    it.capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

namespace {

/// Before 12.5 what a stream is could not be asked while it was being captured.
CUresult may_inspect(CUstream stream) {
  Stream& it = state().streams.at(stream);
  if (state().machine.version >= 12050 || it.capture == CU_STREAM_CAPTURE_STATUS_NONE) return CUDA_SUCCESS;
  it.capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

}  // namespace

void begin_capture(CUstream stream) {
  const std::lock_guard lock(state().mutex);
  state().streams.at(stream).capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

bool end_capture(CUstream stream) {
  const std::lock_guard lock(state().mutex);
  return std::exchange(state().streams.at(stream).capture, CU_STREAM_CAPTURE_STATUS_NONE) ==
         CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

namespace {

void* token() { return reinterpret_cast<void*>(0xF000 + 16 * state().next++); }

CUresult known_event(CUevent event) {
  return state().events.count(event) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

void run_callbacks() {
  std::vector<std::function<void()>> callbacks;
  {
    const std::lock_guard lock(state().mutex);
    for (auto& [name, stream] : state().streams)
      for (auto& callback : std::exchange(stream.callbacks, {})) callbacks.push_back(std::move(callback));
  }
  for (const auto& callback : callbacks) callback();
}

CUstream other_stream() {
  const std::lock_guard lock(state().mutex);
  auto* const stream = static_cast<CUstream>(token());
  state().streams[stream] = {other_context(), CU_STREAM_NON_BLOCKING, {}};
  return stream;
}

// -----------------------------------------------------------------
CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  FAKE_CALL_IN_CONTEXT();
  if (state().lost != CUDA_SUCCESS) return state().lost;
  *stream = static_cast<CUstream>(token());
  state().streams[*stream] = {current(), flags, {}};
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  FAKE_CALL();
  const auto found = state().streams.find(stream);
  if (found == state().streams.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult result = may_inspect(stream); result != CUDA_SUCCESS) return result;
  *context = found->second.context;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
  FAKE_CALL();
  const auto found = state().streams.find(stream);
  if (found == state().streams.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult result = may_inspect(stream); result != CUDA_SUCCESS) return result;
  *flags = found->second.flags;
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  FAKE_CALL();
  return state().streams.erase(stream) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  FAKE_CALL();
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (const auto found = state().streams.find(stream); found != state().streams.end()) *status = found->second.capture;
  return known_stream(stream);
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  FAKE_CALL();
  std::swap(*mode, t_mode);
  return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream stream) {
  FAKE_CALL();
  if (const CUresult result = may_ask(stream); result != CUDA_SUCCESS) return result;
  note_default_stream(__func__, stream);
  return known_stream(stream);
}
CUresult cuStreamSynchronize(CUstream stream) {
  std::vector<std::function<void()>> callbacks;
  {
    FAKE_CALL_IN_CONTEXT();
    if (const CUresult result = may_ask(stream); result != CUDA_SUCCESS) return result;
    note_default_stream(__func__, stream);
    if (const CUresult result = known_stream(stream); result != CUDA_SUCCESS) return result;
    if (stream != nullptr) callbacks.swap(state().streams[stream].callbacks);
  }
  for (const auto& callback : callbacks) callback();
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  FAKE_CALL();
  note_default_stream(__func__, stream);
  return known_stream(stream) != CUDA_SUCCESS ? CUDA_ERROR_INVALID_HANDLE : known_event(event);
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void* data) {
  FAKE_CALL();
  note_default_stream(__func__, stream);
  if (stream == nullptr || known_stream(stream) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_HANDLE;
  state().streams[stream].callbacks.push_back([fn, data] { fn(data); });
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  FAKE_CALL_IN_CONTEXT();
  *event = static_cast<CUevent>(token());
  state().events.insert(*event);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  FAKE_CALL();
  return state().events.erase(event) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  FAKE_CALL();
  note_default_stream(__func__, stream);
  return known_stream(stream) != CUDA_SUCCESS ? CUDA_ERROR_INVALID_HANDLE : known_event(event);
}
CUresult cuEventQuery(CUevent event) {
  FAKE_CALL();
  if (const CUresult result = may_ask(); result != CUDA_SUCCESS) return result;
  return known_event(event);
}
CUresult cuEventSynchronize(CUevent event) {
  FAKE_CALL();
  if (const CUresult result = may_ask(); result != CUDA_SUCCESS) return result;
  return known_event(event);
}

}  // namespace fake_cuda
