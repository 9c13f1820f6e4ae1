// The one kind of error host code throws.
//
//   try { world.synchronize(); }
//   catch (const isotope::Error& e) { if (e.code() == isotope::Code::peer_lost) restart(e.peer()); }
//
// what() is a full sentence: what was wrong, what was expected, what to do. The codes are those of the C
// edge and of Python's exception classes (codes.def).
#pragma once

#include <stdexcept>
#include <string>

#include "isotope/base/call_site.hpp"
#include "isotope/base/code.hpp"

namespace isotope {

/// How much is lost when a code is thrown.
enum class Reach { call, peer, job, setup };

const char* code_name(Code code) noexcept;
const char* code_meaning(Code code) noexcept;
Reach code_reach(Code code) noexcept;

class Error : public std::runtime_error {
 public:
  static constexpr int kNobody = -1;

  /// `pe` is the PE that throws, `peer` the PE that is to blame; kNobody where there is none.
  Error(Code code, const std::string& message, int pe = kNobody, int peer = kNobody, CallSite site = {});

  Code code() const noexcept { return code_; }
  int pe() const noexcept { return pe_; }
  int peer() const noexcept { return peer_; }
  CallSite site() const noexcept { return site_; }

 private:
  Code code_;
  int pe_;
  int peer_;
  CallSite site_;
};

}  // namespace isotope
