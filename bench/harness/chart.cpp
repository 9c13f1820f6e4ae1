#include "bench/harness/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "bench/harness/report.hpp"

namespace isotope::bench {

namespace {

// Told apart by people with colour-blindness too (Okabe and Ito's set, yellow left out: it is faint on white).
constexpr std::array<const char*, 7> kColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                 "#E69F00", "#56B4E9", "#000000"};

constexpr double kPlotWidth = 400, kPlotHeight = 250, kLeft = 76, kGap = 20, kLegend = 240, kTop = 34, kBottom = 56;
constexpr double kPanel = kLeft + kPlotWidth + kGap, kRow = kTop + kPlotHeight + kBottom;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text, const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     escaped(text));
}

std::string line(double x1, double y1, double x2, double y2, const char* colour) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2, y2,
                     colour);
}

/// How the series of that number is drawn: colours come round again, with another mark.
std::string stroke(std::size_t number, const Series& series) {
  return fmt::format("stroke=\"{}\" stroke-width=\"2\" fill=\"none\"{}", kColours[number % kColours.size()],
                     series.ours ? "" : " stroke-dasharray=\"6 4\"");
}

std::string mark(std::size_t number, double x, double y) {
  const char* colour = kColours[number % kColours.size()];
  if (number / kColours.size() % 2 == 0)
    return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x, y, colour);
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"6\" height=\"6\" fill=\"{}\"/>\n", x - 3, y - 3, colour);
}

/// From a logarithmic scale to a place in the picture.
struct Axis {
  double least, most, from, to;
  double at(double value) const { return from + (to - from) * std::log(value / least) / std::log(most / least); }
};

std::string draw(const Chart& chart, double left, double top) {
  std::set<double> sizes;
  double least = std::numeric_limits<double>::max(), most = 0;
  for (const Series& series : chart.series) {
    for (const auto& [x, y] : series.points) {
      sizes.insert(x);
      least = std::min(least, y);
      most = std::max(most, y);
    }
  }
  if (sizes.empty()) return "";
  const double right = left + kPlotWidth, bottom = top + kPlotHeight;
  // Some room at both ends; with one size alone, all of it.
  const Axis x{*sizes.begin() / 1.5, *sizes.rbegin() * 1.5, left, right};
  const std::vector<double> ticks = log_ticks(least, most);
  const Axis y{ticks.front(), ticks.back(), bottom, top};

  std::string out;
  for (const double tick : ticks) {
    out += line(left, y.at(tick), right, y.at(tick), "#dddddd");
    out += text_at(left - 6, y.at(tick) + 4, "end", chart.y_text(tick));
  }
  double last = 0;
  for (const double size : sizes) {
    out += line(x.at(size), top, x.at(size), bottom, "#eeeeee");
    if (x.at(size) - last < 44) continue;  // would run into the one before
    last = x.at(size);
    out += text_at(last, bottom + 16, "middle", bytes_text(static_cast<std::uint64_t>(size)));
  }
  out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#444444\"/>\n", left,
                     top, kPlotWidth, kPlotHeight);
  out += text_at((left + right) / 2, bottom + 34, "middle", "size, bytes");
  const double middle = (top + bottom) / 2;
  out += text_at(left - 56, middle, "middle", chart.y_label,
                 fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", left - 56, middle).c_str());
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    std::string points, marks;
    for (const auto& [px, py] : chart.series[i].points) {
      points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", x.at(px), y.at(py));
      marks += mark(i, x.at(px), y.at(py));
    }
    out += fmt::format("<polyline points=\"{}\" {}/>\n", points, stroke(i, chart.series[i])) + marks;
  }
  return out;
}

std::string draw_legend(const std::vector<Series>& all, double left, double top) {
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double y = top + 10 + 20 * static_cast<double>(i);
    out += fmt::format("<path d=\"M{:.1f} {:.1f}h32\" {}/>\n", left, y, stroke(i, all[i]));
    out += mark(i, left + 16, y) + text_at(left + 40, y + 4, "start", all[i].name);
  }
  return out;
}

}  // namespace

std::vector<double> log_ticks(double least, double most) {
  constexpr double kFewDecades = 2.5;
  const bool fine = std::log10(most / least) < kFewDecades;
  const double first = std::floor(std::log10(least)) - 1, last = std::ceil(std::log10(most)) + 1;
  std::vector<double> ticks;
  for (double power = first; power <= last; ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor == 1 || fine) ticks.push_back(factor * std::pow(10.0, power));
    }
  }
  // From the last that is at most `least` to the first that is at least `most`, and two at least.
  auto begin = std::upper_bound(ticks.begin(), ticks.end(), least * (1 + 1e-12)) - 1;
  auto end = std::lower_bound(ticks.begin(), ticks.end(), most * (1 - 1e-12)) + 1;
  if (end - begin < 2) ++end;
  return {begin, end};
}

std::string svg_of(const std::vector<ChartRow>& rows) {
  std::string body;
  double top = 10, width = 0;
  for (const ChartRow& row : rows) {
    double left = kLeft;
    body += text_at(left, top + 18, "start", row.title, " font-size=\"15\" font-weight=\"bold\"");
    for (const Chart& chart : row.charts) {
      body += draw(chart, left, top + kTop);
      left += kPanel;
    }
    const std::vector<Series> named = row.charts.empty() ? std::vector<Series>{} : row.charts.front().series;
    body += draw_legend(named, left - kLeft + kGap, top + kTop);
    width = std::max(width, left - kLeft + kGap + kLegend);
    const double legend = kTop + 20 * static_cast<double>(named.size()) + 20;
    top += std::max(kRow, legend);
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
             "{1:.0f}\" "
             "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
             width, top) +
         body + "</svg>\n";
}

}  // namespace isotope::bench
