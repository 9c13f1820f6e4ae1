// The public World: thin, checked calls into WorldCore.
#include "isotope/host/world.hpp"

#include <fmt/format.h>

#include <exception>

#include "os/process.hpp"
#include "runtime/watcher.hpp"
#include "runtime/world_core.hpp"

namespace isotope {

World::World(std::shared_ptr<runtime::WorldCore> core)
    : core_(std::move(core)), exceptions_at_start_(std::uncaught_exceptions()) {}

World& World::operator=(World&& other) noexcept {
  if (this != &other) {
    leave();
    core_ = std::move(other.core_);
    exceptions_at_start_ = other.exceptions_at_start_;
  }
  return *this;
}

World::~World() { leave(); }

void World::leave() noexcept {
  if (core_ == nullptr) return;
  if (core_->is_forked_copy()) {
    // The child of a fork is no PE and has none of the threads: it must not tear anything down.
    new std::shared_ptr<runtime::WorldCore>(core_);
    return;
  }
  core_->leave(std::uncaught_exceptions() > exceptions_at_start_);
  core_.reset();
}

runtime::WorldCore& World::core() const {
  if (core_ == nullptr)
    throw Error(Code::not_initialized, "this World was moved from or destroyed; call init() for a new one");
  return *core_;
}

int World::rank() const { return core().rank(); }
int World::size() const { return core().size(); }
int World::node_rank() const { return core().node_rank(); }
int World::node_size() const { return core().node_size(); }
std::string World::bootstrap_name() const { return core().bootstrap_name(); }

std::size_t World::bytes_of(std::size_t n, std::size_t each, CallSite site) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(n, each, &bytes)) {
    throw Error(Code::invalid_argument,
                fmt::format("alloc: {} elements of {} bytes do not fit in the address space", n, each), Error::kNobody,
                Error::kNobody, site);
  }
  return bytes;
}

detail::Allocation World::allocate(std::size_t bytes, const AllocOptions& options, CallSite site) {
  const auto lock = core().collective("alloc");
  const auto block = core().heap().allocate(bytes, options, site);
  return detail::Allocation(core_, block.id, block.data, block.bytes, !core().drives_gpu());
}

detail::Allocation World::register_bytes(void* data, std::size_t bytes, CallSite site) {
  const auto lock = core().collective("register_memory");
  const auto block = core().heap().register_memory(data, bytes, site);
  return detail::Allocation(core_, block.id, block.data, block.bytes, !core().drives_gpu());
}

void World::release(detail::Allocation& allocation, CallSite site) {
  const auto lock = core().collective("free");
  core().heap().release(allocation.data() == nullptr ? 0 : allocation.id(), site);
  allocation.forget();
}

HeapUse World::heap_use() const { return core().heap().use(); }

Team World::team() const { return core().world_team(); }
Team World::node_team() const { return core().node_team(); }

Stream World::stream() const {
  core().check_usable("stream");
  return Stream(core().default_stream());
}

Stream World::create_stream() {
  core().check_usable("create_stream");
  return Stream(core().create_stream());
}

void World::enqueue(const LaunchConfig& config, std::function<void()> body) {
  core().check_usable("launch");
  core().launch(config, config.stream ? config.stream.queue_ : core().default_stream(), std::move(body));
}

void World::run_host_kernel(const LaunchConfig& config, const std::function<void()>& body) {
  core().check_usable("launch");
  core().run(config, body);
}

void World::enqueue_gpu(const LaunchConfig& config, const detail::GpuKernel& kernel, void** arguments) {
  core().check_usable("launch");
  core().launch_gpu(config, config.stream ? config.stream.queue_ : core().default_stream(), kernel, arguments);
}

bool World::fits_gpu(const LaunchConfig& config, const detail::GpuKernel& kernel) const {
  return core().fits_gpu(config, kernel);
}

bool World::drives_gpu() const { return core().drives_gpu(); }
ObjectRange World::object_at(const void* address) const { return core().object_at(address); }

int World::multiprocessors() const { return core().multiprocessors(); }
int World::compute_capability() const { return core().compute_capability(); }

Stream World::wrap_stream(void* cuda_stream) {
  core().check_usable("wrap_stream");
  return Stream(core().wrap_stream(cuda_stream));
}

void World::synchronize() {
  core().check_usable("synchronize");
  core().synchronize();
}

void World::barrier(CallSite site) { barrier(team(), site); }

void World::barrier(const Team& team, CallSite site) { barrier_of("barrier", team, 1, site); }

void World::barrier_of(const char* call, const Team& team, std::uint64_t deadlines, CallSite site) {
  const auto lock = core().collective(call);
  core().barrier(team, call, deadlines, site);
}

void World::abort(const std::string& message) {
  core().check_usable("abort");
  core().abort(Code::aborted, fmt::format("PE {} aborted the job: {}", rank(), message), rank());
}

void World::global_exit(int exit_code) {
  core().check_usable("global_exit");
  core().global_exit(exit_code);
}

Status World::status() const {
  core().check_usable("status");
  const std::exception_ptr failure = core().next_failure();
  if (!failure) return {};
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return {error.code(), error.peer(), error.what()};
  }
}

namespace detail {

void Allocation::let_go() noexcept {
  if (core_ != nullptr && data_ != nullptr) core_->heap().let_go(id_);
  core_.reset();
  data_ = nullptr;
}

void Allocation::read(const void* of, std::size_t offset, void* into, std::size_t bytes) const {
  check_range("read", offset, bytes);
  runtime::watcher::host_read(static_cast<const char*>(of) + offset, bytes);
  if (bytes != 0) core_->heap().memory().copy(into, static_cast<const char*>(of) + offset, bytes);
}

void Allocation::write(std::size_t offset, const void* from, std::size_t bytes) const {
  check_range("write", offset, bytes);
  runtime::watcher::host_wrote(static_cast<char*>(data_) + offset, bytes);
  if (bytes != 0) core_->heap().memory().copy(static_cast<char*>(data_) + offset, from, bytes);
}

void Allocation::check_range(const char* call, std::size_t offset, std::size_t bytes) const {
  if (core_ != nullptr) core_->check_usable(call);
  if (offset <= bytes_ && bytes <= bytes_ - offset) return;
  throw Error(Code::out_of_range,
              fmt::format("{}: {} bytes from byte {} of a symmetric object that has {}", call, bytes, offset, bytes_));
}

void Allocation::refuse_in_place() {
  throw Error(Code::not_supported,
              "x[i] on the host, where x lies in a GPU's memory; copy with x.read() and x.write(), or x.get(i) and "
              "x.set(i, v)");
}

void Allocation::forget() noexcept {
  data_ = nullptr;
  bytes_ = 0;
  core_.reset();
}

}  // namespace detail

}  // namespace isotope
