#include "isotope/base/error.hpp"

namespace isotope {

const char* code_name(Code code) noexcept {
  switch (code) {
#define X(name, number, reach, meaning) \
  case Code::name:                      \
    return #name;
#include "isotope/base/codes.def"
#undef X
  }
  return "unknown";
}

const char* code_meaning(Code code) noexcept {
  switch (code) {
#define X(name, number, reach, meaning) \
  case Code::name:                      \
    return meaning;
#include "isotope/base/codes.def"
#undef X
  }
  return "no such code";
}

Reach code_reach(Code code) noexcept {
  switch (code) {
#define X(name, number, reach, meaning) \
  case Code::name:                      \
    return Reach::reach;
#include "isotope/base/codes.def"
#undef X
  }
  return Reach::job;
}

Error::Error(Code code, const std::string& message, int pe, int peer, CallSite site)
    : std::runtime_error(message), code_(code), pe_(pe), peer_(peer), site_(site) {}

}  // namespace isotope
