#include "cuda/driver.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "cuda/errors.hpp"
#include "cuda/gpu.hpp"
#include "os/library.hpp"
#include "os/spawn.hpp"

namespace isotope::cuda {

namespace {

constexpr int kLeastVersion = 12000;

struct Found {
  Driver calls;
  bool usable = false, broken = false;
  std::string why;
};

void ask_for(const char* variable, const char* value) {
  if (std::getenv(variable) == nullptr) os::set_environment(variable, value);
}

Found look() {
  Found found;
  std::string reason;
  void* library = os::open_library("libcuda.so.1", reason);
  if (library == nullptr) {
    found.why = fmt::format("the NVIDIA driver's library cannot be loaded ({})", reason);
    return found;
  }
  ask_for("CUDA_MODULE_LOADING", "EAGER");
  // `isotope run` knows how many PEs take theirs from the stock of an MPS server. Without it few are safer there.
  ask_for("CUDA_DEVICE_MAX_CONNECTIONS", mps_answers() ? "8" : "32");
  const auto init = reinterpret_cast<decltype(&::cuInit)>(os::find_symbol(library, "cuInit"));
  const auto version_of =
      reinterpret_cast<decltype(&::cuDriverGetVersion)>(os::find_symbol(library, "cuDriverGetVersion"));
  using Lookup = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  const auto lookup = reinterpret_cast<Lookup>(os::find_symbol(library, "cuGetProcAddress_v2"));
  int version = 0;
  if (version_of != nullptr) version_of(&version);
  if (init == nullptr || lookup == nullptr || version < kLeastVersion) {
    found.broken = true;
    found.why = fmt::format("the NVIDIA driver supports CUDA {}; {} or newer is needed", version_text(version),
                            version_text(kLeastVersion));
    return found;
  }
  if (const CUresult result = init(0); result != CUDA_SUCCESS) {
    found.broken = result != CUDA_ERROR_NO_DEVICE && result != CUDA_ERROR_STUB_LIBRARY;
    found.why = result == CUDA_ERROR_NO_DEVICE ? "the NVIDIA driver finds no GPU" + what_is_visible()
                                               : fmt::format("the NVIDIA driver does not start (cuInit: error {}){}",
                                                             static_cast<int>(result), advice_on_mps(result));
    return found;
  }
  const auto need = [&](const char* name, void** into) {
    CUdriverProcAddressQueryResult status{};
    if (lookup(name, into, kLeastVersion, CU_GET_PROC_ADDRESS_DEFAULT, &status) != CUDA_SUCCESS || *into == nullptr) {
      found.broken = true;
      found.why = fmt::format("the NVIDIA driver (CUDA {}) lacks {}", version_text(version), name);
    }
  };
#define X(name) need(#name, reinterpret_cast<void**>(&found.calls.name));
#include "cuda/calls.def"
#undef X
  constexpr int kNewer = 12010;
  const auto like = [&](const char* name, void** into) {
    CUdriverProcAddressQueryResult status{};
    if (version < kNewer || lookup(name, into, kNewer, CU_GET_PROC_ADDRESS_DEFAULT, &status) != CUDA_SUCCESS)
      *into = nullptr;
  };
#define X(name) like(#name, reinterpret_cast<void**>(&found.calls.name));
#include "cuda/newer_calls.def"
#undef X
  found.usable = found.why.empty();
  return found;
}

const Found& found() {
  static const Found once = look();
  return once;
}

}  // namespace

std::string what_is_visible() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible != nullptr ? fmt::format(", and CUDA_VISIBLE_DEVICES is '{}'", visible) : std::string();
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

const Driver* find_driver(std::string& why) {
  const Found& it = found();
  if (it.usable) return &it.calls;
  why = it.why;
  return nullptr;
}

bool driver_is_broken() { return found().broken; }

const Driver& driver() {
  std::string why;
  if (const Driver* found = find_driver(why)) return *found;
  throw Error(Code::not_supported, fmt::format("platform cuda: {}; run with ISOTOPE_PLATFORM=cpu", why));
}

void check(CUresult result, const char* call, Code code) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  const char* text = nullptr;
  const Driver& cuda = driver();
  cuda.cuGetErrorName(result, &name);
  cuda.cuGetErrorString(result, &text);
  throw Error(code,
              fmt::format("{}: {} ({}){}", call, text != nullptr ? text : "unknown error",
                          name != nullptr ? name : fmt::format("{}", static_cast<int>(result)), advice_on_mps(result)));
}

}  // namespace isotope::cuda
