// See star_server.hpp. Each PE has a connection; each World has a Gather; one timer wakes the owner at the next
// deadline.
#include "bootstrap/star_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "bootstrap/connection.hpp"
#include "bootstrap/gather.hpp"
#include "os/clock.hpp"
#include "os/poll.hpp"

namespace isotope::bootstrap {
namespace {

constexpr std::uint64_t kTimerTag = ~std::uint64_t{0};

struct Pe {
  std::unique_ptr<Connection> connection;
  bool attached = false;
  bool watches_write = false;
  StarServer::PeStatus status;
  std::uint32_t next_world = 0;
  std::map<std::uint32_t, std::uint64_t> open;  // world -> sequence of its next all-gather
};

struct World {
  explicit World(int size) : gather(size) {}
  Gather gather;
  int left = 0;
};

}  // namespace

struct StarServer::Impl {
  explicit Impl(int pes) : size(pes), all(static_cast<std::size_t>(pes)) {
    epoll.add(timer.fd(), os::kReadable, kTimerTag);
  }

  Pe& pe(int rank) { return all[static_cast<std::size_t>(rank)]; }
  const Pe& checked(int rank) const {
    if (rank < 0 || rank >= size)
      throw Error(Code::out_of_range, fmt::format("rank {} in a job of {} PEs", rank, size));
    return all[static_cast<std::size_t>(rank)];
  }

  void service(int rank);
  void on_frame(int rank, Frame& frame);
  void on_join(int rank, const Join& join);
  void on_allgather(int rank, const Allgather& post);
  void on_leave(int rank, const Leave& leave);
  void on_close(int rank);
  void violation(int rank, const std::string& what);
  void drop(int rank);
  void send(int rank, std::shared_ptr<const Bytes> bytes);
  void answer(std::uint32_t world, const std::vector<Gather::Answer>& answers);
  void record(const AbortNotice& what, int except);
  void expire(std::uint64_t now_ns);
  bool anybody_waits() const {
    return !first_notice &&
           std::any_of(worlds.begin(), worlds.end(), [](const auto& w) { return w.second.gather.anybody_waits(); });
  }
  void set_timer();

