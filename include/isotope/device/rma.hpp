// Remote memory access: put and get between this PE and a member of a team.
//
//   put(block, team, dst, src, right);                                        // my src into right's dst
//   put_signal(block, team, dst, src, &arrived, 1, SignalOp::add, right);     // the same, then the signal
//
// `dst` of a put and `src` of a get are symmetric and given as this PE's own address of them; the other end is any
// memory of this PE. Ranges do not overlap. All threads of the group call, with the same arguments, and share the work.
//
//   call               group on entry      when it returns
//   put                synchronised        the source may be reused, by every thread of the group
//   get                synchronised        the data is there, for every thread of the group
//   put_nbi, get_nbi   not                 nothing is promised until quiet
//   put_signal         synchronised        the source may be reused; whoever sees the signal with acquire sees the data
//   p, g               one thread          as put and get, of one value
//   iput, iget         synchronised        as put and get, of every stride-th element
//
// Order towards other PEs: none until a signal, a fence or a barrier. A stopped team moves nothing. A bad rank or, in
// the checked build, a bad address is recorded and nothing is moved (check.hpp).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "isotope/base/call_site.hpp"
#include "isotope/device/check.hpp"
#include "isotope/device/group.hpp"
#include "isotope/device/signal.hpp"
#include "isotope/device/team.hpp"

