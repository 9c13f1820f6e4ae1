// The public view of knobs, build and choices; machine.cpp has the machine.
#include "isotope/host/info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "bootstrap/environment.hpp"
#include "isotope/base/error.hpp"
#include "isotope/base/macros.hpp"
#include "os/pipe.hpp"
#include "os/spawn.hpp"
#include "runtime/knobs.hpp"
#include "runtime/words.hpp"

// The build tells these; a copy compiled some other way does without.
#if !defined(ISOTOPE_BUILD_TYPE)
#define ISOTOPE_BUILD_TYPE ""
#endif  // ISOTOPE_BUILD_TYPE
#if !defined(ISOTOPE_SANITIZERS)
#define ISOTOPE_SANITIZERS ""
#endif  // ISOTOPE_SANITIZERS

namespace isotope {

namespace {

runtime::Getenv lookup_with(EnvironmentOverrides overrides) {
  return [overrides = std::move(overrides)](const char* name) -> std::optional<std::string> {
    for (auto one = overrides.rbegin(); one != overrides.rend(); ++one) {
      if (one->first == name) return one->second;
    }
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

const char* kind_name(runtime::KnobKind kind) {
  switch (kind) {
    case runtime::KnobKind::text:
      return "text";
    case runtime::KnobKind::duration:
      return "duration";
    case runtime::KnobKind::bytes:
      return "bytes";
    case runtime::KnobKind::count:
      return "count";
    case runtime::KnobKind::flag:
      return "flag";
    case runtime::KnobKind::choice:
      return "choice";
  }
  return "text";
}

bool has(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

std::vector<KnobInfo> knobs(const EnvironmentOverrides& overrides) {
  const runtime::Getenv lookup = lookup_with(overrides);
  std::vector<KnobInfo> all;
  for (const runtime::KnobRow& row : runtime::knob_table()) {
    const auto found = lookup(row.variable);
    KnobInfo info;
    info.variable = row.variable;
    info.kind = kind_name(row.kind);
    info.fallback = row.default_text;
    info.set = found && !found->empty();
    info.value = info.set ? *found : info.fallback;
    info.meaning = row.meaning;
    info.internal = row.internal;
    all.push_back(std::move(info));
  }
  return all;
}

std::optional<std::string> knob_problem(const EnvironmentOverrides& overrides) {
  try {
    runtime::read_knobs(lookup_with(overrides));
    return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  }
}

std::vector<std::string> knob_warnings() { return runtime::unknown_variable_warnings(os::environment()); }

BuildInfo build_info() {
  BuildInfo build;
  build.version = ISOTOPE_VERSION;
#if defined(__clang__)
  build.compiler = "clang " __clang_version__;
  if (const auto tail = build.compiler.find(" ("); tail != std::string::npos) build.compiler.resize(tail);
#else
  build.compiler = fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif  // __clang__
  build.build_type = ISOTOPE_BUILD_TYPE;
  build.checked = ISOTOPE_CHECKED != 0;
  build.sanitizers = ISOTOPE_SANITIZERS;
  build.platforms = {"cpu"};
#if ISOTOPE_HAVE_CUDA
  build.platforms.push_back("cuda");
#endif  // ISOTOPE_HAVE_CUDA
  return build;
}

ChoiceInfo choices() {
  ChoiceInfo choice;
  choice.platform = "cpu";
  try {
    const runtime::Getenv lookup = lookup_with({});
    const runtime::Knobs values = runtime::read_knobs(lookup);
    if (values.platform == "cuda") choice.platform = "cuda";  // auto depends on what the program was compiled for
    const bootstrap::Place place = bootstrap::detect_place(values, lookup);
    choice.bootstrap = bootstrap::launcher_name(place.launcher);
    choice.because = place.launcher == bootstrap::Launcher::single && values.bootstrap == "auto"
                         ? "no launcher's variables are set: one PE alone"
                         : fmt::format("PE {} of {}{}", place.rank, place.size,
                                       values.bootstrap == "auto" ? "" : "; ISOTOPE_BOOTSTRAP says so");
  } catch (const Error& error) {
    choice.bootstrap = "none";
    choice.because = error.what();
  }
  return choice;
}

bool use_color(int descriptor) {
  const char* wanted = std::getenv("ISOTOPE_COLOR");
  if (wanted != nullptr && std::string_view(wanted) == "always") return true;
  if (wanted != nullptr && std::string_view(wanted) == "never") return false;
  return !has("NO_COLOR") && os::is_terminal(descriptor);
}

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  const auto ns = runtime::parse_duration(text);
  using Limit = std::numeric_limits<std::chrono::nanoseconds::rep>;
  if (!ns || *ns > static_cast<std::uint64_t>(Limit::max())) return std::nullopt;
  return std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(*ns));
}

std::optional<std::string> nearest_word(std::string_view word, const std::vector<std::string>& known) {
  return runtime::nearest_word(word, known);
}

}  // namespace isotope