  int size;
  os::Epoll epoll;
  os::TimerFd timer;
  std::vector<Pe> all;
  std::map<std::uint32_t, World> worlds;
  std::optional<AbortNotice> first_notice;
};

StarServer::StarServer(int size) {
  if (size < 1 || size > kMaxPes)
    throw Error(Code::invalid_argument, fmt::format("a job of {} PEs: there are 1 to {}", size, kMaxPes));
  impl_ = std::make_unique<Impl>(size);
}
StarServer::~StarServer() = default;

void StarServer::attach(int rank, os::Fd socket) {
  impl_->checked(rank);
  Pe& pe = impl_->pe(rank);
  if (pe.attached) throw Error(Code::invalid_argument, fmt::format("PE {} is attached already", rank));
  impl_->epoll.add(socket.get(), os::kReadable, static_cast<std::uint64_t>(rank));
  pe.connection = std::make_unique<Connection>(std::move(socket), Decoder(Caps::star_server()));
  pe.attached = true;
  // A PE that comes late must not wait for a job that is over.
  if (impl_->first_notice) impl_->send(rank, std::make_shared<const Bytes>(encode(*impl_->first_notice)));
}

bool StarServer::attached(int rank) const { return impl_->checked(rank).attached; }
int StarServer::poll_fd() const { return impl_->epoll.fd(); }
StarServer::PeStatus StarServer::status(int rank) const { return impl_->checked(rank).status; }
std::optional<AbortNotice> StarServer::notice() const { return impl_->first_notice; }
void StarServer::end_job(const AbortNotice& notice) { impl_->record(notice, Error::kNobody); }

bool StarServer::idle() const {
  return !impl_->anybody_waits() && std::none_of(impl_->all.begin(), impl_->all.end(), [](const Pe& pe) {
    return pe.connection && pe.connection->wants_write();
  });
}

void StarServer::give_up() { impl_->expire(~std::uint64_t{0}); }

void StarServer::handle() {
  std::array<os::Epoll::Event, 64> events;
  std::size_t n;
  do {
    n = impl_->epoll.wait(events, 0);
    for (std::size_t i = 0; i < n; ++i) {
      if (events[i].tag == kTimerTag)
        impl_->expire(os::now_ns());
      else
        impl_->service(static_cast<int>(events[i].tag));
    }
    impl_->set_timer();
  } while (n == events.size());
}

void StarServer::Impl::service(int rank) {
  Pe& who = pe(rank);
  if (!who.connection) return;  // dropped earlier in this round
  std::vector<Frame> frames;
  who.connection->receive(frames);
  for (Frame& frame : frames) {
    on_frame(rank, frame);
    if (!who.connection) return;
  }
  if (who.connection->error()) return violation(rank, who.connection->error()->message);
  if (who.connection->closed()) return on_close(rank);
  who.connection->flush();
  if (const bool wants = who.connection->wants_write(); wants != who.watches_write) {
    who.watches_write = wants;
    epoll.modify(who.connection->fd(), os::kReadable | (wants ? os::kWritable : 0), static_cast<std::uint64_t>(rank));
  }
}

void StarServer::Impl::send(int rank, std::shared_ptr<const Bytes> bytes) {
  Pe& who = pe(rank);
  if (!who.connection) return;
  who.connection->send(std::move(bytes));
  if (who.connection->wants_write() && !who.watches_write) {
    who.watches_write = true;
    epoll.modify(who.connection->fd(), os::kReadable | os::kWritable, static_cast<std::uint64_t>(rank));
  }
}

void StarServer::Impl::on_frame(int rank, Frame& frame) {
  pe(rank).status.joined = true;
  if (const auto* join = std::get_if<Join>(&frame)) return on_join(rank, *join);
  if (const auto* post = std::get_if<Allgather>(&frame)) return on_allgather(rank, *post);
  if (const auto* leave = std::get_if<Leave>(&frame)) return on_leave(rank, *leave);
  if (auto* told = std::get_if<AbortNotice>(&frame)) {
    told->by = rank;  // whatever it claims
    record(*told, rank);
  }
}

void StarServer::Impl::on_join(int rank, const Join& join) {
  Pe& who = pe(rank);
  if (join.world != who.next_world)
    return violation(rank, fmt::format("it opened World {}, but its next is {}", join.world, who.next_world));
  ++who.next_world;
  who.open.emplace(join.world, 0);
  ++who.status.open_worlds;
  auto [at, fresh] = worlds.try_emplace(join.world, size);
  if (!fresh) return;
  // PEs that ended before this World began can never be in it.
  for (int other = 0; other < size; ++other)
    if (pe(other).status.closed && pe(other).status.joined) at->second.gather.leave(other);
}

void StarServer::Impl::on_allgather(int rank, const Allgather& post) {
  Pe& who = pe(rank);
  const auto open = who.open.find(post.world);
  if (open == who.open.end())
    return violation(rank, fmt::format("it posted to World {}, which it is not in", post.world));
  Gather& gather = worlds.at(post.world).gather;
  if (post.sequence != open->second || gather.waiting(rank))
    return violation(rank, fmt::format("it posted all-gather {}, but its next is {}", post.sequence, open->second));
  ++open->second;
  if (first_notice) return;  // it knows, or is about to read it
  for (int other = 0; other < size; ++other)
    if (pe(other).status.closed && !pe(other).status.joined)
      return record(
          {Code::peer_lost, Error::kNobody, other, 0, fmt::format("PE {} ended before it called init()", other)},
          Error::kNobody);
  const std::uint64_t budget = std::min(post.budget_ns, std::uint64_t{1} << 62);
  answer(post.world, gather.post(rank, post.bytes, os::now_ns() + budget));
}

void StarServer::Impl::on_leave(int rank, const Leave& leave) {
  Pe& who = pe(rank);
  if (who.open.erase(leave.world) == 0)
    return violation(rank, fmt::format("it left World {}, which it is not in", leave.world));
  --who.status.open_worlds;
  World& world = worlds.at(leave.world);
  const std::vector<Gather::Answer> answers = world.gather.leave(rank);
  if (!first_notice) answer(leave.world, answers);  // else they were told the first cause; this is its consequence
  if (++world.left == size) worlds.erase(leave.world);
}

void StarServer::Impl::on_close(int rank) {
  Pe& who = pe(rank);
  drop(rank);
  if (first_notice) return;
  // A World that failed for this PE is no reason: it was told, and so were, or will be, the others.
  const bool lost = std::any_of(who.open.begin(), who.open.end(),
                                [&](const auto& entry) { return !worlds.at(entry.first).gather.failed(rank); });
  if (lost || (anybody_waits() && !who.status.joined)) {
    const char* how = lost ? "without leaving the job" : "before it called init()";
    record({Code::peer_lost, Error::kNobody, rank, 0, fmt::format("PE {} ended {}", rank, how)}, Error::kNobody);
    return;
  }
  if (!who.status.joined) return;
  for (auto& [number, world] : worlds) answer(number, world.gather.leave(rank));
}

void StarServer::Impl::violation(int rank, const std::string& what) {
  record({Code::refused, Error::kNobody, rank, 0, fmt::format("PE {} broke the bootstrap protocol: {}", rank, what)},
         Error::kNobody);
  drop(rank);
}

void StarServer::Impl::drop(int rank) {
  Pe& who = pe(rank);
  if (who.connection) epoll.remove(who.connection->fd());
  who.connection.reset();
  who.status.closed = true;
}

void StarServer::Impl::answer(std::uint32_t world, const std::vector<Gather::Answer>& answers) {
  std::shared_ptr<const Bytes> shared;
  for (const Gather::Answer& one : answers) {
    const auto open = pe(one.rank).open.find(world);
    if (open == pe(one.rank).open.end()) continue;
    const std::uint64_t sequence = open->second - 1;
    if (!one.all) {
      const Failure failure{world, sequence, one.refusal.code, one.refusal.peer, one.refusal.message};
      send(one.rank, std::make_shared<const Bytes>(encode(failure)));
    } else {
      if (!shared) shared = std::make_shared<const Bytes>(encode(Gathered{world, sequence, *one.all}));
      send(one.rank, shared);
    }
  }
}

void StarServer::Impl::record(const AbortNotice& what, int except) {
  if (first_notice) return;
  first_notice = what;
  const auto bytes = std::make_shared<const Bytes>(encode(what));
  for (int rank = 0; rank < size; ++rank)
    if (rank != except) send(rank, bytes);
}

void StarServer::Impl::expire(std::uint64_t now_ns) {
  if (first_notice) return;
  for (auto& [number, world] : worlds) answer(number, world.gather.expire(now_ns));
}

void StarServer::Impl::set_timer() {
  std::optional<std::uint64_t> next;
  if (!first_notice)
    for (auto& [number, world] : worlds)
      if (const auto at = world.gather.next_deadline(); at && (!next || *at < *next)) next = at;
  if (next)
    timer.arm_at(*next);
  else
    timer.disarm();
}

}  // namespace isotope::bootstrap
