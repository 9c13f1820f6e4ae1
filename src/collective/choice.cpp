#include "isotope/host/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <tuple>

#include "isotope/base/error.hpp"
#include "isotope/collective/landed.hpp"

namespace isotope {

namespace {

constexpr std::string_view kHeader = "isotope-tuning 1";

template <class E>
std::string list_of(int count) {
  std::string names;
  for (int i = 0; i < count; ++i) names += fmt::format("{}{}", i == 0 ? "" : ", ", name_of(static_cast<E>(i)));
  return names;
}

template <class E>
E named(std::string_view name, int count, const char* what) {
  for (int i = 0; i < count; ++i) {
    if (name == name_of(static_cast<E>(i))) return static_cast<E>(i);
  }
  throw Error(Code::invalid_argument, fmt::format("'{}' is no {}; there are {}", name, what, list_of<E>(count)));
}

template <class N>
N number(const std::string& text, const char* what) {
  N value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1)
    throw Error(Code::invalid_argument, fmt::format("'{}' is no {}; a positive number was expected", text, what));
  return value;
}

ChoiceRow parse_row(const std::string& line) {
  std::istringstream words(line);
  std::string collective, pes, bytes, algo, rest;
  words >> collective >> pes >> bytes >> algo;
  if (algo.empty() || (words >> rest))
    throw Error(Code::invalid_argument, "four words were expected: collective, PEs, bytes or *, algorithm");
  const ChoiceRow row{collective_named(collective), number<int>(pes, "number of PEs"),
                      bytes == "*" ? kAnyBytes : number<std::size_t>(bytes, "number of bytes"), algo_named(algo)};
  if (!has_algorithm(row.collective, row.algo)) {
    std::string names;
    for (const Algo one : algorithms_of(row.collective)) names += fmt::format(" {}", name_of(one));
    throw Error(Code::invalid_argument, fmt::format("{} has no algorithm {}; it has{}", collective, algo, names));
  }
  return row;
}

std::string folder_of_caches() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') return cache;
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') return std::string(home) + "/.cache";
  return {};
}

}  // namespace

Collective collective_named(std::string_view name) { return named<Collective>(name, kCollectives, "collective"); }
Algo algo_named(std::string_view name) { return named<Algo>(name, kAlgos, "algorithm"); }

std::vector<Algo> algorithms_of(Collective collective) {
  std::vector<Algo> found;
#define X(c, a, dst, src) \
  if (collective == Collective::c) found.push_back(Algo::a);
#include "isotope/collective/algorithms.def"
#undef X
  return found;
}

ChoiceTable ChoiceTable::built_in_for_gpus() {
  using enum Collective;
  // Data that carries its own flag while a thread has few words of it; then whole buffers between two meetings. From
  // bench/results/h200-collectives-steps.json, where 2, 4 and 8 PEs share a GPU; a limit is the last size at which it
  // was fastest.
  constexpr std::size_t kKiB = 1024;
  struct Limits {
    int pes;
    struct {
      std::size_t ll8, lamport;
    } reduced;  // the whole
    struct {
      std::size_t ll8, ll16, lamport;
    } scattered;  // a member's block; 0: none
    struct {
      std::size_t ll8, ll16;
    } gathered, exchanged;  // the same
  };
  std::vector<ChoiceRow> rows;
  for (const Limits& most :
       {Limits{2,
               {32 * kKiB, 256 * kKiB},
               {64 * kKiB, 128 * kKiB, 256 * kKiB},
               {32 * kKiB, 256 * kKiB},
               {32 * kKiB, 256 * kKiB}},
        Limits{4, {32 * kKiB, 64 * kKiB}, {32 * kKiB, 64 * kKiB, 0}, {32 * kKiB, 64 * kKiB}, {32 * kKiB, 128 * kKiB}},
        Limits{8, {8 * kKiB, 32 * kKiB}, {4 * kKiB, 0, 0}, {8 * kKiB, 16 * kKiB}, {8 * kKiB, 16 * kKiB}}}) {
    const auto add = [&](Collective collective, std::size_t bytes, Algo algo) {
      if (bytes != 0) rows.push_back({collective, most.pes, bytes, algo});
    };
    add(all_reduce, most.reduced.ll8, Algo::ll8);
    add(all_reduce, most.reduced.lamport, Algo::lamport);
    add(all_reduce, kAnyBytes, Algo::two_shot);
    add(reduce, kAnyBytes, Algo::two_shot);
    add(reduce_scatter, most.scattered.ll8, Algo::ll8);
    add(reduce_scatter, most.scattered.ll16, Algo::ll16);
    add(reduce_scatter, most.scattered.lamport, Algo::lamport);
    add(reduce_scatter, kAnyBytes, Algo::pull);
    add(all_gather, most.gathered.ll8, Algo::ll8);
    add(all_gather, most.gathered.ll16, Algo::ll16);
    add(all_gather, kAnyBytes, Algo::push);
    add(all_to_all, most.exchanged.ll8, Algo::ll8);
    add(all_to_all, most.exchanged.ll16, Algo::ll16);
    add(all_to_all, kAnyBytes, Algo::direct);
    add(broadcast, kAnyBytes, Algo::flat);
    add(inclusive_scan, kAnyBytes, Algo::direct);
    add(exclusive_scan, kAnyBytes, Algo::direct);
  }
  ChoiceTable table(std::move(rows), "built in for GPUs");
  table.lands_sums_ = true;
  return table;
}

