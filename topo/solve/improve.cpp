#include "topo/solve/improve.h"

#include <algorithm>

#include "topo/solve/ledger.h"

namespace robustrun::topo {
namespace {

class Improver {
 public:
  Improver(const LevelProblem& problem, Assignment assignment, std::uint64_t steps_max)
      : problem_(problem), ledger_(problem, std::move(assignment)), steps_left_(steps_max) {}

  Assignment run(std::int64_t goal) {
    while (ledger_.worst() > goal && steps_left_ > 0 && better_anywhere()) {
    }
    return ledger_.assignment();
  }

 private:
  bool better_anywhere() {
    for (std::uint32_t f = 0; f < problem_.shape->families.size(); ++f) {
      if (problem_.weights[f] == 0) continue;
      const std::uint32_t most = ledger_.most_touched(f);
      if (most < 2) continue;
      for (std::uint32_t g = 0; g < problem_.shape->families[f].groups(); ++g) {
        if (ledger_.touched(f, g) == most && better_group(f, g)) return true;
      }
    }
    return false;
  }

  // Takes the group away from the switch that holds the fewest of its places.
  bool better_group(std::uint32_t f, std::uint32_t g) {
    const auto group = problem_.shape->families[f].group(g);
    std::uint32_t fewest = kNoSwitch;
    for (const PlaceIndex place : group) {
      const std::uint32_t at = ledger_.assignment()[place];
      if (fewest == kNoSwitch || ledger_.count(f, g, at) < ledger_.count(f, g, fewest)) fewest = at;
    }
    for (const PlaceIndex place : group) {
      if (ledger_.assignment()[place] != fewest) continue;
      for (std::uint32_t to = 0; to < problem_.switches; ++to) {
        if (to == fewest || ledger_.count(f, g, to) == 0) continue;
        if (better_place(place, to)) return true;
        if (steps_left_ == 0) return false;
      }
    }
    return false;
  }

  bool better_place(PlaceIndex place, std::uint32_t to) {
    const Cost before = ledger_.cost();
    const std::uint32_t from = ledger_.assignment()[place];
    const std::uint32_t which = problem_.class_of[place];
    if (ledger_.room(which, to) > 0) {
      --steps_left_;
      ledger_.move(place, to);
      if (ledger_.cost() < before) return true;
      ledger_.move(place, from);
    }
    for (PlaceIndex other = 0; other < problem_.places() && steps_left_ > 0; ++other) {
      if (ledger_.assignment()[other] != to || problem_.class_of[other] != which) continue;
      --steps_left_;
      ledger_.move(place, to);
      ledger_.move(other, from);
      if (ledger_.cost() < before) return true;
      ledger_.move(other, to);
      ledger_.move(place, from);
    }
    return false;
  }

  const LevelProblem& problem_;
  Ledger ledger_;
  std::uint64_t steps_left_;
};

}  // namespace

Assignment improve(const LevelProblem& problem, Assignment assignment, std::int64_t goal,
                   std::uint64_t steps_max) {
  return Improver(problem, std::move(assignment), steps_max).run(goal);
}

}  // namespace robustrun::topo
