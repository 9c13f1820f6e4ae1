#include "runtime/stream_count.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/log.hpp"

namespace isotope::runtime {

namespace {

/// As the driver reads it: 8 unless it is said otherwise, and 32 at most.
int hardware_queues() {
  const char* text = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  const int asked = text != nullptr ? std::atoi(text) : 0;
  return asked > 0 ? std::min(asked, 32) : 8;
}

}  // namespace

void StreamCount::add(const std::shared_ptr<const void>& owner, int device) {
  const std::lock_guard lock(mutex_);
  std::erase_if(all_, [](const Entry& entry) { return entry.owner.expired(); });
  all_.push_back({device, owner});
  const auto streams = std::count_if(all_.begin(), all_.end(), [&](const Entry& e) { return e.device == device; });
  if (warned_ || streams <= hardware_queues()) return;
  warned_ = true;
  log_warn(fmt::format(
      "GPU {} has {} streams of this process, one for copies of each PE among them, and {} hardware queues "
      "(CUDA_DEVICE_MAX_CONNECTIONS, at most 32): streams that share a queue wait for each other, and a "
      "kernel that waits for one behind it waits until its deadline. Drop streams that are not needed any more",
      device, streams, hardware_queues()));
}

}  // namespace isotope::runtime
