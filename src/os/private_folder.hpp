// Folders and files for this user alone that a helper program needs by name, and the end of whoever was started on
// them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "os/fd.hpp"

namespace isotope::os {

/// A name that nothing has and nobody can guess: <TMPDIR or /tmp>/<label>-<random>. Nothing is made. TMPDIR is passed
/// over when it is no absolute path or so long that the name of a unix socket in the folder would not fit (108 bytes).
std::string private_folder_name(std::string_view label);

/// Makes the folder, mode 0700. Throws Error(system) naming it, also when there is one already.
void make_private_folder(const std::string& path);

/// A new or emptied file for writing, mode 0600, close-on-exec. Throws Error(system).
Fd open_private_output(const std::string& path);

/// Kills (SIGKILL) every process whose name begins with `name` (15 characters count) and that was started with
/// `entry` ("NAME=value") in its environment. Finds what left its process group and its parent. Returns how many it
/// killed or could not judge yet, since they are just becoming another program: look again until it is 0. Processes of
/// other users are passed over.
std::size_t kill_processes(std::string_view name, std::string_view entry);

}  // namespace isotope::os
