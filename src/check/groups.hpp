// The end of a kernel thread, as its block sees it.
#pragma once

namespace isotope::check {

struct Task;

/// The thread has returned from the kernel: it counts as arrived everywhere.
void thread_returned(Task& task);

}  // namespace isotope::check
