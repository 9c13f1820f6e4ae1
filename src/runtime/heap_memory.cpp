#include "runtime/heap_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "os/memory.hpp"
#include "runtime/log.hpp"

namespace isotope::runtime {

namespace {

constexpr std::uint64_t kGrowStep = 64ull << 20;  // address space of a sparse file: costs nothing until touched

class HostMemory final : public HeapMemory {
 public:
  HostMemory(ProcessJob& job, int rank, os::Fd file)
      : job_(&job), rank_(rank), file_(std::move(file)), file_bytes_(os::file_bytes(file_.get())) {}

  std::byte* slot(int rank) const override { return job_->slot(rank); }
  int slot_of(const void* address) const override { return job_->slot_of(address); }
  bool on_host() const override { return true; }

  cuda::SharedPiece grow(std::uint64_t need) override {
    if (need <= file_bytes_) return {};
    const std::uint64_t next = std::min((need + kGrowStep - 1) / kGrowStep * kGrowStep, job_->layout().window_offset());
    os::grow_shared_file(file_.get(), next);
    file_bytes_ = next;
    return {};
  }
  void map_growth(int, std::int32_t, const cuda::SharedPiece&) override {}
  void reach_growth(Exchange&, CallSite) override {}  // the CPU has no multicast
  void keep_growth() override {}
  void drop_growth() noexcept override {}  // a larger file harms nobody

  std::uint64_t window_granule() const override { return os::page_size(); }

  WindowOffer offer_window(void* data, std::uint64_t bytes) override {
    const std::uint64_t page = os::page_size();
    if (bytes == 0 || bytes % page != 0 || reinterpret_cast<std::uintptr_t>(data) % page != 0) {
      throw Error(
          Code::misaligned,
          fmt::format("{} bytes at {}; address and size must be multiples of the page size, {}, and the size above 0",
                      bytes, data, page));
    }
    os::check_private_anonymous(data, bytes);
    opening_ = {.data = data, .bytes = bytes, .file = os::create_shared_file("isotope-window", bytes)};
    return {.bytes = bytes, .pieces = {{.bytes = bytes, .descriptor = opening_.file.get()}}};
  }

  void map_window(int rank, std::int32_t pid, std::uint64_t offset,
                  std::span<const cuda::SharedPiece> pieces) override {
    // The lead of each process maps everybody's window for its siblings.
    if (job_->lead_rank() != rank_) return;
    opening_.offset = offset;
    opening_.mapped = true;
    job_->map_window(rank, offset, pieces[0].bytes, os::open_descriptor_of(pid, pieces[0].descriptor).get());
  }

  void join_window() override {
    os::move_to_shared(opening_.data, opening_.bytes, opening_.file.get());
    opening_.moved = true;
  }

  void reach_window(std::uint64_t, std::uint64_t, Exchange&, CallSite) override {}
  void keep_window() noexcept override { opening_ = {}; }

  void drop_window() noexcept override {
    if (opening_.moved) give_back(opening_.data, opening_.bytes);
    if (opening_.mapped) unmap_window(opening_.offset, opening_.bytes);
    opening_ = {};
  }

  void give_back(void* data, std::uint64_t bytes) noexcept override {
    // The allocator may hand the memory to anybody: it must be ordinary memory again.
    try {
      os::move_to_private(data, bytes);
    } catch (const Error& error) {
      log_warn(fmt::format("registered memory at {} stays shared: {}", data, error.what()));
    }
  }

  void unmap_window(std::uint64_t offset, std::uint64_t bytes) noexcept override {
    if (job_->lead_rank() != rank_) return;
    for (int pe = 0; pe < job_->size(); ++pe) job_->unmap_window(pe, offset, bytes);
  }

  void fill(std::byte* at, unsigned char value, std::uint64_t bytes) override { std::memset(at, value, bytes); }
  void prefault(std::byte* at, std::uint64_t bytes) override { os::prefault(at, bytes); }
  void copy(void* to, const void* from, std::uint64_t bytes) override {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
  void publish_objects(const ObjectTable&) override {}

 private:
  /// A registration in progress.
  struct Opening {
    void* data = nullptr;
    std::uint64_t bytes = 0;
    os::Fd file = {};
    std::uint64_t offset = 0;
    bool mapped = false, moved = false;
  };

  ProcessJob* job_;
  int rank_;
  os::Fd file_;
  std::uint64_t file_bytes_;
  Opening opening_;
};

}  // namespace

std::unique_ptr<HeapMemory> host_memory(ProcessJob& job, int rank, os::Fd file) {
  return std::make_unique<HostMemory>(job, rank, std::move(file));
}

}  // namespace isotope::runtime
