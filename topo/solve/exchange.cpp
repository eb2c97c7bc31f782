#include "topo/solve/exchange.h"

#include <utility>

namespace robustrun::topo {

Exchange::Exchange(const Problem& problem, const Shape& shape, const std::vector<NodeIndex>& nodes)
    : problem_(problem) {
  const auto switches = switches_by_level(*problem.cluster);
  for (std::size_t level = 0; level < switches.size(); ++level) {
    if (problem.objective.levels[level] == 0) continue;
    LevelProblem view;
    view.shape = &shape;
    view.switches = static_cast<std::uint32_t>(problem.cluster->levels[level].switches.size());
    view.class_of.assign(shape.places(), 0);
    view.capacities.assign(view.switches, shape.places());
    for (const Family& family : shape.families) {
      view.weights.push_back(problem.objective.kinds.of(family.kind));
    }
    Assignment assignment;
    for (const NodeIndex node : nodes) assignment.push_back(switches[level][node]);
    views_.push_back(std::make_unique<LevelProblem>(std::move(view)));
    ledgers_.emplace_back(*views_.back(), std::move(assignment));
    levels_.push_back(level);
  }
}

void Exchange::swap(PlaceIndex a, PlaceIndex b) {
  for (Ledger& ledger : ledgers_) {
    const std::uint32_t at_a = ledger.assignment()[a];
    const std::uint32_t at_b = ledger.assignment()[b];
    ledger.move(a, at_b);
    ledger.move(b, at_a);
  }
}

std::int64_t Exchange::worst() const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < ledgers_.size(); ++i) {
    sum += ledgers_[i].worst() * problem_.objective.levels[levels_[i]] / kWhole;
  }
  return sum;
}

}  // namespace robustrun::topo
