// Drivers that are of no use. A process looks at its driver once, so each is looked at by processes of its own.
#include <string>
#include <utility>
#include <vector>

#include "gpu_job.hpp"

namespace isotope {
namespace {

class NoDriver : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { detail::note_gpu_code(); }  // as a file that nvcc compiled does

  /// What the PEs of such a job say on standard error.
  static std::string said_by(const fake_cuda::Machine& machine, const char* platform, Code code,
                             const std::string& part) {
    fake_cuda::reset(machine);
    ::setenv("ISOTOPE_PLATFORM", platform, 1);
    ::testing::internal::CaptureStderr();
    const auto pe_main = [&] {
      try {
        World world = init();
        EXPECT_EQ(code, Code::ok);
        EXPECT_FALSE(world.drives_gpu());
        auto x = world.alloc<int>(10);
        x[3] = world.rank();
        world.barrier();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      }
    };
    if (code != Code::ok) {
      testing::run_to_a_bad_end({GetParam(), false}, pe_main);
    } else {
      const JobResult result = run_processes({.pes = GetParam(), .timeout = std::chrono::seconds(60)}, [&] {
        pe_main();
        return ::testing::Test::HasFailure() ? 1 : 0;
      });
      EXPECT_EQ(result.exit_code, 0) << result.message;
    }
    const std::string said = ::testing::internal::GetCapturedStderr();
    return said;
  }
};
INSTANTIATE_TEST_SUITE_P(Pes, NoDriver, ::testing::Values(1, 2, 5));

TEST_P(NoDriver, TooOld) {
  const std::string what = "the NVIDIA driver supports CUDA 11.8; 12.0 or newer is needed";
  said_by({.version = 11080}, "cuda", Code::not_supported, what);
  // Left to itself the job goes on on the CPU. There is a driver, so somebody expects to use GPUs: they are told, once.
  const std::string said = said_by({.version = 11080}, "auto", Code::ok, "");
  EXPECT_NE(said.find("kernels run on the CPU: PE 0: " + what), std::string::npos) << said;
  EXPECT_EQ(said.find("kernels run"), said.rfind("kernels run")) << said;
  EXPECT_EQ(said_by({.version = 11080}, "cpu", Code::ok, ""), "");
}

TEST_P(NoDriver, ShowsNoGpu) {
  said_by({.gpus = 0}, "cuda", Code::not_supported, "the NVIDIA driver finds no GPU");
  EXPECT_EQ(said_by({.gpus = 0}, "auto", Code::ok, ""), "");
}

TEST_P(NoDriver, HidesAllGpus) {
  for (const char* hides_all : {"-1", ""}) {
    ::setenv("CUDA_VISIBLE_DEVICES", hides_all, 1);
    said_by({.gpus = 0}, "cuda", Code::not_supported,
            std::string("the NVIDIA driver finds no GPU, and CUDA_VISIBLE_DEVICES is '") + hides_all + "'");
    EXPECT_EQ(said_by({.gpus = 0}, "auto", Code::ok, ""), "");
  }
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

/// Errors of MPS, and a part of what each says.
const std::vector<std::pair<CUresult, std::string>>& errors_of_mps() {
  static const std::vector<std::pair<CUresult, std::string>> all = {
      {CUDA_ERROR_MPS_CONNECTION_FAILED,
       "(/my/pipe, CUDA_MPS_PIPE_DIRECTORY) cannot be reached: see that "
       "nvidia-cuda-mps-control runs there"},
      {CUDA_ERROR_MPS_RPC_FAILURE, "its server.log says why (/my/log, CUDA_MPS_LOG_DIRECTORY)"},
      {CUDA_ERROR_MPS_SERVER_NOT_READY, "wait some seconds and start the job anew"},
      {CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
       "takes no more processes on this GPU: at most 48, and fewer where each has "
       "many hardware queues (CUDA_DEVICE_MAX_CONNECTIONS is 17)"},
      {CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, "(CUDA_DEVICE_MAX_CONNECTIONS is 17). Set it to 64 / processes"}};
  return all;
}

class MpsErrors : public NoDriver {
 protected:
  void SetUp() override {
    NoDriver::SetUp();
    ::setenv("CUDA_MPS_PIPE_DIRECTORY", "/my/pipe", 1);
    ::setenv("CUDA_MPS_LOG_DIRECTORY", "/my/log", 1);
    ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "17", 1);
  }
  void TearDown() override {
    for (const char* mine : {"CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY", "CUDA_DEVICE_MAX_CONNECTIONS"})
      ::unsetenv(mine);
  }
};
INSTANTIATE_TEST_SUITE_P(Pes, MpsErrors, ::testing::Values(1, 3));

TEST_P(MpsErrors, AtTheStartOfTheDriver) {
  for (const auto& [error, part] : errors_of_mps()) {
    const std::string what = "cuInit: error " + std::to_string(static_cast<int>(error)) + "); ";
    said_by({.init = error}, "cuda", Code::not_supported, what);
    said_by({.init = error}, "cuda", Code::not_supported, part);
    // Left to itself the job goes on on the CPU, and the user has the advice.
    const std::string said = said_by({.init = error}, "auto", Code::ok, "");
    EXPECT_NE(said.find(part), std::string::npos) << said;
  }
  said_by({.init = CUDA_ERROR_UNKNOWN}, "cuda", Code::not_supported, "cuInit: error 999); run with");
}

TEST_P(MpsErrors, WhenTheContextIsMade) {
  fake_cuda::reset({});
  ::setenv("ISOTOPE_PLATFORM", "cuda", 1);
  for (const auto& [error, part] : errors_of_mps()) {
    testing::run_to_a_bad_end({GetParam(), false}, [&, error = error, part = part] {
      fake_cuda::fail("cuDevicePrimaryCtxRetain", 1, error);
      try {
        init();
        ADD_FAILURE() << "there is a World";
      } catch (const Error& refusal) {
        EXPECT_EQ(refusal.code(), Code::system);
        EXPECT_NE(std::string(refusal.what()).find(part), std::string::npos) << refusal.what();
      }
    });
  }
}

}  // namespace
}  // namespace isotope
