// The collectives of `isotope bench` and `isotope tune` on GPUs: calls on a stream, replayed from a CUDA graph, so that
// what the host does for a launch is not measured. The part of bin/isotope-bench-gpu that nvcc compiles: floats and
// their sums alone, since each collective brings all of its algorithms.
#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "bench/collectives/rig.hpp"
#include "isotope/base/error.hpp"
#include "isotope/host/collectives.hpp"

namespace isotope::bench {
namespace {

constexpr int kCallsInGraph = 20;

void require(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw Error(Code::system, std::string(call) + ": " + cudaGetErrorString(status));
}

/// kCallsInGraph times what `enqueue` puts on the stream.
class Graph {
 public:
  template <class Enqueue>
  Graph(cudaStream_t stream, Enqueue&& enqueue) : stream_(stream) {
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (int i = 0; i < kCallsInGraph; ++i) enqueue();
    cudaGraph_t graph = nullptr;
    require(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    const cudaError_t made = cudaGraphInstantiate(&ready_, graph, 0);
    cudaGraphDestroy(graph);
    require(made, "cudaGraphInstantiate");
    require(cudaGraphUpload(ready_, stream), "cudaGraphUpload");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  ~Graph() { cudaGraphExecDestroy(ready_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void replay(long n) const {
    for (; n > 0; n -= kCallsInGraph) require(cudaGraphLaunch(ready_, stream_), "cudaGraphLaunch");
  }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t ready_ = nullptr;
};

class GpuRig : public Rig {
 public:
  GpuRig(World& world, std::size_t most)
      : world_(world), src_(world.alloc<float>(most)), dst_(world.alloc<float>(most)), collectives_(world) {
    const int me = world.rank();
    std::vector<float> values(most);
    for (std::size_t i = 0; i < most; ++i) values[i] = source_value(me, i);
    src_.write(values);
    neighbour_ = world.team().at(src_.data(), (me + 1) % world.size());
    // Destroyed with the process: a wrapped stream has to outlive the World.
    require(cudaStreamCreateWithFlags(&raw_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    stream_ = world.wrap_stream(raw_);
  }

  void prepare(const CollectiveCase& one, std::size_t count, const How& how) override {
    case_ = &one;
    count_ = count;
    how_ = how;
    result_ = result_count(one, count, world_.size());
    calls_.reset();
    copies_.reset();
    // Between the barriers no kernel runs on any PE: what makes and destroys graphs may wait for the whole GPU, and a
    // peer's kernel would wait for this PE.
    world_.barrier();
    enqueue();  // what is done once, at a first call
    stream_.synchronize();
    world_.barrier();
    calls_ = std::make_unique<Graph>(raw_, [&] { enqueue(); });
    world_.barrier();
  }
  void call(long n) override {
    calls_->replay(n);
    stream_.synchronize();
  }
  void copy(long n) override {
    if (copies_ == nullptr) {
      copies_ = std::make_unique<Graph>(raw_, [&] {
        require(cudaMemcpyAsync(dst_.data(), neighbour_, result_ * sizeof(float), cudaMemcpyDeviceToDevice, raw_),
                "cudaMemcpyAsync");
      });
    }
    copies_->replay(n);
    stream_.synchronize();
  }
  void poison() override {
    require(cudaMemsetAsync(dst_.data(), 0xff, result_ * sizeof(float), raw_), "cudaMemsetAsync");
    stream_.synchronize();
  }
  const float* result() override {
    on_host_ = dst_.read(0, result_);
    return on_host_.data();
  }
  long step() const override { return kCallsInGraph; }
  const char* copy_name() const override { return "cudaMemcpy"; }
  bool drops_laggards() const override { return true; }

 private:
  void enqueue() {
    constexpr int kRoot = 0;
    float* const dst = dst_.data();
    const float* const src = src_.data();
    switch (case_->collective) {
      case Collective::all_reduce:
        return on_stream::all_reduce(collectives_, stream_, dst, src, count_, ReduceOp::add, how_);
      case Collective::reduce_scatter:
        return on_stream::reduce_scatter(collectives_, stream_, dst, src, count_, ReduceOp::add, how_);
      case Collective::all_gather:
        return on_stream::all_gather(collectives_, stream_, dst, src, count_, how_);
      case Collective::all_to_all:
        return on_stream::all_to_all(collectives_, stream_, dst, src, count_, how_);
      case Collective::broadcast:
        return on_stream::broadcast(collectives_, stream_, dst, src, count_, kRoot, how_);
      case Collective::reduce:
        return on_stream::reduce(collectives_, stream_, dst, src, count_, ReduceOp::add, kRoot, how_);
      default:
        throw Error(Code::not_supported, std::string(case_->topic) + " is not measured on GPUs");
    }
  }

  World& world_;
  Symmetric<float> src_, dst_;
  Collectives collectives_;
  const float* neighbour_ = nullptr;
  cudaStream_t raw_ = nullptr;
  Stream stream_;
  std::unique_ptr<Graph> calls_, copies_;
  const CollectiveCase* case_ = nullptr;
  std::size_t count_ = 0, result_ = 0;
  How how_;
  std::vector<float> on_host_;
};

const bool registered = [] {
  gpu_rig_maker() = [](World& world, std::size_t most) -> std::unique_ptr<Rig> {
    return std::make_unique<GpuRig>(world, most);
  };
  return true;
}();

}  // namespace
}  // namespace isotope::bench
