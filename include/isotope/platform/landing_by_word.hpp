// Where copies from global to shared memory land, and how a block learns of it, on platforms without a GPU's engine: a
// word that is counted down, arrivals in its upper half and bytes in its lower one. A GPU's is in cuda/landing.hpp.
//
// A Landing serves once: it is begun with a number of arrivals, and is met when all of them have come and what they
// expect has landed. Whether the thread that asks for a copy makes it is the platform's choice.
#pragma once

#include <cstdint>

namespace isotope {

/// `Word`: look(word), which acquires; count(word, change), which releases; land(place, src, bytes, word), which copies
/// and then counts the bytes off; relax(failed_polls).
template <class Word>
class LandingByWord {
 public:
  /// By one thread, before the block meets.
  void begin(std::uint32_t arrivals) { word_ = kArrival * arrivals; }
  /// What the thread wrote before is there for those who await the landing.
  void arrive() { Word::count(&word_, -kArrival); }
  /// The same, and that many bytes land before it is met. They may be asked for before or after, by any thread of the
  /// block: the word is not zero while the two differ.
  void arrive_expecting(std::uint32_t bytes) { Word::count(&word_, bytes - kArrival); }
  /// A copy of whole words of 16 bytes, both ends aligned to them.
  void land(void* place, const void* src, std::uint32_t bytes) { Word::land(place, src, bytes, &word_); }
  void await() const {
    for (std::uint32_t polls = 0; Word::look(&word_) != 0;) Word::relax(++polls);
  }

 private:
  static constexpr std::uint64_t kArrival = std::uint64_t{1} << 32;

  std::uint64_t word_;
};

}  // namespace isotope
