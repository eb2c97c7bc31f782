// Which node gets which place, where the network's topology decides: kPlacing lasts from
// SolvePlacement to PlacementSolved.
//
// choose_group() decides how many nodes there will be and which of them keep their places; the
// answer fills the other places and, with --rerank, moves nodes. A node that comes or goes
// meanwhile changes the question. When an answer cannot be used, or does not come in time, the
// group begins as choose_group() has it.

#include <fmt/core.h>

#include <algorithm>

#include "base/core/words.h"
#include "supervisor/core/job/group.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/types/limits.h"
#include "supervisor/core/types/state_hash.h"

namespace robustrun::supervisor {
namespace {

using Agent = NodeState::Agent;

bool gets_newcomer(const GroupChoice& choice, std::size_t place) {
  return choice.holders[place] != choice.members[place] && choice.holders[place] != kNoNode;
}

// Sizes (numbers of workers) of the places that get another node, if each can get a node of its
// size: then all other ranks stay the same. Empty: they cannot, or there are no such places.
std::vector<std::uint32_t> sizes_to_keep(const GroupChoice& choice,
                                         const std::vector<NodeState>& nodes) {
  std::vector<std::uint32_t> sizes;
  for (std::size_t i = 0; i < choice.members.size(); ++i) {
    if (!gets_newcomer(choice, i)) continue;
    sizes.push_back(nodes[choice.holders[i].value].slots);
    if (nodes[choice.members[i].value].slots != sizes.back()) return {};
  }
  return sizes;
}

}  // namespace

// No placement where there is nothing to choose, or where users chose (--node-rank).
bool JobQuestions::wants_placement(const GroupChoice& choice) const {
  if (spec.placement == PlacementUse::kOff) return false;
  const bool ranks_are_given = std::ranges::any_of(choice.members, [this](base::NodeId node) {
    return spec.nodes[node.value].node_rank.has_value();
  });
  if (ranks_are_given) return false;
  const bool all_stay = group_formed && choice.members == group;
  return !(all_stay && spec.placement == PlacementUse::kSurvivorsStay);
}

// Reliable nodes of a size that is needed; others only where there are too few of them.
std::vector<base::NodeId> JobQuestions::placement_candidates(const GroupChoice& choice) const {
  std::vector<bool> is_chosen(nodes.size(), false);
  for (const base::NodeId node : choice.members) is_chosen[node.value] = true;
  std::vector<std::uint32_t> sizes;
  if (group_formed && spec.placement == PlacementUse::kSurvivorsStay) {
    sizes = sizes_to_keep(choice, nodes);
  }
  const bool must_be_checked = !group_formed && spec.preflight != PreflightDepth::kOff;
  std::vector<base::NodeId> candidates;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const NodeState& node = nodes[i];
    const bool is_there = node.agent == Agent::kJoined && node.may_work();
    const bool is_good = node.losses <= kAgentLossesForgiven && !spec.nodes[i].is_offender &&
                         !must_leave(node) && (node.checked || !must_be_checked);
    const bool fits = sizes.empty() || std::ranges::find(sizes, node.slots) != sizes.end();
    if (is_chosen[i] || (is_there && is_good && fits)) candidates.push_back({i});
  }
  std::ranges::stable_sort(candidates, {}, [this](base::NodeId node) { return at(node).losses; });
  if (spec.group.open && !group_formed) sort_volunteers(candidates);
  return candidates;
}

SolvePlacement JobQuestions::placement_question(const GroupChoice& choice) const {
  const auto words = [this](base::NodeId node) -> PlacementNode {
    return {node, name(node), at(node).slots};
  };
  SolvePlacement question;
  question.attempt = attempt;
  question.places = static_cast<std::uint32_t>(choice.members.size());
  if (group_formed) {
    for (const base::NodeId holder : choice.holders) {
      question.former.push_back(holder == kNoNode ? PlacementNode{} : words(holder));
    }
  }
  for (const base::NodeId node : placement_candidates(choice)) {
    question.candidates.push_back(words(node));
  }
  StateHash hash;
  hash.add(question);
  question.digest = hash.value();
  return question;
}

void Job::Impl::ask_placement(const GroupChoice& choice) {
  SolvePlacement question = placement_question(choice);
  placement_asked = question.digest;
  enter(JobState::kPlacing);
  out.push_back(std::move(question));
  set_timer(TimerId::kState, now + kPlacementMax);
}

void Job::Impl::reconsider_group() {
  const GroupChoice choice = choice_now();
  const bool is_the_same = may_begin(choice) && wants_placement(choice) &&
                           placement_question(choice).digest == placement_asked;
  if (is_the_same) return;
  enter(JobState::kJoining);  // its waits go on from where they were
  consider_group();
}

// Why the group cannot be formed as `to` has it; empty: it can.
std::string JobQuestions::objection(const PlacementSolved& to, const GroupChoice& choice) const {
  const std::vector<base::NodeId>& placed = to.members;
  if (placed.size() != choice.members.size()) {
    return fmt::format("it has {} nodes for {} places", placed.size(), choice.members.size());
  }
  std::vector<bool> is_placed(nodes.size(), false);
  for (const base::NodeId node : placed) {
    if (node.value >= nodes.size()) return "it names a node that does not exist";
    if (at(node).agent != Agent::kJoined || !at(node).may_work()) {
      return name(node) + " is not there";
    }
    if (is_placed[node.value]) return name(node) + " has two places in it";
    is_placed[node.value] = true;
  }
  if (!group_formed || spec.placement != PlacementUse::kSurvivorsStay) return {};
  const bool keeps_ranks = !sizes_to_keep(choice, nodes).empty();
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const base::NodeId holder = choice.holders[i];
    const bool stays = placed[i] == holder;
    if (holder == choice.members[i] && !stays) return name(holder) + " would move";
    const bool is_as_large = stays || holder == kNoNode || at(placed[i]).slots == at(holder).slots;
    if (keeps_ranks && !is_as_large) return "ranks would move behind " + name(placed[i]);
  }
  return {};
}

void Job::Impl::placement_solved(const Event& event) {
  const auto& solved = body<PlacementSolved>(event);
  if (solved.digest != placement_asked) return;
  GroupChoice choice = choice_now();
  if (solved.members.empty()) return do_without_placement(std::move(choice), solved.text);
  if (const std::string why = objection(solved, choice); !why.empty()) {
    return do_without_placement(std::move(choice), "the answer cannot be used: " + why);
  }
  choice.members = solved.members;
  form_group(choice, &solved);
  check_spares();
}

void Job::Impl::placement_overdue(const Event&) {
  do_without_placement(choice_now(),
                       fmt::format("no answer within {}", base::in_seconds(kPlacementMax)));
}

void Job::Impl::do_without_placement(GroupChoice choice, const std::string& why) {
  decide(Rule::kNotPlaced,
         fmt::format("nodes are not placed by topology ({}); {}",
                     why.empty() ? "no reason was given" : why,
                     group_formed ? "spares are taken in their order" : "nodes keep their order"));
  form_in_order(std::move(choice));
  check_spares();
}

}  // namespace robustrun::supervisor
