// Which launcher started us: tables of environments, and what each must give.
#include "bootstrap/environment.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support.hpp"

namespace isotope::bootstrap {
namespace {

using Env = std::map<std::string, std::string>;

/// ISOTOPE_ variables become knobs, as read_knobs would; the rest stays in the environment.
Place detect(const Env& env) {
  runtime::Knobs knobs = testing::make_knobs();
  const auto number = [&](const char* name) -> std::optional<int> {
    const auto at = env.find(name);
    if (at == env.end()) return std::nullopt;
    return std::stoi(at->second);
  };
  const auto text = [&](const char* name, std::string other) {
    const auto at = env.find(name);
    return at == env.end() ? other : at->second;
  };
  knobs.bootstrap = text("ISOTOPE_BOOTSTRAP", "auto");
  knobs.root = text("ISOTOPE_ROOT", "");
  knobs.job_key_file = text("ISOTOPE_JOB_KEY_FILE", "");
  knobs.rank = number("ISOTOPE_RANK");
  knobs.size = number("ISOTOPE_SIZE");
  knobs.control_fd = number("ISOTOPE_CONTROL_FD");
  return detect_place(knobs, [&](const char* name) -> std::optional<std::string> {
    const auto at = env.find(name);
    if (at == env.end()) return std::nullopt;
    return at->second;
  });
}

Env with(Env env, const Env& more) {
  for (const auto& [name, value] : more) env[name] = value;
  return env;
}
Env without(Env env, const std::string& name) {
  env.erase(name);
  return env;
}

const Env kTorch{{"RANK", "1"},
                 {"WORLD_SIZE", "4"},
                 {"LOCAL_RANK", "1"},
                 {"LOCAL_WORLD_SIZE", "4"},
                 {"MASTER_ADDR", "127.0.0.1"},
                 {"MASTER_PORT", "29500"},
                 {"TORCHELASTIC_RUN_ID", "none"},
                 {"TORCHELASTIC_RESTART_COUNT", "0"}};
const Env kOpenMpi{{"OMPI_COMM_WORLD_RANK", "2"},
                   {"OMPI_COMM_WORLD_SIZE", "3"},
                   {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                   {"PMIX_NAMESPACE", "prterun-host-1@1"}};
const Env kHydra{{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}};
const Env kSlurm{{"SLURM_PROCID", "3"},  {"SLURM_NTASKS", "4"},  {"SLURM_LOCALID", "3"},
                 {"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "0"}, {"SLURM_NNODES", "1"}};
const Env kLauncher{{"ISOTOPE_CONTROL_FD", "5"}, {"ISOTOPE_RANK", "1"}, {"ISOTOPE_SIZE", "2"}};
const Env kTcp{
    {"ISOTOPE_ROOT", "node0:29400"}, {"ISOTOPE_RANK", "1"}, {"ISOTOPE_SIZE", "2"}, {"ISOTOPE_JOB_KEY_FILE", "k"}};

TEST(Environment, FindsEachLauncher) {
  const struct {
    const char* what;
    Env env;
    Launcher launcher;
    int rank, size;
  } rows[] = {
      {"nothing", {}, Launcher::single, 0, 1},
      {"torchrun", kTorch, Launcher::torchrun, 1, 4},
      {"open mpi", kOpenMpi, Launcher::mpi, 2, 3},
      {"hydra", kHydra, Launcher::mpi, 0, 2},
      {"slurm", kSlurm, Launcher::slurm, 3, 4},
      {"isotope run", kLauncher, Launcher::isotope_run, 1, 2},
      {"tcp", kTcp, Launcher::tcp, 1, 2},
      {"tcp by name", with(kTcp, {{"ISOTOPE_BOOTSTRAP", "tcp"}}), Launcher::tcp, 1, 2},
      {"one PE of torchrun",
       with(kTorch, {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}}),
       Launcher::torchrun, 0, 1},
      {"one PE of mpirun", {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}, Launcher::mpi, 0, 1},
      // A shell, a batch script and an interactive step inside an allocation are one process each.
      {"salloc shell", {{"SLURM_JOB_ID", "77"}, {"SLURM_NTASKS", "8"}}, Launcher::single, 0, 1},
      {"batch script", without(kSlurm, "SLURM_STEP_ID"), Launcher::single, 0, 1},
      {"interactive step", with(kSlurm, {{"SLURM_STEP_ID", "4294967290"}}), Launcher::single, 0, 1},
      {"step's own count", with(kSlurm, {{"SLURM_STEP_NUM_TASKS", "6"}}), Launcher::slurm, 3, 6},
      // Names that others use too.
      {"RANK alone", {{"RANK", "captain"}}, Launcher::single, 0, 1},
      {"MASTER_ADDR alone", {{"MASTER_ADDR", "node0"}}, Launcher::single, 0, 1},
      // The order.
      {"launcher before torchrun", with(kTorch, kLauncher), Launcher::isotope_run, 1, 2},
      {"tcp before torchrun", with(kTorch, kTcp), Launcher::tcp, 1, 2},
      {"torchrun before mpi", with(kTorch, kOpenMpi), Launcher::torchrun, 1, 4},
      {"mpi before slurm", with(kSlurm, kOpenMpi), Launcher::mpi, 2, 3},
      {"slurm by name", with(with(kSlurm, kOpenMpi), {{"ISOTOPE_BOOTSTRAP", "slurm"}}), Launcher::slurm, 3, 4},
      {"single by name", with(with(kTorch, kLauncher), {{"ISOTOPE_BOOTSTRAP", "single"}}), Launcher::single, 0, 1},
  };
  for (const auto& row : rows) {
    const Place place = detect(row.env);
    EXPECT_EQ(place.launcher, row.launcher) << row.what;
    EXPECT_EQ(place.rank, row.rank) << row.what;
    EXPECT_EQ(place.size, row.size) << row.what;
  }
}

TEST(Environment, RefusesContradictionsByName) {
  const struct {
    const char* what;
    Env env;
    Code code;
    std::vector<std::string> words;
  } rows[] = {
      {"rank too large", with(kTorch, {{"RANK", "4"}}), Code::invalid_argument, {"RANK", "WORLD_SIZE", "4"}},
      {"no number", with(kTorch, {{"RANK", "one"}}), Code::invalid_argument, {"RANK", "'one'"}},
      {"number and more", with(kTorch, {{"WORLD_SIZE", "4x"}}), Code::invalid_argument, {"WORLD_SIZE", "'4x'"}},
      {"negative",
       with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "-1"}}),
       Code::invalid_argument,
       {"OMPI_COMM_WORLD_RANK", "-1"}},
      {"overflow", with(kHydra, {{"PMI_SIZE", "99999999999"}}), Code::invalid_argument, {"PMI_SIZE", "99999999999"}},
      {"zero PEs", with(kHydra, {{"PMI_SIZE", "0"}}), Code::invalid_argument, {"PMI_SIZE"}},
      {"half of torchrun", without(kTorch, "WORLD_SIZE"), Code::invalid_argument, {"RANK", "WORLD_SIZE"}},
      {"half of open mpi", without(kOpenMpi, "OMPI_COMM_WORLD_SIZE"), Code::invalid_argument, {"OMPI_COMM_WORLD_SIZE"}},
      {"half of hydra", without(kHydra, "PMI_RANK"), Code::invalid_argument, {"PMI_RANK", "PMI_SIZE"}},
      {"half of slurm", without(kSlurm, "SLURM_NTASKS"), Code::invalid_argument, {"SLURM_PROCID"}},
      {"no job name", {{"RANK", "0"}, {"WORLD_SIZE", "2"}}, Code::invalid_argument, {"MASTER_PORT"}},
      {"local rank", with(kTorch, {{"LOCAL_RANK", "9"}}), Code::invalid_argument, {"LOCAL_RANK", "9"}},
      {"local above all", with(kTorch, {{"LOCAL_WORLD_SIZE", "8"}}), Code::invalid_argument, {"LOCAL_WORLD_SIZE", "8"}},
      {"torchrun on hosts",
       with(kTorch, {{"LOCAL_WORLD_SIZE", "2"}}),
       Code::not_supported,
       {"several hosts", "ISOTOPE_ROOT", "ISOTOPE_JOB_KEY_FILE"}},
      {"mpi on hosts",
       with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}}),
       Code::not_supported,
       {"ISOTOPE_ROOT"}},
      {"slurm on hosts", with(kSlurm, {{"SLURM_NNODES", "2"}}), Code::not_supported, {"ISOTOPE_ROOT"}},
      {"rank without launcher",
       without(kLauncher, "ISOTOPE_CONTROL_FD"),
       Code::invalid_argument,
       {"ISOTOPE_RANK", "ISOTOPE_SIZE", "isotope run", "ISOTOPE_ROOT"}},
      {"size alone", {{"ISOTOPE_SIZE", "4"}}, Code::invalid_argument, {"ISOTOPE_SIZE is 4"}},
      {"launcher without rank",
       without(kLauncher, "ISOTOPE_RANK"),
       Code::invalid_argument,
       {"ISOTOPE_RANK is not set"}},
      {"launcher's rank", with(kLauncher, {{"ISOTOPE_RANK", "2"}}), Code::invalid_argument, {"ISOTOPE_RANK is 2"}},
      {"tcp without key", without(kTcp, "ISOTOPE_JOB_KEY_FILE"), Code::invalid_argument, {"ISOTOPE_JOB_KEY_FILE"}},
      {"tcp without rank", without(kTcp, "ISOTOPE_RANK"), Code::invalid_argument, {"ISOTOPE_RANK"}},
      {"mpi that is not there",
       {{"ISOTOPE_BOOTSTRAP", "mpi"}},
       Code::invalid_argument,
       {"mpi", "OMPI_COMM_WORLD_RANK"}},
      {"torchrun that is not there", {{"ISOTOPE_BOOTSTRAP", "torchrun"}}, Code::invalid_argument, {"torchrun"}},
      {"launcher that is not there",
       {{"ISOTOPE_BOOTSTRAP", "launcher"}},
       Code::invalid_argument,
       {"ISOTOPE_CONTROL_FD"}},
      {"tcp that is not there", {{"ISOTOPE_BOOTSTRAP", "tcp"}}, Code::invalid_argument, {"ISOTOPE_ROOT"}},
      {"unknown choice", {{"ISOTOPE_BOOTSTRAP", "pigeon"}}, Code::invalid_argument, {"pigeon", "torchrun"}},
  };
  for (const auto& row : rows) {
    try {
      detect(row.env);
      ADD_FAILURE() << row.what << ": no Error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), row.code) << row.what;
      for (const std::string& word : row.words)
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
            << row.what << ": '" << word << "' in " << error.what();
    }
  }
}

TEST(Environment, IdentitiesTellJobsApart) {
  EXPECT_EQ(detect(kTorch).identity, detect(with(kTorch, {{"RANK", "2"}, {"LOCAL_RANK", "2"}})).identity);
  EXPECT_NE(detect(kTorch).identity, detect(with(kTorch, {{"MASTER_PORT", "29501"}})).identity);
  EXPECT_NE(detect(kTorch).identity, detect(with(kTorch, {{"TORCHELASTIC_RESTART_COUNT", "1"}})).identity);
  EXPECT_NE(detect(kOpenMpi).identity, detect(with(kOpenMpi, {{"PMIX_NAMESPACE", "other"}})).identity);
  EXPECT_NE(detect(kSlurm).identity, detect(with(kSlurm, {{"SLURM_STEP_ID", "1"}})).identity);
}

}  // namespace
}  // namespace isotope::bootstrap
