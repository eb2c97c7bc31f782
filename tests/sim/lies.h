#pragma once
// False information from broken drivers about the job, and about orders that they carry out alone.

#include <set>

#include "tests/sim/mutations.h"

namespace robustrun::sim {

inline core::JobSpec told_spec(Mutation mutation, core::JobSpec spec) {
  if (mutation == Mutation::kGenerous) spec.restart.max_restarts += 3;
  if (mutation == Mutation::kGenerousToMachines) spec.restart.max_infrastructure_restarts += 3;
  if (mutation == Mutation::kRefillsEarly) spec.restart.window /= 10;
  if (mutation == Mutation::kShrinksTooFar) spec.group.min_nodes = 1;
  if (mutation == Mutation::kQuickToMark) spec.policy.poison_after = 1;
  for (core::Ladder& ladder : spec.policy.ladders) {
    for (core::Rung& rung : ladder.rungs) {
      if (mutation == Mutation::kStaysOnRungs && rung.times > 0) ++rung.times;
    }
  }
  return spec;
}

// A driver that gives an evicted node a place again.
class EvictedSeat {
 public:
  void distort(std::vector<core::Action>& actions) {
    for (core::Action& action : actions) {
      const auto* decision = std::get_if<core::Decision>(&action);
      if (decision != nullptr && decision->rule == core::Rule::kNodeEvicted) {
        evicted_.insert(decision->nodes.begin(), decision->nodes.end());
      } else if (decision != nullptr && decision->rule == core::Rule::kNodeReturned) {
        for (const base::NodeId node : decision->nodes) evicted_.erase(node);
      } else if (auto* formed = std::get_if<core::GroupFormed>(&action)) {
        for (const base::NodeId node : evicted_) formed->members.back().node = node;
      }
    }
  }

 private:
  std::set<base::NodeId> evicted_;
};

}  // namespace robustrun::sim
