#include "runtime/gpu_memory.hpp"

#if ISOTOPE_HAVE_CUDA

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "cuda/user_memory.hpp"
#include "isotope/device/team.hpp"
#include "os/process.hpp"
#include "runtime/gpu_multicast.hpp"

namespace isotope::runtime {

namespace {

/// Pieces are this large, or as large as the one allocation that needs more.
constexpr std::uint64_t kPiece = 64ull << 20;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

class GpuMemory final : public HeapMemory {
 public:
  GpuMemory(std::shared_ptr<const cuda::Gpu> gpu, std::shared_ptr<GpuShare> share, const ProcessJob& job, int rank,
            const GpuObjectTable& objects, std::shared_ptr<GpuMulticast> multicast)
      : gpu_(std::move(gpu)),
        share_(std::move(share)),
        job_(&job),
        rank_(rank),
        objects_(objects),
        multicast_(std::move(multicast)),
        end_(job.layout().heap_offset()) {}

  std::byte* slot(int rank) const override { return share_->space->slot(rank); }
  int slot_of(const void* address) const override { return share_->space->slot_of(address); }
  bool on_host() const override { return false; }

  cuda::SharedPiece grow(std::uint64_t need) override {
    if (need <= end_) return {};
    const std::uint64_t most = job_->layout().window_offset() - end_;
    const std::uint64_t bytes = std::min(std::max(kPiece, round_up(need - end_, cuda::kChunkGranule)), most);
    piece_ = cuda::Chunk::create(*gpu_, bytes, share_->travel);
    exported_ = piece_->export_as(share_->travel);
    map_piece(rank_, *piece_);
    gpu_->fill(slot(rank_) + end_, 0, bytes);  // new memory of the heap is zero
    return exported_.piece;
  }

  void map_growth(int rank, std::int32_t pid, const cuda::SharedPiece& piece) override {
    if (is_for_me(rank, pid)) map_piece(rank, cuda::Chunk::import(*gpu_, pid, piece));
  }

  void reach_growth(Exchange& world, CallSite site) override {
    multicast_->add({{end_, piece_->bytes()}, {{end_, piece_->bytes()}}}, world, site);
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

  std::uint64_t window_granule() const override { return cuda::kChunkGranule; }

  WindowOffer offer_window(void* data, std::uint64_t bytes) override {
    if (slot_of(data) != kNoPe) throw Error(Code::invalid_argument, "it is symmetric memory of this World already");
    opening_.memory = cuda::find_user_memory(*gpu_, data, bytes);
    WindowOffer offer{opening_.memory.lead, opening_.memory.bytes, {}};
    for (const cuda::Chunk& chunk : opening_.memory.chunks) {
      cuda::Chunk::Exported exported;
      exported.piece.bytes = chunk.bytes();
      // PEs of one process share the handles themselves.
      if (job_->has_other_processes()) exported = chunk.export_as(cuda::travel_of(chunk, share_->travel));
      offer.pieces.push_back(exported.piece);
      opening_.exported.push_back(std::move(exported));
    }
    return offer;
  }

  void map_window(int rank, std::int32_t pid, std::uint64_t offset,
                  std::span<const cuda::SharedPiece> pieces) override {
    if (rank != rank_ && !is_for_me(rank, pid)) return;
    std::uint64_t at = job_->layout().window_offset() + offset, bytes = 0;
    for (const cuda::SharedPiece& piece : pieces) bytes += piece.bytes;
    opening_.mapped.push_back({rank, at, bytes});
    for (std::size_t i = 0; i < pieces.size(); at += pieces[i].bytes, ++i) {
      if (rank == rank_) {
        share_->space->map(rank, at, opening_.memory.chunks[i]);
      } else {
        share_->space->map(rank, at, cuda::Chunk::import(*gpu_, pid, pieces[i]));
      }
    }
  }

  void join_window() override {}  // the pages are the same already

  void reach_window(std::uint64_t offset, std::uint64_t bytes, Exchange& world, CallSite site) override {
    GpuMulticast::Region region{{job_->layout().window_offset() + offset, bytes}, {}};
    std::uint64_t at = std::find_if(opening_.mapped.begin(), opening_.mapped.end(), [&](const Place& place) {
                         return place.rank == rank_;
                       })->offset;
    for (const cuda::Chunk& chunk : opening_.memory.chunks) {
      region.mine.push_back({at, chunk.bytes()});
      at += chunk.bytes();
    }
    multicast_->add(region, world, site);
  }

  void keep_window() noexcept override { opening_ = {}; }

  void drop_window() noexcept override {
    for (const Place& place : opening_.mapped) share_->space->unmap(place.rank, place.offset, place.bytes);
    opening_ = {};
  }

  // What peers still write there goes to the pieces, which our mappings keep, and not to whoever gets the addresses
  // next.
  void give_back(void*, std::uint64_t) noexcept override {}

  void unmap_window(std::uint64_t offset, std::uint64_t bytes) noexcept override {
    multicast_->remove(job_->layout().window_offset() + offset);
    for (int rank = 0; rank < job_->size(); ++rank) {
      const bool mine = rank == rank_, for_all = job_->lead_rank() == rank_ && !job_->in_this_process(rank);
      if (mine || for_all) share_->space->unmap(rank, job_->layout().window_offset() + offset, bytes);
    }
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
  /// PEs of this process map their own memory where this one sees it; that of others is mapped by one for all.
  bool is_for_me(int rank, std::int32_t pid) const {
    return rank != rank_ && pid != os::process_id() && job_->lead_rank() == rank_;
  }
  void map_piece(int rank, const cuda::Chunk& piece) {
    share_->space->map(rank, end_, piece);
    mapped_.push_back(rank);
  }
  void forget_piece() noexcept {
    piece_.reset();
    exported_ = {};
    mapped_.clear();
  }

  std::shared_ptr<const cuda::Gpu> gpu_;
  std::shared_ptr<GpuShare> share_;
  const ProcessJob* job_;
  int rank_;
  GpuObjectTable objects_;
  std::shared_ptr<GpuMulticast> multicast_;
  std::uint64_t end_;  // of what the slot has, from its start; the same on every PE
  std::uint64_t version_ = 0;
  // Growth in progress:
  std::optional<cuda::Chunk> piece_;
  cuda::Chunk::Exported exported_;
  std::vector<int> mapped_;
  // Registration in progress:
  struct Place {
    int rank = 0;
    std::uint64_t offset = 0, bytes = 0;
  };
  struct {
    cuda::UserMemory memory;
    std::vector<cuda::Chunk::Exported> exported;
    std::vector<Place> mapped;
  } opening_;
};

}  // namespace

std::unique_ptr<HeapMemory> gpu_memory(std::shared_ptr<const cuda::Gpu> gpu, std::shared_ptr<GpuShare> share,
                                       const ProcessJob& job, int rank, const GpuObjectTable& objects,
                                       std::shared_ptr<GpuMulticast> multicast) {
  return std::make_unique<GpuMemory>(std::move(gpu), std::move(share), job, rank, objects, std::move(multicast));
}

}  // namespace isotope::runtime

#endif  // ISOTOPE_HAVE_CUDA
