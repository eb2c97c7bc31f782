// Of accuse.h: what stacks and missing memberships hint at.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/core/text.h"
#include "tracer/analysis/accuse.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

// Whoever is not in the largest set of equal stacks, if that has most ranks.
std::vector<std::uint32_t> outliers_of(const Case& facts) {
  std::size_t all = 0;
  for (const SameStack& same : facts.same) all += same.members.size();
  if (facts.same.size() < 2 || facts.same.front().members.size() * 2 <= all) return {};
  std::vector<std::uint32_t> outliers;
  for (std::size_t i = 1; i < facts.same.size(); ++i) {
    outliers.insert(outliers.end(), facts.same[i].members.begin(), facts.same[i].members.end());
  }
  std::ranges::sort(outliers);
  return outliers;
}

bool is_within(const std::vector<std::uint32_t>& ats, const Communicator& comm) {
  std::vector<std::uint32_t> members;
  for (const Member& member : comm.members) members.push_back(member.at);
  std::ranges::sort(members);
  return std::ranges::includes(members, ats);
}

// The smallest group of more than one rank that holds all of them; empty: none but all ranks.
std::string shared_group(const FleetView& view, const std::vector<std::uint32_t>& ats) {
  const std::vector<base::Rank> ranks = global_ranks(view, ats);
  std::size_t smallest = view.rank_count();
  std::string name;
  for (const RankGroup& group : view.fleet().layout) {
    if (group.ranks.size() >= smallest || !std::ranges::includes(group.ranks, ranks)) continue;
    smallest = group.ranks.size();
    name = "group " + group.name.substr(0, kNameBytes);
  }
  for (const MemberAt where : view.memberships(ats.front())) {
    const Communicator& comm = view.comms()[where.comm];
    if (comm.size >= smallest || comm.size < 2 || !is_within(ats, comm)) continue;
    smallest = comm.size;
    name = group_text(view, comm);
  }
  return name;
}

bool may_be_missing(const FleetView& view, const Communicator& comm, std::uint32_t at) {
  const auto is_it = [&](const Member& m) { return m.at == at; };
  if (comm.uncounted == 0 || std::ranges::any_of(comm.members, is_it)) return false;
  const std::vector<base::Rank> missing = view.missing_members(comm);
  return missing.empty() || std::ranges::find(missing, view.rank(at).rank) != missing.end();
}

}  // namespace

std::string stacks_text(const Case& facts) {
  if (facts.same.size() < 2) return "";
  std::string text = "stacks: ";
  for (std::size_t i = 0; i < std::min(facts.same.size(), kRanksNamed); ++i) {
    const std::vector<std::uint32_t>& members = facts.same[i].members;
    text += i > 0 ? "; " : "";
    text += members.size() == 1
                ? fmt::format("rank {}", facts.view.rank(members.front()).rank.value)
                : fmt::format("{} ranks", members.size());
    text += ": " + facts.same[i].place;
  }
  return text;
}

std::string outliers_text(const Case& facts) {
  const std::vector<std::uint32_t> outliers = outliers_of(facts);
  if (outliers.empty()) return "";
  std::string text =
      fmt::format("{} {} elsewhere than the other {}", ranks_text(facts.view, outliers),
                  outliers.size() > 1 ? "are" : "is", facts.same.front().members.size());
  const std::string group = shared_group(facts.view, outliers);
  return group.empty() ? text : text + ", in " + group;
}

std::vector<Blame> unplaced(const Case& facts, Guilt guilt) {
  const FleetView& view = facts.view;
  std::vector<Blame> blames;
  for (std::uint32_t at = 0; at < view.rank_count(); ++at) {
    if (guilt == Guilt::kDead ? !view.is_dead(at) : !view.is_stopped(at)) continue;
    const auto lacks_it = [&](std::uint32_t c) {
      return may_be_missing(view, view.comms()[c], at);
    };
    if (!view.memberships(at).empty() && std::ranges::none_of(facts.graph.unseen(), lacks_it)) {
      continue;
    }
    Blame blame;
    blame.at = at;
    blame.guilt = guilt;
    blame.age = base::Nanos{-1};
    blames.push_back(blame);
  }
  return blames;
}

void name_further(const Case& facts, std::vector<std::uint32_t> ats, std::string_view what_one_does,
                  std::string_view what_several_do, Verdict& verdict) {
  std::erase_if(ats, [&](std::uint32_t at) {
    return std::ranges::binary_search(verdict.culprits, facts.view.rank(at).rank);
  });
  if (ats.empty()) return;
  if (!verdict.sentence.empty()) verdict.sentence += "; ";
  verdict.sentence += fmt::format("{} {}", ranks_text(facts.view, ats),
                                  ats.size() > 1 ? what_several_do : what_one_does);
  for (const base::Rank rank : global_ranks(facts.view, ats)) {
    verdict.culprits.push_back(rank);
    std::erase(verdict.victims, rank);
  }
  std::ranges::sort(verdict.culprits);
  for (const std::string& node : nodes_of(facts.view, ats)) {
    if (std::ranges::find(verdict.nodes, node) == verdict.nodes.end())
      verdict.nodes.push_back(node);
  }
  std::ranges::sort(verdict.nodes, base::natural_less);
  verdict.confidence = Confidence::kInferred;
}

void add_halted(const Case& facts, Verdict& verdict) {
  std::vector<std::uint32_t> halted;
  for (std::uint32_t at = 0; at < facts.view.rank_count(); ++at) {
    if (facts.view.rank(at).halted) halted.push_back(at);
  }
  name_further(facts, std::move(halted), "calls nothing any more", "call nothing any more",
               verdict);
}

std::vector<base::Rank> unseen_members(const Case& facts, const Communicator& comm) {
  std::vector<base::Rank> ranks = facts.view.missing_members(comm);
  for (const Member& member : comm.members) {
    if (!member.counts) ranks.push_back(facts.view.rank(member.at).rank);
  }
  std::ranges::sort(ranks);
  return ranks;
}

}  // namespace robustrun::tracer
