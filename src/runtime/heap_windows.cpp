// World::register_memory: memory that users own, mapped a second time where all PEs reach it.
//
// Every PE brings the pieces that its range lies in. They lie in its slot as they do where the user has them, shifted
// so that the ranges themselves begin at one offset everywhere:
//
//   window range of PE 0:      | piece ...##range######## ... |
//   window range of PE 1:  | piece .......##range########.|
//   of all                 ^ window       ^ object
#include <fmt/format.h>

#include <algorithm>

#include "runtime/heap_proposal.hpp"
#include "runtime/watcher.hpp"

namespace isotope::runtime {

namespace {
constexpr const char* kCall = "register_memory";
}  // namespace

Heap::Block Heap::register_memory(void* data, std::uint64_t bytes, CallSite site) {
  Proposal mine;
  mine.bytes = bytes;
  mine.alignment = memory_->window_granule();
  WindowOffer offer;
  try {
    offer = memory_->offer_window(data, bytes);
    mine.lead = offer.lead;
    mine.span = offer.bytes;
  } catch (const Error& error) {
    mine.fail(error.code(), error.what());
  }
  Object object;
  Proposal done;
  try {
    Waiting waiting;
    const std::vector<Proposal> all = agree(kCall, mine, site, &waiting);
    recycle(waiting, site);  // what all have let go of holds the users' memory, too
    object = place_window(data, all, site);
    const std::vector<std::vector<cuda::SharedPiece>> pieces = world_->gather_lists(kCall, offer.pieces, site);
    done = mine;
    try {
      for (int pe = 0; pe < size_; ++pe) {
        const Proposal& p = all[static_cast<std::size_t>(pe)];
        memory_->map_window(pe, p.pid, object.offset - p.lead, pieces[static_cast<std::size_t>(pe)]);
      }
      memory_->join_window();
    } catch (const Error& error) {
      done.fail(error.code(), error.what());
    }
    // Also keeps what is exported until everyone has it.
    const std::vector<Proposal> outcome = agree(kCall, done, site, nullptr);
    for (const Proposal& p : outcome) {
      if (p.code != 0) throw_failure(kCall, outcome, site);
    }
    memory_->reach_window(object.window.offset, object.window.bytes, *world_, site);
  } catch (...) {
    memory_->drop_window();
    const std::lock_guard lock(mutex_);
    if (object.window.bytes != 0) windows_.release(object.window.offset);
    throw;
  }
  memory_->keep_window();
  const std::lock_guard lock(mutex_);
  objects_.emplace(done.ordinal, object);
  index_.add(address_of(object), bytes);
  publish();
  watcher::object_made(rank_, done.ordinal, address_of(object), bytes, true, site);
  return {done.ordinal, address_of(object), bytes};
}

Heap::Object Heap::place_window(void* data, const std::vector<Proposal>& all, CallSite site) {
  for (const Proposal& p : all) {
    if (!p.same_request(all[0])) throw_mismatch(kCall, all, p, site);
  }
  std::uint64_t lead = 0, tail = 0;
  for (const Proposal& p : all) {
    if (p.code != 0) throw_failure(kCall, all, site);
    lead = std::max(lead, p.lead);
    tail = std::max(tail, p.span - p.lead);
  }
  const std::uint64_t granule = all[0].alignment;
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    if (all[pe].lead % granule == all[0].lead % granule) continue;
    throw Error(
        Code::misaligned,
        fmt::format(
            "{}: memory is mapped in granules of {} bytes; it begins {} bytes into one on PE 0 and {} on PE {}, "
            "and must begin alike on all PEs. Register the whole allocation, or an equal part of it",
            kCall, granule, all[0].lead % granule, all[pe].lead % granule, pe),
        rank_, static_cast<int>(pe), site);
  }
  const std::lock_guard lock(mutex_);
  const auto offset = windows_.allocate(lead + tail, granule);
  if (!offset) {
    throw Error(
        Code::out_of_heap,
        fmt::format("{}: the range for registered memory has {} bytes and no {} of them together are free. Free "
                    "something, or raise ISOTOPE_HEAP_MAX, which sizes this range too",
                    kCall, windows_.limit(), lead + tail),
        rank_, kNoPe, site);
  }
  Object object{.offset = *offset + lead, .bytes = all[0].bytes, .owner = data};
  object.window = {*offset, lead + tail};
  return object;
}

}  // namespace isotope::runtime
