// Tables of choices: what they say for how many PEs and bytes, and which files are none.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "isotope/base/error.hpp"
#include "isotope/host/choice.hpp"
#include "isotope/host/collectives.hpp"

namespace isotope {
namespace {

constexpr const char* kText =
    "isotope-tuning 1\n"
    "# a comment\n"
    "\n"
    "all_reduce  2  4096  one_shot\n"
    "all_reduce  2  *     two_shot\n"
    "  all_reduce  8  100   ll16\n"
    "all_reduce  8  65536 ring\n"
    "broadcast   4  *     tree\r\n";

TEST(ChoiceTable, ChoosesByBytesAndTheNearestNumberOfPes) {
  const ChoiceTable table = ChoiceTable::parse(kText, "a table");
  const auto all_reduce = [&](int pes, std::size_t bytes) { return table.choose(Collective::all_reduce, pes, bytes); };
  EXPECT_EQ(all_reduce(2, 0), Algo::one_shot);
  EXPECT_EQ(all_reduce(2, 4096), Algo::one_shot);
  EXPECT_EQ(all_reduce(2, 4097), Algo::two_shot);
  EXPECT_EQ(all_reduce(2, kAnyBytes), Algo::two_shot);
  EXPECT_EQ(all_reduce(1, 1), Algo::one_shot);
  EXPECT_EQ(all_reduce(3, 1), Algo::one_shot);
  EXPECT_EQ(all_reduce(7, 1), Algo::ll16);
  EXPECT_EQ(all_reduce(5, 1), Algo::ll16) << "as near to 2 as to 8: the greater";
  EXPECT_EQ(all_reduce(5, 1000), Algo::ring) << "the same, although a row of 2 ends nearer";
  EXPECT_EQ(all_reduce(100, 101), Algo::ring);
  EXPECT_EQ(all_reduce(8, 65537), Algo::two_shot) << "the nearest number of PEs whose rows go that far";
  EXPECT_EQ(table.choose(Collective::broadcast, 2, 5), Algo::tree);
  EXPECT_EQ(table.choose(Collective::all_gather, 2, 5), Algo::automatic) << "there is no row";
}

TEST(ChoiceTable, RoundsTripThroughText) {
  for (const ChoiceTable& table :
       {ChoiceTable::built_in(), ChoiceTable::built_in_for_gpus(), ChoiceTable::parse(kText, "a table"),
        ChoiceTable({}, "empty"), ChoiceTable({}, "of GPUs", "cuda")}) {
    const ChoiceTable again = ChoiceTable::parse(table.text(), "again");
    ASSERT_EQ(again.rows().size(), table.rows().size());
    for (std::size_t i = 0; i < table.rows().size(); ++i) {
      EXPECT_EQ(again.rows()[i].collective, table.rows()[i].collective);
      EXPECT_EQ(again.rows()[i].pes, table.rows()[i].pes);
      EXPECT_EQ(again.rows()[i].most_bytes, table.rows()[i].most_bytes);
      EXPECT_EQ(again.rows()[i].algo, table.rows()[i].algo);
    }
    EXPECT_EQ(again.text(), table.text());
    EXPECT_EQ(again.platform(), table.platform());
  }
}

TEST(ChoiceTable, OfItsOwnHasAnAnswerForEverything) {
  for (const ChoiceTable& table : {ChoiceTable::built_in(), ChoiceTable::built_in_for_gpus()}) {
    for (int c = 0; c < kCollectives; ++c) {
      for (const int pes : {1, 2, 3, 8, 1000}) {
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{5000}, std::size_t{100'000}, kAnyBytes}) {
          const auto collective = static_cast<Collective>(c);
          EXPECT_TRUE(has_algorithm(collective, table.choose(collective, pes, bytes)))
              << table.name() << ": " << name_of(collective);
        }
      }
    }
  }
}

/// Sets a variable, and has it as it was afterwards.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

class ChoiceFiles : public ::testing::Test {
 protected:
  ChoiceFiles()
      : folder_(std::filesystem::path(::testing::TempDir()) / ("isotope_choices_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_ / "isotope");
  }
  ~ChoiceFiles() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& row) const {
    const std::string path = folder_ / "isotope" / name;
    std::ofstream(path) << "isotope-tuning 1\n" << row << "\n";
    return path;
  }

