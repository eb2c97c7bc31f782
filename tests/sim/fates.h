#pragma once
// The mishaps of a run. Each has its own number and is drawn by that number alone, so a run without
// some of them meets the others as before (shrink.h).

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "tests/sim/mishaps.h"

namespace robustrun::sim {

class Fates {
 public:
  // `allowed`: the only mishaps that strike; nullptr: all. Must outlive this. None strikes from
  // `calm_from` on.
  Fates(std::uint64_t seed, const std::set<MishapId>* allowed, Nanos calm_from)
      : seed_(seed), allowed_(allowed), calm_from_(calm_from) {}

  // `at`: for display. A future death counts as struck when it is decided, at the agent's launch.
  bool strikes(Nanos at, Mishap what, std::uint32_t where, double probability) {
    return draw(at, what, where, probability).has_value();
  }
  // The same, with separate dice for its details.
  std::optional<Dice> draw(Nanos at, Mishap what, std::uint32_t where, double probability) {
    if (probability <= 0) return std::nullopt;
    const auto kind = static_cast<std::size_t>(what);
    std::vector<std::uint32_t>& seen = seen_[kind];
    if (seen.size() <= where) seen.resize(where + 1);
    const MishapId id{what, where, seen[where]++};
    Dice dice(((seed_ * kSpacing + kind) * 0x9e3779b97f4a7c55U + where) * 0xbf58476d1ce4e5b9U +
              id.nth);
    if (at >= calm_from_ || !dice.chance(probability)) return std::nullopt;
    if (allowed_ != nullptr && !allowed_->contains(id)) return std::nullopt;
    struck_.push_back({at, id});
    return dice;
  }
  [[nodiscard]] const std::vector<Struck>& struck() const { return struck_; }

 private:
  // Must not change with the number of kinds, so that each seed keeps its mishaps. It is harmless
  // that a kind shares its dice with another seed.
  static constexpr std::uint64_t kSpacing = 54;

  std::uint64_t seed_;
  const std::set<MishapId>* allowed_;
  Nanos calm_from_;
  std::array<std::vector<std::uint32_t>, kMishaps> seen_;  // by kind and place
  std::vector<Struck> struck_;
};

}  // namespace robustrun::sim
