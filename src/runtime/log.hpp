// The only place the library prints from: one line a message on standard error, filtered by ISOTOPE_LOG.
#pragma once

#include <string>

namespace isotope::runtime {

enum class LogLevel { error, warn, info, debug };

void set_log_level(LogLevel level) noexcept;
LogLevel log_level() noexcept;

void log_error(const std::string& message);
void log_warn(const std::string& message);
void log_info(const std::string& message);
void log_debug(const std::string& message);
/// What a knob of its own asked for: whatever the level.
void log_trace(const std::string& message);

}  // namespace isotope::runtime
