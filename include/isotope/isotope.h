/* The C edge: every device operation as a plain C function over a team pointer. The base for bitcode, Triton and other
 * languages. device/c_calls.def is the table of all of them; the C++ headers it names say what each one means.
 *
 *   int isotope_put(const isotope_team* team, void* dst, const void* src, size_t bytes, int to);
 *   int isotope_put_block(...);                  the same, called by all threads of a block; _warp: of a warp
 *   uint64_t isotope_atomic_fetch_add_u64(const isotope_team* team, uint64_t* word, uint64_t value, int pe);
 *
 * A call that gives no value returns 0, or the number of the error (base/codes.def) that has stopped the team; one that
 * gives a value gives zero then (isotope_wait_until_any: SIZE_MAX). Called from the host, in any build, they check
 * their arguments first: a bad one is recorded, nothing is written, and World::synchronize throws it. A team pointer is
 * the address of an isotope::Team. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct isotope_team isotope_team;

enum {
  ISOTOPE_ORDER_RELAXED,
  ISOTOPE_ORDER_ACQUIRE,
  ISOTOPE_ORDER_RELEASE,
  ISOTOPE_ORDER_ACQ_REL,
  ISOTOPE_ORDER_SEQ_CST
};
enum { ISOTOPE_SCOPE_THREAD, ISOTOPE_SCOPE_BLOCK, ISOTOPE_SCOPE_CLUSTER, ISOTOPE_SCOPE_DEVICE, ISOTOPE_SCOPE_SYSTEM };
enum { ISOTOPE_SIGNAL_SET, ISOTOPE_SIGNAL_ADD };
enum { ISOTOPE_CMP_EQ, ISOTOPE_CMP_NE, ISOTOPE_CMP_GT, ISOTOPE_CMP_GE, ISOTOPE_CMP_LT, ISOTOPE_CMP_LE };

#define ISOTOPE_DO(name, parameters, guard, ...) int isotope_##name parameters;
#define ISOTOPE_GIVE(type, name, parameters, guard, ...) type isotope_##name parameters;
#define ISOTOPE_GIVE_INDEX(name, parameters, guard, ...) size_t isotope_##name parameters;
#define ISOTOPE_PLAIN(name, parameters, ...) void isotope_##name parameters;
#include "isotope/device/c_calls.def"
#undef ISOTOPE_DO
#undef ISOTOPE_GIVE
#undef ISOTOPE_GIVE_INDEX
#undef ISOTOPE_PLAIN

/* An all-reduce in place, by one thread or by all threads of a block; collective/symm.hpp has the numbers of types,
 * operations and results. A context is the address of an isotope::SymmContext. Where kernels run on the CPU; on a GPU
 * call isotope::symm_all_reduce, which is inline. */
typedef struct isotope_symm_context isotope_symm_context;
int32_t symm_all_reduce(const isotope_symm_context* context, void* local_ptr, int64_t byte_offset, int64_t num_elements,
                        int32_t reduce_op, int32_t dtype);
int32_t symm_all_reduce_block(const isotope_symm_context* context, void* local_ptr, int64_t byte_offset,
                              int64_t num_elements, int32_t reduce_op, int32_t dtype);

/* Memory of GPU `device` that World::register_memory takes, in whole granules of 2 MiB. The signatures are those of
 * PyTorch's CUDAPluggableAllocator, which finds them in libisotope_gpu_alloc.so (docs/gpu.md); `stream` is a
 * cudaStream_t. alloc gives NULL and says on standard error why it cannot. free waits for `stream`, the last to use the
 * memory, unless it is being captured; `bytes` is not looked at. Any thread. */
void* isotope_gpu_alloc(size_t bytes, int device, void* stream);
void isotope_gpu_free(void* ptr, size_t bytes, int device, void* stream);

#ifdef __cplusplus
}
#endif
