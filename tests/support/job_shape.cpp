#include "support/job_shape.hpp"

namespace isotope::testing {

void run_on_all(const JobShape& shape, const std::function<void(World&)>& body, const InitOptions& options) {
  const auto pe_main = [&] {
    World world = init(options);
    ASSERT_EQ(world.size(), shape.pes);
    body(world);
  };
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
