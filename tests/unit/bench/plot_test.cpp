// The picture: which lines it has, and where they run.
#include "bench/harness/plot.hpp"

#include <gtest/gtest.h>

#include "bench/harness/chart.hpp"

namespace isotope::bench {
namespace {

Row row(const char* algo, std::uint64_t bytes, double us, const char* peer, double peer_us, int pes = 2) {
  return {.name = "allreduce",
          .pes = pes,
          .bytes = bytes,
          .algo = algo,
          .bus_factor = 0.5,
          .ours = us,
          .peer = peer_us,
          .peer_name = peer};
}

const std::vector<Row> kRows = {row("automatic", 1000, 1, "A & B", 2), row("automatic", 1000, 1, "C", 3),
                                row("automatic", 2000, 2, "A & B", 4), row("automatic", 2000, 2, "C", 5),
                                row("ring", 1000, 7, "A & B", 2),      row("ring", 2000, 8, "A & B", 4),
                                row("automatic", 1000, 9, "C", 10, 4), {.name = "launch", .ours = 1}};

using Points = std::vector<std::pair<double, double>>;

TEST(Plot, HasALineForEachAlgorithmAndPeerOfEachNumberOfPes) {
  const auto charts = charts_of(kRows);
  ASSERT_EQ(charts.size(), 2u);  // 2 and 4 PEs; launch has no sizes
  EXPECT_EQ(charts[0].title, "allreduce, 2 PEs as processes");
  ASSERT_EQ(charts[0].charts.size(), 2u);
  const Chart &time = charts[0].charts[0], &bandwidth = charts[0].charts[1];
  ASSERT_EQ(time.series.size(), 4u);
  EXPECT_EQ(time.series[0].name, "Isotope, automatic");
  EXPECT_TRUE(time.series[0].ours);
  EXPECT_EQ(time.series[0].points, (Points{{1000, 1}, {2000, 2}}));
  EXPECT_EQ(time.series[1].name, "A & B");
  EXPECT_FALSE(time.series[1].ours);
  EXPECT_EQ(time.series[1].points, (Points{{1000, 2}, {2000, 4}})) << "a peer's point appears once";
  EXPECT_EQ(time.series[3].name, "Isotope, ring");
  EXPECT_EQ(bandwidth.y_label, "bus bandwidth, GB/s");
  EXPECT_DOUBLE_EQ(bandwidth.series[0].points[0].second, 0.5);
  EXPECT_DOUBLE_EQ(bandwidth.series[1].points[0].second, 0.25);
}

TEST(Plot, ReadsEveryUnit) {
  const auto charts = charts_of({{.name = "put", .bytes = 1000, .ours = 500, .unit = "ns"},
                                 {.name = "put", .bytes = 2000, .ours = 4, .unit = "GB/s"}});
  ASSERT_EQ(charts.size(), 1u);
  const Points time = charts[0].charts[0].series[0].points, bandwidth = charts[0].charts[1].series[0].points;
  EXPECT_DOUBLE_EQ(time[0].second, 0.5);
  EXPECT_DOUBLE_EQ(time[1].second, 0.5);
  EXPECT_DOUBLE_EQ(bandwidth[0].second, 2);
  EXPECT_DOUBLE_EQ(bandwidth[1].second, 4);
  EXPECT_EQ(charts[0].charts[1].y_label, "bandwidth, GB/s");
}

TEST(Plot, IsSvgWithAxesAndLegend) {
  const std::string svg = plot(kRows);
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_NE(svg.find("</svg>\n"), std::string::npos);
  for (const char* text :
       {">time<", ">10 us<", ">bus bandwidth, GB/s<", ">size, bytes<", ">Isotope, ring<", ">A &amp; B<"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
  for (const char* wrong : {"nan", "inf", "A & B"}) EXPECT_EQ(svg.find(wrong), std::string::npos) << wrong;
}

TEST(Plot, OfOnePointOrNone) {
  EXPECT_EQ(plot({row("automatic", 1000, 1, "A", 1)}).find("nan"), std::string::npos);
  EXPECT_NE(plot({}).find("</svg>"), std::string::npos);
}

TEST(LogTicks, EncloseTheValues) {
  EXPECT_EQ(log_ticks(3, 4000), (std::vector<double>{1, 10, 100, 1000, 10000}));
  const auto fine = log_ticks(3, 40);
  ASSERT_EQ(fine.size(), 5u);
  EXPECT_DOUBLE_EQ(fine.front(), 2);
  EXPECT_DOUBLE_EQ(fine.back(), 50);
  for (const double only : {1.0, 10.0, 3.0}) {
    const auto ticks = log_ticks(only, only);
    ASSERT_GE(ticks.size(), 2u);
    EXPECT_LE(ticks.front(), only * 1.0001);
    EXPECT_GE(ticks.back(), only * 0.9999);
  }
}

}  // namespace
}  // namespace isotope::bench
