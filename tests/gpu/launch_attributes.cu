// What a launch asks of the CUDA runtime: its shape, and the attributes that were asked for and no others. Needs no
// GPU.
#include <cstdio>
#include <map>
#include <string>

#include "isotope/isotope.hpp"

namespace {

using namespace isotope;

int failures = 0;

void expect(bool good, const std::string& what) {
  if (good) return;
  ++failures;
  std::printf("FAILED: %s\n", what.c_str());
}

bool same(const dim3& found, const Dim3& asked) {
  return found.x == asked.x && found.y == asked.y && found.z == asked.z;
}

void look_at(bool cooperative, bool programmatic, const Dim3& cluster) {
  int stream = 0;  // any address is one here
  detail::GpuLaunch how;
  how.grid = {6, 4, 2};
  how.block = {32, 3, 5};
  how.cluster = cluster;
  how.shared_bytes = 1234;
  how.stream = &stream;
  how.cooperative = cooperative;
  how.programmatic = programmatic;
  const cuda::RuntimeLaunch launch(how);
  const std::string name = std::string(cooperative ? "cooperative, " : "") + (programmatic ? "programmatic, " : "") +
                           "clusters of " + std::to_string(cluster.x) + " x " + std::to_string(cluster.y) + " x " +
                           std::to_string(cluster.z) + ": ";

  expect(same(launch.config.gridDim, how.grid) && same(launch.config.blockDim, how.block), name + "its shape");
  expect(launch.config.dynamicSmemBytes == 1234, name + "its shared memory");
  expect(launch.config.stream == reinterpret_cast<cudaStream_t>(&stream), name + "its stream");

  std::map<cudaLaunchAttributeID, cudaLaunchAttributeValue> found;
  for (unsigned i = 0; i < launch.config.numAttrs; ++i) found[launch.config.attrs[i].id] = launch.config.attrs[i].val;
  expect(found.size() == launch.config.numAttrs, name + "an attribute twice");
  const bool in_clusters = cluster.count() > 1;
  expect(found.size() == std::size_t{cooperative} + std::size_t{programmatic} + std::size_t{in_clusters},
         name + std::to_string(found.size()) + " attributes");
  expect(found.contains(cudaLaunchAttributeCooperative) == cooperative &&
             (!cooperative || found[cudaLaunchAttributeCooperative].cooperative == 1),
         name + "cooperative");
  expect(found.contains(cudaLaunchAttributeProgrammaticStreamSerialization) == programmatic &&
             (!programmatic ||
              found[cudaLaunchAttributeProgrammaticStreamSerialization].programmaticStreamSerializationAllowed == 1),
         name + "programmatic");
  expect(found.contains(cudaLaunchAttributeClusterDimension) == in_clusters, name + "clusters");
  if (in_clusters && found.contains(cudaLaunchAttributeClusterDimension)) {
    const auto& shape = found[cudaLaunchAttributeClusterDimension].clusterDim;
    expect(shape.x == cluster.x && shape.y == cluster.y && shape.z == cluster.z, name + "the clusters' shape");
  }
}

}  // namespace

int main() {
  for (const bool cooperative : {false, true})
    for (const bool programmatic : {false, true})
      for (const Dim3 cluster : {Dim3{1}, Dim3{2}, Dim3{1, 2}, Dim3{3, 2, 2}})
        look_at(cooperative, programmatic, cluster);
  std::printf(failures == 0 ? "passed\n" : "%d checks failed\n", failures);
  return failures == 0 ? 0 : 1;
}
