// See local.hpp.
#include "bootstrap/local.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>

#include "bootstrap/rendezvous.hpp"
#include "bootstrap/root.hpp"
#include "bootstrap/star_client.hpp"
#include "os/identity.hpp"
#include "os/socket.hpp"

namespace isotope::bootstrap {
namespace {

std::string socket_name(const JobId& job) {
  std::string name = "isotope-";
  for (const std::byte byte : job) name += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return name;
}

}  // namespace

std::unique_ptr<Bootstrap> meet_locally(const Place& place, const runtime::Knobs& knobs) {
  const auto deadline = os::Deadline::after_ns(knobs.bootstrap_deadline_ns);
  static std::atomic<std::uint32_t> inits{0};
  const std::string identity =
      fmt::format("user {}\n{}\ninit {}\n{}", os::own_uid(), launcher_name(place.launcher), inits++, place.identity);
  const JobId job = hash_job_id(as_bytes(identity), "local rendezvous");
  const std::string name = socket_name(job);

  std::shared_ptr<Root> root;
  if (place.rank == 0) {
    int err = 0;
    os::Fd listener = os::unix_listen(name, err);
    if (!listener)
      throw Error(
          Code::bootstrap_failed,
          fmt::format(
              "PE 0 cannot listen on the unix socket @{}: {}. Does another process of this {} job say that it is "
              "PE 0 too?",
              name, std::strerror(err), launcher_name(place.launcher)),
          0);
    Root::Options options;
    options.gate.job = job;
    options.gate.handshake_deadline_ns = knobs.handshake_deadline_ns;
    options.size = place.size;
    options.patience_ns = options.linger_ns = knobs.bootstrap_deadline_ns;
    root = Root::start(std::move(listener), std::move(options));
  }
  Door door;
  door.where = "the unix socket @" + name;
  door.connect = [&name](int& err) { return os::unix_connect(name, err); };
  door.check = [&](int fd) {
    const auto uid = os::peer_uid(fd);
    if (uid == os::own_uid()) return true;
    throw Error(Code::refused,
                fmt::format("user {} holds the unix socket @{} where PE 0 of user {} should be",
                            uid ? fmt::format("{}", *uid) : "unknown", name, os::own_uid()),
                place.rank);
  };
  door.root_rank = 0;
  door.when_nobody =
      fmt::format("PE 0 serves the rendezvous of a {} job; look whether all PEs run on this host and call init()",
                  launcher_name(place.launcher));
  std::function<void()> at_end;
  if (root) at_end = [root] { root->finish(); };
  try {
    return std::make_unique<StarClient>(launcher_name(place.launcher),
                                        enter(door, place.rank, place.size, job, deadline), deadline, at_end);
  } catch (...) {
    if (root) root->stop_listening();
    throw;
  }
}

}  // namespace isotope::bootstrap
