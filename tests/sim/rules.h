#pragma once
// Invariants that one event's actions decide by themselves.

#include <algorithm>
#include <set>
#include <vector>

#include "supervisor/core/job.h"

namespace robustrun::sim {

namespace core = supervisor;
using StartOrders = std::vector<const core::StartWorkers*>;

inline std::uint32_t world_size_of(const core::JobSpec& spec) {
  std::uint32_t size = 0;
  for (const core::NodeSpec& node : spec.nodes) size += node.slots;
  return size;
}

// One order per node; ranks 0 .. world size - 1, each once; local ranks from 0 on.
inline bool ranks_are_a_permutation(const StartOrders& starts, const core::JobSpec& spec) {
  const std::uint32_t world_size = world_size_of(spec);
  std::set<std::uint32_t> ranks, nodes;
  std::size_t count = 0;
  for (const auto* start : starts) {
    nodes.insert(start->node.value);
    std::uint32_t local = 0;
    for (const core::Assignment& place : start->workers) {
      ranks.insert(place.rank.value);
      ++count;
      if (place.local_rank.value != local++) return false;
    }
    if (start->world_size != world_size || start->group_rank != start->node.value) return false;
    if (start->workers.size() != spec.nodes[start->node.value].slots) return false;
  }
  return count == world_size && ranks.size() == world_size && *ranks.rbegin() == world_size - 1 &&
         nodes.size() == spec.nodes.size() && starts.size() == nodes.size();
}

inline bool master_is_the_same_everywhere(const StartOrders& starts) {
  for (const auto* start : starts) {
    const bool same = start->master_addr == starts.front()->master_addr &&
                      start->master_port == starts.front()->master_port &&
                      start->attempt == starts.front()->attempt && start->master_port != 0;
    if (!same) return false;
  }
  return true;
}

// Whoever comes to wait, or waits on after a deadline has passed, sets a deadline.
inline bool wait_has_a_deadline(core::JobState before, core::JobState after, bool deadline_passed,
                                const std::vector<core::Action>& actions) {
  using State = core::JobState;
  if (after == State::kIdle || after == State::kRunning || after == State::kFinished) return true;
  if (before == after && !deadline_passed) return true;
  return std::ranges::any_of(actions, [after](const core::Action& action) {
    const auto* timer = std::get_if<core::SetTimer>(&action);
    const auto wanted = after == State::kBackoff ? core::TimerId::kBackoff : core::TimerId::kState;
    return timer != nullptr && timer->id == wanted;
  });
}

}  // namespace robustrun::sim
