#include "runtime/gpu_multicast.hpp"

#if ISOTOPE_HAVE_CUDA

#include <algorithm>
#include <bitset>
#include <set>

#include "os/process.hpp"
#include "runtime/gpu_pe.hpp"

namespace isotope::runtime {

namespace {

constexpr const char* kCall = "multicast";

/// How the members get at an object that the first of them has made.
struct Posted {
  std::uint32_t team = ~0u;
  std::int32_t pid = 0;
  std::uint64_t region = 0;
  cuda::SharedPiece piece;
};

template <class F>
void attempt(Outcome& outcome, F&& what) {
  if (outcome.code != 0) return;
  try {
    what();
  } catch (const Error& error) {
    outcome.fail(error);
  }
}

bool all_good(const std::vector<Outcome>& outcomes) {
  return std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.code == 0; });
}

}  // namespace

GpuMulticast::GpuMulticast(std::shared_ptr<const cuda::Gpu> gpu, std::shared_ptr<GpuShare> share,
                           std::uint64_t slot_bytes, int rank, std::vector<Seat> seats, const TeamCells& cells)
    : gpu_(std::move(gpu)),
      share_(std::move(share)),
      slot_bytes_(slot_bytes),
      rank_(rank),
      seats_(std::move(seats)),
      cells_(&cells) {
  std::set<std::array<char, 16>> able;
  for (std::size_t pe = 0; pe < seats_.size(); ++pe) {
    everyone_.push_back(static_cast<std::int32_t>(pe));
    if (seats_[pe].can) able.insert(seats_[pe].gpu);
  }
  possible_ = able.size() > 1;
}

bool GpuMulticast::eligible(const std::vector<std::int32_t>& members) const {
  std::set<std::array<char, 16>> gpus;
  for (const std::int32_t pe : members) {
    const Seat& seat = seats_[static_cast<std::size_t>(pe)];
    if (!seat.can || !gpus.insert(seat.gpu).second) return false;
  }
  return members.size() > 1;
}

void GpuMulticast::open(std::uint32_t id, const std::vector<std::int32_t>& members, Exchange& over,
                        const std::vector<std::int32_t>& over_members, CallSite site) {
  if (!possible_) return;
  teams_.erase(id);  // of a team that all have let go of, or the id would not have come again
  std::vector<Link> links;
  Outcome outcome;
  Range range;
  const bool mine = eligible(members);
  if (mine) {
    attempt(outcome, [&] {
      range.members = members;
      range.space = std::make_unique<cuda::AddressSpace>(*gpu_, 1, slot_bytes_);
    });
    for (const auto& [offset, region] : regions_) links.push_back({id, &range, &region});
  }
  const std::vector<Outcome> outcomes = connect(links, outcome, over, over_members, members, site);
  if (!mine || !all_good(outcomes)) return;
  for (Link& link : links) range.objects.emplace(link.region->offset, std::move(link.object));
  teams_.emplace(id, std::move(range));
}

std::int64_t GpuMulticast::bytes_to(std::uint32_t id) const {
  const auto range = teams_.find(id);
  return range == teams_.end() ? 0 : range->second.space->slot(0) - share_->space->slot(rank_);
}

void GpuMulticast::add(const Region& region, Exchange& world, CallSite site) {
  if (!possible_) return;
  // Of a team that all members have let go of, some may know it already: nobody needs it any more.
  std::bitset<kGpuTeams> here;
  for (const auto& [id, range] : teams_) here.set(id, id == 0 || !cells_->is_free(id));
  const auto everywhere = world.gather(kCall, here, site);
  std::erase_if(teams_, [&](const auto& team) {
    const auto& members = team.second.members;
    return std::any_of(members.begin(), members.end(),
                       [&](std::int32_t pe) { return !everywhere[static_cast<std::size_t>(pe)].test(team.first); });
  });
  std::vector<Link> links;
  for (auto& [id, range] : teams_) links.push_back({id, &range, &region});
  throw_if_any_failed(connect(links, {}, world, everyone_, everyone_, site), kCall, rank_);
  for (Link& link : links) link.range->objects.emplace(region.offset, std::move(link.object));
  regions_.emplace(region.offset, region);
}

