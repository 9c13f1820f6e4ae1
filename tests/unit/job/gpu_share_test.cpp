// Which PEs share a GPU, and what they find in their environment for it.
#include "job/gpu_share.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "job/gpu_here.hpp"
#include "support/fake_mps.hpp"

namespace isotope::job {
namespace {

using How = GpuShare::How;

JobOptions on_cuda(int pes) {
  JobOptions options;
  options.pes = pes;
  options.platform = "cuda";
  return options;
}

TEST(GpuShare, OnlyProcessesOnCudaThatOutnumberTheGpusShare) {
  testing::FakeMps mps;
  EXPECT_TRUE(wants_mps(on_cuda(2), false));
  EXPECT_FALSE(wants_mps(on_cuda(1), false));
  EXPECT_FALSE(wants_mps(on_cuda(2), true)) << "threads share a GPU without MPS";
  mps.set("CUDA_VISIBLE_DEVICES", "0,1,2");
  EXPECT_FALSE(wants_mps(on_cuda(3), false));
  EXPECT_TRUE(wants_mps(on_cuda(4), false));
  for (const char* platform : {"cpu", "auto", ""}) {
    JobOptions options = on_cuda(8);
    options.platform = platform;
    EXPECT_FALSE(wants_mps(options, false)) << platform;
  }
}

TEST(GpuShare, ThePlatformIsWhatPesWillFind) {
  testing::FakeMps mps;
  JobOptions options = on_cuda(2);
  options.platform = "";
  mps.set("ISOTOPE_PLATFORM", "cuda");
  EXPECT_TRUE(wants_mps(options, false));
  options.platform = "cpu";
  EXPECT_FALSE(wants_mps(options, false));
  options.env = {{"ISOTOPE_PLATFORM", "cuda"}};
  EXPECT_TRUE(wants_mps(options, false));
}

TEST(GpuShare, GpusAreThoseThatPesSee) {
  testing::FakeMps mps;
  JobOptions options = on_cuda(2);
  EXPECT_EQ(gpu_count(options), 1);
  options.env = {{"CUDA_VISIBLE_DEVICES", "3,GPU-1b,0"}};
  EXPECT_EQ(gpu_count(options), 3);
}

TEST(GpuShare, HiddenGpusAreNotShared) {
  testing::FakeMps mps;
  for (const char* hides_all : {"-1", "", " ", "none", "-1,0", ",0"}) {
    JobOptions options = on_cuda(2);
    options.env = {{"CUDA_VISIBLE_DEVICES", hides_all}};
    EXPECT_EQ(gpu_count(options), 0) << "'" << hides_all << "'";
    EXPECT_EQ(plan_gpu_share(options, false).how, How::none) << "'" << hides_all << "'";
    mps.set("CUDA_VISIBLE_DEVICES", hides_all);  // inherited
    EXPECT_FALSE(wants_mps(on_cuda(2), false)) << "'" << hides_all << "'";
  }
}

TEST(GpuHere, EntriesCountUpToTheFirstThatNamesNoGpu) {
  for (const auto& [value, gpus] : std::vector<std::pair<const char*, int>>{{"0", 1},
                                                                            {"0,1,2", 3},
                                                                            {"2, 1", 2},
                                                                            {"0,-1,2", 1},
                                                                            {"GPU-1a2b,MIG-3c", 2},
                                                                            {"1,x,2", 1},
                                                                            {"1,", 1},
                                                                            {"-1", 0},
                                                                            {"", 0}}) {
    EXPECT_EQ(visible_gpus(value), gpus) << "'" << value << "'";
  }
}

TEST(GpuHere, DeviceFilesOfGpusCount) {
  testing::FakeMps folder;
  for (const char* name : {"nvidia0", "nvidia12", "nvidiactl", "nvidia-uvm", "nvidia", "nvidia1x", "sda"})
    std::ofstream(folder.folder() + "/empty/" + name) << "";
  EXPECT_EQ(gpu_device_files(folder.folder() + "/empty"), 2);
  EXPECT_EQ(gpu_device_files(folder.folder() + "/not there"), 0);
}

TEST(GpuHere, WhatIsMissingIsNamed) {
  testing::FakeMps folder;
  const std::string devices = folder.folder() + "/empty";
  const char* some_library = "libc.so.6";
  const std::string no_library = why_no_gpu_here(devices, "libno-such-driver.so.1");
  EXPECT_NE(no_library.find("driver's library cannot be loaded (libno-such-driver.so.1"), std::string::npos)
      << no_library;
  const std::string no_device = why_no_gpu_here(devices, some_library);
  EXPECT_NE(no_device.find("no device file of an NVIDIA GPU is there (" + devices + "/nvidia0)"), std::string::npos)
      << no_device;
  for (const char* name : {"dxg", "nvidia3"}) {
    std::ofstream(devices + "/" + name) << "";
    EXPECT_EQ(why_no_gpu_here(devices, some_library), "") << name;
    std::filesystem::remove(devices + "/" + name);
  }
}

// ISOTOPE_DEVICE is the same for all PEs, so it puts all of them on one GPU.
TEST(GpuShare, ADeviceForAllIsOneGpu) {
  testing::FakeMps mps;
  mps.set("CUDA_VISIBLE_DEVICES", "0,1,2,3");
  JobOptions options = on_cuda(4);
  EXPECT_EQ(plan_gpu_share(options, false).how, How::none);
  options.env = {{"ISOTOPE_DEVICE", "auto"}};
  EXPECT_EQ(plan_gpu_share(options, false).how, How::none);
  options.env = {{"ISOTOPE_DEVICE", "2"}};
  const GpuShare share = plan_gpu_share(options, false);
  EXPECT_EQ(share.how, How::own_mps);
  EXPECT_EQ(share.gpus, 1);
  EXPECT_EQ(gpu_share_environment(options, share, 0, "/f").at(0).second, "25");
  mps.set("CUDA_VISIBLE_DEVICES", "");
  options.pes = 1;
  EXPECT_EQ(plan_gpu_share(options, false).how, How::none);
}

TEST(GpuShare, PesAreDealtToGpusInTurn) {
  for (const int pes : {1, 2, 3, 5, 8}) {
    for (const int gpus : {1, 2, 3, 8}) {
      for (int rank = 0; rank < pes; ++rank) {
        int expected = 0;
        for (int other = 0; other < pes; ++other) expected += other % gpus == rank % gpus;
        EXPECT_EQ(pes_on_gpu_of(rank, pes, gpus), expected) << rank << " of " << pes << " on " << gpus;
      }
    }
  }
}

TEST(GpuShare, SharesAreRoundedDownAndNeverZero) {
  testing::FakeMps mps;
  const auto percentage = [](int pes, int rank) {
    const JobOptions options = on_cuda(pes);
    return gpu_share_environment(options, plan_gpu_share(options, false), rank, "/f").at(0);
  };
  const std::string name = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE";
  EXPECT_EQ(percentage(3, 1), std::make_pair(name, std::string("33")));
  EXPECT_EQ(percentage(8, 7), std::make_pair(name, std::string("12")));
  EXPECT_EQ(percentage(200, 0), std::make_pair(name, std::string("1")));
  mps.set("CUDA_VISIBLE_DEVICES", "0,1");
  EXPECT_EQ(percentage(3, 0).second, "50");
  EXPECT_EQ(percentage(3, 1).second, "100") << "alone on its GPU";
}

TEST(GpuShare, QueuesComeFromOneStock) {
  testing::FakeMps mps;
  mps.set("CUDA_VISIBLE_DEVICES", "0");
  for (const auto& [pes, queues] :
       std::vector<std::pair<int, std::string>>{{2, "32"}, {4, "16"}, {8, "8"}, {48, "2"}}) {
    const JobOptions options = on_cuda(pes);
    const Variables all = gpu_share_environment(options, plan_gpu_share(options, false), 0, "/folder");
    const auto found = std::find_if(all.begin(), all.end(),
                                    [](const auto& one) { return one.first == "CUDA_DEVICE_MAX_CONNECTIONS"; });
    ASSERT_NE(found, all.end());
    EXPECT_EQ(found->second, queues) << pes;
  }
}

TEST(GpuShare, OneOfThreeWays) {
  testing::FakeMps mps;
  JobOptions options = on_cuda(2);
  EXPECT_EQ(plan_gpu_share(options, false).how, How::own_mps);
  options.allow_time_slicing = true;
  EXPECT_EQ(plan_gpu_share(options, false).how, How::time_sliced);
  const Variables sliced = {{"ISOTOPE_ALLOW_TIME_SLICING", "1"}};
  EXPECT_EQ(gpu_share_environment(options, plan_gpu_share(options, false), 0, ""), sliced);
  options.env = {{"CUDA_MPS_PIPE_DIRECTORY", "/mine"}};
  EXPECT_EQ(plan_gpu_share(options, false).how, How::users_mps) << "an MPS that runs is better than taking turns";
  options.pes = 1;
  EXPECT_EQ(plan_gpu_share(options, false).how, How::none);
}

}  // namespace
}  // namespace isotope::job
