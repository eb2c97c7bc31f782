// The last resort of R2: all seen members are inside an operation, and a member was not seen. It is
// named as a suspicion. In a running job, two or more unseen members cannot be told apart. At rest,
// several can be named, by the operations in which no other member is missing.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

using Ranks = std::vector<base::Rank>;

// The ranks that the wait may be for.
Ranks may_be_waited_for(const Case& facts, const Wait& wait) {
  const Communicator& comm = facts.view.comms()[wait.comm];
  const Member* const peer = wait.peer < 0 ? nullptr : comm.find(wait.peer);
  if (peer != nullptr) return {facts.view.rank(peer->at).rank};
  return unseen_members(facts, comm);
}

// For each operation that only unseen members are missing from: these members.
std::set<Ranks> missed_alone(const Case& facts) {
  std::set<Ranks> missed;
  for (const Wait& wait : facts.graph.waits()) {
    if (wait.has_edges || !std::ranges::binary_search(facts.graph.unseen(), wait.comm)) continue;
    Ranks ranks = may_be_waited_for(facts, wait);
    if (!ranks.empty()) missed.insert(std::move(ranks));
  }
  return missed;
}

void erase_with(std::set<Ranks>& missed, base::Rank rank) {
  std::erase_if(missed, [&](const Ranks& r) { return std::ranges::find(r, rank) != r.end(); });
}

const Wait* longest_unseen(const Case& facts) {
  for (const Wait& wait : facts.graph.waits()) {  // the longest first
    if (std::ranges::binary_search(facts.graph.unseen(), wait.comm)) return &wait;
  }
  return nullptr;
}

// Ranks other than `named` without a record in any communicator. Empty if these and `named` are
// more than a quarter of all ranks.
std::vector<std::uint32_t> without_any_record(const Case& facts, const Ranks& named) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t at = 0; at < facts.view.rank_count(); ++at) {
    const auto tells = [&](MemberAt where) { return facts.view.member(where).counts; };
    const bool is_named = std::ranges::binary_search(named, facts.view.rank(at).rank);
    if (!is_named && std::ranges::none_of(facts.view.memberships(at), tells)) found.push_back(at);
  }
  if ((found.size() + named.size()) * 4 > facts.view.rank_count()) found.clear();
  return found;
}

std::string have_no_record(const Ranks& ranks) {
  std::vector<std::uint32_t> numbers;
  for (const base::Rank rank : ranks) numbers.push_back(rank.value);
  return numbers.size() == 1 ? fmt::format("rank {} has no record", numbers.front())
                             : fmt::format("ranks {} have no record", list_text(numbers));
}

}  // namespace

Unseen unseen_suspects(const Case& facts) {
  Unseen unseen;
  std::set<Ranks> missed = missed_alone(facts);
  std::set<base::Rank> all, alone;
  for (const Ranks& ranks : missed) {
    all.insert(ranks.begin(), ranks.end());
    if (ranks.size() == 1) alone.insert(ranks.front());
  }
  for (const base::Rank rank : alone) erase_with(missed, rank);
  // Where several are missing, take the one that most of these operations have in common.
  while (!missed.empty()) {
    std::map<base::Rank, std::size_t> shares;
    for (const Ranks& ranks : missed) {
      for (const base::Rank rank : ranks) ++shares[rank];
    }
    const auto by_share = [](const auto& row) { return row.second; };
    const auto most = std::ranges::max_element(shares, {}, by_share);
    if (std::ranges::count(shares, most->second, by_share) > 1) break;
    alone.insert(most->first);
    erase_with(missed, most->first);
  }
  unseen.certain.assign(alone.begin(), alone.end());
  for (const Ranks& ranks : missed) alone.insert(ranks.begin(), ranks.end());
  unseen.possible.assign(alone.begin(), alone.end());
  return unseen;
}

std::optional<Verdict> rule_not_seen(const Case& facts) {
  const Wait* const shown = longest_unseen(facts);
  if (shown == nullptr) return std::nullopt;
  const Communicator& comm = facts.view.comms()[shown->comm];
  Verdict verdict;
  verdict.finding = Finding::kUndecided;
  verdict.confidence = Confidence::kNone;
  verdict.comm = comm.key;
  verdict.group = facts.view.group_name(comm);
  verdict.ordinal = shown->ordinal;
  verdict.signature = facts.view.signature(comm, shown->ordinal).value_or(shown->signature);
  verdict.lasting = age_to_tell(facts, shown->age);
  const std::vector<std::uint32_t> waiting = all_waiting(facts);
  verdict.victims = global_ranks(facts.view, waiting);
  const std::string operation = operation_text(facts.view, comm, shown->ordinal, verdict.signature);
  Ranks ranks = unseen_members(facts, comm);
  Ranks culprits;
  if (comm.uncounted == 1) culprits = ranks;
  bool is_here = true;  // all of them are members
  std::vector<std::uint32_t> others;  // without a record either, but no rank waits for them
  if (facts.view.fleet().at_rest) {
    Unseen unseen = unseen_suspects(facts);
    // If many files are missing, a missing one proves nothing about its rank.
    const bool is_few = unseen.possible.size() * 4 <= facts.view.rank_count();
    culprits = is_few ? std::move(unseen.possible) : std::move(unseen.certain);
    is_here = std::ranges::includes(ranks, culprits);
    if (!culprits.empty()) ranks = culprits;
    if (is_few && !culprits.empty()) others = without_any_record(facts, culprits);
  }
  if (ranks.empty()) {
    verdict.sentence = fmt::format("{} members of {} have no record", comm.uncounted, operation);
  } else {
    verdict.sentence =
        fmt::format("{} of {}{}", have_no_record(ranks), operation, is_here ? "" : " and others");
  }
  if (!culprits.empty()) {
    verdict.finding = Finding::kNeverEntered;
    verdict.confidence = Confidence::kInferred;
    std::vector<std::uint32_t> ats;
    for (const base::Rank rank : culprits) {
      if (const std::optional<std::uint32_t> at = facts.view.find(rank)) ats.push_back(*at);
    }
    verdict.nodes = nodes_of(facts.view, ats);
    verdict.culprits = std::move(culprits);
  }
  verdict.sentence +=
      fmt::format("; {} {}{}", waiting.size(), waiting.size() > 1 ? "ranks wait" : "rank waits",
                  for_text(verdict.lasting));
  name_further(facts, std::move(others), "has no record either", "have no record either", verdict);
  if (!verdict.culprits.empty()) add_halted(facts, verdict);
  return verdict;
}

}  // namespace robustrun::tracer
