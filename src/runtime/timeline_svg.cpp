// The picture of a timeline: plain SVG, no script, opens in any browser.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <system_error>

#include "isotope/host/timeline.hpp"

namespace isotope {

namespace {

// Told apart by people with colour-blindness too (Okabe and Ito's set, black left out).
constexpr std::array<const char*, 7> kColours = {"#0072B2", "#E69F00", "#009E73", "#CC79A7",
                                                 "#56B4E9", "#D55E00", "#F0E442"};

constexpr double kLeft = 64, kRight = 24, kTop = 64, kLane = 34, kBar = 22, kWidth = 1200;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.3g} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.3g} ms", ns / 1e6);
  return fmt::format("{:.3g} s", ns / 1e9);
}

/// A step of 1, 2 or 5 times a power of ten that gives about `ticks` ticks.
double tick_step(double span_ns, int ticks) {
  const double raw = span_ns / ticks;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

std::string svg_text(const std::vector<TimelineSpan>& spans, const std::string& title) {
  std::uint64_t first = ~0ull, last = 0;
  int lanes = 0;
  std::map<std::string, std::size_t> colours;
  for (const TimelineSpan& span : spans) {
    first = std::min(first, span.begin_ns);
    last = std::max(last, span.end_ns);
    lanes = std::max(lanes, span.pe + 1);
    colours.emplace(span.name, 0);
  }
  if (spans.empty()) first = 0, last = 1;
  // Colours in order of appearance: a reader follows the legend from left to right.
  std::vector<const TimelineSpan*> order;
  for (const TimelineSpan& span : spans) order.push_back(&span);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->begin_ns < b->begin_ns; });
  std::vector<std::string> names;
  for (const TimelineSpan* span : order) {
    if (std::find(names.begin(), names.end(), span->name) == names.end()) names.emplace_back(span->name);
  }
  for (std::size_t i = 0; i < names.size(); ++i) colours[names[i]] = i % kColours.size();

  const double total = static_cast<double>(std::max<std::uint64_t>(last - first, 1));
  const auto x_of = [&](std::uint64_t ns) {
    return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(ns - first) / total;
  };
  const double bottom = kTop + kLane * lanes;
  const double height = bottom + 64;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{2}\" y=\"30\" font-size=\"18\" "
      "font-weight=\"bold\">{3}</text>\n",
      kWidth, height, kLeft, escaped(title));
  for (int pe = 0; pe < lanes; ++pe) {
    const double y = kTop + kLane * pe;
    svg += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n<text x=\"{}\" y=\"{}\" "
        "text-anchor=\"end\">PE {}</text>\n",
        kLeft, y, kWidth - kLeft - kRight, kLane, pe % 2 == 0 ? "#f4f4f4" : "#ffffff", kLeft - 8, y + kLane / 2 + 5,
        pe);
  }
  const double step = tick_step(total, 8);
  for (double t = 0; t <= total; t += step) {
    const double x = kLeft + (kWidth - kLeft - kRight) * t / total;
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#cccccc\"/>\n<text x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"middle\" fill=\"#555555\">{4}</text>\n",
        x, kTop, bottom + 4, bottom + 20, time_text(t));
  }
  for (const TimelineSpan& span : spans) {
    const double x = x_of(span.begin_ns);
    svg += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" rx=\"2\" fill=\"{}\"><title>PE {}: {}, {} from {} "
        "on</title></rect>\n",
        x, kTop + kLane * span.pe + (kLane - kBar) / 2, std::max(x_of(span.end_ns) - x, 1.0), kBar,
        kColours[colours[span.name]], span.pe, escaped(span.name),
        time_text(static_cast<double>(span.end_ns - span.begin_ns)),
        time_text(static_cast<double>(span.begin_ns - first)));
  }
  double x = kLeft;
  for (const std::string& name : names) {
    svg += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"13\" height=\"13\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>\n", x,
        bottom + 36, kColours[colours[name]], x + 19, bottom + 47, escaped(name));
    x += 46 + 7.5 * static_cast<double>(name.size());
  }
  return svg + "</svg>\n";
}

}  // namespace

void write_svg(const std::vector<TimelineSpan>& spans, const std::string& path, const std::string& title) {
  const std::string text = svg_text(spans, title);
  const auto fail = [&](int error) {
    throw Error(Code::system, fmt::format("writing {}: {}", path, std::generic_category().message(error)));
  };
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), &std::fclose);
  if (!file || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) fail(errno);
  if (std::fclose(file.release()) != 0) fail(errno);
}

}  // namespace isotope
