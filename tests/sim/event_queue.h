#pragma once
// Virtual time, and dice.

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "base/core/clock.h"
#include "simulator/virtual_time.h"

namespace robustrun::sim {

using base::Nanos;

using EventQueue = simulator::VirtualTime;

// Dice over base::Rng.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : rng_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return rng_.below(bound); }
  bool chance(double probability) {
    constexpr std::uint64_t kOne = 1'000'000;
    return rng_.below(kOne) < static_cast<std::uint64_t>(probability * kOne);
  }
  Nanos between(Nanos low, Nanos high) {
    return low + Nanos(static_cast<Nanos::rep>(
                     rng_.below(static_cast<std::uint64_t>((high - low).count()) + 1)));
  }
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return *(choices.begin() + static_cast<std::ptrdiff_t>(rng_.below(choices.size())));
  }

 private:
  base::Rng rng_;
};

}  // namespace robustrun::sim
