#include "supervisor/core/job/phases/formation.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/core/result.h"
#include "base/core/text.h"
#include "base/core/words.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

using Agent = NodeState::Agent;

GroupChoice Formation::choice() const {
  std::vector<Candidate> candidates;
  candidates.reserve(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const NodeState& node = nodes_[i];
    const Presence presence = !node.may_work()                 ? Presence::kAbsent
                              : node.agent == Agent::kJoined   ? Presence::kThere
                              : node.agent == Agent::kLaunched ? Presence::kComing
                                                               : Presence::kAbsent;
    const bool comes_last = spec_.nodes[i].is_offender || drains_.must_leave(node);
    const std::uint32_t earlier = comes_last ? kLossesOfOffender : 0;
    candidates.push_back({presence, node.slots, node.losses + node.failed_launches + earlier});
  }
  RR_ASSERT(std::ranges::count(candidates, Presence::kThere, &Candidate::presence) ==
            nodes_.there());
  RR_ASSERT(std::ranges::count(candidates, Presence::kComing, &Candidate::presence) ==
            nodes_.coming());
  RR_ASSERT(nodes_.there() + nodes_.not_there().size() == nodes_.size());
  return choose_group(group_.members(), candidates, nodes_.max_wanted());
}

// Machines that joined by themselves are ordered by the node ranks that users asked for, then by
// name.
void Formation::sort_volunteers(std::vector<base::NodeId>& members) const {
  std::ranges::stable_sort(members, [&](base::NodeId a, base::NodeId b) {
    const NodeSpec& one = spec_.nodes[a.value];
    const NodeSpec& two = spec_.nodes[b.value];
    constexpr auto kLast = std::numeric_limits<std::uint32_t>::max();
    const std::uint32_t rank_one = one.node_rank.value_or(kLast);
    const std::uint32_t rank_two = two.node_rank.value_or(kLast);
    if (rank_one != rank_two) return rank_one < rank_two;
    return base::natural_less(one.name, two.name);
  });
}

void Formation::form_in_order(GroupChoice choice) {
  if (spec_.group.open && !group_.is_formed()) sort_volunteers(choice.members);
  form(choice);
}

void Formation::form(const GroupChoice& choice, const PlacementSolved* why) {
  std::vector<base::NodeId> members = choice.members;
  std::vector<Place> places;
  places.reserve(members.size());
  for (const base::NodeId node : members) places.push_back({node, nodes_.at(node).slots});
  if (!can_be_planned(places)) {
    return moves_.give_up(
        fmt::format("the {} nodes offer no worker, or more than {}", members.size(), kWorkersMax));
  }
  RankPlan planned = plan_ranks(std::move(places));
  if (!group_.is_formed() && spec_.expect_world != 0 && members.size() == nodes_.max_wanted() &&
      planned.world_size() != spec_.expect_world) {
    return moves_.give_up(
        fmt::format("the {} nodes offer {} workers, and {} are expected (--expect-world)",
                    members.size(), planned.world_size(), spec_.expect_world),
        offers(planned));
  }
  const bool changed = planned.places != group_.plan().places;
  if (changed && group_.is_formed()) explain_change(choice);
  if (changed && why != nullptr) {
    orders_.decide(Rule::kPlaced, why->text, why->evidence, why->alternatives);
  }
  group_.form(std::move(members), std::move(planned));
  if (changed) announce();
  moves_.begin_attempt();
}

std::vector<std::string> Formation::offers(const RankPlan& planned) const {
  Evidence lines;
  for (const Place& place : planned.places) {
    lines.add(nodes_.name(place.node) + ": " + base::counted(place.slots, "worker"));
  }
  return lines.lines();
}

void Formation::explain_change(const GroupChoice& choice) {
  std::vector<bool> is_member(nodes_.size(), false);
  for (const base::NodeId node : choice.members) is_member[node.value] = true;
  Evidence left, replaced;
  for (const base::NodeId node : group_) {
    if (is_member[node.value]) continue;
    left.add(fmt::format("{}: {}", nodes_.name(node), nodes_.at(node).trouble));
  }
  std::size_t changes = 0;
  for (std::size_t i = 0; i < choice.members.size(); ++i) {
    const base::NodeId holder = choice.holders[i];
    if (holder == kNoNode || holder == choice.members[i]) continue;
    ++changes;
    replaced.add(fmt::format(
        "{} takes the place of {}{}", nodes_.name(choice.members[i]), nodes_.name(holder),
        is_member[holder.value] ? ", which moves"
                                : fmt::format(" ({})", nodes_.at(holder).trouble)));
  }
  if (changes == 1) orders_.decide(Rule::kNodeReplaced, replaced.first.front(), left.lines());
  if (changes > 1) {
    orders_.decide(Rule::kNodeReplaced,
                   fmt::format("{} nodes are replaced: {}, …", changes, replaced.first.front()),
                   replaced.lines());
  }
  if (choice.members.size() < group_.size()) {
    orders_.decide(
        Rule::kGroupShrunk,
        fmt::format("there is no spare: going on with {} of {} nodes", choice.members.size(),
                    nodes_.max_wanted()),
        left.lines(),
        {fmt::format("wait for more nodes: {} are enough (--nnodes)", nodes_.min_wanted())});
  }
}

void Formation::announce() {
  GroupFormed formed{orders_.attempt(), {}, {}};
  formed.members.reserve(group_.size());
  const std::vector<bool> is_member = group_.membership(nodes_.size());
  for (std::uint32_t i = 0; i < group_.size(); ++i) {
    formed.members.push_back({group_[i], nodes_.name(group_[i]), nodes_.at(group_[i]).address,
                              group_.plan().first_rank[i], group_.plan().places[i].slots});
  }
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const bool is_spare = nodes_[i].is_there() && !is_member[i];
    if (is_spare) formed.spares.push_back(spec_.nodes[i].name);
  }
  orders_.give(std::move(formed));
}

}  // namespace robustrun::supervisor
