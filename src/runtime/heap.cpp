#include "runtime/heap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "os/process.hpp"
#include "runtime/heap_proposal.hpp"
#include "runtime/watcher.hpp"

namespace isotope::runtime {

namespace {
constexpr std::uint64_t kMaxAlignment = 2ull << 20;
}  // namespace

std::byte* Heap::address_of(const Object& object) const {
  const Layout& layout = job_->layout();
  return memory_->slot(rank_) + (object.window.bytes != 0 ? layout.window_offset() : layout.heap_offset()) +
         object.offset;
}

Heap::Heap(ProcessJob& job, Exchange& world, std::unique_ptr<HeapMemory> memory, int rank, int size,
           std::uint64_t max_bytes, bool prefault, ObjectTable& objects)
    : job_(&job),
      world_(&world),
      memory_(std::move(memory)),
      rank_(rank),
      size_(size),
      max_bytes_(std::min(max_bytes, job.layout().heap_bytes)),
      prefault_(prefault),
      space_(job.layout().heap_bytes),
      windows_(job.layout().window_bytes),
      table_(&objects),
      index_(objects) {}

std::vector<Heap::Proposal> Heap::agree(const char* call, Proposal& mine, CallSite site, Waiting* waiting) {
  mine.ordinal = ordinal_ + 1;
  mine.pid = os::process_id();
  mine.line = site.line;
  // The end of a path says more than its start.
  const std::size_t length = std::strlen(site.file);
  std::snprintf(mine.file, sizeof mine.file, "%s",
                site.file + (length < sizeof mine.file ? 0 : length - sizeof mine.file + 1));
  {
    const std::lock_guard lock(mutex_);
    mine.waiting = waiting_;
    mine.max_bytes = max_bytes_;
    mine.free_bytes = max_bytes_ - std::min(max_bytes_, space_.used_bytes());
    mine.largest_free = std::min(space_.largest_free(), mine.free_bytes);
  }
  std::vector<Proposal> all = world_->gather(call, mine, site);
  ++ordinal_;  // only now: a call that met a different one on another PE has not happened on any
  if (waiting != nullptr) {
    *waiting = {all[0].waiting, all[0].waiting};
    for (const Proposal& p : all) *waiting = {std::min(waiting->least, p.waiting), std::max(waiting->most, p.waiting)};
  }
  return all;
}

Heap::Block Heap::allocate(std::uint64_t bytes, const AllocOptions& options, CallSite site) {
  Waiting waiting;
  try {
    const Block block = try_allocate(bytes, options, site, waiting);
    recycle(waiting, site);
    return block;
  } catch (const Error& error) {
    // Every PE came here with the same error and the same counts. What all have let go of may be what is lacking.
    if (error.code() != Code::out_of_heap || waiting.least == 0) throw;
  }
  recycle(waiting, site);
  return try_allocate(bytes, options, site, waiting);
}

Heap::Block Heap::try_allocate(std::uint64_t bytes, const AllocOptions& options, CallSite site, Waiting& waiting) {
  Proposal mine;
  mine.bytes = bytes;
  mine.alignment = options.alignment;
  if (!std::has_single_bit(options.alignment) || options.alignment > kMaxAlignment) {
    mine.fail(Code::invalid_argument, fmt::format("an alignment of {} bytes; a power of two up to {} was expected",
                                                  options.alignment, kMaxAlignment));
  } else {
    const std::lock_guard lock(mutex_);
    if (const auto offset = space_.allocate(bytes + watcher::kGapBytes, options.alignment)) mine.offset = *offset;
  }
  const std::uint64_t end = mine.offset == kNowhere ? 0 : mine.offset + *space_.block_bytes(mine.offset);
  if (mine.code == 0 && (mine.offset == kNowhere || end > max_bytes_)) {
    mine.fail(Code::out_of_heap, "its symmetric heap is full");
  } else if (mine.code == 0) {
    try {
      mine.grown = memory_->grow(job_->layout().heap_offset() + end);
      std::byte* data = memory_->slot(rank_) + job_->layout().heap_offset() + mine.offset;
      // Memory that was never handed out is zero already.
      if (options.zeroed && mine.offset < fresh_from_) memory_->fill(data, 0, std::min(end, fresh_from_) - mine.offset);
#if ISOTOPE_CHECKED
      if (!options.zeroed) memory_->fill(data, 0xA5, end - mine.offset);
      fresh_from_ = std::max(fresh_from_, end);  // also when the call is taken back
#endif                                           // ISOTOPE_CHECKED
      if (prefault_) memory_->prefault(data, end - mine.offset);
    } catch (const Error& error) {
      mine.fail(error.code(), error.what());
    }
  }

  std::vector<Proposal> all;
  try {
    all = agree("alloc", mine, site, &waiting);
    for (const Proposal& p : all) {
      if (!p.same_request(all[0])) throw_mismatch("alloc", all, p, site);
    }
    for (const Proposal& p : all) {
      if (p.code != 0) throw_failure("alloc", all, site);
    }
    for (const Proposal& p : all) {
      // Same calls, same sizes, other offsets: our bug, and it must never become silent corruption.
      if (p.offset != all[0].offset)
        throw Error(Code::internal, "PEs disagree about the place of a symmetric object", rank_, kNoPe, site);
    }
    if (mine.grown.there()) {
      share_growth("alloc", mine, all, site);
      memory_->reach_growth(*world_, site);
    }
    memory_->keep_growth();
  } catch (...) {
    memory_->drop_growth();
    const std::lock_guard lock(mutex_);
    if (mine.offset != kNowhere) space_.release(mine.offset);
    throw;
  }

  const std::lock_guard lock(mutex_);
  fresh_from_ = std::max(fresh_from_, end);
  const Object object{.offset = mine.offset, .bytes = bytes};
  objects_.emplace(mine.ordinal, object);
  index_.add(address_of(object), bytes);
  publish();
  watcher::object_made(rank_, mine.ordinal, address_of(object), bytes, options.zeroed, site);
  return {mine.ordinal, address_of(object), bytes};
}

void Heap::publish() {
  try {
    memory_->publish_objects(*table_);
  } catch (const Error& error) {
    // The PEs have agreed already: one that cannot go along ends the job rather than leave the others waiting.
    job_->segment().abort(rank_, {error.code(), rank_, rank_, 0, fmt::format("PE {}: {}", rank_, error.what())});
    throw;
  }
}

void Heap::share_growth(const char* call, const Proposal& mine, const std::vector<Proposal>& all, CallSite site) {
  Proposal done = mine;
  try {
    for (int pe = 0; pe < size_; ++pe) {
      const Proposal& p = all[static_cast<std::size_t>(pe)];
      if (pe != rank_) memory_->map_growth(pe, p.pid, p.grown);
    }
  } catch (const Error& error) {
    done.fail(error.code(), error.what());
  }
  // Also keeps each descriptor open until everyone has it.
  const std::vector<Proposal> outcome = agree(call, done, site, nullptr);
  for (const Proposal& p : outcome) {
    if (p.code != 0) throw_failure(call, outcome, site);
  }
}

void Heap::release(std::uint64_t id, CallSite site) {
  Proposal mine;
  {
    const std::lock_guard lock(mutex_);
    const auto object = objects_.find(id);
    if (object == objects_.end() || object->second.let_go) {
      mine.fail(Code::not_symmetric, "it holds no symmetric object of this World, or was freed before");
    } else {
      mine.offset = object->second.offset;
      mine.bytes = object->second.bytes;
    }
  }
  Waiting waiting;
  const std::vector<Proposal> all = agree("free", mine, site, &waiting);
  for (const Proposal& p : all) {
    if (p.code != 0) throw_failure("free", all, site);
  }
  for (const Proposal& p : all) {
    if (p.ordinal != all[0].ordinal || p.offset != all[0].offset || p.bytes != all[0].bytes)
      throw_mismatch("free", all, p, site);
  }
  drop(id);
  recycle(waiting, site);
}

void Heap::drop(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto object = objects_.find(id);
  if (object->second.let_go) --waiting_;
  if (object->second.window.bytes != 0) {
    give_back(object->second);
    memory_->unmap_window(object->second.window.offset, object->second.window.bytes);
    windows_.release(object->second.window.offset);
  } else {
    space_.release(object->second.offset);
  }
  index_.remove(address_of(object->second));
  watcher::object_freed(rank_, address_of(object->second));
  objects_.erase(object);
  publish();
}

void Heap::let_go(std::uint64_t id) noexcept {
  const std::lock_guard lock(mutex_);
  const auto object = objects_.find(id);
  if (object == objects_.end() || object->second.let_go) return;
  object->second.let_go = true;
  watcher::object_let_go(rank_, address_of(object->second));
  ++waiting_;
  // The user may free the memory from now on, and the allocator may hand it to anybody: it must be ordinary memory
  // again.
  give_back(object->second);
}

void Heap::give_back(Object& object) noexcept {
  if (object.owner != nullptr) memory_->give_back(object.owner, object.bytes);
  object.owner = nullptr;
}

void Heap::recycle(const Waiting& waiting, CallSite site) {
  if (waiting.least == 0) return;
  // Everyone has let go of something: all say of what, in lists of one length, and what all named goes. The rest waits
  // for a later call.
  std::vector<std::uint64_t> mine;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, object] : objects_) {
      if (object.let_go && mine.size() < waiting.most) mine.push_back(id);
    }
  }
  mine.resize(waiting.most, 0);
  const auto bytes = world_->allgather("recycle", std::as_bytes(std::span(mine)), site);
  std::map<std::uint64_t, int> named;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t id = 0;
    std::memcpy(&id, bytes.data() + i, sizeof id);
    if (id != 0) ++named[id];
  }
  for (const auto& [id, count] : named) {
    if (count == size_) drop(id);
  }
}

