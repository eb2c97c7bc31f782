#pragma once
// Questions of a job about places, and answers to them.

#include <string>
#include <utility>
#include <vector>

#include "tests/supervisor/job_harness.h"

namespace robustrun::supervisor::test {

using Nodes = std::vector<std::uint32_t>;

inline JobSpec placed_spec(std::vector<std::uint32_t> slots, std::uint32_t min, std::uint32_t max,
                           PlacementUse use = PlacementUse::kSurvivorsStay) {
  JobSpec spec = group_spec(std::move(slots), min, max);
  spec.placement = use;
  return spec;
}

inline SolvePlacement question(const Harness& h) {
  REQUIRE(h.job.state() == JobState::kPlacing);
  const auto asked = h.all<SolvePlacement>();
  REQUIRE(asked.size() == 1);
  return asked.front();
}

inline Nodes ids(const std::vector<PlacementNode>& nodes) {
  Nodes found;
  for (const PlacementNode& node : nodes) found.push_back(node.node.value);
  return found;
}

inline PlacementSolved answer(const SolvePlacement& asked, const Nodes& members) {
  PlacementSolved solved{asked.digest, {}, "so it is best", {"dp: 2"}, {"in order: dp: 3"}};
  for (const std::uint32_t node : members) solved.members.push_back({node});
  return solved;
}

// Answers the question that was asked last.
inline void place(Harness& h, const Nodes& members) { h.tell(answer(question(h), members)); }

// 3 of 5 nodes run in the places that were asked for: nodes 4, 0, 2.
inline Harness running(PlacementUse use = PlacementUse::kSurvivorsStay, std::uint32_t min = 3) {
  Harness h(placed_spec({2, 2, 2, 2, 2}, min, 3, use));
  h.join_all();
  place(h, {4, 0, 2});
  h.begin();
  return h;
}

}  // namespace robustrun::supervisor::test
