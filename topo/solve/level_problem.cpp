#include "topo/solve/level_problem.h"

#include <utility>

namespace robustrun::topo {

std::vector<std::uint32_t> LevelProblem::totals() const {
  std::vector<std::uint32_t> sums(switches, 0);
  for (std::uint32_t i = 0; i < capacities.size(); ++i) sums[i % switches] += capacities[i];
  return sums;
}

Cost cost_of(const LevelProblem& problem, const Assignment& assignment) {
  Cost cost;
  std::vector<std::uint32_t> seen_in(problem.switches, 0);
  std::uint32_t stamp = 0;
  for (std::size_t f = 0; f < problem.shape->families.size(); ++f) {
    const Family& family = problem.shape->families[f];
    std::uint32_t worst = 0;
    std::uint64_t sum = 0;
    for (std::uint32_t g = 0; g < family.groups(); ++g) {
      ++stamp;
      std::uint32_t touched = 0;
      for (const PlaceIndex place : family.group(g)) {
        if (std::exchange(seen_in[assignment[place]], stamp) != stamp) ++touched;
      }
      worst = std::max(worst, spread_of(touched));
      sum += spread_of(touched);
    }
    cost.worst += problem.weights[f] * worst;
    cost.mean += mean_weight(problem.weights[f]) * static_cast<std::int64_t>(sum) / family.groups();
  }
  return cost;
}

bool is_feasible(const LevelProblem& problem, const Assignment& assignment) {
  std::vector<std::uint32_t> used(problem.capacities.size(), 0);
  for (std::uint32_t place = 0; place < assignment.size(); ++place) {
    if (assignment[place] >= problem.switches) return false;
    const std::uint32_t at = problem.class_of[place] * problem.switches + assignment[place];
    if (++used[at] > problem.capacities[at]) return false;
  }
  return true;
}

}  // namespace robustrun::topo
