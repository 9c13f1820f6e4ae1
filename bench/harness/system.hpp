// What the benchmarks ask of the operating system: other programs, and files that leave nothing behind.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace isotope::bench {

/// The folder of the running executable.
std::string own_folder();
/// Where a program of this name lies on PATH.
std::optional<std::string> find_on_path(const std::string& name);
bool is_terminal(int descriptor);

/// How many CPUs this process may use.
int usable_cpus();
/// Keeps the calling thread on the `index`-th of the CPUs that it may use: one of 0 to usable_cpus() - 1.
void pin_to_cpu(int index);

/// A file without a name, in memory. Other processes of the same user open it by path() while this object lives.
class SharedFile {
 public:
  SharedFile();
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }
  /// What was written since the last take().
  std::string take();

 private:
  int descriptor_;
  std::string path_;
};

/// Starts a program of another project, its output (both kinds) going to `output`, and waits for it. The exit status:
/// 127 when it cannot be executed, 128 + signal when it was killed; nothing when it still ran at the deadline, and was
/// ended.
std::optional<int> run_foreign(const std::vector<std::string>& argv, const SharedFile& output,
                               std::chrono::seconds deadline);

/// The least that starting n processes costs: forks and executes /bin/true n times, then waits for all.
void start_trivial_programs(int n);

}  // namespace isotope::bench
