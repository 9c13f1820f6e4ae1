// See environment.hpp. One function per launcher; each says whether its variables are there, and what they mean.
#include "bootstrap/environment.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <vector>

#include "bootstrap/codec.hpp"
#include "isotope/base/error.hpp"
#include "os/identity.hpp"

namespace isotope::bootstrap {
namespace {

using runtime::Getenv;
using runtime::Knobs;

/// Spellings of one variable, in order of preference.
using NameList = std::vector<const char*>;

struct Found {
  const char* name = nullptr;
  std::string value;
};

class Environment {
 public:
  explicit Environment(const Getenv& lookup) : lookup_(lookup) {}

  bool has(const char* name) const { return text(name).has_value(); }
  /// Set and not empty.
  std::optional<std::string> text(const char* name) const {
    auto value = lookup_(name);
    if (value && value->empty()) value.reset();
    return value;
  }
  /// The first of `names` that is set.
  std::optional<Found> first(const NameList& names) const {
    for (const char* name : names)
      if (auto value = text(name)) return Found{name, *value};
    return std::nullopt;
  }
  /// Throws when it is there but no number of at least `least`.
  std::optional<int> number(const NameList& names, int least) const {
    const auto found = first(names);
    if (!found) return std::nullopt;
    int value = 0;
    const char* end = found->value.data() + found->value.size();
    const auto [stop, err] = std::from_chars(found->value.data(), end, value);
    if (err != std::errc() || stop != end || value < least || value > kMaxPes)
      throw Error(Code::invalid_argument, fmt::format("{} is '{}'; expected a number from {} to {}", found->name,
                                                      found->value, least, kMaxPes));
    return value;
  }

