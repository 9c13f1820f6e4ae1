// Kernels that World::launch does not begin: ptx_has.sh looks for the load of the word that says whether the team was
// stopped, once for each of them. Nothing else here loads 32 bits from memory that others may write.
#include "isotope/device/kernel_order.hpp"
#include "isotope/device/signal.hpp"

using namespace isotope;

struct Message {
  Team team;
  Signal* flag;
  int to;
};

__global__ void raw_signal(Team team, Signal* flag, int to) {
  begin_kernel(team);
  signal(this_thread(), team, flag, 1, SignalOp::set, to);
}

__global__ void raw_signal_of_struct(Message message) {
  begin_kernel(message.team);
  signal(this_thread(), message.team, message.flag, 1, SignalOp::set, message.to);
}
