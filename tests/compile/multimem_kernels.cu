// The kernels behind host and stream calls of the multimem algorithms, whose operation is a value: ptx_has.sh looks for
// the hardware's instructions in what the compiler makes of them. A machine whose GPUs have them is not needed.
#include "isotope/host/collective_kernels.hpp"

using namespace isotope;

namespace {

template <Collective C, Algo A, class R>
const void* kernel_of(const R&) {
  return cuda::gpu_kernel<&detail::collective_kernel<C, A, R, 0>, detail::kCollectiveBound, Team, Workspace,
                          CollectiveCall, R, CallSite>()
      .entry;
}

}  // namespace

const void* const kKernels[] = {
    kernel_of<Collective::all_reduce, Algo::multimem_one_shot>(OpReduction<float>()),
    kernel_of<Collective::all_reduce, Algo::multimem_two_shot>(OpReduction<bf16>()),
    kernel_of<Collective::all_reduce, Algo::multimem_two_shot>(OpReduction<bf16, Accumulate::native>()),
    kernel_of<Collective::reduce_scatter, Algo::multimem>(OpReduction<std::int64_t>()),
};
