// Looks into a program file without running it.
#pragma once

#include <string>

namespace isotope::os {

enum class ElfSection { present, absent, not_elf };

/// Whether the 64-bit ELF file of this machine's byte order has a section of that name. A script, another kind of file
/// or a damaged one is not_elf. Throws Error(system) when the file cannot be read.
ElfSection find_elf_section(const std::string& path, const std::string& section);

}  // namespace isotope::os
