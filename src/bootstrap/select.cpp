// See select.hpp.
#include "bootstrap/select.hpp"

#include <cstdlib>

#include "bootstrap/environment.hpp"
#include "bootstrap/launcher.hpp"
#include "bootstrap/local.hpp"
#include "bootstrap/tcp.hpp"

namespace isotope::bootstrap {

std::unique_ptr<Bootstrap> from_environment(const runtime::Knobs& knobs) {
  const Place place = detect_place(knobs, [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  });
  switch (place.launcher) {
    case Launcher::isotope_run:
      return from_control_fd(place.rank, place.size, *knobs.control_fd, knobs);
    case Launcher::tcp:
      return from_root(knobs);
    case Launcher::torchrun:
    case Launcher::mpi:
    case Launcher::slurm:
      return meet_locally(place, knobs);
    case Launcher::single:
      break;
  }
  return single();
}

}  // namespace isotope::bootstrap