  const std::filesystem::path folder_;
};

TEST_F(ChoiceFiles, CpuAndGpusHaveOneEachAtTheUsualPlace) {
  const Variable cache("XDG_CACHE_HOME", folder_.string());
  const std::string of_cpu = ChoiceTable::default_path(), of_gpus = ChoiceTable::default_path(true);
  EXPECT_EQ(of_cpu, (folder_ / "isotope" / "tuning").string());
  EXPECT_EQ(of_gpus, (folder_ / "isotope" / "tuning-cuda").string());
  EXPECT_EQ(ChoiceTable::load("").text(), ChoiceTable::built_in().text());
  EXPECT_EQ(ChoiceTable::load("", true).text(), ChoiceTable::built_in_for_gpus().text());

  write("tuning", "broadcast 2 * tree");
  EXPECT_EQ(ChoiceTable::load("").name(), of_cpu);
  EXPECT_EQ(ChoiceTable::load("", true).name(), ChoiceTable::built_in_for_gpus().name()) << "that one is the CPU's";

  write("tuning-cuda", "broadcast 2 * pipelined");
  EXPECT_EQ(ChoiceTable::load("").choose(Collective::broadcast, 2, 1), Algo::tree);
  EXPECT_EQ(ChoiceTable::load("", true).name(), of_gpus);
  EXPECT_EQ(ChoiceTable::load("", true).choose(Collective::broadcast, 2, 1), Algo::pipelined);
  EXPECT_EQ(ChoiceTable::load(of_cpu, true).name(), of_cpu) << "a file that is named serves every platform";

  write("tuning-cuda", "broadcast 2 * nonsense");
  EXPECT_THROW(ChoiceTable::load("", true), Error);
  EXPECT_NO_THROW(ChoiceTable::load(""));
}

TEST_F(ChoiceFiles, WhatATableDoesNotSayIsBuiltIn) {
  const std::string file = write("table", "broadcast 2 * tree");
  const Variable named("ISOTOPE_TUNE_FILE", file), trace("ISOTOPE_TRACE_CHOICES", "1");
  World world = init();
  Collectives coll(world);
  auto x = world.alloc_zeroed<float>(4), y = world.alloc_zeroed<float>(4);
  ::testing::internal::CaptureStderr();
  coll.broadcast(y.data(), x.data(), 4, 0);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("tree (" + file + ")"), std::string::npos);
  ::testing::internal::CaptureStderr();
  coll.all_reduce(y.data(), x.data(), 4);
  coll.reduce(y.data(), x.data(), 4, ReduceOp::add, 0);
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("all_reduce, 16 bytes, 1 members: one_shot (built in)"), std::string::npos) << text;
  EXPECT_NE(text.find("reduce, 16 bytes, 1 members: two_shot (built in)"), std::string::npos) << text;
}

