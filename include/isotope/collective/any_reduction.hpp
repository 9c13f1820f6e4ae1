// AnyReduction: a Reduction whose type and operation are values. Host code only: it calls through pointers.
//
//   AnyReduction r(DataType::bf16, ReduceOp::add, Accumulate::wide);  // throws Error(not_supported) for bits of floats
#pragma once

#include <cstddef>

#include "isotope/base/call_site.hpp"
#include "isotope/base/data_type.hpp"
#include "isotope/device/combine.hpp"

namespace isotope {

namespace detail {

/// The functions of one Reduction (reduction.hpp says what each does).
struct ReductionCalls {
  std::size_t element, partial;
  bool finish_is_copy;
  void (*widen)(void* partials, const void* a, std::size_t count);
  void (*start)(void* partials, const void* a, const void* b, std::size_t count);
  void (*more)(void* partials, const void* a, std::size_t count);
  void (*join)(void* partials, const void* others, std::size_t count);
  void (*finish)(void* out, const void* partials, std::size_t count, int members);
  void (*identity)(void* out, std::size_t count);
};

/// Null when the type has no such operation.
const ReductionCalls* find_reduction(DataType type, ReduceOp op, Accumulate accumulate) noexcept;

}  // namespace detail

class AnyReduction {
 public:
  AnyReduction(DataType type, ReduceOp op, Accumulate accumulate, CallSite site = CallSite::current());

  std::size_t element() const { return calls_->element; }
  std::size_t partial() const { return calls_->partial; }
  bool finish_is_copy() const { return calls_->finish_is_copy; }
  DataType type() const { return type_; }
  ReduceOp op() const { return op_; }
  template <int Bytes>
  std::size_t lanes() const {
    return Bytes / calls_->element;
  }
  /// Room for the partials of that many bytes of any type: at most eight bytes for one.
  template <int Bytes>
  struct Partials {
    alignas(16) char bytes[8 * Bytes];
    void* data() { return bytes; }
  };

  void widen(void* partials, const void* a, std::size_t count) const { calls_->widen(partials, a, count); }
  void start(void* partials, const void* a, const void* b, std::size_t count) const {
    calls_->start(partials, a, b, count);
  }
  void more(void* partials, const void* a, std::size_t count) const { calls_->more(partials, a, count); }
  void join(void* partials, const void* others, std::size_t count) const { calls_->join(partials, others, count); }
  void finish(void* out, const void* partials, std::size_t count, int members) const {
    calls_->finish(out, partials, count, members);
  }
  template <class Word>
  void widen_word(Partials<static_cast<int>(sizeof(Word))>& partials, const Word& a) const {
    widen(partials.data(), &a, lanes<sizeof(Word)>());
  }
  template <class Word>
  void more_word(Partials<static_cast<int>(sizeof(Word))>& partials, const Word& a) const {
    more(partials.data(), &a, lanes<sizeof(Word)>());
  }
  template <class Word>
  Word finish_word(Partials<static_cast<int>(sizeof(Word))>& partials, int members) const {
    Word word;
    finish(&word, partials.data(), lanes<sizeof(Word)>(), members);
    return word;
  }
  void identity(void* out, std::size_t count) const { calls_->identity(out, count); }

 private:
  DataType type_;
  ReduceOp op_;
  const detail::ReductionCalls* calls_;
};

}  // namespace isotope
