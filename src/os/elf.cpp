#include "os/elf.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include "os/error.hpp"
#include "os/fd.hpp"

namespace isotope::os {

namespace {

constexpr std::uint64_t kMaxNameTable = 64 * 1024 * 1024;  // far above any real one; a damaged file asks for more

// False at the file's end: every offset comes from the file, so any of them may point past it.
bool read_at(int fd, void* out, std::size_t bytes, std::uint64_t offset) {
  auto* at = static_cast<char*>(out);
  if (offset > static_cast<std::uint64_t>(INT64_MAX) - bytes) return false;
  while (bytes > 0) {
    const ssize_t got = ::pread(fd, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

ElfSection find_elf_section(const std::string& path, const std::string& section) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw_errno("opening " + path);

  Elf64_Ehdr header;
  if (!read_at(file.get(), &header, sizeof header, 0)) return ElfSection::not_elf;
  constexpr unsigned char kOurs = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != kOurs) {
    return ElfSection::not_elf;
  }
  if (header.e_shoff == 0) return ElfSection::absent;
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return ElfSection::not_elf;

  // Large files keep the section count and the name table's index in section 0.
  Elf64_Shdr first;
  if (!read_at(file.get(), &first, sizeof first, header.e_shoff)) return ElfSection::not_elf;
  const std::uint64_t count = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
  const std::uint64_t names_index = header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : first.sh_link;
  if (names_index >= count || count > 1'000'000) return ElfSection::not_elf;

  const auto section_at = [&](std::uint64_t i, Elf64_Shdr& out) {
    return read_at(file.get(), &out, sizeof out, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  Elf64_Shdr names_header;
  if (!section_at(names_index, names_header) || names_header.sh_size > kMaxNameTable) return ElfSection::not_elf;
  std::vector<char> names(names_header.sh_size + 1, '\0');  // one more byte, so that every name ends
  if (!read_at(file.get(), names.data(), names_header.sh_size, names_header.sh_offset)) return ElfSection::not_elf;

  for (std::uint64_t i = 0; i < count; ++i) {
    Elf64_Shdr entry;
    if (!section_at(i, entry)) return ElfSection::not_elf;
    if (entry.sh_name < names_header.sh_size && section == names.data() + entry.sh_name) return ElfSection::present;
  }
  return ElfSection::absent;
}

}  // namespace isotope::os
