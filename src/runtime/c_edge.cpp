// The C edge for host programs and for kernels on the CPU.
#include "isotope/isotope.h"

#define ISOTOPE_C_FUNCTION extern "C"
#define ISOTOPE_C_CHECK 1
#include "isotope/device/c_edge.inc"

namespace isotope {
static_assert(static_cast<int>(Order::seq_cst) == ISOTOPE_ORDER_SEQ_CST &&
              static_cast<int>(Order::acq_rel) == ISOTOPE_ORDER_ACQ_REL &&
              static_cast<int>(Order::release) == ISOTOPE_ORDER_RELEASE &&
              static_cast<int>(Order::acquire) == ISOTOPE_ORDER_ACQUIRE);
static_assert(static_cast<int>(Scope::system) == ISOTOPE_SCOPE_SYSTEM &&
              static_cast<int>(Scope::device) == ISOTOPE_SCOPE_DEVICE &&
              static_cast<int>(Scope::cluster) == ISOTOPE_SCOPE_CLUSTER &&
              static_cast<int>(Scope::block) == ISOTOPE_SCOPE_BLOCK);
static_assert(static_cast<int>(SignalOp::add) == ISOTOPE_SIGNAL_ADD);
static_assert(static_cast<int>(Cmp::eq) == ISOTOPE_CMP_EQ && static_cast<int>(Cmp::ne) == ISOTOPE_CMP_NE &&
              static_cast<int>(Cmp::gt) == ISOTOPE_CMP_GT && static_cast<int>(Cmp::ge) == ISOTOPE_CMP_GE &&
              static_cast<int>(Cmp::lt) == ISOTOPE_CMP_LT && static_cast<int>(Cmp::le) == ISOTOPE_CMP_LE);
}  // namespace isotope
