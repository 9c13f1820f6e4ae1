#include "runtime/heap_memory.hpp"

#include <algorithm>
#include <cstring>

#include "os/memory.hpp"

namespace isotope::runtime {

namespace {

constexpr std::uint64_t kGrowStep = 64ull << 20;  // address space of a sparse file: costs nothing until touched

class HostMemory final : public HeapMemory {
 public:
  HostMemory(ProcessJob& job, os::Fd file)
      : job_(&job), file_(std::move(file)), file_bytes_(os::file_bytes(file_.get())) {}

  std::byte* slot(int rank) const override { return job_->slot(rank); }
  int slot_of(const void* address) const override { return job_->slot_of(address); }
  bool on_host() const override { return true; }

  int grow(std::uint64_t need) override {
    if (need <= file_bytes_) return -1;
    const std::uint64_t next = std::min((need + kGrowStep - 1) / kGrowStep * kGrowStep, job_->layout().window_offset());
    os::grow_shared_file(file_.get(), next);
    file_bytes_ = next;
    return -1;
  }
  void map_growth(int, std::int32_t, int) override {}
  void keep_growth() override {}
  void drop_growth() noexcept override {}  // a larger file harms nobody

  void fill(std::byte* at, unsigned char value, std::uint64_t bytes) override { std::memset(at, value, bytes); }
  void prefault(std::byte* at, std::uint64_t bytes) override { os::prefault(at, bytes); }
  void copy(void* to, const void* from, std::uint64_t bytes) override {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
  void publish_objects(const ObjectTable&) override {}

 private:
  ProcessJob* job_;
  os::Fd file_;
  std::uint64_t file_bytes_;
};

}  // namespace

std::unique_ptr<HeapMemory> host_memory(ProcessJob& job, os::Fd file) {
  return std::make_unique<HostMemory>(job, std::move(file));
}

}  // namespace isotope::runtime