void GpuMulticast::remove(std::uint64_t offset) noexcept {
  const auto region = regions_.find(offset);
  if (region == regions_.end()) return;
  for (auto& [id, range] : teams_) {
    const auto object = range.objects.find(offset);
    if (object == range.objects.end()) continue;
    cut(region->second, object->second, range);
    range.objects.erase(object);
  }
  regions_.erase(region);
}

std::vector<Outcome> GpuMulticast::connect(std::vector<Link>& links, Outcome outcome, Exchange& over,
                                           const std::vector<std::int32_t>& over_members,
                                           const std::vector<std::int32_t>& concerned, CallSite site) const {
  const auto tell = [&] {
    const std::vector<Outcome> all = over.gather(kCall, outcome, site);
    std::vector<Outcome> ours;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (std::find(concerned.begin(), concerned.end(), over_members[i]) != concerned.end()) ours.push_back(all[i]);
    }
    return ours;
  };
  try {
    // The first member of a team makes its objects.
    std::vector<Posted> posts;
    attempt(outcome, [&] {
      for (Link& link : links) {
        if (link.range->members[0] != rank_) continue;
        link.object = cuda::create_multicast(*gpu_, static_cast<int>(link.range->members.size()), link.region->bytes,
                                             share_->travel);
        link.exported = link.object.export_as(share_->travel);
        posts.push_back({link.team, os::process_id(), link.region->offset, link.exported.piece});
      }
    });
    const std::vector<std::vector<Posted>> all = over.gather_lists(kCall, posts, site);
    const auto post_for = [&](const Link& link) -> const Posted& {
      const auto leader =
          std::find(over_members.begin(), over_members.end(), link.range->members[0]) - over_members.begin();
      for (const Posted& post : all[static_cast<std::size_t>(leader)]) {
        if (post.team == link.team && post.region == link.region->offset) return post;
      }
      throw Error(Code::system, "the team's first member could not make a multicast object");
    };
    attempt(outcome, [&] {
      for (Link& link : links) {
        if (!link.object) {
          const Posted& post = post_for(link);
          link.object = cuda::Chunk::import(*gpu_, post.pid, post.piece);
        }
        cuda::add_to_multicast(link.object, *gpu_);
      }
    });
    std::vector<Outcome> added = tell();
    // Only when all GPUs are in may anyone bind. All of `over` go through the last round, whatever came out.
    const bool go_on = all_good(added);
    if (go_on) {
      attempt(outcome, [&] {
        for (const Link& link : links) bind_and_map(link);
      });
    }
    std::vector<Outcome> bound = tell();
    if (go_on && all_good(bound)) return bound;
    for (const Link& link : links) cut(*link.region, link.object, *link.range);
    return go_on ? bound : added;
  } catch (...) {
    for (const Link& link : links) cut(*link.region, link.object, *link.range);
    throw;
  }
}

void GpuMulticast::bind_and_map(const Link& link) const {
  for (const Part& part : link.region->mine) {
    const std::byte* at = share_->space->slot(rank_) + part.offset;
    const cuda::Chunk memory = cuda::Chunk::retain(*gpu_, reinterpret_cast<std::uintptr_t>(at), part.bytes);
    if (!memory) throw Error(Code::internal, "memory of a slot has no handle");
    cuda::bind_to_multicast(link.object, *gpu_, part.offset - link.region->offset, memory);
  }
  link.range->space->map(0, link.region->offset, link.object);
}

void GpuMulticast::cut(const Region& region, const cuda::Chunk& object, Range& range) const noexcept {
  if (range.space != nullptr) range.space->unmap(0, region.offset, region.bytes);
  if (!object) return;
  for (const Part& part : region.mine)
    cuda::unbind_from_multicast(object, *gpu_, part.offset - region.offset, part.bytes);
}

}  // namespace isotope::runtime

#endif  // ISOTOPE_HAVE_CUDA
