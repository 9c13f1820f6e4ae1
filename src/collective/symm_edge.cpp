// symm_all_reduce of the C edge.
#include "isotope/collective/symm.hpp"
#include "isotope/isotope.h"

namespace {

template <class G>
std::int32_t run(G group, const isotope_symm_context* context, void* local_ptr, std::int64_t byte_offset,
                 std::int64_t num_elements, std::int32_t reduce_op, std::int32_t dtype) {
  const auto* ours = reinterpret_cast<const isotope::SymmContext*>(context);
  if (const int refused = isotope::detail::symm_refusal(ours, reduce_op, dtype)) return refused;
  if (byte_offset < 0 || num_elements < 0) return static_cast<int>(isotope::Code::invalid_argument);
  // As the whole C edge: checked in every build. A length that does not fit is one that no object has.
  const std::size_t element = isotope::size_of(static_cast<isotope::DataType>(dtype));
  const std::size_t bytes = isotope::detail::strided_bytes(static_cast<std::size_t>(num_elements), 1, element);
  if (!isotope::detail::symmetric_is_good(ours->team, {"symm_all_reduce", {}}, "local_ptr",
                                          static_cast<char*>(local_ptr) + byte_offset, bytes, element))
    return isotope::detail::outcome(ours->team);
  return isotope::symm_all_reduce(group, ours, local_ptr, static_cast<std::size_t>(byte_offset),
                                  static_cast<std::size_t>(num_elements), reduce_op, dtype, isotope::CallSite{});
}

}  // namespace

extern "C" {

std::int32_t symm_all_reduce(const isotope_symm_context* context, void* local_ptr, std::int64_t byte_offset,
                             std::int64_t num_elements, std::int32_t reduce_op, std::int32_t dtype) {
  return run(isotope::this_thread(), context, local_ptr, byte_offset, num_elements, reduce_op, dtype);
}

std::int32_t symm_all_reduce_block(const isotope_symm_context* context, void* local_ptr, std::int64_t byte_offset,
                                   std::int64_t num_elements, std::int32_t reduce_op, std::int32_t dtype) {
  return run(isotope::this_block(), context, local_ptr, byte_offset, num_elements, reduce_op, dtype);
}

}  // extern "C"