TEST_F(ChoiceFiles, OfAnotherPlatformIsWarnedOf) {
  const auto warnings = [&](const std::string& platform) {
    const Variable named("ISOTOPE_TUNE_FILE", write("table", "# platform " + platform + "\nbroadcast 2 * tree"));
    World world = init();
    ::testing::internal::CaptureStderr();
    const Collectives coll(world);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(warnings("cpu"), "");
  const std::string text = warnings("cuda");
  EXPECT_NE(text.find("measured on platform cuda, and PEs are on cpu"), std::string::npos) << text;
  EXPECT_NE(text.find("isotope tune --platform cpu"), std::string::npos) << text;
}

// What a row names may not fit the type of a call: other packets do while they are few, then the default.
TEST_F(ChoiceFiles, WhatDoesNotFitATypeIsNotTaken) {
  const std::string file = write("table", "all_reduce 2 * ll8\nreduce_scatter 2 * ll8");
  const Variable named("ISOTOPE_TUNE_FILE", file), trace("ISOTOPE_TRACE_CHOICES", "1");
  World world = init();
  Collectives coll(world);
  const auto expect = [&]<class T>(T, std::size_t n, const std::string& all_reduce, const std::string& reduce_scatter) {
    auto x = world.alloc_zeroed<T>(n), y = world.alloc_zeroed<T>(n);
    ::testing::internal::CaptureStderr();
    coll.all_reduce(y.data(), x.data(), n);
    coll.reduce_scatter(y.data(), x.data(), n);
    const std::string text = ::testing::internal::GetCapturedStderr(),
                      of = std::to_string(n * sizeof(T)) + " bytes, 1 members: ";
    EXPECT_NE(text.find("all_reduce, " + of + all_reduce + "\n"), std::string::npos) << text;
    EXPECT_NE(text.find("reduce_scatter, " + of + reduce_scatter + "\n"), std::string::npos) << text;
  };
  expect(float{}, 4, "ll8 (" + file + ")", "ll8 (" + file + ")");
  expect(double{}, 4, "lamport (default)", "ll16 (default)");
  expect(std::int64_t{}, 4, "ll16 (default)", "ll16 (default)");
  expect(double{}, 10'000, "two_shot (default)", "pull (default)");
}

void expect_bad(const std::string& text, const std::string& line, const std::string& why) {
  try {
    ChoiceTable::parse(text, "some/file");
    ADD_FAILURE() << "was read: " << text;
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_NE(message.find("some/file" + line), std::string::npos) << message;
    EXPECT_NE(message.find(why), std::string::npos) << message;
  }
}

TEST(ChoiceTable, SaysWhichLineIsWrong) {
  const std::string head = "isotope-tuning 1\n";
  expect_bad("", " is empty", "isotope-tuning 1");
  expect_bad("isotope-tuning 2\n", ", line 1", "'isotope-tuning 1' was expected");
  expect_bad(head + "\nall_reduce 2 *\n", ", line 3", "four words were expected");
  expect_bad(head + "all_reduce 2 * ring ring\n", ", line 2", "four words were expected");
  expect_bad(head + "all_reduction 2 * ring\n", ", line 2",
             "'all_reduction' is no collective; there are all_reduce, reduce");
  expect_bad(head + "all_reduce 2 * rong\n", ", line 2", "'rong' is no algorithm");
  expect_bad(head + "all_reduce 2 * push\n", ", line 2", "all_reduce has no algorithm push; it has one_shot two_shot");
  expect_bad(head + "all_reduce 2 * automatic\n", ", line 2", "has no algorithm automatic");
  for (const char* pes : {"0", "-1", "two", "2x", "99999999999"})
    expect_bad(head + "all_reduce " + pes + " * ring\n", ", line 2", "is no number of PEs");
  for (const char* bytes : {"0", "-5", "1k", "99999999999999999999999"})
    expect_bad(head + "all_reduce 2 " + bytes + " ring\n", ", line 2", "is no number of bytes");
}

TEST(ChoiceTable, IsLoadedFromTheFileThatIsNamed) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "isotope_choice_test";
  std::ofstream(file) << kText;
  const ChoiceTable table = ChoiceTable::load(file.string());
  EXPECT_EQ(table.name(), file.string());
  EXPECT_EQ(table.rows().size(), 5u);
  std::filesystem::remove(file);
  EXPECT_THROW(ChoiceTable::load(file.string()), Error) << "it was named, and is not there";
}

TEST(ChoiceTable, NamesComeBack) {
  for (int c = 0; c < kCollectives; ++c)
    EXPECT_EQ(collective_named(name_of(static_cast<Collective>(c))), static_cast<Collective>(c));
  for (int a = 0; a < kAlgos; ++a) EXPECT_EQ(algo_named(name_of(static_cast<Algo>(a))), static_cast<Algo>(a));
  EXPECT_STREQ(name_of(static_cast<Algo>(kAlgos)), "?");
  EXPECT_STREQ(name_of(static_cast<Collective>(-1)), "?");
}

TEST(ChoiceForGpus, TakesPullSoonerWhereSumsLandInSharedMemory) {
  const ChoiceTable table = ChoiceTable::built_in_for_gpus();
  const auto choice = [&](int pes, std::size_t bytes, DataType type, ReduceOp op = ReduceOp::add,
                          Accumulate accumulate = Accumulate::wide, std::size_t landing_blocks = 64) {
    CollectiveCall call{Collective::reduce_scatter, Algo::automatic, type, op, accumulate};
    call.count = bytes / size_of(type);
    return table.choose(call, pes, landing_blocks);
  };
  constexpr std::size_t kKiB = 1024;
  for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16}) {
    EXPECT_EQ(choice(2, 64 * kKiB, type), Algo::ll8);
    EXPECT_EQ(choice(2, 96 * kKiB, type), Algo::pull);
    EXPECT_EQ(choice(4, 48 * kKiB, type), Algo::pull);
    EXPECT_EQ(choice(8, 3 * kKiB, type), Algo::pull);
  }
  // The others go through shared memory nowhere, where packets are faster for longer.
  EXPECT_EQ(choice(2, 96 * kKiB, DataType::i32), Algo::ll16);
  EXPECT_EQ(choice(2, 200 * kKiB, DataType::f64), Algo::lamport);
  EXPECT_EQ(choice(2, 96 * kKiB, DataType::bf16, ReduceOp::max), Algo::ll16);
  EXPECT_EQ(choice(2, 96 * kKiB, DataType::bf16, ReduceOp::add, Accumulate::native), Algo::ll16);
  EXPECT_EQ(choice(2, 96 * kKiB, DataType::f32, ReduceOp::add, Accumulate::native), Algo::pull);
  EXPECT_EQ(choice(2, 96 * kKiB + 8, DataType::bf16), Algo::ll16);
  EXPECT_EQ(choice(3, 48 * kKiB, DataType::bf16), Algo::ll16);
  EXPECT_EQ(choice(8, 4 * kKiB, DataType::i32), Algo::ll8);
  for (const int pes : {2, 3, 4, 8}) EXPECT_EQ(choice(pes, 1 << 20, DataType::i32), Algo::pull);
  // Nor do those for which there are too few blocks, or none that can.
  EXPECT_EQ(choice(2, 96 * kKiB, DataType::f32, ReduceOp::add, Accumulate::wide, 3), Algo::pull);
  EXPECT_EQ(choice(2, 96 * kKiB, DataType::f32, ReduceOp::add, Accumulate::wide, 2), Algo::ll16);
  EXPECT_EQ(choice(4, 48 * kKiB, DataType::bf16, ReduceOp::add, Accumulate::wide, 0), Algo::ll16);
  // What was measured is taken as it is.
  const ChoiceTable measured = ChoiceTable::parse(table.text(), "a file");
  EXPECT_EQ(measured.choose(Collective::reduce_scatter, 2, 96 * kKiB), Algo::ll16);
  CollectiveCall sum{Collective::reduce_scatter};
  sum.count = 96 * kKiB / sizeof(float);
  EXPECT_EQ(measured.choose(sum, 2, 64), Algo::ll16);
  EXPECT_NE(measured.fingerprint(), table.fingerprint());
  EXPECT_EQ(ChoiceTable::parse(table.text(), "another file").fingerprint(), measured.fingerprint());
}

}  // namespace
}  // namespace isotope
