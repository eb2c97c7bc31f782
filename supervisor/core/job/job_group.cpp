// Which nodes run the next attempt: kJoining lasts until that is clear.
//
// The attempt begins when the group is complete and none of its former members is still on the way
// (or a spare has waited long enough for it); with fewer than max_nodes, when no node at all is on
// the way. With fewer than min_nodes the run waits for nodes, or gives up.

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <tuple>

#include "base/core/result.h"
#include "base/core/text.h"
#include "base/core/words.h"
#include "supervisor/core/job/group.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

using Agent = NodeState::Agent;

GroupChoice JobQuestions::choice_now() const {
  std::vector<Candidate> candidates;
  candidates.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeState& node = nodes[i];
    const Presence presence = !node.may_work()                 ? Presence::kAbsent
                              : node.agent == Agent::kJoined   ? Presence::kThere
                              : node.agent == Agent::kLaunched ? Presence::kComing
                                                               : Presence::kAbsent;
    const bool comes_last = spec.nodes[i].is_offender || must_leave(node);
    const std::uint32_t earlier = comes_last ? kLossesOfOffender : 0;
    candidates.push_back({presence, node.slots, node.losses + node.failed_launches + earlier});
  }
  RR_ASSERT(std::ranges::count(candidates, Presence::kThere, &Candidate::presence) == nodes_there);
  RR_ASSERT(std::ranges::count(candidates, Presence::kComing, &Candidate::presence) ==
            nodes_coming);
  RR_ASSERT(nodes_there + not_there.size() == nodes.size());
  return choose_group(group, candidates, max_nodes());
}

void Job::Impl::node_offered(const Event& event) {
  const auto& offer = body<NodeOffered>(event);
  const bool is_welcome = spec.group.open || spec.group.replace > 0;
  if (!is_welcome || nodes.size() >= kNodesMax) return;
  spec.nodes.push_back(offer.spec);
  spec.nodes.back().volunteer = true;
  add_node(offer.spec);
  launch(base::NodeId{static_cast<std::uint32_t>(nodes.size() - 1)});
  arm_nodes_timer();
}

void Job::Impl::join_agents() {
  enter(JobState::kJoining);
  waiting_since = now;
  complete_since.reset();
  enough_since.reset();
  wait_announced = false;
  consider_group();
}

void Job::Impl::join_overdue(const Event&) {
  look_after_nodes();
  consider_group();
}

void Job::Impl::consider_group() {
  const auto in_vain = [this](bool any_coming) {
    const bool may_wait = group_formed && spec.group.wait_for_nodes > base::Nanos{};
    return !any_coming || (may_wait && now >= wait_over(any_coming));
  };
  // Of thousands of hellos only the last few matter, so all nodes are examined only for these.
  if (nodes_there < min_nodes() && nodes_coming > 0 && !in_vain(true)) {
    complete_since.reset();
    enough_since.reset();
    return arm_join_timer(nodes_there, true);
  }
  const GroupChoice choice = choice_now();
  const std::size_t there = choice.members.size();
  if (there < max_nodes()) complete_since.reset();
  if (there < min_nodes()) enough_since.reset();
  if (there == max_nodes() && !complete_since) complete_since = now;
  if (there >= min_nodes() && !enough_since) enough_since = now;
  if (may_begin(choice)) {
    if (wants_check(choice)) return check_nodes();
    if (replay_due && begin_replay(choice)) return;
    return wants_placement(choice) ? ask_placement(choice) : form_in_order(choice);
  }
  const bool volunteers_may_come =
      spec.group.open && !group_formed && now < waiting_since + spec.group.wait_for_nodes;
  if (there < min_nodes() && in_vain(choice.any_coming) && !volunteers_may_come) {
    return wait_for_more(choice);
  }
  arm_join_timer(there, choice.any_coming);
}

// Nodes that are on the way are waited for once, at least until their hello is overdue.
base::Nanos JobQuestions::wait_over(bool any_coming) const {
  const base::Nanos limit = spec.group.wait_for_nodes;
  return waiting_since + (any_coming ? std::max(limit, spec.deadlines.agent_hello) : limit);
}

bool Job::Impl::may_begin(const GroupChoice& choice) const {
  const std::size_t there = choice.members.size();
  if (there == max_nodes()) {
    // The first placement chooses among all nodes.
    const bool all_count = spec.placement != PlacementUse::kOff && !group_formed;
    const bool is_missed = all_count ? choice.any_coming : choice.rightful_coming;
    return !is_missed || now >= *complete_since + spec.group.spare_patience;
  }
  if (there < min_nodes()) return false;
  if (!spec.group.open) return !choice.any_coming;
  return now >= *enough_since + (group_formed ? spec.group.spare_patience : spec.group.last_call);
}

