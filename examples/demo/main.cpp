// The demo: three kernels on every PE, each checked against a serial reference, timed, and drawn.
//
//   isotope run -n 4 demo [--picture run.svg]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "isotope/host/timeline.hpp"
#include "isotope/isotope.hpp"
#include "kernels.hpp"
#include "reference.hpp"

namespace {

using namespace isotope;

struct Step {
  const char* name;
  double bytes;        // moved between PEs, by all of them together
  double seconds = 0;  // of the slowest PE
  bool ok = false;     // on every PE
};

/// The largest value of any PE, on every PE. Collective.
double largest(World& world, double mine) {
  auto cells = world.alloc<double>(static_cast<std::size_t>(world.size()));
  cells.set(static_cast<std::size_t>(world.rank()), mine);
  world.launch<demo::share>({}, world.team(), cells.span());
  world.synchronize();
  const std::vector<double> all = cells.read();
  return *std::max_element(all.begin(), all.end());
}

/// Runs `work` (a launch and a synchronize) between barriers, then `check`; fills in time and verdict.
template <class Work, class Check>
void run_step(World& world, Timeline& timeline, Step& step, Work&& work, Check&& check) {
  {
    const auto span = timeline.span("barrier");
    world.barrier();
  }
  const auto start = std::chrono::steady_clock::now();
  {
    const auto span = timeline.span(step.name);
    work();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const auto span = timeline.span("check");
  step.seconds = largest(world, took.count());
  step.ok = largest(world, check() ? 0 : 1) == 0;
}

std::string size_text(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 3) bytes /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, "%.4g %s", bytes, units[unit]);
  return text;
}

void print_table(const std::vector<Step>& steps) {
  std::printf("%-20s %12s %12s %8s  %s\n", "step", "bytes", "time", "GB/s", "ok");
  for (const Step& s : steps) {
    std::printf("%-20s %12s %9.3f ms %8.2f  %s\n", s.name, size_text(s.bytes).c_str(), s.seconds * 1e3,
                s.bytes / s.seconds * 1e-9, s.ok ? "yes" : "NO");
  }
}

}  // namespace

ISOTOPE_MAIN(argc, argv) {
  std::string picture;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--picture") == 0 && i + 1 < argc) {
      picture = argv[++i];
    } else {
      std::fprintf(stderr, "demo: unknown argument '%s'; expected --picture FILE\n", argv[i]);
      return 2;
    }
  }

  World world = init();
  Timeline timeline(world);
  const int pes = world.size();
  const std::size_t n = 1 << 18;   // elements a PE, 2 MiB
  const std::size_t cells = 4096;  // of the heat field, a PE
  const int rounds = 200;
  const double pes_d = pes;
  const LaunchConfig shape{.grid = 1, .block = 32};

  auto slots = world.alloc<std::int64_t>(n * (static_cast<std::size_t>(pes) + 1));
  auto field = world.alloc_zeroed<std::int64_t>(cells + 2), next = world.alloc_zeroed<std::int64_t>(cells + 2);
  auto input = world.alloc<std::int64_t>(n), sum = world.alloc<std::int64_t>(n);
  auto arrived = world.alloc_epoch(), from_left = world.alloc_epoch(), from_right = world.alloc_epoch(),
       ready = world.alloc_epoch();
  {
    const auto span = timeline.span("fill");
    std::vector<std::int64_t> values(n), heat(cells);
    for (std::size_t i = 0; i < n; ++i) values[i] = demo::start_value(world.rank(), i);
    for (std::size_t i = 0; i < cells; ++i) heat[i] = demo::start_value(world.rank(), i) & 0xffff;
    slots.write(std::vector<std::int64_t>(slots.size(), -1));
    slots.write(values);
    input.write(values);
    sum.write(std::vector<std::int64_t>(n, -1));
    field.write(heat, 1);  // between the border cells
  }

  std::vector<Step> steps = {{"ring of puts", pes_d * pes_d * static_cast<double>(n) * 8},
                             {"neighbour exchange", 2 * (pes_d - 1) * rounds * 8},
                             {"reduction", pes_d * (pes_d - 1) * static_cast<double>(n) * 8}};
  run_step(
      world, timeline, steps[0],
      [&] {
        world.launch<demo::ring>(shape, world.team(), slots.span(), arrived.get());
        world.synchronize();
      },
      [&] { return slots.read(slots.size() - n) == demo::ring_reference(pes, world.rank(), n); });
  run_step(
      world, timeline, steps[1],
      [&] {
        world.launch<demo::exchange>(shape, world.team(), field.span(), next.span(), from_left.get(), from_right.get(),
                                     rounds);
        world.synchronize();
      },
      [&] { return field.read(1, cells) == demo::exchange_reference(pes, world.rank(), cells, rounds); });
  run_step(
      world, timeline, steps[2],
      [&] {
        world.launch<demo::reduce>(shape, world.team(), sum.span(), input.span(), ready.get());
        world.synchronize();
      },
      [&] { return sum.read() == demo::reduce_reference(pes, n); });

  const auto spans = timeline.gather();
  const bool ok = std::all_of(steps.begin(), steps.end(), [](const Step& s) { return s.ok; });
  if (world.rank() == 0) {
    std::printf("Isotope demo: %d PEs through %s\n\n", pes, world.bootstrap_name().c_str());
    print_table(steps);
    if (!picture.empty()) {
      write_svg(*spans, picture, "Isotope demo, " + std::to_string(pes) + " PEs");
      std::printf("\npicture: %s (open it in a browser)\n", picture.c_str());
    }
  }
  world.barrier();
  return ok ? 0 : 1;
}
