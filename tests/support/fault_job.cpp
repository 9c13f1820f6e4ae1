#include "support/fault_job.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

namespace isotope::testing {

namespace {

constexpr int kMaxSeats = 16;

// Statuses that only this file gives: a test that failed in a PE, or a PE that waited for the test in vain.
bool in_trouble(int status) { return status >= 190 && status <= 199; }

void nap() { std::this_thread::sleep_for(std::chrono::microseconds(500)); }

template <class Done>
bool poll_until(std::uint64_t until, const Done& done) {
  while (!done()) {
    if (now_ns() >= until) return false;
    nap();
  }
  return true;
}

}  // namespace

void PrintTo(const FaultShape& shape, std::ostream* out) {
  const char* kinds[] = {"Processes", "Launched", "Threads"};
  *out << shape.pes << kinds[static_cast<int>(shape.as)];
}

std::string fault_shape_name(const ::testing::TestParamInfo<FaultShape>& info) {
  return ::testing::PrintToString(info.param);
}

std::vector<FaultShape> process_shapes() {
  std::vector<FaultShape> shapes;
  for (int pes : {2, 3, 5, 8})
    for (PesAs as : {PesAs::processes, PesAs::launched}) shapes.push_back({pes, as});
  return shapes;
}

std::vector<FaultShape> unwatched_shapes() {
  std::vector<FaultShape> shapes;
  for (int pes : {2, 3, 5, 8})
    for (PesAs as : {PesAs::processes, PesAs::threads}) shapes.push_back({pes, as});
  return shapes;
}

std::vector<FaultShape> all_shapes() {
  std::vector<FaultShape> shapes = process_shapes();
  for (int pes : {2, 3, 5, 8}) shapes.push_back({pes, PesAs::threads});
  return shapes;
}

void sit() {
  std::this_thread::sleep_for(std::chrono::minutes(1));
  std::_Exit(198);
}

void Seat::set_ready() { ready_ns = now_ns(); }

void Seat::await_strike() {
  if (!poll_until(now_ns() + 60'000'000'000u, [this] { return struck.load() != 0; })) std::_Exit(197);
}

void Seat::record(const Error& error) {
  ended_ns = now_ns();
  threw = true;
  code = error.code();
  peer = error.peer();
  error_pe = error.pe();
  line = error.site().line;
  std::snprintf(file, sizeof file, "%s", error.site().file ? error.site().file : "");
  std::snprintf(message, sizeof message, "%s", error.what());
}

struct FaultJob::Shared {
  std::atomic<std::uint32_t> id_ready{0};
  UniqueId id{};
  std::atomic<int> next_thread{0};
  std::atomic<int> met[8] = {};
  int exit_code = -1;
  int first_failed = -1;
  char message[2048] = {};
  Seat seats[kMaxSeats];
};

FaultJob::FaultJob(FaultShape shape, InitOptions options)
    : shape_(shape),
      options_(static_cast<std::size_t>(shape.pes), options),
      present_(static_cast<std::size_t>(shape.pes), true),
      pids_(static_cast<std::size_t>(shape.pes), 0),
      statuses_(static_cast<std::size_t>(shape.pes), -1) {
  adopt_orphans();
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  shared_ = new (memory) Shared;
  seats_ = shared_->seats;
}

FaultJob::~FaultJob() {
  if (running_) wait(nanoseconds(0));
  ::munmap(shared_, sizeof(Shared));
}

// The first PE that comes makes the id, so that the test's own process stays out of the job.
World FaultJob::join(int rank) {
  const InitOptions& options = options_[static_cast<std::size_t>(rank)];
  seats_[rank].begin();
  if (shape_.as != PesAs::processes) return init(options);
  int first = 0;
  while (!present_[static_cast<std::size_t>(first)]) ++first;
  if (rank == first) {
    shared_->id = get_unique_id();
    shared_->id_ready = 1;
  } else if (!poll_until(now_ns() + 20'000'000'000u, [this] { return shared_->id_ready.load() != 0; })) {
    std::_Exit(196);
  }
  seats_[rank].begin();
  return init(rank, shape_.pes, shared_->id, options);
}

int FaultJob::run_body(int rank) {
  Seat* seat = &seats_[rank];
  int status = kReturned;
  try {
    World world = join(rank);
    seat = &seats_[world.rank()];
    seat->pid = ::getpid();
    body_(world, *seat);
  } catch (const Error& error) {
    seat->record(error);
    status = kThrewError;
  } catch (const std::exception&) {
    status = kThrewOther;
  }
  if (seat->ended_ns == 0) seat->ended_ns = now_ns();
  if (last_) last_();
  return ::testing::Test::HasFailure() ? kTestFailed : status;
}

void FaultJob::start(Body body) {
  body_ = std::move(body);
  running_ = true;
  std::fflush(nullptr);
  switch (shape_.as) {
    case PesAs::processes:
      start_processes();
      break;
    case PesAs::launched:
      start_launched();
      break;
    case PesAs::threads:
      start_threads();
      break;
  }
}

void FaultJob::start_processes() {
  for (int rank = 0; rank < shape_.pes; ++rank) {
    if (!present_[static_cast<std::size_t>(rank)]) continue;
    const pid_t pid = ::fork();
    if (pid == 0) {
      const int status = run_body(rank);
      std::fflush(nullptr);
      std::_Exit(status);
    }
    seats_[rank].pid = pid;
    pids_[static_cast<std::size_t>(rank)] = pid;
  }
}

void FaultJob::start_launched() {
  launcher_ = ::fork();
  if (launcher_ != 0) return;
  // The launcher ends the job with SIGTERM; PEs that ignore it show that their waits end without its help.
  JobOptions options;
  options.pes = shape_.pes;
  options.terminate_grace = std::chrono::seconds(10);
  options.quiet = true;
  const JobResult result = run_processes(options, [this] {
    std::signal(SIGTERM, SIG_IGN);
    const char* rank = std::getenv("ISOTOPE_RANK");
    return run_body(rank ? std::atoi(rank) : 0);
  });
  shared_->exit_code = result.exit_code;
  shared_->first_failed = result.first_failed;
  std::snprintf(shared_->message, sizeof shared_->message, "%s", result.message.c_str());
  std::_Exit(0);
}

void FaultJob::start_threads() {
  thread_owner_ = std::thread([this] {
    try {
      run_threads(shape_.pes, [this] {
        const int place = shared_->next_thread++;
        Seat* seat = &seats_[place];
        try {
          World world = init(options_[static_cast<std::size_t>(place)]);
          seat = &seats_[world.rank()];
          body_(world, *seat);
        } catch (const Error& error) {
          seat->record(error);
          throw;
        } catch (...) {
          seat->ended_ns = now_ns();
          throw;
        }
        if (seat->ended_ns == 0) seat->ended_ns = now_ns();
      });
    } catch (...) {
      thread_failure_ = std::current_exception();
    }
  });
}

void FaultJob::meet(int place) {
  std::atomic<int>& met = shared_->met[place];
  ++met;
  int came = 0;
  for (const bool present : present_) came += present;
  if (!poll_until(now_ns() + 30'000'000'000u, [&] { return met.load() >= came; })) std::_Exit(195);
}

bool FaultJob::all_ready(nanoseconds limit) {
  return poll_until(now_ns() + static_cast<std::uint64_t>(limit.count()), [this] {
    for (int rank = 0; rank < shape_.pes; ++rank)
      if (present_[static_cast<std::size_t>(rank)] && seats_[rank].ready_ns == 0) return false;
    return true;
  });
}

std::uint64_t FaultJob::strike(int rank, int signal) {
  const std::uint64_t struck = now_ns();
  if (signal == 0) {
    seats_[rank].struck = 1;
  } else {
    EXPECT_NE(seats_[rank].pid.load(), 0) << "PE " << rank << " has no process to strike";
    if (seats_[rank].pid != 0) ::kill(seats_[rank].pid, signal);
  }
  return struck;
}

void FaultJob::wait(nanoseconds limit) {
  const std::uint64_t until = now_ns() + static_cast<std::uint64_t>(limit.count()) * kSlow;
  switch (shape_.as) {
    case PesAs::processes:
      wait_processes(until);
      break;
    case PesAs::launched:
      wait_launched(until);
      break;
    case PesAs::threads:
      wait_threads(until);
      break;
  }
  running_ = false;
}

void FaultJob::wait_processes(std::uint64_t until) {
  for (int rank = 0; rank < shape_.pes; ++rank) {
    int& pid = pids_[static_cast<std::size_t>(rank)];
    int& status = statuses_[static_cast<std::size_t>(rank)];
    if (pid == 0) continue;
    if (!poll_until(until, [&] { return ::waitpid(pid, &status, WNOHANG) == pid; })) {
      ADD_FAILURE() << "PE " << rank << " did not end";
      ::kill(pid, SIGKILL);
      ::waitpid(pid, &status, 0);
    }
    pid = 0;
    if (WIFEXITED(status) && in_trouble(WEXITSTATUS(status)))
      ADD_FAILURE() << "PE " << rank << " failed, status " << WEXITSTATUS(status);
  }
}

void FaultJob::wait_launched(std::uint64_t until) {
  int status = 0;
  if (!poll_until(until, [&] { return ::waitpid(launcher_, &status, WNOHANG) == launcher_; })) {
    ADD_FAILURE() << "the launcher did not end";
    ::kill(launcher_, SIGKILL);
    ::waitpid(launcher_, &status, 0);
  }
  if (in_trouble(shared_->exit_code)) ADD_FAILURE() << shared_->message;
}

void FaultJob::wait_threads(std::uint64_t until) {
  const bool ended = poll_until(until, [this] {
    for (int rank = 0; rank < shape_.pes; ++rank)
      if (seats_[rank].ended_ns == 0) return false;
    return true;
  });
  if (!ended) {  // a thread cannot be killed: the whole test ends here
    std::fprintf(stderr, "a PE that is a thread did not end\n");
    std::abort();
  }
  thread_owner_.join();
}

JobResult FaultJob::launcher_result() const {
  JobResult result;
  result.exit_code = shared_->exit_code;
  result.first_failed = shared_->first_failed;
  result.message = shared_->message;
  return result;
}

}  // namespace isotope::testing
