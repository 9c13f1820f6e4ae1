#include "bench/harness/output_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "isotope/base/error.hpp"

namespace isotope::bench {

namespace fs = std::filesystem;

OutputFile::OutputFile(std::string option, std::string path) : option_(std::move(option)), path_(std::move(path)) {
  const fs::path target(path_);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::error_code ignored;
  if (target.filename().empty() || fs::is_directory(target, ignored)) {
    throw Error(Code::invalid_argument, fmt::format("{} is '{}', a folder; expected a file", option_, path_));
  }
  if (!fs::is_directory(folder, ignored)) {
    throw Error(Code::invalid_argument,
                fmt::format("{} is '{}', but there is no folder '{}'; make it first", option_, path_, folder.string()));
  }
  // The process's number keeps two runs apart.
  temporary_ = fmt::format("{}.{}.tmp", path_, fs::read_symlink("/proc/self").string());
  write_temporary("");
  fs::remove(temporary_);
}

void OutputFile::write(const std::string& text) const {
  write_temporary(text);
  std::error_code error;
  fs::rename(temporary_, path_, error);
  if (!error) return;
  std::error_code ignored;
  fs::remove(temporary_, ignored);
  throw Error(Code::system, fmt::format("cannot rename '{}' to '{}': {}", temporary_, path_, error.message()));
}

void OutputFile::write_temporary(const std::string& text) const {
  std::FILE* file = std::fopen(temporary_.c_str(), "we");
  if (file == nullptr) {
    throw Error(Code::invalid_argument,
                fmt::format("{} is '{}', which cannot be written: {}", option_, path_, std::strerror(errno)));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) == 0 && written) return;
  const std::string why = std::strerror(errno);
  std::error_code ignored;
  fs::remove(temporary_, ignored);
  throw Error(Code::system, fmt::format("cannot write '{}': {}", temporary_, why));
}

}  // namespace isotope::bench
