#include "runtime/platform_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>

#include "os/memory.hpp"
#include "runtime/log.hpp"

namespace isotope::runtime {

namespace {

/// The GPU that this PE should drive, if any; where there should be one and it cannot be used, why not. Throws Error
/// where one was asked for and cannot be had.
std::optional<int> chosen_device(const Knobs& knobs, const bootstrap::Bootstrap& boot, std::string& why_not) {
  const int rank = boot.rank();
  const bool threads = boot.name() == "threads";
  const bool asked = knobs.platform == "cuda";
  if (knobs.platform == "cpu" || (!asked && !detail::has_gpu_code())) return std::nullopt;
  const int count = gpu_count();
  if (count == 0) {
    if (!asked) {
      // Where there is no driver nobody expected a GPU.
      if (gpu_driver_is_broken()) why_not = why_no_gpu();
      return std::nullopt;
    }
    throw Error(Code::not_supported,
                fmt::format("ISOTOPE_PLATFORM is cuda, but {}; run with ISOTOPE_PLATFORM=cpu, or auto", why_no_gpu()),
                rank);
  }
  // Left to itself a job does not choose what would be refused. `isotope run` gives one ISOTOPE_DEVICE to all;
  // elsewhere each process may have its own, from its local rank for instance.
  const int used = knobs.device != "auto" && boot.name() == "launcher" ? 1 : count;
  if (!asked && !threads && boot.size() > used && !processes_share_gpus()) {
    log_info(fmt::format(
        "{} processes on {} GPU{} without MPS: kernels run on the CPU (isotope run --platform cuda brings MPS)",
        boot.size(), used, used == 1 ? "" : "s"));
    return std::nullopt;
  }
  if (knobs.device == "auto") return (threads ? rank : knobs.local_rank.value_or(rank)) % count;
  int index = -1;
  const auto [end, error] = std::from_chars(knobs.device.data(), knobs.device.data() + knobs.device.size(), index);
  if (error != std::errc() || end != knobs.device.data() + knobs.device.size() || index < 0 || index >= count) {
    throw Error(Code::out_of_range,
                fmt::format("ISOTOPE_DEVICE is '{}'; this process sees {} GPU{}, so auto or 0 to {} was expected",
                            knobs.device, count, count == 1 ? "" : "s", count - 1),
                rank);
  }
  return index;
}

void note(PlatformBid& bid, const char* why_not) { std::snprintf(bid.why_not, sizeof bid.why_not, "%s", why_not); }

/// The GPU, or null and why in the bid where the PE is free to do without. Throws Error where it is not.
std::shared_ptr<GpuHold> take_gpu(int device, PlatformBid& bid) {
  try {
    return GpuHold::take(device);
  } catch (const Error& error) {
    if (bid.wish == Wish::cuda) throw;
    note(bid, error.what());
    return nullptr;
  }
}

/// Why a PE without a GPU has none.
std::string why_none(const PlatformBid& bid) {
  if (bid.why_not[0] != 0) return bid.why_not;
  return bid.wish == Wish::cpu ? "its ISOTOPE_PLATFORM is cpu" : "it found no GPU, or its program has no code for one";
}

}  // namespace

Bidder make_bid(const Knobs& knobs, const bootstrap::Bootstrap& boot) {
  Bidder mine;
  PlatformBid& bid = mine.bid;
  bid.wish = knobs.platform == "cuda" ? Wish::cuda : knobs.platform == "cpu" ? Wish::cpu : Wish::any;
  bid.host_heap_max = knobs.heap_max_bytes != 0 ? knobs.heap_max_bytes : os::memory_bytes();
  bid.heap_max = bid.host_heap_max;
  try {
    std::string why_not;
    const std::optional<int> device = chosen_device(knobs, boot, why_not);
    note(bid, why_not.c_str());
    if (device) mine.gpu = take_gpu(*device, bid);
    if (mine.gpu == nullptr) return mine;
    bid.device = *device;
    bid.fabric = mine.gpu->fabric_works();
    if (knobs.heap_max_bytes == 0) bid.heap_max = mine.gpu->memory_bytes();
  } catch (const Error& error) {
    mine.outcome.fail(error);
    mine.gpu.reset();
    bid.device = kNoDeviceKnown;
  }
  return mine;
}

PlatformChoice choose_platform(const std::vector<PlatformBid>& bids, int rank) {
  const auto first = [&](auto&& is) { return std::find_if(bids.begin(), bids.end(), is); };
  const auto with = first([](const PlatformBid& b) { return b.device != kNoDevice; });
  const auto without = first([](const PlatformBid& b) { return b.device == kNoDevice; });
  const auto asks = first([](const PlatformBid& b) { return b.wish == Wish::cuda; });
  const auto failed = first([](const PlatformBid& b) { return b.why_not[0] != 0; });
  if (asks != bids.end() && without != bids.end()) {
    throw Error(
        Code::refused,
        fmt::format(
            "PE {} is on platform cuda and PE {} on cpu ({}); all PEs of a job need the same (ISOTOPE_PLATFORM, "
            "and a program that was compiled for GPUs everywhere or nowhere)",
            asks - bids.begin(), without - bids.begin(), why_none(*without)),
        rank, static_cast<int>(without - bids.begin()));
  }
  PlatformChoice choice;
  choice.gpus = without == bids.end();
  choice.may_change = asks == bids.end();
  choice.fabric = std::all_of(bids.begin(), bids.end(), [](const PlatformBid& b) { return b.fabric != 0; });
  for (const PlatformBid& bid : bids) {
    if (choice.gpus) choice.largest_heap = std::max(choice.largest_heap, bid.heap_max);
    if (choice.may_change) choice.largest_heap = std::max(choice.largest_heap, bid.host_heap_max);
  }
  if (!choice.gpus && with != bids.end()) {
    const auto blame = failed != bids.end() ? failed : without;
    choice.why_cpu = fmt::format("PE {}: {}", blame - bids.begin(), why_none(*blame));
  } else if (!choice.gpus && failed != bids.end()) {
    choice.why_cpu = fmt::format("PE {}: {}", failed - bids.begin(), failed->why_not);
  }
  return choice;
}

void tell_of_cpu(int rank, const std::string& why) {
  if (rank != 0) return;
  log_warn(fmt::format("kernels run on the CPU: {} (ISOTOPE_PLATFORM=cuda makes this an error, cpu silences it)", why));
}

}  // namespace isotope::runtime
