#include "supervisor/core/job/saves/copy_orders.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/core/text.h"
#include "base/core/words.h"
#include "supervisor/core/preflight/verdict.h"
#include "supervisor/core/types/state_hash.h"

namespace robustrun::supervisor {
namespace {

CopyRoute route_to(const CopyFacts& job, base::Rank rank, const CopyHolder& holder) {
  return {rank, holder.node, holder.generation, job.nodes.at(holder.node).bulk};
}

// The agent that has the newest copy of a rank that starts at `here`, unless that is `here` itself.
// The keeper has the newest copy; the rank's former node has it too, if it is still there.
CopyHolder source_of(const CopyFacts& job, const RankCopies& copies, const CopyHolder& here) {
  if (copies.here && copies.owner == here) return {};
  for (const bool from_keeper : {true, false}) {
    const CopyHolder& holder = from_keeper ? copies.keeper : copies.owner;
    const bool has_one = from_keeper ? copies.at_peer : copies.here;
    if (has_one && holder.node != here.node && is_there(job, holder)) return holder;
  }
  return {};
}

PlaceCopies& order_for(std::vector<PlaceCopies>& orders, base::NodeId node, base::Attempt attempt) {
  const auto found = std::ranges::find(orders, node, &PlaceCopies::node);
  if (found != orders.end()) return *found;
  return orders.emplace_back(PlaceCopies{node, attempt, {}, {}, {}});
}

std::string keepers_of(const CopyFacts& job) {
  std::vector<std::string> names;
  for (const SaveOrder& save : job.copies.saves) names.push_back(job.nodes.name(save.keeper.node));
  return names_in_words(names);
}

}  // namespace

bool can_keep_copies(const CopyFacts& job) {
  return job.group.size() > 1 && std::ranges::none_of(job.group, [&](base::NodeId node) {
           return job.nodes.at(node).bulk.empty();
         });
}

SolveBackup backup_question(const CopyFacts& job) {
  SolveBackup question;
  for (const base::NodeId node : job.group) {
    question.places.push_back({node, job.nodes.name(node), job.group.plan().slots(node)});
  }
  question.evictable = evictable_groups(job.spec.policy);
  StateHash hash;
  hash.add(question.places);
  hash.add(question.evictable);
  question.digest = hash.value();
  if (job.copies.keepers.size() == job.group.size()) question.former = job.copies.keepers;
  return question;
}

std::vector<CopyHolder> copy_holders(const CopyFacts& job) {
  std::vector<CopyHolder> holders;
  holders.reserve(job.group.size());
  for (const base::NodeId node : job.group)
    holders.push_back({node, job.nodes.at(node).generation});
  return holders;
}

bool is_there(const CopyFacts& job, const CopyHolder& holder) {
  if (holder.node.value >= job.nodes.size()) return false;
  const NodeState& node = job.nodes.at(holder.node);
  return node.agent == NodeState::Agent::kJoined && node.generation == holder.generation;
}

std::vector<PlaceCopies> copy_orders(const CopyFacts& job) {
  const CopyMap& copies = job.copies;
  std::vector<PlaceCopies> orders;
  for (const CopyHolder& member : copies.holders) {
    orders.push_back({member.node, copies.attempt, {}, {}, {}});
  }
  std::vector<bool> is_held(copies.ranks.size(), false);
  for (std::size_t place = 0; place < copies.holders.size(); ++place) {
    const CopyHolder keeper = copies.keeper_of(place);
    for (std::uint32_t r = job.group.plan().first_rank[place];
         r < job.group.plan().first_rank[place + 1]; ++r) {
      const base::Rank rank{r};
      if (keeper.node != kNoNode) {
        orders[place].send.push_back(route_to(job, rank, keeper));
        orders[copies.keepers[place]].hold.push_back(route_to(job, rank, copies.holders[place]));
      }
      const CopyHolder source = source_of(job, copies.ranks[r], copies.holders[place]);
      if (source.node == kNoNode) continue;
      orders[place].fetch.push_back(route_to(job, rank, source));
      if (source == keeper) continue;
      order_for(orders, source.node, copies.attempt)
          .hold.push_back(route_to(job, rank, copies.holders[place]));
    }
  }
  return orders;
}

std::vector<base::Rank> orphaned_ranks(const CopyFacts& job) {
  std::vector<base::Rank> ranks;
  for (std::uint32_t rank = 0; rank < job.copies.ranks.size(); ++rank) {
    const RankCopies& copies = job.copies.ranks[rank];
    if (!copies.is_any() || copies.is_ordered) continue;
    const bool is_out =
        copies.owner.node.value < job.nodes.size() && job.nodes.at(copies.owner.node).unfit;
    // Two agents that save the same copies would write the same files.
    if (is_out && job.copies.saves_its_own(copies.owner)) continue;
    if (is_out || !is_there(job, copies.owner)) ranks.push_back({rank});
  }
  return ranks;
}

std::string owners_in_words(const CopyFacts& job, const std::vector<base::Rank>& ranks) {
  std::vector<std::string> names;
  for (const base::Rank rank : ranks) {
    const std::string& name = job.nodes.name(job.copies.ranks[rank.value].owner.node);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names_in_words(names);
}

std::string loss_of_copies_in_words(const CopyFacts& job, const std::vector<base::Rank>& gone) {
  for (const base::Rank rank : gone) {
    const RankCopies& copies = job.copies.ranks[rank.value];
    if (copies.at_peer) return job.nodes.name(copies.keeper.node) + ", which kept them";
  }
  return "it, as no other node has any yet";
}

std::string unsecured_in_words(const CopyMap& copies) {
  const std::vector<base::Rank> ranks = copies.unsecured();
  if (ranks.empty()) return {};
  const bool is_one = ranks.size() == 1;
  return fmt::format("{} rank{} {} no copy in the memory of another node (rank {}{})", ranks.size(),
                     is_one ? "" : "s", is_one ? "has" : "have", ranks.front().value,
                     is_one ? "" : ", …");
}

std::vector<std::string> keepers_in_words(const CopyFacts& job) {
  Evidence lines;
  for (std::size_t place = 0; place < job.copies.keepers.size(); ++place) {
    lines.add(fmt::format("of {} by {}", job.nodes.name(job.copies.holders[place].node),
                          job.nodes.name(job.copies.keeper_of(place).node)));
  }
  return lines.lines();
}

std::string fallback_in_words(const CopyFacts& job) {
  const auto& newest = job.resume.committed();
  return newest ? fmt::format("using the newest committed checkpoint, of {}", in_words(*newest))
                : std::string("using the newest committed checkpoint");
}

Decision saved_in_words(const CopyFacts& job) {
  std::vector<std::string> owners;
  Evidence errors;
  std::uint32_t saved = 0;
  std::size_t ranks = 0;
  for (const SaveOrder& save : job.copies.saves) {
    for (const base::NodeId owner : save.owners) owners.push_back(job.nodes.name(owner));
    for (const std::string& error : save.errors) {
      errors.add(fmt::format("{}: {}", job.nodes.name(save.keeper.node), error));
    }
    saved += save.saved;
    ranks += save.ranks.size();
  }
  const std::string whose = names_in_words(owners);
  const std::string where = keepers_of(job);
  Decision decision{Rule::kCopiesSaved, job.attempt, {}, errors.lines(), {}, {}, {}};
  if (std::ranges::any_of(job.copies.saves, &SaveOrder::goes_on)) {
    decision.text = fmt::format(
        "the copies of {} in the memory of {} are still being saved: workers start, and wait for "
        "them before they load",
        whose, where);
  } else if (saved > 0) {
    decision.text =
        fmt::format("the copies of {} in the memory of {} were saved: {} cop{} of {}{}", whose,
                    where, saved, saved == 1 ? "y" : "ies", base::counted(ranks, "rank"),
                    errors.first.empty() ? "" : ", not all of them");
  } else if (errors.first.empty()) {
    decision.text =
        fmt::format("the copies of {} in the memory of {} were on disk already", whose, where);
  } else {
    decision.rule = Rule::kCopiesLost;
    decision.text = fmt::format("the copies of {} in the memory of {} were not saved ({}); {}",
                                whose, where, errors.first.front(), fallback_in_words(job));
  }
  return decision;
}

}  // namespace robustrun::supervisor
