// Makes whole random programs and their outcome, and puts steps into words.
#include "support/random_program.hpp"

#include <utility>

#include "support/random_phase.hpp"

namespace isotope::testing {

namespace {

std::vector<unsigned char> random_bytes(std::uint64_t seed, std::uint32_t bytes) {
  Random random(seed);
  std::vector<unsigned char> data(bytes);
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(random.next() >> 56);
  return data;
}

}  // namespace

std::vector<unsigned char> first_region(std::uint64_t seed, int pe) {
  return random_bytes(seed * 31 + static_cast<std::uint64_t>(pe) * 2, kRegionBytes);
}

Program make_program(std::uint64_t seed, int pes) {
  Random random(seed * 64 + static_cast<std::uint64_t>(pes));
  static constexpr std::uint32_t kBlocks[] = {1, 32, 48, 64, 128};
  Program program;
  program.seed = seed;
  program.grid = random.between(1, 3);
  program.block = kBlocks[random.below(5)];
  for (int pe = 0; pe < pes; ++pe) {
    PeProgram mine;
    mine.constants = random_bytes(seed * 31 + static_cast<std::uint64_t>(pe) * 2 + 1, kConstantBytes);
    mine.region = first_region(seed, pe);
    mine.region_writer.assign(kRegionBytes, kNowhere);
    program.pes.push_back(std::move(mine));
  }
  for (std::uint32_t phase = random.between(2, 5); phase > 0; --phase) {
    std::vector<std::uint32_t> first;
    for (const PeProgram& mine : program.pes) first.push_back(static_cast<std::uint32_t>(mine.steps.size()));
    PhaseMaker maker(program, random);
    maker.make();
    const std::vector<std::uint32_t>& await = maker.first_await();
    for (std::size_t pe = 0; pe < first.size(); ++pe)
      for (std::uint32_t i = first[pe]; i < await[pe]; ++i) apply(program, static_cast<int>(pe), i);
    for (std::size_t pe = 0; pe < first.size(); ++pe)
      for (std::uint32_t i = await[pe]; i < program.pes[pe].steps.size(); ++i) apply(program, static_cast<int>(pe), i);
  }
  return program;
}

std::string describe(const Program& program, std::uint32_t writer) {
  if (writer == kNowhere) return "no step";
  static const char* const kOps[] = {"put",   "put_nbi", "put_signal", "put_signal_nbi", "p",      "iput",
                                     "get",   "get_nbi", "g",          "iget",           "atomic", "signal",
                                     "await", "fence",   "quiet"};
  static const char* const kWho[] = {"thread", "warp", "block"};
  const std::uint32_t pe = writer >> 16, index = writer & 0xffff;
  const PeProgram& mine = program.pes.at(pe);
  const Step& s = mine.steps.at(index);
  std::uint32_t phase = 0;
  Who who = Who::block;
  for (const Section& section : mine.sections) {
    who = section.who;
    if (index < section.last) break;
    phase += section.ends_phase;
  }
  std::string text = "phase " + std::to_string(phase) + ", step " + std::to_string(index) + " of PE " +
                     std::to_string(pe) + ": " + kOps[static_cast<int>(s.op)] + " by a " + kWho[static_cast<int>(who)];
  const auto add = [&](const char* name, std::uint64_t value) {
    text += std::string(" ") + name + "=" + std::to_string(value);
  };
  if (s.op == Op::atomic) {
    add("op", static_cast<std::uint64_t>(s.atomic));
    add("type", static_cast<std::uint64_t>(s.type));
  }
  add("pe", static_cast<std::uint64_t>(s.pe));
  add("remote", s.remote);
  add("local", s.local);
  add("count", s.count);
  add("width", s.width);
  add("strides", s.remote_stride * 1000 + s.local_stride);
  add("flag", s.flag);
  add("value", s.value);
  return text;
}

}  // namespace isotope::testing