HeapUse Heap::use() const {
  const std::lock_guard lock(mutex_);
  HeapUse use;
  use.limit = max_bytes_;
  use.used = space_.used_bytes();
  use.free = max_bytes_ - std::min(max_bytes_, use.used);
  use.largest_free = std::min(space_.largest_free(), use.free);
  use.objects = objects_.size();
  use.free_ranges = space_.free_ranges();
  use.waiting_for_peers = waiting_;
  return use;
}

std::string Heap::describe(const void* address) const {
  const int pe = memory_->slot_of(address);
  if (pe == kNoPe) return "no symmetric object";
  const std::uint64_t at = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - memory_->slot(pe));
  const std::lock_guard lock(mutex_);
  for (const auto& [id, object] : objects_) {
    const std::uint64_t start =
        (object.window.bytes != 0 ? job_->layout().window_offset() : job_->layout().heap_offset()) + object.offset;
    if (at < start || at >= start + object.bytes) continue;
    return fmt::format("symmetric object {} ({} bytes) + {}", id, object.bytes, at - start);
  }
  return fmt::format("offset {} of PE {}'s slot, in no symmetric object", at, pe);
}

void Heap::throw_mismatch(const char* call, const std::vector<Proposal>& all, const Proposal& differs,
                          CallSite site) const {
  std::string text = fmt::format("{}: PEs passed different arguments, and nothing was changed:", call);
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    const Proposal& p = all[pe];
    if (pe == 16) text += fmt::format(" ... {} more", all.size() - pe);
    if (pe >= 16) continue;
    text += fmt::format("\n  PE {}: {} bytes, alignment {}, heap call {} at {}:{}", pe, p.bytes, p.alignment, p.ordinal,
                        p.file, p.line);
  }
  throw Error(Code::mismatch, text, rank_, static_cast<int>(&differs - all.data()), site);
}

void Heap::throw_failure(const char* call, const std::vector<Proposal>& all, CallSite site) const {
  const auto failed = std::find_if(all.begin(), all.end(), [](const Proposal& p) { return p.code != 0; });
  const auto pe = static_cast<int>(failed - all.begin());
  const auto code = static_cast<Code>(failed->code);
  std::string text =
      fmt::format("{} of {} bytes failed on PE {}, so on every PE: {}", call, failed->bytes, pe, failed->message);
  if (code == Code::out_of_heap) {
    text += fmt::format(
        "; {} bytes are free of {}, the largest free block has {}. Free something, or raise ISOTOPE_HEAP_MAX (now {})",
        failed->free_bytes, failed->max_bytes, failed->largest_free, failed->max_bytes);
  }
  throw Error(code, text, rank_, pe, site);
}

}  // namespace isotope::runtime
