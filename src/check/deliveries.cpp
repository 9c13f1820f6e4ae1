// Copies: those that are done when the call returns, and those that travel by themselves as tasks of their own.
#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "check/advice.hpp"
#include "check/findings.hpp"
#include "check/memory.hpp"
#include "check/scheduler.hpp"
#include "check/step_log.hpp"
#include "check/text.hpp"
#include "check/timeline.hpp"
#include "check/words.hpp"
#include "isotope/platform/sim/copy.hpp"
#include "isotope/platform/sim/thread.hpp"

namespace isotope::check {

namespace {

constexpr std::size_t kPiece = 64;  // a copy arrives in pieces of this size

/// A new task that does `work` later, after everything that the current one has done.
void send(std::function<void()> work) {
  Scheduler& scheduler = Scheduler::instance();
  Task& me = *Scheduler::current();
  auto delivery = scheduler.spawn(TaskKind::delivery, me.pe, scheduler.new_id(), me.clock, std::move(work));
  delivery->kernel = me.kernel;
  delivery->thread = me.thread;
  scheduler.note_incarnation(*delivery, me.id);
  Task* sender = &me;
  delivery->at_end = [sender](Task&) {
    if (sender->state == State::delivery) Scheduler::instance().wake(*sender);
  };
  me.deliveries.push_back(delivery);
  log_event(me, "sends a non-blocking put");
  me.tick();
}

void await_deliveries(Task& me) {
  for (;;) {
    bool all = true;
    for (const auto& one : me.deliveries) all = all && one->state == State::ended;
    if (all) return;
    Scheduler::instance().block(State::delivery);
  }
}

}  // namespace

void copy_bytes(void* dst, const void* src, std::size_t bytes, const void* pc, std::uint8_t flags) {
  Task* task = Scheduler::current();
  if (task != nullptr && task->bookkeeping == 0) {
    task->last_pc = pc;
    memory().shadow().access(*task, reinterpret_cast<std::uintptr_t>(src), bytes, flags, Scope::system, pc);
    memory().shadow().access(*task, reinterpret_cast<std::uintptr_t>(dst), bytes, flags | kWrite, Scope::system, pc);
    ++task->bookkeeping;  // memmove itself is watched too
    std::memmove(dst, src, bytes);
    --task->bookkeeping;
    return;
  }
  std::memmove(dst, src, bytes);
}

void start_copy(void* dst, const void* src, std::size_t bytes, const void* pc) {
  if (Scheduler::current() == nullptr) {
    std::memmove(dst, src, bytes);
    return;
  }
  send([=] {
    for (std::size_t at = 0; at < bytes; at += kPiece) {
      Scheduler::instance().point({reinterpret_cast<std::uintptr_t>(dst), true});
      copy_bytes(static_cast<char*>(dst) + at, static_cast<const char*>(src) + at, std::min(kPiece, bytes - at), pc);
    }
  });
}

}  // namespace isotope::check

namespace isotope::sim {

using check::Scheduler;
using check::Task;

void copy_bytes(void* dst, const void* src, std::size_t bytes) {
  check::copy_bytes(dst, src, bytes, __builtin_return_address(0));
}

void copy_wide(void* dst, const void* src, std::size_t bytes) {
  check::copy_bytes(dst, src, bytes, __builtin_return_address(0), bytes > 8 ? check::kWide : 0);
}

void start_copy_bytes(void* dst, const void* src, std::size_t bytes) {
  check::start_copy(dst, src, bytes, __builtin_return_address(0));
}

bool put_signal_later(bool leader, void* dst, const void* src, std::size_t bytes, std::uint64_t* word,
                      std::uint64_t value, SignalOp op) {
  if (Scheduler::current() == nullptr) return false;
  if (!leader) return true;
  const void* pc = __builtin_return_address(0);
  check::send([=] {
    for (std::size_t at = 0; at < bytes; at += check::kPiece) {
      Scheduler::instance().point({reinterpret_cast<std::uintptr_t>(dst), true});
      check::copy_bytes(static_cast<char*>(dst) + at, static_cast<const char*>(src) + at,
                        std::min(check::kPiece, bytes - at), pc);
    }
    if (op == SignalOp::add) {
      check::change_word(word, 8, Change::add, value, Order::release, Scope::system, pc);
    } else {
      check::store_word(word, 8, value, Order::release, Scope::system, pc);
    }
  });
  return true;
}

void complete_puts() {
  Task* me = Scheduler::current();
  if (me == nullptr || me->deliveries.empty()) return;
  check::await_deliveries(*me);
  check::log_event(*me, "its non-blocking puts are complete");
  for (const auto& one : me->deliveries) me->clock.join(one->clock);
  me->deliveries.clear();
}

void order_puts() {
  Task* me = Scheduler::current();
  if (me == nullptr || me->deliveries.empty()) return;
  // Later puts and signals come after these; the sender itself has learnt nothing.
  check::await_deliveries(*me);
  for (const auto& one : me->deliveries) me->extra.join(one->clock);
}

Bookkeeping::Bookkeeping() noexcept {
  if (Task* me = Scheduler::current()) ++me->bookkeeping;
}
Bookkeeping::~Bookkeeping() {
  if (Task* me = Scheduler::current()) --me->bookkeeping;
}

void begin_wait(const void* word, std::size_t bytes, Cmp cmp, std::uint64_t expected, int from, const char* call,
                CallSite site) {
  Task* me = Scheduler::current();
  if (me == nullptr) return;
  me->wait = {word, bytes, cmp, expected, from, call, site};
  check::advise_wait(me->wait);
  if (check::logging_steps()) {
    check::log_event(*me, fmt::format("waits in {} until it is {} {}  {}", call, check::cmp_text(cmp),
                                      check::value_text(expected), check::site_text(site)));
  }
  check::timeline_begin(*me, call);
}

void end_wait() {
  Task* me = Scheduler::current();
  if (me == nullptr) return;
  if (check::Location* location = Scheduler::instance().find_location(me->wait.word)) ++location->waits_met;
  check::log_event(*me, "has what it waited for");
  me->wait = {};
  check::timeline_end(*me);
}

void refused(const char* call, CallSite site, const char* argument, const char* why) {
  if (Task* me = Scheduler::current()) check::report_refused(*me, call, site, argument, why);
}

void name_kernel(const char* text) {
  Task* me = Scheduler::current();
  if (me == nullptr) return;
  me->kernel = text;
  check::timeline_begin(*me, check::kernel_name(text));
  if (check::logging_steps()) check::log_event(*me, "begins kernel " + check::kernel_name(text));
  Scheduler::instance().note_incarnation(*me);
}

}  // namespace isotope::sim