namespace isotope {

/// Which queue a non-blocking call uses, and which one quiet waits for. The default is the team's own. Platforms that
/// reach every PE with loads and stores have no queues: there all contexts are one.
class Context {
 public:
  Context() = default;
};

namespace detail {

/// Whether a copy is done when the call returns.
enum class Blocking { yes, no };

template <Group G>
inline constexpr CopyBy kCopyBy = std::same_as<G, Thread> ? CopyBy::thread
                                  : std::same_as<G, Warp> ? CopyBy::warp
                                                          : CopyBy::block;

template <Blocking B = Blocking::yes, Group G>
ISOTOPE_HD void copy(G group, void* dst, const void* src, std::size_t bytes) {
  if constexpr (B == Blocking::yes) {
    platform::copy_share<kCopyBy<G>>(dst, src, bytes, group.thread_rank(), group.size());
  } else {
    platform::start_copy_share<kCopyBy<G>>(dst, src, bytes, group.thread_rank(), group.size());
  }
}

ISOTOPE_HD bool put_is_good(const Team& team, Call call, const void* dst, const void* src, std::size_t bytes, int to,
                            std::size_t alignment = 1) {
  if constexpr (kCheckAddresses) {
    if (!local_is_good(team, call, "src", src, bytes)) return false;
  }
  return remote_is_good(team, call, "to", to, "dst", dst, bytes, alignment);
}

ISOTOPE_HD bool get_is_good(const Team& team, Call call, const void* dst, const void* src, std::size_t bytes, int from,
                            std::size_t alignment = 1) {
  if constexpr (kCheckAddresses) {
    if (!local_is_good(team, call, "dst", dst, bytes)) return false;
  }
  return remote_is_good(team, call, "from", from, "src", src, bytes, alignment);
}

ISOTOPE_HD bool strides_are_good(const Team& team, Call call, std::size_t dst_stride, std::size_t src_stride) {
  if constexpr (kCheckAddresses)
    return stride_is_good(team, call, "dst_stride", dst_stride) && stride_is_good(team, call, "src_stride", src_stride);
  return true;
}

template <Blocking B, Group G>
ISOTOPE_HD void start_put(G group, const Team& team, void* dst, const void* src, std::size_t bytes, int to, Call call) {
  if (bytes == 0 || team.stopped() || !put_is_good(team, call, dst, src, bytes, to)) return;
  copy<B>(group, team.at(static_cast<char*>(dst), to), src, bytes);
}

template <Blocking B, Group G>
ISOTOPE_HD void start_get(G group, const Team& team, void* dst, const void* src, std::size_t bytes, int from,
                          Call call) {
  if (bytes == 0 || team.stopped() || !get_is_good(team, call, dst, src, bytes, from)) return;
  copy<B>(group, dst, team.at(static_cast<const char*>(src), from), bytes);
}

template <Blocking B, Group G>
ISOTOPE_HD void put_then_signal(G group, const Team& team, void* dst, const void* src, std::size_t bytes, Signal* flag,
                                std::uint64_t value, SignalOp op, int to, Call call) {
  // No signal goes out without all of its data: a stop that one thread of the group knows of is known to all after they
  // met. They look after that, and again before the signal, or, where each knows of its own stops alone, tell each
  // other.
  if constexpr (platform::kStopIsCheap) group.sync();
  // Both addresses before the first byte.
  const bool mine_is_good = !team.stopped() && put_is_good(team, call, dst, src, bytes, to) &&
                            remote_is_good(team, call, "to", to, "signal", flag, sizeof(Signal), sizeof(Signal));
  const bool good = platform::kStopIsCheap ? mine_is_good : agree(group, mine_is_good);
  // Begun before the group's answer is looked at, by those who know of nothing that is wrong. What else there is to
  // work out is worked out while the words are on their way.
  const platform::BegunCopy<kCopyBy<G>> mine(dst, src, mine_is_good ? bytes : 0, group.thread_rank(), group.size());
  const std::ptrdiff_t there = mine_is_good || !kCheckRanks ? team.distance(to) : 0;
  char* theirs = static_cast<char*>(dst) + there;
  static_assert(offsetof(Signal, value) == 0);
  auto* word = reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(flag) + there);
  if constexpr (B == Blocking::no) {
    if (good && platform::put_signal_later(group.is_leader(), theirs, src, bytes, word, value, op)) return;
  }
  word = platform::ready(word);
  const Scope reach = platform::ready(team.reach());
  const bool delivers = platform::ready(good && group.is_leader());
  if (good) mine.finish(theirs);
  group.sync();
  // Where each looked for itself, one may have seen a stop that came after another had looked.
  if (platform::kStopIsCheap && team.stopped()) return;
  if (delivers) deliver(reach, word, value, op, Order::release);
}

/// How many bytes are moved: all that were asked for. The checked build refuses a span at the other end that is
/// shorter.
template <class T>
ISOTOPE_HD std::size_t bytes_within(const Team& team, Call call, const char* argument, Span<T> other,
                                    std::size_t bytes) {
  if constexpr (kCheckAddresses) {
    if (bytes > other.size_bytes()) {
      refuse(team, call, Fault::past_object, argument,
             static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(other.data())),
             static_cast<std::int64_t>(other.size_bytes()), static_cast<std::int64_t>(bytes));
      return 0;
    }
  }
  return bytes;
}

}  // namespace detail

// ---- bytes ----------------------------------------------------------------------------------------------------------
template <Group G>
ISOTOPE_HD void put_nbi_bytes(G group, const Team& team, void* dst, const void* src, std::size_t bytes, int to,
                              Context = {}, CallSite site = CallSite::current()) {
  detail::start_put<detail::Blocking::no>(group, team, dst, src, bytes, to, {"put_nbi", site});
}

template <Group G>
ISOTOPE_HD void get_nbi_bytes(G group, const Team& team, void* dst, const void* src, std::size_t bytes, int from,
                              Context = {}, CallSite site = CallSite::current()) {
  detail::start_get<detail::Blocking::no>(group, team, dst, src, bytes, from, {"get_nbi", site});
}

template <Group G>
ISOTOPE_HD void put_bytes(G group, const Team& team, void* dst, const void* src, std::size_t bytes, int to,
                          CallSite site = CallSite::current()) {
  group.sync();
  detail::start_put<detail::Blocking::yes>(group, team, dst, src, bytes, to, {"put", site});
  group.sync();
}

