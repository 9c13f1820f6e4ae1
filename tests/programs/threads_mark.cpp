// Looks like a program with ISOTOPE_MAIN to `isotope run --threads`, and prints what the launcher handed it.
#include <cstdio>
#include <cstdlib>

__attribute__((section(".isotope.main"), used)) static const char marker[] = "isotope";

int main(int argc, char** argv) {
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return text != nullptr ? text : "unset";
  };
  std::printf("threads=%s rank=%s size=%s control=%s\n", value("ISOTOPE_THREADS"), value("ISOTOPE_RANK"),
              value("ISOTOPE_SIZE"), value("ISOTOPE_CONTROL_FD"));
  return argc > 1 ? std::atoi(argv[1]) : 0;
}
