// bin/isotope-bench, and with bench/gpu/collective_rig.cu bin/isotope-bench-gpu: the part of `isotope bench` that runs
// inside a job. Its one argument is a JobRequest.
#include "isotope/host/main.hpp"
#include "bench/harness/job_bench.hpp"
#include "bench/harness/topic.hpp"

ISOTOPE_MAIN(argc, argv) {
  using namespace isotope::bench;
  const JobRequest request = JobRequest::parse(argc == 2 ? argv[1] : "");
  const std::unique_ptr<Topic> topic = find_topic(request.topic);
  isotope::World world = isotope::init();
  JobBench bench(world, request);
  topic->measure(bench);
  bench.write_results();
  // Nobody leaves while PE 0 still writes: a PE that is gone looks like one that was lost.
  world.barrier();
  return 0;
}