template <Group G>
ISOTOPE_HD void get_bytes(G group, const Team& team, void* dst, const void* src, std::size_t bytes, int from,
                          CallSite site = CallSite::current()) {
  group.sync();
  detail::start_get<detail::Blocking::yes>(group, team, dst, src, bytes, from, {"get", site});
  group.sync();
}

template <Group G>
ISOTOPE_HD void put_signal_bytes(G group, const Team& team, void* dst, const void* src, std::size_t bytes, Signal* flag,
                                 std::uint64_t value, SignalOp op, int to, CallSite site = CallSite::current()) {
  detail::put_then_signal<detail::Blocking::yes>(group, team, dst, src, bytes, flag, value, op, to,
                                                 {"put_signal", site});
}

template <Group G>
ISOTOPE_HD void put_signal_nbi_bytes(G group, const Team& team, void* dst, const void* src, std::size_t bytes,
                                     Signal* flag, std::uint64_t value, SignalOp op, int to, Context = {},
                                     CallSite site = CallSite::current()) {
  detail::put_then_signal<detail::Blocking::no>(group, team, dst, src, bytes, flag, value, op, to,
                                                {"put_signal_nbi", site});
}

// ---- typed spans ----------------------------------------------------------------------------------------------------
/// Puts all of `src`; `dst` holds at least as many elements.
template <Group G, class T>
ISOTOPE_HD void put(G group, const Team& team, Span<T> dst, Span<const std::type_identity_t<T>> src, int to,
                    CallSite site = CallSite::current()) {
  const std::size_t bytes = detail::bytes_within(team, {"put", site}, "dst", dst, src.size_bytes());
  put_bytes(group, team, dst.data(), src.data(), bytes, to, site);
}

template <Group G, class T>
ISOTOPE_HD void put_nbi(G group, const Team& team, Span<T> dst, Span<const std::type_identity_t<T>> src, int to,
                        Context context = {}, CallSite site = CallSite::current()) {
  const std::size_t bytes = detail::bytes_within(team, {"put_nbi", site}, "dst", dst, src.size_bytes());
  put_nbi_bytes(group, team, dst.data(), src.data(), bytes, to, context, site);
}

/// Gets as many elements as `dst` holds; `src` holds at least as many.
template <Group G, class T>
ISOTOPE_HD void get(G group, const Team& team, Span<T> dst, Span<const std::type_identity_t<T>> src, int from,
                    CallSite site = CallSite::current()) {
  const std::size_t bytes = detail::bytes_within(team, {"get", site}, "src", src, dst.size_bytes());
  get_bytes(group, team, dst.data(), src.data(), bytes, from, site);
}

template <Group G, class T>
ISOTOPE_HD void get_nbi(G group, const Team& team, Span<T> dst, Span<const std::type_identity_t<T>> src, int from,
                        Context context = {}, CallSite site = CallSite::current()) {
  const std::size_t bytes = detail::bytes_within(team, {"get_nbi", site}, "src", src, dst.size_bytes());
  get_nbi_bytes(group, team, dst.data(), src.data(), bytes, from, context, site);
}

/// A put followed by a signal to the same member.
template <Group G, class T>
ISOTOPE_HD void put_signal(G group, const Team& team, Span<T> dst, Span<const std::type_identity_t<T>> src,
                           Signal* flag, std::uint64_t value, SignalOp op, int to,
                           CallSite site = CallSite::current()) {
  const std::size_t bytes = detail::bytes_within(team, {"put_signal", site}, "dst", dst, src.size_bytes());
  put_signal_bytes(group, team, dst.data(), src.data(), bytes, flag, value, op, to, site);
}

