// What a FaultJob says about its PEs once they have ended.
#include <string>

#include "support/fault_job.hpp"

namespace isotope::testing {

::testing::AssertionResult FaultJob::threw(int rank, Code code, int peer) {
  const Seat& seat = seats_[rank];
  if (!seat.threw)
    return ::testing::AssertionFailure() << "PE " << rank << " threw no Error, expected " << code_name(code);
  if (seat.code != code || seat.peer != peer || seat.error_pe != rank) {
    return ::testing::AssertionFailure() << "PE " << rank << " threw " << code_name(seat.code) << " as PE "
                                         << seat.error_pe << " blaming " << seat.peer << ", expected "
                                         << code_name(code) << " blaming " << peer << "; its message: " << seat.message;
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult FaultJob::returned(int rank) {
  const Seat& seat = seats_[rank];
  if (seat.threw) return ::testing::AssertionFailure() << "PE " << rank << " threw: " << seat.message;
  if (seat.ended_ns == 0) return ::testing::AssertionFailure() << "PE " << rank << " did not reach the end of its body";
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult FaultJob::ended_between(int rank, std::uint64_t since_ns, nanoseconds at_least,
                                                   nanoseconds at_most) {
  const std::uint64_t ended = seats_[rank].ended_ns;
  const auto took = static_cast<std::int64_t>(ended - since_ns);
  if (ended == 0 || took < at_least.count() || took > at_most.count() * kSlow) {
    return ::testing::AssertionFailure() << "PE " << rank << " ended after " << (ended ? took / 1'000'000 : -1)
                                         << " ms, expected " << at_least.count() / 1'000'000 << " to "
                                         << at_most.count() * kSlow / 1'000'000 << " ms";
  }
  return ::testing::AssertionSuccess();
}

bool FaultJob::on_time(nanoseconds at_most) const {
  for (int rank = 0; rank < shape_.pes; ++rank) {
    const Seat& seat = seats_[rank];
    if (seat.threw && seat.ended_ns > seat.began_ns + static_cast<std::uint64_t>(at_most.count()) * kSlow) return false;
  }
  return true;
}

void FaultJob::expect_others_threw(int victim, Code code, std::uint64_t since_ns, nanoseconds at_most) {
  for (int rank = 0; rank < shape_.pes; ++rank) {
    if (rank == victim) continue;
    EXPECT_TRUE(threw(rank, code, victim));
    EXPECT_TRUE(ended_between(rank, since_ns, nanoseconds(0), at_most));
    EXPECT_NE(std::string(seats_[rank].message).find("PE " + std::to_string(victim)), std::string::npos)
        << seats_[rank].message;
  }
}

}  // namespace isotope::testing
