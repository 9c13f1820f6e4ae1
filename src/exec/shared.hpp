// Shared memory of a block: variables found by their key, cut from chunks that a process-wide pool keeps between blocks
// and launches.
#pragma once

#include <cstddef>
#include <vector>

namespace isotope::exec {

class SharedArena {
 public:
  static constexpr std::size_t kNoLimit = ~std::size_t{0};

  SharedArena() = default;
  ~SharedArena() { clear(); }
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  /// The variable with this key, made at the first call: unspecified bytes, 0xA5 in the checked build. Throws
  /// Error(invalid_argument) when the variables that have a limit outgrow it together.
  void* get(const void* key, std::size_t bytes, std::size_t alignment, std::size_t limit);
  /// Gives all memory back; addresses from get() end here.
  void clear() noexcept;

 private:
  struct Variable {
    const void* key;
    void* data;
  };
  struct Chunk {
    char* data;
    std::size_t bytes;
  };

  std::size_t used_ = 0;        // by variables with a limit
  std::size_t chunk_used_ = 0;  // of the last chunk
  std::vector<Variable> variables_;
  std::vector<Chunk> chunks_;
};

}  // namespace isotope::exec
