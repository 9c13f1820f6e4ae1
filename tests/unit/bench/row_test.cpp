// From samples to rows: units, medians, and which way a ratio goes.
#include "bench/harness/row.hpp"

#include <gtest/gtest.h>

#include "bench/harness/statistics.hpp"
#include "isotope/base/error.hpp"

namespace isotope::bench {
namespace {

TEST(Median, TakesTheMiddle) {
  EXPECT_EQ(median({}), std::nullopt);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 100}), 3);
}

TEST(RoundSignificant, KeepsFourDigits) {
  EXPECT_DOUBLE_EQ(round_significant(0.00123456), 0.001235);
  EXPECT_DOUBLE_EQ(round_significant(123456), 123500);
  EXPECT_DOUBLE_EQ(round_significant(-1.00004), -1.0);
  EXPECT_DOUBLE_EQ(round_significant(0), 0);
}

TEST(Rows, TimeRatioIsAboveOneWhereOursIsShorter) {
  const auto rows = rows_of({.row = {.name = "x", .limit_name = "wire", .unit = "us"},
                             .ours = {2e-6, 1e-6, 9e-6},
                             .limit = {1e-6},
                             .peers = {{"other", {4e-6, 6e-6}}}});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_DOUBLE_EQ(rows[0].ours.value(), 2);
  EXPECT_DOUBLE_EQ(rows[0].limit.value(), 1);
  EXPECT_DOUBLE_EQ(rows[0].peer.value(), 5);
  EXPECT_DOUBLE_EQ(rows[0].ratio.value(), 2.5);
  EXPECT_DOUBLE_EQ(rows[0].limit_ratio.value(), 0.5);
  EXPECT_EQ(rows[0].peer_name, "other");
}

TEST(Rows, BandwidthRatioIsAboveOneWhereOursIsHigher) {
  const auto rows = rows_of({.row = {.name = "x", .bytes = 1'000'000, .unit = "GB/s"},
                             .ours = {1e-3},
                             .limit = {0.5e-3},
                             .peers = {{"other", {4e-3}}}});
  EXPECT_DOUBLE_EQ(rows[0].ours.value(), 1);
  EXPECT_DOUBLE_EQ(rows[0].limit.value(), 2);
  EXPECT_DOUBLE_EQ(rows[0].peer.value(), 0.25);
  EXPECT_DOUBLE_EQ(rows[0].ratio.value(), 4);
  EXPECT_DOUBLE_EQ(rows[0].limit_ratio.value(), 0.5);
}

TEST(Rows, OneForEachPeer) {
  const auto rows =
      rows_of({.row = {.name = "x"}, .ours = {1e-6}, .peers = {{"a", {2e-6}}, {"b", {3e-6}}, {"silent", {}}}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].peer_name, "a");
  EXPECT_EQ(rows[1].peer_name, "b");
  EXPECT_DOUBLE_EQ(rows[1].ratio.value(), 3);
}

TEST(Rows, WhatDoesNotApplyIsNull) {
  const auto rows = rows_of({.row = {.name = "x", .limit_name = "never measured"}, .ours = {1e-6}});
  ASSERT_EQ(rows.size(), 1u);
  const Json json = to_json(rows[0]);
  std::vector<std::string> keys;
  for (const auto& item : json.items()) keys.push_back(item.key());
  EXPECT_EQ(keys, (std::vector<std::string>{
                      "name",        "platform",   "pes",   "pes_as",     "bytes",      "blocks",    "algo", "dtype",
                      "op",          "ours",       "limit", "limit_name", "peer",       "peer_name", "unit", "ratio",
                      "limit_ratio", "bus_factor", "algbw", "busbw",      "peer_algbw", "peer_busbw"}));
  for (const char* key : {"bytes", "blocks", "algo", "dtype", "op", "limit", "limit_name", "peer", "peer_name", "ratio",
                          "limit_ratio", "bus_factor", "algbw", "busbw", "peer_algbw", "peer_busbw"}) {
    EXPECT_TRUE(json.at(key).is_null()) << key;
  }
  EXPECT_EQ(json.at("ours"), 1.0);
}

