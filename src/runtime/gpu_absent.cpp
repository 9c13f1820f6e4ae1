// A build without CUDA's headers: there is no GPU.
#include "isotope/host/info.hpp"
#include "runtime/gpu_pe.hpp"

#if !ISOTOPE_HAVE_CUDA

namespace isotope::runtime {

int gpu_count() { return 0; }
bool processes_share_gpus() { return false; }
bool gpu_driver_is_broken() { return false; }
std::string why_no_gpu() {
  return "this build has no cuda platform (CUDA's headers were not found when it was configured)";
}
std::shared_ptr<GpuHold> GpuHold::take(int) { throw Error(Code::not_supported, why_no_gpu()); }
GpuPe::Joined GpuPe::join(ProcessJob&, Exchange&, int, const Options&) {
  throw Error(Code::not_supported, why_no_gpu());
}

}  // namespace isotope::runtime

namespace isotope {

GpuPlatform gpu_platform() {
  GpuPlatform none;
  none.why_not = runtime::why_no_gpu();
  return none;
}

}  // namespace isotope

#endif  // ISOTOPE_HAVE_CUDA
