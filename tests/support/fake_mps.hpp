// A stand-in for nvidia-cuda-mps-control and its server, so that what a launcher does with MPS can be tested without a
// GPU. It is put first on PATH, keeps a list of its calls, and misbehaves on request.
//
//   FakeMps mps;                         // this process and what it starts find it, and one GPU
//   run_program(options, {"sh", "-c", mps.note("pe $ISOTOPE_RANK")});
//   mps.calls();                         // "start", "asked", "pe 0", ..., "quit"
//   mps.folders_left();                  // what is left of the private folders
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace isotope::testing {

class FakeMps {
 public:
  /// good: as the real one. fails: ends at once. deaf: never listens. hangs: takes questions and never answers.
  /// stubborn: does not quit. Good and stubborn ones have a server in a session of its own.
  explicit FakeMps(const std::string& mode = "good") {
    char name[] = "/tmp/fake-mps-XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    for (const char* below : {"/bin", "/tmp", "/empty"}) std::filesystem::create_directory(folder_ + below);
    EXPECT_EQ(::mkfifo((folder_ + "/never").c_str(), 0600), 0);
    script(mode);
    // The name of a process is that of the link, so all that the fake starts has the name of the family, always.
    std::filesystem::create_symlink("/usr/bin/setsid", folder_ + "/bin/nvidia-cuda-mps-setsid");
    std::filesystem::create_symlink("/bin/sleep", folder_ + "/bin/nvidia-cuda-mps-server");
    const char* path = std::getenv("PATH");
    set("PATH", folder_ + "/bin:" + (path != nullptr ? path : "/usr/bin:/bin"));
    set("TMPDIR", folder_ + "/tmp");
    set("CUDA_VISIBLE_DEVICES", "0");
    for (const char* own : {"CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                            "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_MODULE_LOADING"}) {
      set(own, std::nullopt);
    }
  }
  ~FakeMps() {
    for (const auto& [name, value] : before_) put(name, value);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  FakeMps(const FakeMps&) = delete;
  FakeMps& operator=(const FakeMps&) = delete;

  /// As if MPS were not installed.
  void hide() { set("PATH", folder_ + "/empty"); }
  /// A variable of this process, until the fake goes.
  void set(const std::string& name, const std::optional<std::string>& value) {
    const char* now = std::getenv(name.c_str());
    before_.emplace(name, now != nullptr ? std::optional<std::string>(now) : std::nullopt);
    put(name, value);
  }

  /// A shell command that adds a line to the list.
  std::string note(const std::string& words) const { return "echo \"" + words + "\" >> " + folder_ + "/calls"; }

  std::vector<std::string> calls() const {
    std::ifstream file(folder_ + "/calls");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  long count(const std::string& call) const {
    const auto all = calls();
    return std::count(all.begin(), all.end(), call);
  }
  std::vector<std::string> folders_left() const {
    std::vector<std::string> names;
    for (const auto& one : std::filesystem::directory_iterator(folder_ + "/tmp"))
      names.push_back(one.path().filename());
    return names;
  }
  const std::string& folder() const { return folder_; }

 private:
  static void put(const std::string& name, const std::optional<std::string>& value) {
    if (value) {
      ::setenv(name.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name.c_str());
    }
  }

  // The shell never waits for a child of its own: what is killed leaves no helper of the fake behind. "ready" is noted
  // before the fifo is there, so that it comes before the first answer.
  void script(const std::string& mode) const {
    const std::string path = folder_ + "/bin/nvidia-cuda-mps-control";
    std::ofstream file(path);
    file << "#!/bin/sh\nhere=" << folder_ << "\nmode=" << mode << R"SH(
pipe=$CUDA_MPS_PIPE_DIRECTORY
if [ "$1" = -f ]; then
  echo start >> $here/calls
  echo "pipe=$pipe log=$CUDA_MPS_LOG_DIRECTORY visible=$CUDA_VISIBLE_DEVICES" \
       "modes=$(stat -c %a ${pipe%/*} $pipe | tr '\n' ' ')" > $here/daemon
  if [ $mode = fails ]; then
    echo 'no such device, says the fake' >&2
    exit 3
  fi
  [ $mode = deaf ] && read -r x < $here/never
  $here/bin/nvidia-cuda-mps-setsid $here/bin/nvidia-cuda-mps-server 1000 < /dev/null &
  server=$!
  echo $$ > $pipe/nvidia-cuda-mps-control.pid
  echo ready >> $here/calls
  mkfifo $pipe/control
  while :; do
    read -r command < $pipe/control
    [ "$command" = quit ] && [ $mode != stubborn ] && kill $server && exit 0
  done
fi
read -r command
while [ $mode = hangs ] && ! [ -p $pipe/control ]; do :; done
if ! [ -p $pipe/control ]; then
  echo 'Cannot find MPS control daemon process'
  exit 1
fi
echo "$command" >> $here/calls
[ $mode = hangs ] && read -r x < $here/never
[ "$command" = quit ] && echo quit > $pipe/control
exit 0
)SH";
    file.close();
    EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
  }

  std::string folder_;
  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace isotope::testing