TEST(Rows, BandwidthsWhereThereIsABusFactor) {
  const auto rows = rows_of({.row = {.name = "x", .bytes = 3000, .bus_factor = 1.5},
                             .ours = {1e-6},
                             .peers = {{"a", {2e-6}}, {"b", {3e-6}}}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_DOUBLE_EQ(rows[1].ours.value(), 1);
  EXPECT_DOUBLE_EQ(rows[1].algbw.value(), 3);
  EXPECT_DOUBLE_EQ(rows[1].busbw.value(), 4.5);
  EXPECT_DOUBLE_EQ(rows[1].peer_algbw.value(), 1);
  EXPECT_DOUBLE_EQ(rows[1].peer_busbw.value(), 1.5);
  const auto without = rows_of({.row = {.name = "x", .bytes = 3000}, .ours = {1e-6}});
  EXPECT_FALSE(without[0].algbw);
}

TEST(Rows, SecondsComeBackFromEveryUnit) {
  for (const char* unit : {"ns", "us", "ms", "s", "Mops/s", "GB/s"}) {
    const Row row{.name = "x", .bytes = 4096, .unit = unit};
    EXPECT_DOUBLE_EQ(seconds_of(in_unit(3e-5, row), row), 3e-5) << unit;
  }
}

TEST(Rows, UnknownUnitIsRefused) {
  EXPECT_THROW(in_unit(1, {.name = "x", .unit = "furlongs"}), Error);
  EXPECT_THROW(in_unit(1, {.name = "x", .unit = "GB/s"}), Error);
  EXPECT_DOUBLE_EQ(in_unit(1e-6, {.name = "x", .unit = "Mops/s"}), 1);
  EXPECT_DOUBLE_EQ(in_unit(1e-9, {.name = "x", .unit = "ns"}), 1);
}

TEST(Merge, SamplesOfOneCaseComeTogether) {
  std::vector<Measurement> all;
  merge(all, {.row = {.name = "x", .bytes = 8}, .ours = {1}, .limit = {2}, .peers = {{"p", {3}}}});
  merge(all, {.row = {.name = "x", .bytes = 16}, .ours = {9}});
  merge(all, {.row = {.name = "x", .bytes = 8}, .ours = {4}, .limit = {5}, .peers = {{"p", {6}}, {"q", {7}}}});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].ours, (Samples{1, 4}));
  EXPECT_EQ(all[0].limit, (Samples{2, 5}));
  EXPECT_EQ(all[0].peers, (std::map<std::string, Samples>{{"p", {3, 6}}, {"q", {7}}}));
  EXPECT_EQ(all[1].ours, (Samples{9}));
}

TEST(Measurement, CrossesFromTheJobToTheDriver) {
  const Measurement sent{.row = {.name = "x",
                                 .pes = 3,
                                 .pes_as = "threads",
                                 .bytes = 8,
                                 .op = "sum",
                                 .bus_factor = 4.0 / 3,
                                 .limit_name = "wire",
                                 .unit = "ms"},
                         .ours = {1.25e-7, 2},
                         .limit = {3},
                         .peers = {{"p q", {4}}}};
  const Measurement got = measurement_from_json(Json::parse(to_json(sent).dump()));
  EXPECT_TRUE(same_case(got.row, sent.row));
  EXPECT_EQ(got.row.unit, "ms");
  EXPECT_EQ(got.row.limit_name, "wire");
  EXPECT_EQ(got.row.bus_factor, sent.row.bus_factor);  // to the last digit
  EXPECT_EQ(got.ours, sent.ours);
  EXPECT_EQ(got.limit, sent.limit);
  EXPECT_EQ(got.peers, sent.peers);
}

}  // namespace
}  // namespace isotope::bench