template <Group G, class T>
ISOTOPE_HD void put_signal_nbi(G group, const Team& team, Span<T> dst, Span<const std::type_identity_t<T>> src,
                               Signal* flag, std::uint64_t value, SignalOp op, int to, Context context = {},
                               CallSite site = CallSite::current()) {
  const std::size_t bytes = detail::bytes_within(team, {"put_signal_nbi", site}, "dst", dst, src.size_bytes());
  put_signal_nbi_bytes(group, team, dst.data(), src.data(), bytes, flag, value, op, to, context, site);
}

// ---- one value, and strides -----------------------------------------------------------------------------------------
/// Puts one value. Called by one thread. A plain store: not atomic, and seen by others once something orders it.
template <class T>
  requires std::is_trivially_copyable_v<T>
ISOTOPE_HD void p(const Team& team, T* dst, std::type_identity_t<T> value, int to,
                  CallSite site = CallSite::current()) {
  if (team.stopped()) return;
  if (!detail::remote_is_good(team, {"p", site}, "to", to, "dst", dst, sizeof(T), alignof(T))) return;
  *team.at(dst, to) = value;
}

/// Gets one value. Called by one thread. A stopped team and a bad argument give a value of zeros.
template <class T>
  requires std::is_trivially_copyable_v<T>
ISOTOPE_HD T g(const Team& team, const T* src, int from, CallSite site = CallSite::current()) {
  if (team.stopped()) return T{};
  if (!detail::remote_is_good(team, {"g", site}, "from", from, "src", src, sizeof(T), alignof(T))) return T{};
  return *team.at(src, from);
}

/// Puts src[0], src[src_stride], ... into dst[0], dst[dst_stride], ...: `count` elements. Strides are at least 1.
template <Group G, class T>
ISOTOPE_HD void iput(G group, const Team& team, T* dst, const std::type_identity_t<T>* src, std::size_t dst_stride,
                     std::size_t src_stride, std::size_t count, int to, CallSite site = CallSite::current()) {
  group.sync();
  const std::size_t span = detail::strided_bytes(count, dst_stride, sizeof(T));
  if (count != 0 && !team.stopped() && detail::strides_are_good(team, {"iput", site}, dst_stride, src_stride) &&
      detail::put_is_good(team, {"iput", site}, dst, src, span, to, alignof(T))) {
    T* there = team.at(dst, to);
    for (std::size_t i = group.thread_rank(); i < count; i += group.size()) there[i * dst_stride] = src[i * src_stride];
  }
  group.sync();
}

template <Group G, class T>
ISOTOPE_HD void iget(G group, const Team& team, T* dst, const std::type_identity_t<T>* src, std::size_t dst_stride,
                     std::size_t src_stride, std::size_t count, int from, CallSite site = CallSite::current()) {
  group.sync();
  const std::size_t span = detail::strided_bytes(count, src_stride, sizeof(T));
  if (count != 0 && !team.stopped() && detail::strides_are_good(team, {"iget", site}, dst_stride, src_stride) &&
      detail::get_is_good(team, {"iget", site}, dst, src, span, from, alignof(T))) {
    const T* there = team.at(src, from);
    for (std::size_t i = group.thread_rank(); i < count; i += group.size()) dst[i * dst_stride] = there[i * src_stride];
  }
  group.sync();
}

// ---- order and completion -------------------------------------------------------------------------------------------
/// Orders the group's puts, signals and atomics before it, to each member, before those after it to the same member.
/// Synchronises the group. Completes nothing.
template <Group G>
ISOTOPE_HD void fence(G group, const Team&, Context = {}) {
  platform::order_puts();
  group.sync();
  if (group.is_leader()) fence(Order::acq_rel, Scope::system);
  group.sync();
}

/// Completes the group's non-blocking calls of the context before it: sources may be reused, data of gets is there, and
/// puts are visible to everyone who is told of it afterwards. Synchronises the group.
template <Group G>
ISOTOPE_HD void quiet(G group, const Team&, Context = {}) {
  platform::complete_puts();
  group.sync();
  if (group.is_leader()) fence(Order::seq_cst, Scope::system);
  group.sync();
}

}  // namespace isotope
