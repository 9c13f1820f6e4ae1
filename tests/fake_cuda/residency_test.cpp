// PEs that cannot be on their GPU together are refused, all of them, before anything runs.
#include <filesystem>
#include <fstream>

#include "bootstrap/bootstrap.hpp"
#include "gpu_job.hpp"
#include "runtime/platform_choice.hpp"

namespace isotope {
namespace {

class GpuResidency : public testing::GpuJobTest {
 protected:
  void SetUp() override {
    GpuJobTest::SetUp();
    char name[] = "/tmp/isotope-no-mps-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    pipes_ = name;
    ::setenv("CUDA_MPS_PIPE_DIRECTORY", pipes_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    ::unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    ::unsetenv("ISOTOPE_DEVICE");
    ::unsetenv("ISOTOPE_ALLOW_TIME_SLICING");
    std::filesystem::remove_all(pipes_);
    GpuJobTest::TearDown();
  }
  /// From now on an MPS answers.
  void bring_mps() const { std::ofstream(pipes_ + "/control") << "\n"; }

  /// Every PE's init() fails alike and leaves nothing.
  void all_refuse(Code code, const std::vector<std::string>& parts) {
    testing::run_to_a_bad_end(GetParam(), [&] {
      const auto [found, text] = error_of([] { init(); });
      EXPECT_EQ(found, code) << text;
      for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
    });
  }

  std::string pipes_;
};
ISOTOPE_ALL_SHAPES(GpuResidency);

TEST_P(GpuResidency, MorePesThanMultiprocessors) {
  const int pes = GetParam().pes;
  if (pes == 1) return;
  bring_mps();
  fake_cuda::reset({.gpus = 1, .multiprocessors = pes - 1});
  all_refuse(Code::not_supported, {std::to_string(pes) + " PEs share GPU 0",
                                   "may use " + std::to_string(pes - 1) + " multiprocessors", "fewer PEs"});
  fake_cuda::reset({.gpus = 1, .multiprocessors = pes});
  run([](World& world) { EXPECT_EQ(world.multiprocessors(), 1); });
}

// The driver of a client shows what its percentage leaves.
TEST_P(GpuResidency, SharesOfMpsThatComeToMoreThanTheGpu) {
  if (GetParam().threads) return;
  const int pes = GetParam().pes;
  bring_mps();
  ::setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50", 1);
  fake_cuda::reset({.gpus = 1, .multiprocessors = 66});
  run([=](World& world) { EXPECT_EQ(world.multiprocessors(), pes <= 2 ? 66 : 66 * 100 / (50 * pes)); });
  ::setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50.5", 1);
  run([=](World& world) { EXPECT_EQ(world.multiprocessors(), pes == 1 ? 66 : 66 * 1000 / (505 * pes)); });
}

TEST_P(GpuResidency, ProcessesWithoutMps) {
  const int pes = GetParam().pes;
  if (GetParam().threads || pes == 1) return;
  fake_cuda::reset({.gpus = 1});
  all_refuse(Code::not_supported, {"share GPU 0 without MPS", "--allow-time-slicing", "isotope run --platform cuda"});
  // On GPUs of their own they need none, unless all are told to use the same.
  fake_cuda::reset({.gpus = 8});
  run([](World& world) { EXPECT_EQ(world.multiprocessors(), 132); });
  ::setenv("ISOTOPE_DEVICE", "3", 1);
  all_refuse(Code::not_supported, {"share GPU 3 without MPS"});
  ::setenv("ISOTOPE_ALLOW_TIME_SLICING", "1", 1);
  run([](World& world) { EXPECT_EQ(world.multiprocessors(), 132); });
}

TEST_P(GpuResidency, ADeviceThatIsNotThere) {
  bring_mps();
  fake_cuda::reset({.gpus = 2});
  for (const char* device : {"2", "-1", "one"}) {
    ::setenv("ISOTOPE_DEVICE", device, 1);
    all_refuse(Code::out_of_range,
               {std::string("ISOTOPE_DEVICE is '") + device + "'", "sees 2 GPUs", "auto or 0 to 1"});
  }
}

/// One of eight processes that somebody started, as far as its bid is concerned.
class StartedBy final : public bootstrap::Bootstrap {
 public:
  explicit StartedBy(std::string launcher) : launcher_(std::move(launcher)) {}
  int rank() const override { return 5; }
  int size() const override { return 8; }
  std::string name() const override { return launcher_; }
  std::vector<std::byte> allgather(std::span<const std::byte>) override { return {}; }
  void abort(const bootstrap::AbortNotice&) noexcept override {}
  void leave() noexcept override {}

 private:
  std::string launcher_;
};

// mpirun -n 8 sh -c 'ISOTOPE_DEVICE=$OMPI_COMM_WORLD_LOCAL_RANK program' gives each process a GPU of its own, and only
// `isotope run` gives all of them the same.
TEST_F(GpuResidency, AnOwnDeviceOfEachProcess) {
  detail::note_gpu_code();
  runtime::Knobs knobs;
  knobs.platform = "auto";
  for (const auto& [launcher, device, gpus, chosen] :
       std::vector<std::tuple<const char*, const char*, int, int>>{{"mpi", "3", 8, 3},
                                                                   {"mpi", "3", 4, runtime::kNoDevice},
                                                                   {"torchrun", "auto", 8, 5},
                                                                   {"launcher", "auto", 8, 5},
                                                                   {"launcher", "3", 8, runtime::kNoDevice}}) {
    fake_cuda::reset({.gpus = gpus});
    knobs.device = device;
    EXPECT_EQ(runtime::make_bid(knobs, StartedBy(launcher)).bid.device, chosen) << launcher << ' ' << device;
  }
}

// PEs map each other's memory for their own GPUs, as threads and as processes.
TEST_P(GpuResidency, GpusThatDoNotReachEachOther) {
  if (GetParam().pes == 1) return;
  bring_mps();
  fake_cuda::reset({.gpus = 2, .links = "sn;ns"});
  all_refuse(Code::system, {"cannot reach the memory of PE", "isotope info"});
  // One way is not enough.
  fake_cuda::reset({.gpus = 2, .links = "sa;ns"});
  all_refuse(Code::system,
             {GetParam().threads ? "cannot reach the memory of PE" : "GPU 1 cannot reach the memory of PE 0"});
  // All on one of them need no way to the other.
  ::setenv("ISOTOPE_DEVICE", "1", 1);
  run([](World& world) { world.barrier(); });
  ::unsetenv("ISOTOPE_DEVICE");
  fake_cuda::reset({.gpus = 2, .links = "sp;ps"});
  run([](World& world) { world.barrier(); });
}

}  // namespace
}  // namespace isotope
