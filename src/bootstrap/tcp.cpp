// See tcp.hpp, and unique_id.hpp for get_unique_id().
#include "bootstrap/tcp.hpp"

#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <map>
#include <mutex>

#include "bootstrap/rendezvous.hpp"
#include "bootstrap/root.hpp"
#include "bootstrap/select.hpp"
#include "bootstrap/star_client.hpp"
#include "bootstrap/unique_id_format.hpp"
#include "os/private_file.hpp"
#include "os/socket.hpp"

namespace isotope::bootstrap {
namespace {

/// The roots that get_unique_id() started in this process: a PE here flushes its root before it may exit. Leaked on
/// purpose, since root threads outlive main().
struct Roots {
  std::mutex mutex;
  std::map<JobId, std::weak_ptr<Root>> by_job;

  static Roots& get() {
    static Roots* roots = new Roots;
    return *roots;
  }
  void add(const JobId& job, const std::shared_ptr<Root>& root) {
    const std::lock_guard lock(mutex);
    std::erase_if(by_job, [](const auto& entry) { return entry.second.expired(); });
    by_job.emplace(job, root);
  }
  std::shared_ptr<Root> find(const JobId& job) {
    const std::lock_guard lock(mutex);
    const auto at = by_job.find(job);
    return at == by_job.end() ? nullptr : at->second.lock();
  }
};

bool leads_elsewhere(int fd, const os::SocketAddress& target) {
  // A connect to a free local port can meet itself when the kernel picks that very port for our end.
  return os::to_string(os::local_address(fd)) != os::to_string(target);
}

Door tcp_door(const os::SocketAddress& target, const Key& key) {
  Door door;
  door.where = os::to_string(target);
  door.connect = [target](int& err) { return os::tcp_connect(target, err); };
  door.check = [target](int fd) { return leads_elsewhere(fd, target); };
  door.key = &key;
  return door;
}

void check_rank(int rank, int size) {
  if (size < 1 || size > kMaxPes || rank < 0 || rank >= size)
    throw Error(Code::invalid_argument,
                fmt::format("rank {} of {}: there are 1 to {} PEs, and a rank is at least 0 and below their number",
                            rank, size, kMaxPes));
}

}  // namespace

std::pair<std::string, std::uint16_t> parse_root(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  unsigned port = 0;
  bool good = colon != std::string::npos && colon > 0;
  if (good) {
    const char* first = text.data() + colon + 1;
    const char* last = text.data() + text.size();
    const auto [end, err] = std::from_chars(first, last, port);
    good = err == std::errc() && end == last && port >= 1 && port <= 65535;
  }
  std::string host = good ? text.substr(0, colon) : "";
  // An IPv6 address has colons of its own, so it stands in brackets.
  if (good && host.find(':') != std::string::npos) good = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (!good)
    throw Error(Code::invalid_argument,
                fmt::format("ISOTOPE_ROOT is '{}'; expected host:port or [address]:port, e.g. node0:29400", text));
  return {host, static_cast<std::uint16_t>(port)};
}

Key parse_key(const std::string& text, const std::string& path) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  std::size_t begin = 0, end = text.size();
  while (begin < end && is_space(text[begin])) ++begin;
  while (end > begin && is_space(text[end - 1])) --end;
  Key key;
  bool good = end - begin == 2 * key.bytes.size();
  for (std::size_t i = 0; good && i < key.bytes.size(); ++i) {
    unsigned value = 0;
    const char* at = text.data() + begin + 2 * i;
    const auto [stop, err] = std::from_chars(at, at + 2, value, 16);
    good = err == std::errc() && stop == at + 2;
    key.bytes[i] = static_cast<std::byte>(value);
  }
  if (!good)
    throw Error(Code::invalid_argument,
                fmt::format("{} (ISOTOPE_JOB_KEY_FILE) does not hold 64 hexadecimal digits; make one with "
                            "`(umask 077; openssl rand -hex 32 > {})`",
                            path, path));
  return key;
}

std::unique_ptr<Bootstrap> from_unique_id(int rank, int size, const UniqueId& id, const runtime::Knobs& knobs) {
  check_rank(rank, size);
  const auto deadline = os::Deadline::after_ns(knobs.bootstrap_deadline_ns);
  const UniqueIdParts parts = unpack(id);
  Door door = tcp_door(parts.address, parts.key);
  door.patient = false;  // it listens since before the id existed
  door.when_nobody =
      "The process that called get_unique_id() must live until every init() has returned; an id serves one job";
  auto channel = enter(door, rank, size, parts.job, deadline);
  std::function<void()> at_end;
  if (auto root = Roots::get().find(parts.job)) at_end = [root] { root->finish(); };
  return std::make_unique<StarClient>("unique id", std::move(channel), deadline, std::move(at_end));
}

std::unique_ptr<Bootstrap> from_root(const runtime::Knobs& knobs) {
  const auto deadline = os::Deadline::after_ns(knobs.bootstrap_deadline_ns);
  const int rank = *knobs.rank, size = *knobs.size;
  check_rank(rank, size);
  const auto [host, port] = parse_root(knobs.root);
  const Key key = parse_key(os::read_private_file(knobs.job_key_file, 4096), knobs.job_key_file);
  const os::SocketAddress address = os::resolve(host, port).front();
  // Each init() of a process is a rendezvous of its own at the same address; the number keeps them apart.
  static std::atomic<std::uint32_t> inits{0};
  const JobId job = hash_job_id(key.bytes, fmt::format("tcp job, init {}", inits++));

  std::shared_ptr<Root> root;
  if (rank == 0) {
    Root::Options options;
    options.gate.key = key;
    options.gate.job = job;
    options.gate.handshake_deadline_ns = knobs.handshake_deadline_ns;
    options.size = size;
    options.patience_ns = options.linger_ns = knobs.bootstrap_deadline_ns;
    root = Root::start(os::tcp_listen(address), std::move(options));
  }
  Door door = tcp_door(address, key);
  door.root_rank = 0;
  door.when_nobody =
      "PE 0 listens at ISOTOPE_ROOT; look whether it runs and whether the address can be reached from here";
  std::function<void()> at_end;
  if (root)
    at_end = [root] {
      root->finish();
      root->stop_listening();
    };
  try {
    return std::make_unique<StarClient>("tcp", enter(door, rank, size, job, deadline), deadline, at_end);
  } catch (...) {
    if (root) root->stop_listening();
    throw;
  }
}

}  // namespace isotope::bootstrap

namespace isotope {

UniqueId get_unique_id() {
  using namespace bootstrap;
  const runtime::Knobs knobs = runtime::read_knobs();
  const os::SocketAddress wish = os::resolve(knobs.listen, 0).front();
  os::Fd listener = os::tcp_listen(wish);
  UniqueIdParts parts;
  parts.address = os::local_address(listener.get());
  if (wish.is_any()) {
    const std::uint16_t port = parts.address.port;
    parts.address = os::reachable_address(wish.family);
    parts.address.port = port;
  }
  parts.job = random_job_id();
  parts.key = Key::random();
  Root::Options options;
  options.gate.key = parts.key;
  options.gate.job = parts.job;
  options.gate.handshake_deadline_ns = knobs.handshake_deadline_ns;
  // The id may travel by a slow channel before anybody uses it.
  options.patience_ns = 10 * knobs.bootstrap_deadline_ns;
  options.linger_ns = knobs.bootstrap_deadline_ns;
  options.listen_until_end = true;
  Roots::get().add(parts.job, Root::start(std::move(listener), std::move(options)));
  return pack(parts);
}

}  // namespace isotope
