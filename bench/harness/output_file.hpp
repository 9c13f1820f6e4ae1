// A file that is there completely or not at all.
#pragma once

#include <string>

namespace isotope::bench {

class OutputFile {
 public:
  /// Tries whether `path` can be written, and leaves no trace. Throws Error(invalid_argument) with the reason if not,
  /// naming the option that said it.
  OutputFile(std::string option, std::string path);
  /// Writes a temporary file in the same folder and renames it.
  void write(const std::string& text) const;

 private:
  void write_temporary(const std::string& text) const;

  std::string option_, path_, temporary_;
};

}  // namespace isotope::bench
