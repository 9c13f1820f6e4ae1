#include "isotope/host/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "isotope/base/error.hpp"
#include "isotope/collective/symm.hpp"
#include "isotope/host/choice.hpp"
#include "runtime/knobs.hpp"
#include "runtime/log.hpp"

namespace isotope {

namespace {

constexpr std::size_t kDefaultSlotBytes = 9 * kSlotGranule;  // 17 KiB: beyond, two-shot algorithms win
constexpr int kCpuChannels = 2, kMostGpuChannels = 64;

/// Host calls where kernels run on the CPU: any type, by one thread.
void run_on_channel(const Team& team, const Channel& channel, const CollectiveCall& call, CallSite site) {
  detail::run_any(detail::Stage<Thread>{this_thread(), team, channel, {name_of(call.collective), site}}, call,
                  {0, call.count}, 1);
}
ISOTOPE_KERNEL void any_kernel(Team team, Workspace workspace, CollectiveCall call, CallSite site) {
  run_on_channel(team, workspace.channel(0), call, site);
}

constexpr bool is_of_packets(Algo algo) {
  return algo == Algo::ll8 || algo == Algo::ll16 || algo == Algo::ll128 || algo == Algo::lamport;
}

/// Bytes that each member's threads share out among themselves.
std::size_t bytes_by_member(const CollectiveCall& call, std::size_t members) {
  const std::size_t bytes = call.count * size_of(call.type);
  if (call.algo == Algo::two_shot) return bytes / members;
  const bool moves_all = call.collective == Collective::all_gather || call.collective == Collective::all_to_all;
  return moves_all && !is_of_packets(call.algo) ? bytes * members : bytes;
}

/// What a thread takes at a time.
constexpr std::size_t bytes_of_thread(Algo algo, bool lines) {
  return algo == Algo::ll8 ? 4 : algo == Algo::ll16 ? 8 : algo == Algo::ll128 ? (lines ? 15 : 120) : 16;
}

std::string describe(const CollectiveCall& call) {
  std::string text = fmt::format("{} ({}) of {}", name_of(call.collective), name_of(call.algo), name_of(call.type));
  if (combines(call.collective)) text += fmt::format(" by {}", name_of(call.op));
  return text;
}

/// A file that was named serves every platform; whoever named it may not have meant that.
void warn_of_other_platform(const ChoiceTable& table, bool gpu) {
  const char* here = gpu ? "cuda" : "cpu";
  if (table.platform().empty() || table.platform() == here) return;
  runtime::log_warn(
      fmt::format("the choices in {} were measured on platform {}, and PEs are on {}: what was fastest "
                  "there may be slow here; `isotope tune --platform {}` measures here",
                  table.name(), table.platform(), here, here));
}

}  // namespace

struct Collectives::Choices {
  ChoiceTable table;
  ChoiceTable built_in;  // for what a measured table says nothing about
  bool trace;
};

Collectives::Collectives(World& world, const WorkspaceOptions& options, CallSite site)
    : Collectives(world, world.team(), options, site) {}

Collectives::Collectives(World& world, const Team& team, const WorkspaceOptions& options, CallSite site)
    : world_(&world), team_(team) {
  if (options.channels < 0 || options.channels > 1024)
    throw Error(Code::invalid_argument,
                fmt::format("{} channels; 1 to 1024 were expected, or 0 for the default", options.channels),
                world.rank(), Error::kNobody, site);
  const runtime::Knobs knobs = runtime::read_knobs();
  choices_ = std::make_shared<Choices>(
      Choices{ChoiceTable::load(knobs.tune_file, world.drives_gpu()).ranked_for(team.size()),
              ChoiceTable::built_in(world.drives_gpu()).ranked_for(team.size()), knobs.trace_choices});
  if (world.rank() == 0) warn_of_other_platform(choices_->table, world.drives_gpu());
  total_ = world.alloc<std::uint64_t>(1, {.zeroed = true}, site);
  // Blocks of a collective run together: one for each multiprocessor of the PE that has the fewest.
  const LeastGpu least = world.drives_gpu() ? least_gpu(site) : LeastGpu{1, 0};
  const int together = std::min(least.multiprocessors, kMostGpuChannels);
  const int channels = options.channels != 0 ? options.channels : world.drives_gpu() ? together : kCpuChannels;
  blocks_of_variable_ = std::min(channels, together);
  if (!detail::kCheckAddresses && least.capability >= 90) landing_blocks_ = static_cast<std::size_t>(channels);
  const std::size_t wanted = options.slot_bytes != 0 ? options.slot_bytes : kDefaultSlotBytes;
  const std::size_t slot = (wanted + kSlotGranule - 1) / kSlotGranule * kSlotGranule;
  // The same on every PE, whatever its team.
  const int members = world.size();
  const std::size_t channel = Workspace::channel_bytes(members, slot);
  memory_ = world.alloc<char>(channel * static_cast<std::size_t>(channels), {.zeroed = true}, site);
  workspace_ = Workspace(memory_.data(), channels, members, slot);
  clear_lamport_slots();
  if (team_.size() != 0) stops_ = load(&team_.state().stops);
  agree_on_choices(site);
}

void Collectives::clear_lamport_slots() {
  const std::size_t slot = workspace_.slot_bytes();
  const std::size_t channel = Workspace::channel_bytes(workspace_.members(), slot);
  const std::size_t at = Workspace::offset_of(SlotKind::lamport, workspace_.members(), slot);
  const std::vector<char> clear(channel - at, static_cast<char>(0xff));
  for (int c = 0; c < workspace_.channels(); ++c) memory_.write(clear, static_cast<std::size_t>(c) * channel + at);
}

void Collectives::recover(CallSite site) {
  require_member("recover", site);
  std::exception_ptr untold;
  try {
    world_->synchronize();
  } catch (const Error& error) {
    if (error.code() == Code::invalid_argument) throw;  // called where it would wait for itself
    // Calls that were not met are why this is called. What ended the job is thrown again by the barrier.
    if (error.code() != Code::timeout && error.code() != Code::mismatch) untold = std::current_exception();
  }
  // Who gave up first waits here for members that come to the call later: they wait a deadline there, too, and may have
  // come nearly a deadline late.
  constexpr std::uint64_t kDeadlines = 3;
  // Nobody's kernels write here any more, then nobody's may before all are done.
  world_->barrier_of("recover", team_, kDeadlines, site);
  const std::vector<char> zeros(Workspace::channel_bytes(workspace_.members(), workspace_.slot_bytes()));
  for (int c = 0; c < workspace_.channels(); ++c) memory_.write(zeros, static_cast<std::size_t>(c) * zeros.size());
  clear_lamport_slots();
  stops_ = load(&team_.state().stops);
  world_->barrier_of("recover", team_, kDeadlines, site);
  if (untold) std::rethrow_exception(untold);
}

Collectives::LeastGpu Collectives::least_gpu(CallSite site) const {
  const Team all = world_->team();
  LeastGpu least{world_->multiprocessors(), world_->compute_capability()};
  total_.set(0, static_cast<std::uint64_t>(least.multiprocessors) << 32 | static_cast<std::uint64_t>(least.capability));
  world_->barrier(site);
  for (int pe = 0; pe < all.size(); ++pe) {
    const std::uint64_t theirs = total_.read_from(all, pe).front();
    least.multiprocessors = std::min(least.multiprocessors, static_cast<int>(theirs >> 32));
    least.capability = std::min(least.capability, static_cast<int>(theirs & 0xffffffffu));
  }
  world_->barrier(site);
  return {std::max(least.multiprocessors, 1), least.capability};
}

/// PEs that chose by different tables would wait for each other.
void Collectives::agree_on_choices(CallSite site) const {
  const std::uint64_t mine = choices_->table.fingerprint();
  total_.set(0, mine);
  world_->barrier(site);
  const Team all = world_->team();
  for (int pe = 0; pe < all.size(); ++pe) {
    if (total_.read_from(all, pe).front() == mine) continue;
    world_->barrier(site);
    throw Error(Code::mismatch,
                fmt::format("PE {} has another table of choices than PE {} ({} here): let all PEs read the same "
                            "ISOTOPE_TUNE_FILE",
                            pe, world_->rank(), choices_->table.name()),
                world_->rank(), pe, site);
  }
  world_->barrier(site);
}

void Collectives::refuse_gpu(const CollectiveCall& call, CallSite site) const {
  throw Error(Code::not_supported,
              fmt::format("{}: this PE drives a GPU, and the file that calls was not compiled for one (nvcc does)",
                          name_of(call.collective)),
              world_->rank(), Error::kNobody, site);
}

SymmContext Collectives::symm_context(CallSite site) const {
  require_in_step("symm_context", site);
  return {SymmContext::kIsotope, team_.rank(), team_.size(), team_, workspace_};
}

void Collectives::require_member(const char* call, CallSite site) const {
  if (team_.size() > 0) return;
  throw Error(Code::invalid_argument, fmt::format("{}: this PE is no member of the team", call), world_->rank(),
              Error::kNobody, site);
}

void Collectives::throw_out_of_step(const char* call, CallSite site) const {
  throw Error(Code::out_of_step,
              fmt::format("{}: an earlier call on this team failed in a kernel, and its members may each have come to "
                          "another place. Let all members call Collectives::recover() first",
                          call),
              world_->rank(), Error::kNobody, site);
}

/// Whether kernels find that address in one symmetric object.
bool Collectives::passes_as_symmetric(const void* p, std::size_t bytes) const {
  const ObjectRange object = world_->object_at(p);
  return object.bytes != 0 && bytes <= object.bytes - (reinterpret_cast<std::uint64_t>(p) - object.begin);
}

void Collectives::refuse(Code code, const std::string& what, const std::string& why, CallSite site) const {
  throw Error(code, fmt::format("{}: {}. Nothing was moved", what, why), world_->rank(), Error::kNobody, site);
}

void Collectives::require_symmetric(const char* call, const char* argument, const void* p, std::size_t bytes,
                                    CallSite site) const {
  if (passes_as_symmetric(p, bytes)) return;
  refuse(Code::not_symmetric, call, fmt::format("{} ({} bytes) does not lie in one symmetric object", argument, bytes),
         site);
}

void Collectives::check(CollectiveCall& call, CallSite site) const {
  const auto bad = [&](Code code, const std::string& why) { refuse(code, describe(call), why, site); };
  if (const char* why = why_not(call.collective, call.algo, call.type, call.op)) bad(Code::not_supported, why);
  if (call.root < 0 || call.root >= team_.size())
    bad(Code::out_of_range,
        fmt::format("the root is {}; a rank of the team, 0 to {}, was expected", call.root, team_.size() - 1));
  const std::size_t element = size_of(call.type), members = static_cast<std::size_t>(team_.size());
  if (call.count > kAnyBytes / 16 / element / members)
    bad(Code::out_of_range, fmt::format("{} elements are more than an address space holds", call.count));
  if (call.count != 0 && (call.dst == nullptr || call.src == nullptr))
    bad(Code::invalid_argument,
        fmt::format("{} is null with {} elements", call.dst == nullptr ? "dst" : "src", call.count));
  choose(call);
  if (!detail::overlap_is_allowed(call, element, team_.rank(), team_.size()))
    bad(Code::invalid_argument, "dst and src overlap where they may not; calls.hpp says where they may be the same");
  if (call.count == 0) return;
  const detail::BufferElements elements = detail::elements_of(call.collective, call.count, team_.size());
  const SymmetricNeeds needs = needs_of(call.collective, call.algo);
  // The words of an error only for an error: they take longer than a small collective.
  const auto require = [&](const char* argument, const void* p, std::size_t count) {
    if (!passes_as_symmetric(p, count * element))
      require_symmetric(describe(call).c_str(), argument, p, count * element, site);
  };
  if (needs.dst) require("dst", call.dst, elements.dst);
  if (needs.src) require("src", call.src, elements.src);
}

void Collectives::check_collect(const void* dst, const void* src, std::size_t n, std::size_t element,
                                CallSite site) const {
  if (n > kAnyBytes / 16 / element)
    refuse(Code::out_of_range, "collect", fmt::format("{} elements are more than an address space holds", n), site);
  if (n != 0 && src == nullptr)
    refuse(Code::invalid_argument, "collect", fmt::format("src is null with {} elements", n), site);
  // What all members bring is known once they have told; the checked build holds dst against that.
  if (dst != nullptr || n != 0) require_symmetric("collect", "dst", dst, n * element, site);
}

void Collectives::check_all_to_all_v(const void* dst_offsets, const void* src, const void* counts,
                                     const void* src_offsets, CallSite site) const {
  constexpr const char* kCall = "all_to_all_v";
  const std::size_t entries = static_cast<std::size_t>(team_.size()) * sizeof(std::uint64_t);
  if (dst_offsets == nullptr) refuse(Code::invalid_argument, kCall, "dst_offsets is null", site);
  require_symmetric(kCall, "counts", counts, entries, site);
  require_symmetric(kCall, "src_offsets", src_offsets, entries, site);
  require_symmetric(kCall, "src", src, 0, site);
}

void Collectives::choose(CollectiveCall& call) const {
  const char* by = "asked for";
  const std::size_t bytes = call.count * size_of(call.type);
  if (call.algo == Algo::automatic) {
    for (const ChoiceTable* table : {&choices_->table, &choices_->built_in}) {
      by = table->name().c_str();
      call.algo = table->choose(call, team_.size(), landing_blocks_);
      if (call.algo != Algo::automatic) break;
    }
    // What suits most types may not suit this one.
    const bool in_place = !detail::overlap_is_allowed(call, size_of(call.type), team_.rank(), team_.size());
    if (in_place || why_not(call.collective, call.algo, call.type, call.op) != nullptr) {
      by = "default";
      // Other packets for a type that has no value to spare, or does not fit, as far as that was measured.
      constexpr std::size_t kMostPackets = 64 << 10;
      const bool lamport = call.collective == Collective::all_reduce && call.algo == Algo::ll8 && is_float(call.type);
      const Algo packets = lamport ? Algo::lamport : Algo::ll16;
      const bool as_packets = is_of_packets(call.algo) && bytes <= kMostPackets &&
                              why_not(call.collective, packets, call.type, call.op) == nullptr;
      call.algo = as_packets ? packets : detail::default_algorithm(call.collective, call.type, bytes);
      if (call.collective == Collective::all_to_all && call.dst == call.src)
        call.algo = world_->drives_gpu() ? Algo::ll16 : Algo::eager;
    }
  }
  if (choices_->trace) {
    runtime::log_trace(fmt::format("PE {}: {}, {} bytes, {} members: {} ({})", world_->rank(), name_of(call.collective),
                                   bytes, team_.size(), name_of(call.algo), by));
  }
}

void Collectives::enqueue(const Stream& stream, const CollectiveCall& call, CallSite site) {
  CollectiveCall checked = call;
  check_or_tell<false>(stream, name_of(call.collective), site, [&] { check(checked, site); });
  world_->launch<any_kernel>({.stream = stream}, team_, workspace_, checked, site);
}

void Collectives::run(const CollectiveCall& call, CallSite site) {
  CollectiveCall checked = call;
  check_or_tell<false>({}, name_of(call.collective), site, [&] { check(checked, site); });
  // By reference, here and in the kernel: copies and an allocation would be a tenth of a small collective.
  const auto body = [&] { run_on_channel(team_, workspace_.channel(0), checked, site); };
  world_->run_host_kernel({}, std::cref(body));
}

LaunchConfig Collectives::shape(const CollectiveCall& call, const How& how, const Stream& stream, bool lines) const {
  const auto up = [](std::size_t a, std::size_t b) { return (a + b - 1) / b; };
  const auto most = static_cast<std::size_t>(workspace_.channels());
  // A word or a packet for each thread while there are blocks to have, then more for each.
  constexpr std::size_t kWarp = 32;
  const std::size_t few = is_of_packets(call.algo) ? 128 : 256;
  const std::size_t words =
      up(bytes_by_member(call, static_cast<std::size_t>(team_.size())), bytes_of_thread(call.algo, lines));
  const std::size_t blocks = how.blocks != 0 ? how.blocks : std::clamp<std::size_t>(up(words, few), 1, most);
  if (blocks > most)
    throw Error(Code::out_of_range,
                fmt::format("{} blocks; the workspace has {} channels (WorkspaceOptions::channels)", blocks, most),
                world_->rank());
  const std::size_t threads =
      std::clamp<std::size_t>(up(up(words, blocks), kWarp) * kWarp, kWarp, detail::kCollectiveThreads);
  return {.grid = static_cast<std::uint32_t>(blocks),
          .block = static_cast<std::uint32_t>(threads),
          .stream = stream,
          .programmatic = true};
}

LaunchConfig Collectives::shape_of_variable(const Stream& stream) const {
  return {.grid = static_cast<std::uint32_t>(blocks_of_variable_),
          .block = world_->drives_gpu() ? static_cast<std::uint32_t>(detail::kCollectiveThreads) : 1u,
          .stream = stream};
}

}  // namespace isotope
