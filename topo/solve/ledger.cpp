#include "topo/solve/ledger.h"

#include <utility>

namespace robustrun::topo {

Ledger::Ledger(const LevelProblem& problem, Assignment assignment)
    : problem_(problem),
      assignment_(problem.places(), kNoSwitch),
      room_(problem.capacities),
      sums_(problem.shape->families.size(), 0) {
  for (const Family& family : problem.shape->families) {
    counts_.emplace_back(std::uint64_t{family.groups()} * problem.switches, 0);
    touched_.emplace_back(family.groups(), 0);
    tally_.emplace_back(problem.switches + 1, 0).front() = family.groups();
    auto& first = first_.emplace_back(problem.places() + 1, 0);
    for (const PlaceIndex place : family.places) ++first[place + 1];
    for (PlaceIndex place = 0; place < problem.places(); ++place) first[place + 1] += first[place];
    auto& groups = groups_.emplace_back(family.places.size());
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    for (std::uint32_t g = 0; g < family.groups(); ++g) {
      for (const PlaceIndex place : family.group(g)) groups[next[place]++] = g;
    }
  }
  for (PlaceIndex place = 0; place < assignment.size(); ++place) move(place, assignment[place]);
}

void Ledger::move(PlaceIndex place, std::uint32_t to) {
  const std::uint32_t from = std::exchange(assignment_[place], to);
  if (from == to) return;
  const std::uint32_t row = problem_.class_of[place] * problem_.switches;
  if (from != kNoSwitch) {
    ++room_[row + from];
    change(place, from, false);
  }
  if (to != kNoSwitch) {
    --room_[row + to];  // may be negative within an exchange
    change(place, to, true);
  }
}

void Ledger::change(PlaceIndex place, std::uint32_t at, bool in) {
  for (std::size_t f = 0; f < groups_.size(); ++f) {
    for (std::uint32_t i = first_[f][place]; i < first_[f][place + 1]; ++i) {
      const std::uint32_t group = groups_[f][i];
      std::uint32_t& count = counts_[f][std::uint64_t{group} * problem_.switches + at];
      const bool changes = in ? count++ == 0 : --count == 0;
      if (!changes) continue;
      std::uint32_t& touched = touched_[f][group];
      --tally_[f][touched];
      sums_[f] -= spread_of(touched);
      touched = in ? touched + 1 : touched - 1;
      ++tally_[f][touched];
      sums_[f] += spread_of(touched);
    }
  }
}

std::uint32_t Ledger::most_touched(std::uint32_t family) const {
  std::uint32_t most = problem_.switches;
  while (most > 0 && tally_[family][most] == 0) --most;
  return most;
}

Cost Ledger::cost() const {
  Cost cost;
  for (std::uint32_t f = 0; f < sums_.size(); ++f) {
    cost.worst += problem_.weights[f] * spread_of(most_touched(f));
    cost.mean += problem_.weights[f] * static_cast<std::int64_t>(sums_[f]);
  }
  return cost;
}

}  // namespace robustrun::topo
