#pragma once
// What goes wrong in a run, one mishap at a time. Each has a number of its own and is drawn by that
// number alone: a run in which some of them are spared meets the others as before (shrink.h).

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "tests/sim/mishaps.h"

namespace robustrun::sim {

class Fates {
 public:
  // `allowed`: nothing else goes wrong; nullptr: whatever does. It outlives this. Nothing goes
  // wrong from `calm_from` on.
  Fates(std::uint64_t seed, const std::set<MishapId>* allowed, Nanos calm_from)
      : seed_(seed), allowed_(allowed), calm_from_(calm_from) {}

  // `at`: for people. A death to come strikes when it is decided, at the launch of the agent.
  bool strikes(Nanos at, Mishap what, std::uint32_t where, double probability) {
    return draw(at, what, where, probability).has_value();
  }
  // The same, with dice of its own for how it goes.
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
  // Stays as it is when there are more kinds: each seed keeps its troubles. That the dice of
  // another kind are those of another seed does no harm.
  static constexpr std::uint64_t kSpacing = 54;

  std::uint64_t seed_;
  const std::set<MishapId>* allowed_;
  Nanos calm_from_;
  std::array<std::vector<std::uint32_t>, kMishaps> seen_;  // by kind and place
  std::vector<Struck> struck_;
};

}  // namespace robustrun::sim
