// Makes one call of a collective on a team and looks at all it has done: the result, and every byte around it.
//
//   CollectiveRig rig(world, world.team(), most_bytes);
//   rig.check<float>({Collective::all_reduce, Algo::ring, DataType::f32, ReduceOp::add}, {.count = 61, .dst_shift =
//   3});
//
// No barrier lies between calls: what calls.hpp promises has to do. Buffers that need not be symmetric are private
// memory. On a GPU calls have the types of types_on (collective_calls.hpp), and are shared out among blocks.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "support/collective_calls.hpp"
#include "support/collective_reference.hpp"
#include "support/private_memory.hpp"

namespace isotope::testing {

/// Where the buffers of a call lie, and how much it is about.
struct Layout {
  std::size_t count = 0;
  std::size_t dst_shift = 0, src_shift = 0;  // elements past a multiple of 128 bytes
  bool in_place = false;
};
/// For messages: the call, its layout, and whose it is. Not here: nvcc cannot read fmt's checks of formats.
std::string text_of(const CollectiveCall& call, const Layout& layout, const Team& team);

/// 0, 1, a prime, a few; aligned, and dst and src misaligned differently; more than a slot holds, and more ways of that
/// for sums, of which there are the most kernels.
inline std::vector<Layout> awkward_layouts(std::size_t element, std::size_t slot_bytes, ReduceOp op = ReduceOp::add) {
  const std::size_t slot = slot_bytes / element;
  std::vector<Layout> layouts = {{0}, {1, 1, 3}, {61, 3, 1}, {97, 0, 2, true}};
  if (op == ReduceOp::add || op == ReduceOp::average) {
    layouts.insert(layouts.end(), {{2 * slot + 7, 1, 2}, {slot + 32}});
  } else {
    layouts.push_back({slot + 33, 1, 2});
  }
  return layouts;
}

/// Gives a call its buffers; in place as the call allows it: in the one at `src`, which holds the larger of the two.
inline void give_buffers(CollectiveCall& call, char* dst, char* src, bool in_place, int me) {
  if (in_place) {
    const std::size_t mine = static_cast<std::size_t>(me) * call.count * size_of(call.type);
    dst = src;
    if (call.collective == Collective::all_gather) src = dst + mine;
    if (call.collective == Collective::reduce_scatter) dst = src + mine;
  }
  call.dst = dst;
  call.src = src;
}

/// How many elements member `me` of `members` gets.
inline std::size_t output_elements(const CollectiveCall& call, int me, int members) {
  if (call.collective == Collective::reduce && call.root != me) return 0;
  return detail::elements_of(call.collective, call.count, members).dst;
}

/// The members, from the first on, whose inputs a result combines, and the element of theirs that its first one is of.
struct Combined {
  int members;
  std::size_t first;
};
inline Combined combined_in(const CollectiveCall& call, int me, int members) {
  if (call.collective == Collective::inclusive_scan) return {me + 1, 0};
  if (call.collective == Collective::exclusive_scan) return {me, 0};
  const bool part = call.collective == Collective::reduce_scatter;
  return {members, part ? static_cast<std::size_t>(me) * call.count : 0};
}

/// Whose element it is that a call which combines nothing puts at element `i`.
struct Origin {
  int member;
  std::size_t element;
};
inline Origin origin_of(const CollectiveCall& call, int me, std::size_t i) {
  if (call.collective == Collective::broadcast) return {call.root, i};
  const auto member = static_cast<int>(i / call.count);
  const std::size_t to_me = call.collective == Collective::all_to_all ? static_cast<std::size_t>(me) * call.count : 0;
  return {member, to_me + i % call.count};
}

class CollectiveRig {
 public:
  static constexpr std::size_t kMargin = 128, kSlotBytes = 1920;
  static constexpr char kPoison = static_cast<char>(0xa5);

  /// Collective over the World. Members' buffers hold `most_bytes` each.
  CollectiveRig(World& world, const Team& team, std::size_t most_bytes, std::size_t slot_bytes = kSlotBytes)
      : team_(team),
        region_(most_bytes + 3 * kMargin),
        coll_(world, team, {.channels = world.drives_gpu() ? 3 : 1, .slot_bytes = slot_bytes}),
        arena_(world.alloc<char>(2 * region_)),
        private_(world, 2 * region_) {}