 private:
  const Getenv& lookup_;
};

/// The names of a launcher's variables.
struct Names {
  Launcher launcher;
  NameList rank, size, local_rank, local_size;
};

[[noreturn]] void several_hosts(const Names& names, int size, const std::string& evidence) {
  throw Error(
      Code::not_supported,
      fmt::format("{} started {} PEs on several hosts ({}). PEs on several hosts meet over TCP: set "
                  "ISOTOPE_BOOTSTRAP=tcp, ISOTOPE_ROOT=host:port, ISOTOPE_JOB_KEY_FILE, ISOTOPE_RANK and ISOTOPE_SIZE",
                  launcher_name(names.launcher), size, evidence));
}

Place read_place(const Environment& env, const Names& names) {
  const auto rank = env.number(names.rank, 0);
  const auto size = env.number(names.size, 1);
  if (rank.has_value() != size.has_value()) {
    const auto found = env.first(rank ? names.rank : names.size);
    throw Error(
        Code::invalid_argument,
        fmt::format("{} is '{}' but {} is not set; {} sets both. Set both, neither, or ISOTOPE_BOOTSTRAP=single",
                    found->name, found->value, rank ? names.size.front() : names.rank.front(),
                    launcher_name(names.launcher)));
  }
  const char* rank_name = env.first(names.rank)->name;
  const char* size_name = env.first(names.size)->name;
  if (*rank >= *size)
    throw Error(Code::invalid_argument, fmt::format("{} is {} but {} is {}; a rank is below the number of PEs",
                                                    rank_name, *rank, size_name, *size));
  const auto local_rank = env.number(names.local_rank, 0);
  const auto local_size = env.number(names.local_size, 1);
  if (local_rank && local_size && *local_rank >= *local_size)
    throw Error(Code::invalid_argument, fmt::format("{} is {} but {} is {}; a rank is below the number of PEs",
                                                    env.first(names.local_rank)->name, *local_rank,
                                                    env.first(names.local_size)->name, *local_size));
  if (local_size && *local_size > *size)
    throw Error(Code::invalid_argument, fmt::format("{} is {} but {} is only {}", env.first(names.local_size)->name,
                                                    *local_size, size_name, *size));
  if (local_size && *local_size != *size)
    several_hosts(names, *size, fmt::format("{}={}", env.first(names.local_size)->name, *local_size));
  Place place;
  place.launcher = names.launcher;
  place.rank = *rank;
  place.size = *size;
  return place;
}

std::optional<Place> torchrun(const Environment& env) {
  const Names names{Launcher::torchrun, {"RANK"}, {"WORLD_SIZE"}, {"LOCAL_RANK"}, {"LOCAL_WORLD_SIZE"}};
  const bool rank = env.has("RANK"), size = env.has("WORLD_SIZE");
  // RANK alone may be anybody's variable; next to torchrun's other ones it is torchrun's.
  const bool torch = env.first({"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"}).has_value();
  if (!((rank && size) || ((rank || size) && torch))) return std::nullopt;
  Place place = read_place(env, names);
  const auto run = env.text("TORCHELASTIC_RUN_ID");
  const auto port = env.text("MASTER_PORT");
  if (place.size > 1 && !run && !port)
    throw Error(
        Code::invalid_argument,
        fmt::format("RANK={} and WORLD_SIZE={} are set, but neither MASTER_PORT nor TORCHELASTIC_RUN_ID is, so the PEs "
                    "of this job cannot tell it from another; start them with torchrun or `isotope run`",
                    place.rank, place.size));
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"})
    place.identity += fmt::format("{}={}\n", name, env.text(name).value_or(""));
  return place;
}

std::optional<Place> mpi(const Environment& env) {
  if (env.first({"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"})) {
    Place place = read_place(env, {Launcher::mpi,
                                   {"OMPI_COMM_WORLD_RANK"},
                                   {"OMPI_COMM_WORLD_SIZE"},
                                   {"OMPI_COMM_WORLD_LOCAL_RANK"},
                                   {"OMPI_COMM_WORLD_LOCAL_SIZE"}});
    const auto job = env.first({"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"});
    place.identity =
        job ? fmt::format("open mpi {}", job->value) : fmt::format("open mpi, parent {}", os::parent_pid());
    return place;
  }
  if (env.first({"PMI_RANK", "PMI_SIZE"})) {
    Place place =
        read_place(env, {Launcher::mpi, {"PMI_RANK"}, {"PMI_SIZE"}, {"MPI_LOCALRANKID"}, {"MPI_LOCALNRANKS"}});
    // MPICH and Intel MPI name no job, but the PEs of a host are children of one proxy process.
    place.identity = fmt::format("hydra, parent {}", os::parent_pid());
    return place;
  }
  return std::nullopt;
}

std::optional<Place> slurm(const Environment& env) {
  const auto step = env.first({"SLURM_STEP_ID", "SLURM_STEPID"});
  // A batch script and an interactive shell carry the allocation's variables, but are one process: they have no step,
  // or one of Slurm's reserved steps, whose numbers begin at 0xfffffff0.
  if (!env.has("SLURM_PROCID") || !step || !env.has("SLURM_JOB_ID")) return std::nullopt;
  if (step->value.size() == 10 && step->value >= "4294967280") return std::nullopt;
  const Names names{Launcher::slurm, {"SLURM_PROCID"}, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, {"SLURM_LOCALID"}, {}};
  Place place = read_place(env, names);
  const auto nodes = env.number({"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}, 1);
  if (place.size > 1 && nodes && *nodes > 1) several_hosts(names, place.size, fmt::format("{} nodes", *nodes));
  place.identity = fmt::format("slurm {}.{}", *env.text("SLURM_JOB_ID"), step->value);
  return place;
}

std::string shown(const std::optional<int>& value) { return value ? fmt::format("{}", *value) : "not set"; }

Place from_knobs(const Knobs& knobs, Launcher launcher, const std::string& what) {
  if (!knobs.rank || !knobs.size)
    throw Error(Code::invalid_argument,
                fmt::format("{} is set, but ISOTOPE_RANK is {} and ISOTOPE_SIZE is {}; both are needed", what,
                            shown(knobs.rank), shown(knobs.size)));
  if (*knobs.size < 1 || *knobs.size > kMaxPes || *knobs.rank < 0 || *knobs.rank >= *knobs.size)
    throw Error(
        Code::invalid_argument,
        fmt::format("ISOTOPE_RANK is {} and ISOTOPE_SIZE is {}; expected 1 to {} PEs and a rank below their number",
                    *knobs.rank, *knobs.size, kMaxPes));
  Place place;
  place.launcher = launcher;
  place.rank = *knobs.rank;
  place.size = *knobs.size;
  return place;
}

Place isotope_run(const Knobs& knobs) { return from_knobs(knobs, Launcher::isotope_run, "ISOTOPE_CONTROL_FD"); }

Place tcp(const Knobs& knobs) {
  if (knobs.root.empty() || knobs.job_key_file.empty())
    throw Error(
        Code::invalid_argument,
        fmt::format("the tcp bootstrap needs ISOTOPE_ROOT=host:port (it is '{}') and ISOTOPE_JOB_KEY_FILE (it is '{}')",
                    knobs.root, knobs.job_key_file));
  return from_knobs(knobs, Launcher::tcp, "ISOTOPE_ROOT");
}

Place expected(const std::optional<Place>& place, const char* choice, const char* variables) {
  if (!place)
    throw Error(Code::invalid_argument,
                fmt::format("ISOTOPE_BOOTSTRAP is {}, but {} are not set; start the program with that "
                            "launcher, or leave ISOTOPE_BOOTSTRAP unset",
                            choice, variables));
  return *place;
}

}  // namespace

const char* launcher_name(Launcher launcher) noexcept {
  switch (launcher) {
    case Launcher::isotope_run:
      return "launcher";
    case Launcher::tcp:
      return "tcp";
    case Launcher::torchrun:
      return "torchrun";
    case Launcher::mpi:
      return "mpi";
    case Launcher::slurm:
      return "slurm";
    case Launcher::single:
      return "single";
  }
  return "unknown";
}

Place detect_place(const Knobs& knobs, const Getenv& lookup) {
  const Environment env(lookup);
  const std::string& choice = knobs.bootstrap;
  if (choice == "single") return {};
  if (choice == "launcher") {
    if (!knobs.control_fd) expected(std::nullopt, "launcher", "the variables of `isotope run` (ISOTOPE_CONTROL_FD)");
    return isotope_run(knobs);
  }
  if (choice == "tcp") return tcp(knobs);
  if (choice == "torchrun")
    return expected(torchrun(env), "torchrun", "torchrun's variables (RANK, WORLD_SIZE, MASTER_PORT)");
  if (choice == "mpi")
    return expected(mpi(env), "mpi", "mpirun's variables (OMPI_COMM_WORLD_RANK and _SIZE, or PMI_RANK and PMI_SIZE)");
  if (choice == "slurm")
    return expected(slurm(env), "slurm", "srun's variables (SLURM_PROCID, SLURM_STEP_ID, SLURM_JOB_ID)");
  if (!choice.empty() && choice != "auto")
    throw Error(
        Code::invalid_argument,
        fmt::format("ISOTOPE_BOOTSTRAP is '{}'; expected auto, launcher, torchrun, mpi, slurm, tcp or single", choice));

  if (knobs.control_fd) return isotope_run(knobs);
  if (!knobs.root.empty()) return tcp(knobs);
  if (knobs.rank || knobs.size)
    throw Error(
        Code::invalid_argument,
        fmt::format(
            "ISOTOPE_RANK is {} and ISOTOPE_SIZE is {}, but neither ISOTOPE_CONTROL_FD (set by `isotope run`) nor "
            "ISOTOPE_ROOT (for the tcp bootstrap) is set. Start the program with `isotope run`, or unset them",
            shown(knobs.rank), shown(knobs.size)));
  if (auto place = torchrun(env)) return *place;
  if (auto place = mpi(env)) return *place;
  if (auto place = slurm(env)) return *place;
  return {};
}

}  // namespace isotope::bootstrap
