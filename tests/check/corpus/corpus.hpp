// One case of the corpus: a program with a bug, its repaired twin, and what the checker is to say about the first.
//
//   namespace corpus::name_of_the_file {
//   template <bool Repaired> ISOTOPE_KERNEL void kernel(...) { ... if constexpr (Repaired) ... }
//   template <bool Repaired> void program(World& world) { ... }
//   CORPUS_CASE(2, "race", "scope too narrow");      // PEs, kind, verdict
//   }
#pragma once

#include <isotope/host/check.hpp>
#include <isotope/isotope.hpp>

#include <ostream>
#include <string>
#include <vector>

namespace corpus {

using namespace isotope;

struct Case {
  std::string name;
  int pes;
  std::string kind, verdict;
  void (*broken)(World&);
  void (*repaired)(World&);
};

inline void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

inline int add_case(const std::string& file, int pes, const char* kind, const char* verdict, void (*broken)(World&),
                    void (*repaired)(World&)) {
  const std::size_t slash = file.rfind('/') + 1;
  cases().push_back({file.substr(slash, file.rfind('.') - slash), pes, kind, verdict, broken, repaired});
  return 0;
}

}  // namespace corpus

#define CORPUS_CASE(pes, kind, verdict) \
  static const int added = ::corpus::add_case(__FILE__, pes, kind, verdict, &program<false>, &program<true>)
