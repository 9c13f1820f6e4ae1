// The host's side of device/objects.hpp: keeps the table of this PE's symmetric objects that kernels look up.
//
// One writer at a time (the heap's lock); kernels read at any moment. Arrays that the table has outgrown stay until the
// end, since a reader may still look into one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "isotope/device/objects.hpp"

namespace isotope::runtime {

class ObjectIndex {
 public:
  explicit ObjectIndex(ObjectTable& table);

  void add(const void* begin, std::uint64_t bytes);
  void remove(const void* begin);

 private:
  void grow();
  std::uint64_t position(std::uint64_t begin) const;

  ObjectTable* table_;
  std::uint64_t capacity_ = 0;
  std::vector<std::unique_ptr<ObjectRange[]>> arrays_;  // the last one is in use
};

}  // namespace isotope::runtime
