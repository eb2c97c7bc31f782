#pragma once
// Invariants that the actions of one event decide alone.

#include <algorithm>
#include <set>
#include <vector>

#include "supervisor/core/job/job.h"

namespace robustrun::sim {

namespace core = supervisor;
using StartOrders = std::vector<const core::StartWorkers*>;

inline std::uint32_t world_size_of(const std::vector<core::GroupMember>& group) {
  std::uint32_t size = 0;
  for (const core::GroupMember& member : group) size += member.slots;
  return size;
}

// One order per node of the group, in its place; ranks 0 .. world size - 1, each once; local ranks
// from 0 on.
inline bool ranks_are_a_permutation(const StartOrders& starts,
                                    const std::vector<core::GroupMember>& group) {
  const std::uint32_t world_size = world_size_of(group);
  std::set<std::uint32_t> ranks;
  std::size_t count = 0;
  if (starts.size() != group.size()) return false;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const core::StartWorkers& start = *starts[i];
    std::uint32_t local = 0;
    for (const core::Assignment place : start.workers) {
      if (place.rank.value != group[i].first_rank + local) return false;
      if (place.local_rank.value != local++) return false;
      ranks.insert(place.rank.value);
      ++count;
    }
    if (start.node != group[i].node || start.group_rank != i) return false;
    if (start.world_size != world_size || start.group_world_size != group.size()) return false;
    if (local != group[i].slots) return false;
  }
  return count == world_size && ranks.size() == world_size && *ranks.rbegin() == world_size - 1;
}

// Survivors of a group of the same size keep their places, and their ranks if the places have the
// same numbers of workers; else they keep their order.
inline bool survivors_keep_their_ranks(const std::vector<core::GroupMember>& before,
                                       const std::vector<core::GroupMember>& after) {
  const bool same_size = before.size() == after.size();
  const bool same_slots =
      same_size &&
      std::ranges::equal(before, after, {}, &core::GroupMember::slots, &core::GroupMember::slots);
  std::size_t last = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto found = std::ranges::find(after, before[i].node, &core::GroupMember::node);
    if (found == after.end()) continue;
    const auto place = static_cast<std::size_t>(found - after.begin());
    if (same_size && place != i) return false;
    if (same_slots && found->first_rank != before[i].first_rank) return false;
    if (place < last) return false;
    last = place;
  }
  return true;
}

inline bool nodes_are_distinct(const std::vector<core::GroupMember>& members) {
  std::set<base::NodeId> nodes;
  for (const core::GroupMember& member : members) nodes.insert(member.node);
  return nodes.size() == members.size();
}

// No node runs two programs at a time.
inline bool replayed_once(const core::ReplayNodes& replay) {
  std::set<base::NodeId> nodes;
  std::size_t count = 0;
  for (const auto& group : replay.groups) {
    for (const auto& place : group) nodes.insert(place.node);
    count += group.size();
  }
  return nodes.size() == count;
}

// The placement used is the answer to the question, if a decision says that it is used.
inline bool is_placed_as_solved(const core::PlacementSolved& solved,
                                const std::vector<core::GroupMember>& members) {
  return std::ranges::equal(solved.members, members, {}, {}, &core::GroupMember::node);
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

// Whether `event` is the deadline of `state`.
inline bool is_deadline_over(core::JobState state, const core::Event& event) {
  const auto* timer = std::get_if<core::TimerFired>(&event.body);
  const auto deadline =
      state == core::JobState::kBackoff ? core::TimerId::kBackoff : core::TimerId::kState;
  return timer != nullptr && timer->id == deadline;
}

// A state that begins to wait, or waits on after its deadline, sets a new deadline.
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
