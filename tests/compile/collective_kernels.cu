// The kernels behind calls from the host and on a stream: of float and bf16 where elements are combined, and of
// elements of any size where they move, by every algorithm. Compiled for each kind of GPU; nothing here runs. Kernels
// for a number of members are made of the same source, so one of them is enough.
#include <cstddef>
#include <type_traits>

#include "isotope/host/collective_kernels.hpp"

using namespace isotope;

namespace {

template <auto Kernel, class... P>
const void* entry_of(void (*)(P...)) {
  return cuda::gpu_kernel<Kernel, detail::kCollectiveBound, P...>().entry;
}
template <auto Kernel>
const void* entry_of() {
  return entry_of<Kernel>(Kernel);
}

/// As launch_combining chooses: a sum has a kernel of its own where it is fast, else the operation is a value.
template <Collective C, Algo A, class T>
const void* combining() {
  using Op =
      std::conditional_t<detail::has_own_kernel(C, A, ReduceOp::add), Reduction<T, ReduceOp::add>, OpReduction<T>>;
  return entry_of<&detail::collective_kernel<C, A, Op, 0>>();
}

/// One of the type where elements are combined, and one for both types where they move.
template <Collective C, Algo A, class T>
const void* by_algorithm() {
  if constexpr (C == Collective::all_reduce || C == Collective::reduce_scatter) {
    return combining<C, A, T>();
  } else if constexpr (C == Collective::all_gather || C == Collective::all_to_all) {
    return entry_of<&detail::collective_kernel<C, A, std::size_t, 0>>();
  } else {
    return nullptr;
  }
}

}  // namespace

#define ISOTOPE_TEST_KERNELS(T)                                                                               \
  entry_of<&detail::landed_kernel<Reduction<T, ReduceOp::add>, 2>>(), entry_of<&detail::collect_kernel<T>>(), \
      entry_of<&detail::all_to_all_v_kernel<T>>()

const void* const kKernels[] = {
#define X(c, a, dst, src) by_algorithm<Collective::c, Algo::a, float>(), by_algorithm<Collective::c, Algo::a, bf16>(),
#include "isotope/collective/algorithms.def"
#undef X
    ISOTOPE_TEST_KERNELS(float),
    ISOTOPE_TEST_KERNELS(bf16),
};
