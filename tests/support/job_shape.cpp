#include "support/job_shape.hpp"

#include <cstdlib>
#include <exception>

namespace isotope::testing {

std::optional<JobPlace> job_place() {
  const char *rank = std::getenv("ISOTOPE_RANK"), *size = std::getenv("ISOTOPE_SIZE");
  if (std::getenv("ISOTOPE_CONTROL_FD") == nullptr || rank == nullptr || size == nullptr) return std::nullopt;
  return JobPlace{std::atoi(rank), std::atoi(size)};
}

std::vector<JobShape> collective_shapes() {
  std::vector<JobShape> shapes = {{1, false}, {2, false}, {3, false}, {4, true}, {5, false}, {8, false}};
  const char* platform = std::getenv("ISOTOPE_PLATFORM");
  if (platform != nullptr && std::string(platform) == "cuda")
    for (const int pes : {1, 2, 3, 5, 8}) shapes.push_back({pes, true});
  return shapes;
}

void run_on_all(const JobShape& shape, const std::function<void(World&)>& body, const InitOptions& options) {
  const auto pe_main = [&] {
    World world = init(options);
    ASSERT_EQ(world.size(), shape.pes);
    body(world);
  };
  if (const auto place = job_place()) {
    ASSERT_TRUE(!shape.threads && shape.pes == place->pes)
        << "this job has " << place->pes << " PEs that are processes";
    // An exception that leaves a World is the end of the job; here it is the end of this test alone.
    World world = init(options);
    try {
      body(world);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    return;
  }
  if (shape.threads) {
    ASSERT_NO_THROW(run_threads(shape.pes, pe_main));
    return;
  }
  const JobResult result = run_processes({.pes = shape.pes, .timeout = std::chrono::seconds(120)}, [&] {
    pe_main();
    return ::testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(result.exit_code, 0) << result.message;
}

}  // namespace isotope::testing