ChoiceTable ChoiceTable::built_in() {
  using enum Collective;
  std::vector<ChoiceRow> rows;
  for (const int pes : {2, 4, 8}) {
    // One message less each way is worth filling slots, and among more than two a longer sum. The limits of eager are
    // from bench/results/cpu-tuning-zen4.txt.
    rows.push_back({all_reduce, pes, pes > 2 ? std::size_t{4096} : 1024, Algo::one_shot});
    rows.insert(rows.end(), {{all_reduce, pes, kAnyBytes, Algo::two_shot},
                             {reduce, pes, kAnyBytes, Algo::two_shot},
                             {reduce_scatter, pes, kAnyBytes, Algo::pull},
                             {all_gather, pes, 1024, Algo::eager},
                             {all_gather, pes, 32768, Algo::pull},
                             {all_gather, pes, kAnyBytes, Algo::push},
                             {all_to_all, pes, 1024, Algo::eager},
                             {all_to_all, pes, kAnyBytes, Algo::direct},
                             {broadcast, pes, pes > 2 ? std::size_t{16384} : 2048, Algo::eager},
                             {broadcast, pes, kAnyBytes, Algo::flat},
                             {inclusive_scan, pes, kAnyBytes, Algo::direct},
                             {exclusive_scan, pes, kAnyBytes, Algo::direct}});
  }
  return ChoiceTable(std::move(rows), "built in");
}

ChoiceTable ChoiceTable::parse(std::string_view text, const std::string& name) {
  constexpr std::string_view kPlatform = "# platform ";
  std::istringstream lines{std::string(text)};
  std::vector<ChoiceRow> rows;
  std::string platform;
  int at = 0;
  for (std::string line; std::getline(lines, line);) {
    ++at;
    if (line.starts_with(kPlatform)) platform = line.substr(kPlatform.size());
    try {
      if (at == 1) {
        if (line != kHeader)
          throw Error(Code::invalid_argument,
                      fmt::format("'{}' was expected as the first line; `isotope tune` writes such files", kHeader));
      } else if (line.find_first_not_of(" \t\r") != std::string::npos && line[line.find_first_not_of(" \t")] != '#') {
        rows.push_back(parse_row(line));
      }
    } catch (const Error& error) {
      throw Error(Code::invalid_argument, fmt::format("{}, line {}: {}", name, at, error.what()));
    }
  }
  if (at == 0) throw Error(Code::invalid_argument, fmt::format("{} is empty; '{}' was expected", name, kHeader));
  return ChoiceTable(std::move(rows), name, std::move(platform));
}

ChoiceTable ChoiceTable::load(const std::string& file, bool gpu) {
  const std::string path = file.empty() ? default_path(gpu) : file;
  std::ifstream in(path);
  if (!in) {
    if (file.empty()) return built_in(gpu);
    throw Error(Code::invalid_argument, fmt::format("ISOTOPE_TUNE_FILE names {}, which cannot be read", file));
  }
  std::ostringstream text;
  text << in.rdbuf();
  return parse(text.str(), path);
}

std::string ChoiceTable::default_path(bool gpu) {
  const std::string folder = folder_of_caches();
  return folder.empty() ? folder : folder + (gpu ? "/isotope/tuning-cuda" : "/isotope/tuning");
}

std::string ChoiceTable::text() const {
  std::string all = fmt::format("{}\n", kHeader);
  if (!platform_.empty()) all += fmt::format("# platform {}\n", platform_);
  all += "# collective    PEs  up to bytes  algorithm\n";
  for (const ChoiceRow& row : rows_) {
    all += fmt::format("{:<15} {:>3}  {:>11}  {}\n", name_of(row.collective), row.pes,
                       row.most_bytes == kAnyBytes ? "*" : fmt::format("{}", row.most_bytes), name_of(row.algo));
  }
  return all;
}

ChoiceTable ChoiceTable::ranked_for(int pes) const {
  ChoiceTable ranked = *this;
  ranked.ranked_pes_ = pes;
  for (auto& rows : ranked.ranked_) rows.clear();
  for (const ChoiceRow& row : rows_) ranked.ranked_[static_cast<int>(row.collective)].push_back(row);
  // Between two numbers of PEs the greater: what suits many costs few less than the other way round.
  const auto rank = [pes](const ChoiceRow& row) {
    return std::tuple(std::abs(row.pes - pes), -row.pes, row.most_bytes);
  };
  for (auto& rows : ranked.ranked_)
    std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return ranked;
}

Algo ChoiceTable::choose(Collective collective, int pes, std::size_t bytes) const {
  if (pes != ranked_pes_) return ranked_for(pes).choose(collective, pes, bytes);
  for (const ChoiceRow& row : ranked_[static_cast<int>(collective)])
    if (row.most_bytes >= bytes) return row.algo;
  return Algo::automatic;
}

Algo ChoiceTable::choose(const CollectiveCall& call, int pes, std::size_t landing_blocks) const {
  const std::size_t bytes = call.count * size_of(call.type);
  const Algo algo = choose(call.collective, pes, bytes);
  if (!lands_sums_ || call.collective != Collective::reduce_scatter || bytes % 16 != 0 ||
      bytes > landing_blocks * detail::landed::kMostBytes ||
      !detail::landed::can_sum(call.type, call.op, call.accumulate, pes))
    return algo;
  // Start 39 of the same record. Between 8 the smaller sizes were measured with the sums of before alone.
  constexpr std::size_t kKiB = 1024;
  const std::size_t packets = pes == 2 ? 64 * kKiB : pes == 4 ? 32 * kKiB : 2 * kKiB;
  return bytes > packets ? Algo::pull : algo;
}

std::size_t ChoiceTable::fingerprint() const { return std::hash<std::string>()(text() + (lands_sums_ ? "+" : "")); }

}  // namespace isotope