// There are too few nodes, and none is on the way.
void Job::Impl::wait_for_more(const GroupChoice& choice) {
  const Evidence lost = troubles();
  const std::string text = missing_in_words(choice.members.size());
  const base::Nanos limit = spec.group.wait_for_nodes;
  if (!group_formed || now >= wait_over(choice.any_coming)) {
    return give_up(text, lost.lines(), exit_code_for_too_few(choice.members.size()));
  }
  if (!wait_announced) {
    wait_announced = true;
    decide(Rule::kWaitForNodes,
           fmt::format("{}; waiting for more, at most {}{}", text, base::in_seconds(limit),
                       retests_in_words()),
           lost.lines(), {"end the run: shorten --wait-for-nodes"});
  }
  retest_unfit();
  arm_join_timer(choice.members.size(), choice.any_coming);
}

// Where only the program is missing, other nodes would not help.
int JobQuestions::exit_code_for_too_few(std::size_t there) const {
  const auto without = static_cast<std::size_t>(std::ranges::count_if(
      nodes, [](const NodeState& node) { return node.unfit && node.lacks_program; }));
  return without > 0 && there + without >= min_nodes()
             ? exit_code_for_start_failure(ENOENT, spec.compat)
             : exit_code_for_infrastructure(spec.compat);
}

std::string JobQuestions::missing_in_words(std::size_t there) const {
  const Evidence lost = troubles();
  if (nodes.size() == 1 && !spec.group.open && !nodes.front().unfit) {
    return fmt::format("the agent of {} cannot be started: {}", name({0}), at({0}).trouble);
  }
  const std::string why = lost.first.empty() ? std::string() : ": " + lost.first.front();
  if (spec.check_only) {
    return fmt::format("none of the {} can be checked{}", base::counted(nodes.size(), "node"), why);
  }
  return fmt::format("only {} of the {} needed{}", there, base::counted(min_nodes(), "node"), why);
}

Evidence JobQuestions::troubles() const {
  Evidence lost;
  for (const base::NodeId node : not_there) {
    if (!at(node).trouble.empty()) lost.add(fmt::format("{}: {}", name(node), at(node).trouble));
  }
  return lost;
}

void Job::Impl::arm_join_timer(std::size_t there, bool any_coming) {
  // The next look is due when hellos under way are overdue, a retest is due, or the wait is over,
  // whichever comes first.
  base::Nanos at = now + spec.deadlines.agent_hello;
  if (there < min_nodes() && wait_over(any_coming) > now) at = std::min(at, wait_over(any_coming));
  if (there < min_nodes() && next_retest() > now) at = std::min(at, next_retest());
  if (there == max_nodes()) {
    at = std::min(at, *complete_since + spec.group.spare_patience);
  } else if (spec.group.open && enough_since) {
    at = std::min(
        at, *enough_since + (group_formed ? spec.group.spare_patience : spec.group.last_call));
  }
  set_timer(TimerId::kState, std::max(at, now));
}

// Machines that joined by themselves are ordered by the node ranks that users asked for, then by
// name.
void JobQuestions::sort_volunteers(std::vector<base::NodeId>& members) const {
  std::ranges::stable_sort(members, [&](base::NodeId a, base::NodeId b) {
    const NodeSpec& one = spec.nodes[a.value];
    const NodeSpec& two = spec.nodes[b.value];
    constexpr auto kLast = std::numeric_limits<std::uint32_t>::max();
    const std::uint32_t rank_one = one.node_rank.value_or(kLast);
    const std::uint32_t rank_two = two.node_rank.value_or(kLast);
    if (rank_one != rank_two) return rank_one < rank_two;
    return base::natural_less(one.name, two.name);
  });
}

void Job::Impl::form_in_order(GroupChoice choice) {
  if (spec.group.open && !group_formed) sort_volunteers(choice.members);
  form_group(choice);
}

