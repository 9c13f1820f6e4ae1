// Finding a section in a program file, and surviving files that are none.
#include "os/elf.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "isotope/base/error.hpp"

__attribute__((section(".isotope.elf_test"), used)) static const char elf_test_marker[] = "here";

namespace isotope::os {
namespace {

std::string own_bytes() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class Scratch {
 public:
  Scratch() { ::close(::mkstemp(name_)); }
  ~Scratch() { ::unlink(name_); }
  ElfSection look(const std::string& content) const {
    std::ofstream(name_, std::ios::binary | std::ios::trunc) << content;
    return find_elf_section(name_, ".isotope.elf_test");
  }

 private:
  char name_[32] = "/tmp/isotope-elf-test-XXXXXX";
};

TEST(Elf, FindsASectionByItsWholeName) {
  EXPECT_EQ(find_elf_section("/proc/self/exe", ".isotope.elf_test"), ElfSection::present);
  EXPECT_EQ(find_elf_section("/proc/self/exe", ".isotope.elf"), ElfSection::absent);
  EXPECT_EQ(find_elf_section("/proc/self/exe", ".isotope.elf_test2"), ElfSection::absent);
}

TEST(Elf, TellsOtherFiles) {
  const Scratch scratch;
  EXPECT_EQ(scratch.look(""), ElfSection::not_elf);
  EXPECT_EQ(scratch.look("#!/bin/sh\necho .isotope.elf_test\n"), ElfSection::not_elf);
  EXPECT_EQ(find_elf_section("/", "x"), ElfSection::not_elf);
  EXPECT_THROW(find_elf_section("/no/such/file", "x"), Error);
}

TEST(Elf, SurvivesDamage) {
  const Scratch scratch;
  const std::string whole = own_bytes();
  ASSERT_EQ(scratch.look(whole), ElfSection::present);
  for (const std::size_t cut : {1, 16, 63, 64, 1000})
    EXPECT_EQ(scratch.look(whole.substr(0, cut)), ElfSection::not_elf) << cut;
  // Every byte of the header, at its extremes: any answer but a crash.
  const std::string head = whole.substr(0, 4096);
  for (std::size_t at = 0; at < 64; ++at) {
    for (const char value : {'\0', '\x01', '\x7f', '\xff'}) {
      std::string broken = head;
      broken[at] = value;
      scratch.look(broken);
    }
  }
}

}  // namespace
}  // namespace isotope::os
