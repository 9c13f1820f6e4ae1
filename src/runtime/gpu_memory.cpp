#include "runtime/gpu_memory.hpp"

#if ISOTOPE_HAVE_CUDA

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "isotope/device/team.hpp"
#include "os/memory.hpp"
#include "os/process.hpp"

namespace isotope::runtime {

namespace {

/// Pieces are this large, or as large as the one allocation that needs more.
constexpr std::uint64_t kPiece = 64ull << 20;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

class GpuMemory final : public HeapMemory {
 public:
  GpuMemory(std::shared_ptr<const cuda::Gpu> gpu, std::shared_ptr<GpuShare> share, const ProcessJob& job, int rank,
            const GpuObjectTable& objects)
      : gpu_(std::move(gpu)),
        share_(std::move(share)),
        job_(&job),
        rank_(rank),
        objects_(objects),
        end_(job.layout().heap_offset()) {}

  std::byte* slot(int rank) const override { return share_->space->slot(rank); }
  int slot_of(const void* address) const override { return share_->space->slot_of(address); }
  bool on_host() const override { return false; }

  int grow(std::uint64_t need) override {
    if (need <= end_) return -1;
    const std::uint64_t most = job_->layout().window_offset() - end_;
    const std::uint64_t bytes = std::min(std::max(kPiece, round_up(need - end_, cuda::kChunkGranule)), most);
    piece_ = cuda::Chunk::create(*gpu_, bytes);
    descriptor_ = piece_->export_descriptor();
    map_piece(rank_, *piece_);
    gpu_->fill(slot(rank_) + end_, 0, bytes);  // new memory of the heap is zero
    return descriptor_.get();
  }

  void map_growth(int rank, std::int32_t pid, int descriptor) override {
    // PEs of this process have mapped theirs where this one sees it.
    if (pid == os::process_id() || job_->lead_rank() != rank_) return;
    const os::Fd taken = os::take_descriptor_of(pid, descriptor);
    map_piece(rank, cuda::Chunk::import(*gpu_, taken.get(), piece_->bytes()));
  }

  void keep_growth() override {
    if (!piece_) return;
    end_ += piece_->bytes();
    forget_piece();
  }

  void drop_growth() noexcept override {
    for (const int rank : mapped_) share_->space->unmap(rank, end_, piece_->bytes());
    forget_piece();
  }

  void fill(std::byte* at, unsigned char value, std::uint64_t bytes) override { gpu_->fill(at, value, bytes); }
  void prefault(std::byte*, std::uint64_t) override {}  // a GPU's memory is there when it is mapped
  void copy(void* to, const void* from, std::uint64_t bytes) override { gpu_->copy(to, from, bytes); }

  void publish_objects(const ObjectTable& table) override {
    if (table.count > objects_.capacity) {
      throw Error(Code::out_of_range, fmt::format("{} symmetric objects; on a GPU there can be {} at once", table.count,
                                                  objects_.capacity));
    }
    // As ObjectIndex does it on the host: odd while it changes. The copies follow each other on one stream.
    ObjectTable there;
    there.version = version_ += 1;
    gpu_->copy(&objects_.table->version, &there.version, sizeof there.version);
    gpu_->copy(objects_.ranges, reinterpret_cast<const void*>(table.ranges), table.count * sizeof(ObjectRange));
    there.version = version_ += 1;
    there.count = table.count;
    there.ranges = reinterpret_cast<std::uint64_t>(objects_.ranges);
    gpu_->copy(objects_.table, &there, sizeof there);
  }

 private:
  void map_piece(int rank, const cuda::Chunk& piece) {
    share_->space->map(rank, end_, piece);
    mapped_.push_back(rank);
  }
  void forget_piece() noexcept {
    piece_.reset();
    descriptor_.reset();
    mapped_.clear();
  }

  std::shared_ptr<const cuda::Gpu> gpu_;
  std::shared_ptr<GpuShare> share_;
  const ProcessJob* job_;
  int rank_;
  GpuObjectTable objects_;
  std::uint64_t end_;  // of what the slot has, from its start; the same on every PE
  std::uint64_t version_ = 0;
  // Growth in progress:
  std::optional<cuda::Chunk> piece_;
  os::Fd descriptor_;
  std::vector<int> mapped_;
};

}  // namespace

std::unique_ptr<HeapMemory> gpu_memory(std::shared_ptr<const cuda::Gpu> gpu, std::shared_ptr<GpuShare> share,
                                       const ProcessJob& job, int rank, const GpuObjectTable& objects) {
  return std::make_unique<GpuMemory>(std::move(gpu), std::move(share), job, rank, objects);
}

}  // namespace isotope::runtime

#endif  // ISOTOPE_HAVE_CUDA