  Collectives& coll() { return coll_; }

  /// How the call of a rig is made; a kernel may stand in for the host's.
  using Make = std::function<void(const CollectiveCall&)>;
  void set_make(Make make) { make_ = std::move(make); }

  /// Makes it, judges the outcome, and returns this member's output.
  template <class T>
  std::vector<char> check(CollectiveCall call, const Layout& layout) {
    call.type = data_type_of<T>;
    call.count = layout.count;
    place(call, layout);
    Image before{std::vector<char>(2 * region_, kPoison), std::vector<char>(2 * region_, kPoison)};
    add_inputs<T>(call, before);
    arena_.write(before.arena);
    private_.write(before.priv);
    if (make_) {
      make_(call);
    } else {
      run_any(coll_, call);
    }
    const Image after{arena_.read(), private_.read()};
    const std::string what = text_of(call, layout, team_);
    const Place dst = place_of(call.dst);
    const std::vector<char>& bytes = dst.in_arena ? after.arena : after.priv;
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(dst.offset);
    const std::vector<char> out(
        begin, begin + static_cast<std::ptrdiff_t>(output_elements(call, team_.rank(), team_.size()) * sizeof(T)));
    judge<T>(call, out, what);
    expect_rest_untouched(after.arena, before.arena, dst.offset, dst.in_arena ? out.size() : 0, what);
    expect_rest_untouched(after.priv, before.priv, dst.offset, dst.in_arena ? 0 : out.size(), what);
    return out;
  }

  /// A call that has to be refused with `code` and `why`, and has to touch nothing.
  void expect_refused(CollectiveCall call, const Layout& layout, Code code, const std::string& why) {
    call.count = layout.count;
    place(call, layout);
    const std::vector<char> before(2 * region_, kPoison);
    arena_.write(before);
    try {
      run_any(coll_, call);
      ADD_FAILURE() << name_of(call.algo) << " " << name_of(call.collective) << " was not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << "no '" << why << "' in: " << error.what();
    }
    EXPECT_EQ(arena_.read(), before);
  }

  /// Where buffers lie: symmetric where they have to be, in place where the call allows it.
  void place(CollectiveCall& call, const Layout& layout) {
    const SymmetricNeeds needs = needs_of(call.collective, call.algo);
    const std::size_t element = size_of(call.type);
    char* src = (needs.src || (layout.in_place && needs.dst) ? arena_.data() : private_.data()) + region_ + kMargin;
    src += layout.src_shift * element;
    char* dst = (needs.dst ? arena_.data() : private_.data()) + kMargin + layout.dst_shift * element;
    give_buffers(call, dst, src, layout.in_place, team_.rank());
  }

  char* arena() { return arena_.data(); }

 private:
  /// The bytes of both kinds of memory.
  struct Image {
    std::vector<char> arena, priv;
  };
  struct Place {
    bool in_arena;
    std::size_t offset;
  };
  Place place_of(const void* p) {
    const auto at = reinterpret_cast<std::uintptr_t>(p), arena = reinterpret_cast<std::uintptr_t>(arena_.data());
    if (at >= arena && at < arena + 2 * region_) return {true, at - arena};
    return {false, at - reinterpret_cast<std::uintptr_t>(private_.data())};
  }

  template <class T>
  void add_inputs(const CollectiveCall& call, Image& image) {
    const std::size_t n = detail::elements_of(call.collective, call.count, team_.size()).src;
    const std::uint64_t seed = static_cast<std::uint64_t>(call.type) * 8 + static_cast<std::uint64_t>(call.op);
    // The data of all members; only what is new is made.
    const Inputs now{seed, n};
    if (now.seed != inputs_.seed || now.elements > inputs_.elements) {
      inputs_ = now;
      values_.assign(static_cast<std::size_t>(team_.size()), std::vector<char>(n * sizeof(T)));
      for (int member = 0; member < team_.size(); ++member) {
        for (std::size_t i = 0; i < n; ++i) {
          const T value = input_of<T>(call.op, seed, member, i);
          std::memcpy(values_[static_cast<std::size_t>(member)].data() + i * sizeof(T), &value, sizeof(T));
        }
      }
    }
    const Place src = place_of(call.src);
    char* to = (src.in_arena ? image.arena : image.priv).data() + src.offset;
    if (n != 0) std::memcpy(to, values_[static_cast<std::size_t>(team_.rank())].data(), n * sizeof(T));
  }

