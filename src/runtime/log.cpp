#include "runtime/log.hpp"

#include <atomic>
#include <cstdio>

namespace isotope::runtime {

namespace {

std::atomic<LogLevel> g_level{LogLevel::warn};

void write_line(LogLevel level, const char* word, const std::string& message) {
  if (level > g_level.load(std::memory_order_relaxed)) return;
  // One call, so that lines of several PEs do not mix.
  const std::string line = std::string("isotope: ") + word + message + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void set_log_level(LogLevel level) noexcept { g_level.store(level, std::memory_order_relaxed); }
LogLevel log_level() noexcept { return g_level.load(std::memory_order_relaxed); }

void log_error(const std::string& message) { write_line(LogLevel::error, "error: ", message); }
void log_warn(const std::string& message) { write_line(LogLevel::warn, "warning: ", message); }
void log_info(const std::string& message) { write_line(LogLevel::info, "", message); }
void log_debug(const std::string& message) { write_line(LogLevel::debug, "debug: ", message); }
void log_trace(const std::string& message) { write_line(LogLevel::error, "", message); }

}  // namespace isotope::runtime
