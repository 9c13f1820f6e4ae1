// Words of other members: what the library releases to them, at the scope that reaches all of the team.
#pragma once

#include "isotope/base/macros.hpp"
#include "isotope/device/memory.hpp"
#include "isotope/device/team.hpp"

namespace isotope::detail {

// Each scope is an instruction of its own: the choice is a branch that a compiler folds away where there is one
// platform.
template <class T>
ISOTOPE_HD void store_to(Scope reach, T* word, T value, Order order) {
  if (order != Order::relaxed && reach == Scope::device) return store(word, value, order, Scope::device);
  store(word, value, order, Scope::system);
}
template <class T>
ISOTOPE_HD void add_to(Scope reach, T* word, T value, Order order) {
  if (order != Order::relaxed && reach == Scope::device) {
    add_only(word, value, order, Scope::device);
  } else {
    add_only(word, value, order, Scope::system);
  }
}
/// Orders what this thread did before with what it does after, as all members see it.
ISOTOPE_HD void fence_to(const Team& team) {
  if (team.reach() == Scope::device) return fence(Order::acq_rel, Scope::device);
  fence(Order::acq_rel, Scope::system);
}

}  // namespace isotope::detail
