// 128 bytes that let PEs find each other over TCP. One PE makes it, the caller moves it by any channel.
//
//   UniqueId id;
//   if (rank == 0) id = get_unique_id();
//   MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, comm);
//   World world = init(rank, size, id);
//
// It carries the job's 256-bit key: keep it as secret as a password.
#pragma once

#include <cstddef>
#include <type_traits>

namespace isotope {

struct UniqueId {
  std::byte bytes[128];
};
static_assert(sizeof(UniqueId) == 128 && std::is_trivially_copyable_v<UniqueId>);

/// Starts listening (on ISOTOPE_LISTEN, loopback by default) and returns where, with a fresh key. The caller's process
/// must stay alive until every PE's init() has returned; PE 0 need not be the caller. Each id serves one job.
/// Throws Error(system) when no socket can be opened. Thread-safe.
UniqueId get_unique_id();

}  // namespace isotope
