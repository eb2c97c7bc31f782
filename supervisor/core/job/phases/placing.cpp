#include "supervisor/core/job/phases/placing.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/types/limits.h"
#include "supervisor/core/types/state_hash.h"

namespace robustrun::supervisor {
namespace {

bool gets_newcomer(const GroupChoice& choice, std::size_t place) {
  return choice.holders[place] != choice.members[place] && choice.holders[place] != kNoNode;
}

// Sizes (numbers of workers) of the places that get another node, if each can get a node of its
// size: then all other ranks stay the same. Empty: they cannot, or there are no such places.
std::vector<std::uint32_t> sizes_to_keep(const GroupChoice& choice, const Nodes& nodes) {
  std::vector<std::uint32_t> sizes;
  for (std::size_t i = 0; i < choice.members.size(); ++i) {
    if (!gets_newcomer(choice, i)) continue;
    sizes.push_back(nodes[choice.holders[i].value].slots);
    if (nodes[choice.members[i].value].slots != sizes.back()) return {};
  }
  return sizes;
}

}  // namespace

bool Placing::wants(const GroupChoice& choice) const {
  if (spec_.placement == PlacementUse::kOff) return false;
  const bool ranks_are_given = std::ranges::any_of(choice.members, [this](base::NodeId node) {
    return spec_.nodes[node.value].node_rank.has_value();
  });
  if (ranks_are_given) return false;
  const bool all_stay = group_.is_formed() && choice.members == group_.members();
  return !(all_stay && spec_.placement == PlacementUse::kSurvivorsStay);
}

// Reliable nodes of a size that is needed; others only where there are too few of them.
std::vector<base::NodeId> Placing::candidates(const GroupChoice& choice) const {
  std::vector<bool> is_chosen(nodes_.size(), false);
  for (const base::NodeId node : choice.members) is_chosen[node.value] = true;
  std::vector<std::uint32_t> sizes;
  if (group_.is_formed() && spec_.placement == PlacementUse::kSurvivorsStay) {
    sizes = sizes_to_keep(choice, nodes_);
  }
  const bool must_be_checked = !group_.is_formed() && spec_.preflight != PreflightDepth::kOff;
  std::vector<base::NodeId> candidates;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const NodeState& node = nodes_[i];
    const bool is_good = node.losses <= kAgentLossesForgiven && !spec_.nodes[i].is_offender &&
                         !drains_.must_leave(node) && (node.checked || !must_be_checked);
    const bool fits = sizes.empty() || std::ranges::find(sizes, node.slots) != sizes.end();
    if (is_chosen[i] || (node.is_there() && is_good && fits)) candidates.push_back({i});
  }
  std::ranges::stable_sort(candidates, {},
                           [this](base::NodeId node) { return nodes_.at(node).losses; });
  if (spec_.group.open && !group_.is_formed()) formation_.sort_volunteers(candidates);
  return candidates;
}

SolvePlacement Placing::question(const GroupChoice& choice) const {
  const auto words = [this](base::NodeId node) -> PlacementNode {
    return {node, nodes_.name(node), nodes_.at(node).slots};
  };
  SolvePlacement question;
  question.attempt = orders_.attempt();
  question.places = static_cast<std::uint32_t>(choice.members.size());
  if (group_.is_formed()) {
    for (const base::NodeId holder : choice.holders) {
      question.former.push_back(holder == kNoNode ? PlacementNode{} : words(holder));
    }
  }
  for (const base::NodeId node : candidates(choice)) {
    question.candidates.push_back(words(node));
  }
  StateHash hash;
  hash.add(question);
  question.digest = hash.value();
  return question;
}

bool Placing::is_asked(const GroupChoice& choice) const {
  return wants(choice) && question(choice).digest == asked_;
}

void Placing::begin(const GroupChoice& choice) {
  SolvePlacement asked = question(choice);
  asked_ = asked.digest;
  orders_.enter(JobState::kPlacing);
  orders_.give(std::move(asked));
  orders_.set_timer(TimerId::kState, orders_.now() + kPlacementMax);
}

std::string Placing::objection(const PlacementSolved& to, const GroupChoice& choice) const {
  const std::vector<base::NodeId>& placed = to.members;
  if (placed.size() != choice.members.size()) {
    return fmt::format("it has {} nodes for {} places", placed.size(), choice.members.size());
  }
  std::vector<bool> is_placed(nodes_.size(), false);
  for (const base::NodeId node : placed) {
    if (node.value >= nodes_.size()) return "it names a node that does not exist";
    if (!nodes_.at(node).is_there()) {
      return nodes_.name(node) + " is not there";
    }
    if (is_placed[node.value]) return nodes_.name(node) + " has two places in it";
    is_placed[node.value] = true;
  }
  if (!group_.is_formed() || spec_.placement != PlacementUse::kSurvivorsStay) return {};
  const bool keeps_ranks = !sizes_to_keep(choice, nodes_).empty();
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const base::NodeId holder = choice.holders[i];
    const bool stays = placed[i] == holder;
    if (holder == choice.members[i] && !stays) return nodes_.name(holder) + " would move";
    const bool is_as_large =
        stays || holder == kNoNode || nodes_.at(placed[i]).slots == nodes_.at(holder).slots;
    if (keeps_ranks && !is_as_large) return "ranks would move behind " + nodes_.name(placed[i]);
  }
  return {};
}

void Placing::solved(const Event& event) {
  const auto& solved = body<PlacementSolved>(event);
  if (solved.digest != asked_) return;
  GroupChoice choice = formation_.choice();
  if (solved.members.empty()) return do_without(std::move(choice), solved.text);
  if (const std::string why = objection(solved, choice); !why.empty()) {
    return do_without(std::move(choice), "the answer cannot be used: " + why);
  }
  choice.members = solved.members;
  formation_.form(choice, &solved);
  checking_.check_spares();
}

void Placing::overdue(const Event&) {
  do_without(formation_.choice(),
             fmt::format("no answer within {}", base::in_seconds(kPlacementMax)));
}

void Placing::do_without(GroupChoice choice, const std::string& why) {
  orders_.decide(
      Rule::kNotPlaced,
      fmt::format(
          "nodes are not placed by topology ({}); {}", why.empty() ? "no reason was given" : why,
          group_.is_formed() ? "spares are taken in their order" : "nodes keep their order"));
  formation_.form_in_order(std::move(choice));
  checking_.check_spares();
}

}  // namespace robustrun::supervisor
