#include "os/private_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/error.hpp"
#include "os/fd.hpp"

namespace isotope::os {

std::string read_private_file(const std::string& path, std::size_t cap) {
  // O_NONBLOCK: a FIFO at this path must not block the open; the fstat below refuses it.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) throw_errno("open " + path);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) throw_errno("fstat " + path);
  if (!S_ISREG(info.st_mode)) throw Error(Code::invalid_argument, path + " is not a regular file");
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    throw Error(Code::invalid_argument,
                fmt::format("{} belongs to user {}, not to user {} who runs this PE", path, info.st_uid, ::geteuid()));
  if ((info.st_mode & 077) != 0)
    throw Error(Code::invalid_argument,
                fmt::format("{} has mode {:04o}: its group or others can reach it; run `chmod 600 {}`", path,
                            info.st_mode & 07777, path));
  std::string text(cap + 1, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t n = ::read(fd.get(), text.data() + have, text.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_errno("read " + path);
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  if (have > cap) throw Error(Code::invalid_argument, fmt::format("{} is longer than {} bytes", path, cap));
  text.resize(have);
  return text;
}

}  // namespace isotope::os
