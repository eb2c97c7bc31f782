#include "topo/solve/exact.h"

#include <algorithm>

#include "topo/solve/blocks.h"
#include "topo/solve/ledger.h"

namespace robustrun::topo {
namespace {

class Search {
 public:
  Search(const LevelProblem& problem, Exact best, std::int64_t goal, std::uint64_t steps_max)
      : problem_(problem),
        ledger_(problem, Assignment(problem.places(), kNoSwitch)),
        best_(std::move(best)),
        best_cost_(Ledger(problem, best_.assignment).worst()),
        goal_(goal),
        steps_left_(steps_max),
        used_(problem.switches, 0) {
    // Neighbours in a heavy group early, so that its cost is known soon.
    std::uint32_t heaviest = 0;
    for (std::uint32_t f = 1; f < problem.weights.size(); ++f) {
      if (problem.weights[f] > problem.weights[heaviest]) heaviest = f;
    }
    order_ = blocks_of(*problem.shape, problem.weights.empty() ? 0 : 1U << heaviest).places;
  }

  Exact run() {
    descend(0);
    best_.proven = best_cost_ <= goal_ || steps_left_ > 0;
    return std::move(best_);
  }

 private:
  void descend(std::uint32_t depth) {
    if (steps_left_ == 0 || best_cost_ <= goal_) return;
    --steps_left_;
    const std::int64_t cost = ledger_.worst();
    if (cost >= best_cost_) return;
    if (depth == order_.size()) {
      best_cost_ = cost;
      best_.assignment = ledger_.assignment();
      return;
    }
    const PlaceIndex place = order_[depth];
    for (std::uint32_t at = 0; at < problem_.switches; ++at) {
      if (ledger_.room(problem_.class_of[place], at) == 0 || has_twin_before(at)) continue;
      ledger_.move(place, at);
      ++used_[at];
      descend(depth + 1);
      --used_[at];
      ledger_.move(place, kNoSwitch);
    }
  }

  // An earlier empty switch has the same capacities: trying this one gives the same.
  [[nodiscard]] bool has_twin_before(std::uint32_t at) const {
    if (used_[at] > 0) return false;
    for (std::uint32_t before = 0; before < at; ++before) {
      if (used_[before] > 0) continue;
      bool alike = true;
      for (std::uint32_t c = 0; c < problem_.classes && alike; ++c) {
        alike = problem_.capacity(c, before) == problem_.capacity(c, at);
      }
      if (alike) return true;
    }
    return false;
  }

  const LevelProblem& problem_;
  Ledger ledger_;
  Exact best_;
  std::int64_t best_cost_;
  std::int64_t goal_;
  std::uint64_t steps_left_;
  std::vector<std::uint32_t> used_;  // by switch: places so far
  std::vector<PlaceIndex> order_;
};

}  // namespace

Exact search_exact(const LevelProblem& problem, Assignment known, std::int64_t goal,
                   std::uint64_t steps_max) {
  return Search(problem, {std::move(known), false}, goal, steps_max).run();
}

}  // namespace robustrun::topo