// `why`: the placement that gave the members their places, if there was one.
void Job::Impl::form_group(const GroupChoice& choice, const PlacementSolved* why) {
  std::vector<base::NodeId> members = choice.members;
  std::vector<Place> places;
  places.reserve(members.size());
  for (const base::NodeId node : members) places.push_back({node, at(node).slots});
  if (!can_be_planned(places)) {
    return give_up(
        fmt::format("the {} nodes offer no worker, or more than {}", members.size(), kWorkersMax));
  }
  RankPlan planned = plan_ranks(std::move(places));
  if (!group_formed && spec.expect_world != 0 && members.size() == max_nodes() &&
      planned.world_size() != spec.expect_world) {
    return give_up(
        fmt::format("the {} nodes offer {} workers, and {} are expected (--expect-world)",
                    members.size(), planned.world_size(), spec.expect_world),
        offers(planned));
  }
  const bool changed = planned.places != plan.places;
  if (changed && group_formed) explain_change(choice);
  if (changed && why != nullptr) {
    decide(Rule::kPlaced, why->text, why->evidence, why->alternatives);
  }
  group = std::move(members);
  group_formed = true;
  plan = std::move(planned);
  if (changed) announce_group();
  begin_attempt();
}

std::vector<std::string> JobQuestions::offers(const RankPlan& planned) const {
  Evidence lines;
  for (const Place& place : planned.places) {
    lines.add(name(place.node) + ": " + base::counted(place.slots, "worker"));
  }
  return lines.lines();
}

void Job::Impl::explain_change(const GroupChoice& choice) {
  std::vector<bool> is_member(nodes.size(), false);
  for (const base::NodeId node : choice.members) is_member[node.value] = true;
  Evidence left, replaced;
  for (const base::NodeId node : group) {
    if (!is_member[node.value]) left.add(fmt::format("{}: {}", name(node), at(node).trouble));
  }
  std::size_t changes = 0;
  for (std::size_t i = 0; i < choice.members.size(); ++i) {
    const base::NodeId holder = choice.holders[i];
    if (holder == kNoNode || holder == choice.members[i]) continue;
    ++changes;
    replaced.add(fmt::format(
        "{} takes the place of {}{}", name(choice.members[i]), name(holder),
        is_member[holder.value] ? ", which moves" : fmt::format(" ({})", at(holder).trouble)));
  }
  if (changes == 1) decide(Rule::kNodeReplaced, replaced.first.front(), left.lines());
  if (changes > 1) {
    decide(Rule::kNodeReplaced,
           fmt::format("{} nodes are replaced: {}, …", changes, replaced.first.front()),
           replaced.lines());
  }
  if (choice.members.size() < group.size()) {
    decide(Rule::kGroupShrunk,
           fmt::format("there is no spare: going on with {} of {} nodes", choice.members.size(),
                       max_nodes()),
           left.lines(),
           {fmt::format("wait for more nodes: {} are enough (--nnodes)", min_nodes())});
  }
}

void Job::Impl::announce_group() {
  GroupFormed formed{attempt, {}, {}};
  formed.members.reserve(group.size());
  const std::vector<bool> is_member = group_membership();
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    formed.members.push_back(
        {group[i], name(group[i]), at(group[i]).address, plan.first_rank[i], plan.places[i].slots});
  }
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const bool is_spare = nodes[i].agent == Agent::kJoined && nodes[i].may_work() && !is_member[i];
    if (is_spare) formed.spares.push_back(spec.nodes[i].name);
  }
  out.push_back(std::move(formed));
}

// Before there is progress, growing costs only a start; but growing again and again must not keep
// the job from ever making progress.
base::Nanos JobQuestions::may_grow_at() const {
  if (made_progress || growths == 0) return attempt_started;
  return attempt_started + doubled(kGrowAgainFirst, growths - 1, kGrowAgainMax);
}

// A group that is smaller than it may be takes in a node that has joined, unless that node was lost
// too often, or ranks have finished already.
void Job::Impl::maybe_grow() {
  if (group.size() >= max_nodes() || succeeded_workers > 0) return;
  if (now < may_grow_at()) return;
  if (!budget.allows(FaultClass::kInfrastructure)) return;
  const GroupChoice choice = choice_now();
  const auto reliable = std::ranges::find_if(choice.newcomers, [this](base::NodeId node) {
    return at(node).losses <= kLossesToGrowWithMax;
  });
  if (reliable == choice.newcomers.end() || choice.members.size() <= group.size()) return;
  break_down(infrastructure_fault(Rule::kGroupGrew,
                                  fmt::format("{} is there: the group grows from {} to {} nodes",
                                              name(*reliable), group.size(), choice.members.size()),
                                  context(*reliable)));
}

}  // namespace robustrun::supervisor
