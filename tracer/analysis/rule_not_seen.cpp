// The last resort of R2: everybody who is seen is inside, and one member is not seen. It is named
// as a suspicion; two or more are not told apart.

#include <fmt/format.h>

#include <algorithm>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

std::vector<base::Rank> not_seen(const Case& facts, const Communicator& comm) {
  std::vector<base::Rank> ranks = facts.view.missing_members(comm);
  for (const Member& member : comm.members) {
    if (!member.counts) ranks.push_back(facts.view.rank(member.at).rank);
  }
  std::ranges::sort(ranks);
  return ranks;
}

}  // namespace

std::optional<Verdict> rule_not_seen(const Case& facts) {
  if (facts.graph.unseen().empty()) return std::nullopt;
  const Wait* shown = nullptr;
  for (const Wait& wait : facts.graph.waits()) {  // the longest first
    if (!std::ranges::binary_search(facts.graph.unseen(), wait.comm)) continue;
    shown = &wait;
    break;
  }
  if (shown == nullptr) return std::nullopt;
  const Communicator& comm = facts.view.comms()[shown->comm];
  const std::vector<base::Rank> ranks = not_seen(facts, comm);
  Verdict verdict;
  verdict.finding = Finding::kUndecided;
  verdict.confidence = Confidence::kNone;
  verdict.comm = comm.key;
  verdict.group = facts.view.group_name(comm);
  verdict.ordinal = shown->ordinal;
  verdict.signature = facts.view.signature(comm, shown->ordinal).value_or(shown->signature);
  verdict.lasting = shown->age;
  const std::vector<std::uint32_t> waiting = all_waiting(facts);
  verdict.victims = global_ranks(facts.view, waiting);
  const std::string operation = operation_text(facts.view, comm, shown->ordinal, verdict.signature);
  std::vector<std::uint32_t> numbers;
  for (const base::Rank rank : ranks) numbers.push_back(rank.value);
  if (comm.uncounted == 1 && numbers.size() == 1) {
    verdict.finding = Finding::kNeverEntered;
    verdict.confidence = Confidence::kInferred;
    verdict.culprits = ranks;
    const std::optional<std::uint32_t> at = facts.view.find(ranks.front());
    if (at) verdict.nodes = nodes_of(facts.view, {*at});
    verdict.sentence = fmt::format("rank {} has no record of {}", numbers.front(), operation);
  } else if (numbers.empty()) {
    verdict.sentence = fmt::format("{} members of {} have no record", comm.uncounted, operation);
  } else {
    verdict.sentence = fmt::format("ranks {} have no record of {}", list_text(numbers), operation);
  }
  verdict.sentence +=
      fmt::format("; {} {}{}", waiting.size(), waiting.size() > 1 ? "ranks wait" : "rank waits",
                  for_text(verdict.lasting));
  return verdict;
}

}  // namespace robustrun::tracer