  template <class T>
  T value(int member, std::size_t i) const {
    T result;
    std::memcpy(&result, values_[static_cast<std::size_t>(member)].data() + i * sizeof(T), sizeof(T));
    return result;
  }

  /// References of `count` elements from `first` on, of the first `members` ones; made anew only when they are others.
  template <class T>
  void prepare_references(const CollectiveCall& call, int members, std::size_t first, std::size_t count) {
    const Known now{inputs_.seed, call.accumulate, members, first, count};
    if (now == known_) return;
    known_ = now;
    references_.resize(count);
    std::vector<T> in(static_cast<std::size_t>(members));
    for (std::size_t i = 0; i < count; ++i) {
      for (int member = 0; member < members; ++member)
        in[static_cast<std::size_t>(member)] = value<T>(member, first + i);
      references_[i] = reference_of<T>(call.op, call.accumulate, Span<const T>(in.data(), in.size()));
    }
  }

  template <class T>
  void judge(const CollectiveCall& call, const std::vector<char>& out, const std::string& what) {
    const std::size_t n = out.size() / sizeof(T);
    const Combined of = combined_in(call, team_.rank(), team_.size());
    if (combines(call.collective) && of.members > 0) prepare_references<T>(call, of.members, of.first, n);
    for (std::size_t i = 0; i < n; ++i) {
      T found;
      std::memcpy(&found, out.data() + i * sizeof(T), sizeof(T));
      if (combines(call.collective)) {
        const Reference reference = of.members > 0 ? references_[i] : identity_of<T>(call.op);
        if (!matches(reference, found)) FAIL() << what << ": element " << i << " is " << difference(reference, found);
      } else {
        const Origin origin = origin_of(call, team_.rank(), i);
        const T expected = value<T>(origin.member, origin.element);
        if (std::memcmp(&expected, &found, sizeof(T)) != 0) FAIL() << what << ": element " << i;
      }
    }
  }

  /// But for `bytes` bytes from `first` on.
  static void expect_rest_untouched(const std::vector<char>& now, const std::vector<char>& before, std::size_t first,
                                    std::size_t bytes, const std::string& what) {
    if (bytes == 0) first = 0;
    const std::size_t last = first + bytes;
    if (std::memcmp(now.data(), before.data(), first) != 0) FAIL() << what << ": bytes before the output have changed";
    if (std::memcmp(now.data() + last, before.data() + last, before.size() - last) != 0)
      FAIL() << what << ": bytes after the output have changed";
  }

  struct Inputs {
    std::uint64_t seed = ~std::uint64_t{0};
    std::size_t elements = 0;
  };
  struct Known {
    std::uint64_t seed = 0;
    Accumulate accumulate = Accumulate::wide;
    int members = 0;
    std::size_t first = 0, count = 0;
    bool operator==(const Known&) const = default;
  };
  Team team_;
  std::size_t region_;
  Collectives coll_;
  Symmetric<char> arena_;
  PrivateMemory private_;
  std::vector<std::vector<char>> values_;
  Inputs inputs_;
  Known known_;
  std::vector<Reference> references_;
  Make make_;
};

/// Whether all members have the same bytes. Collective over `team`, which is all PEs or has a barrier of its own.
inline void expect_same_everywhere(World& world, const Team& team, Symmetric<std::uint64_t>& cell,
                                   const std::vector<char>& bytes, const std::string& what) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  cell.set(0, hash);
  world.barrier(team);
  for (int k = 0; k < team.size(); ++k)
    EXPECT_EQ(cell.read_from(team, k).front(), hash) << what << ": another result on member " << k;
  world.barrier(team);
}

}  // namespace isotope::testing
