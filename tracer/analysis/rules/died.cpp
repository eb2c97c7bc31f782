// R1: a rank has ended and others wait for it. After a failure, when the waiting ranks have ended
// too (rule_ended_early): a rank exited with code 0 before an operation that others had entered.

#include <fmt/format.h>

#include <algorithm>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

struct End {
  std::string verb;  // "was killed by SIGKILL", "died"
  std::string cause;  // "its node is lost"; mostly empty
};

End end_of(const Case& facts, const Accusation& made) {
  const auto text_of = [&](std::uint32_t at) {
    return facts.view.rank(at).end.substr(0, kNameBytes);
  };
  const std::string end = text_of(made.culprits.front());
  const bool differ =
      std::ranges::any_of(made.culprits, [&](std::uint32_t at) { return text_of(at) != end; });
  const std::string ended = made.choose("has ended", "have ended");
  if (differ || end.empty()) return {ended, ""};
  if (end.starts_with("killed")) return {made.choose("was ", "were ") + end, ""};
  if (end.starts_with("exit")) return {ended + " (" + end + ")", ""};
  return {"died", end};
}

// The operation that the rank was inside when it died, or had not reached.
std::string where_it_ended(const Case& facts, const Blame& blame, const Accusation& made) {
  if (made.operation.empty()) return "";
  for (const Member& member : facts.view.comms()[blame.comm].members) {
    if (member.at != blame.at || !member.counts) continue;
    const bool was_inside = member.place != Place::kAbsent && member.ordinal == blame.ordinal;
    return (was_inside ? " in " : " before ") + made.operation;
  }
  return "; others are in " + made.operation;
}

}  // namespace

std::optional<Verdict> rule_died(const Case& facts) {
  if (facts.graph.waits().empty()) return std::nullopt;
  std::vector<Blame> dead;
  for (const Blame& blame : facts.graph.blames()) {
    if (blame.guilt == Guilt::kDead) dead.push_back(blame);
  }
  const bool is_waited_for = !dead.empty();
  if (!is_waited_for) dead = unplaced(facts, Guilt::kDead);
  if (dead.empty()) return std::nullopt;
  Accusation made = accuse(facts, Finding::kDied, dead);
  if (is_waited_for) made.verdict.confidence = Confidence::kExact;
  made.verdict.is_moving = false;
  if (!is_waited_for) made.verdict.lasting = facts.graph.longest_wait();
  const End end = end_of(facts, made);
  made.verdict.sentence = made.named + " " + end.verb + where_it_ended(facts, dead.front(), made);
  if (!end.cause.empty()) made.verdict.sentence += ": " + end.cause;
  made.verdict.sentence += waiting_text(facts, made);
  if (!is_waited_for) {
    const std::vector<std::uint32_t> waiting = all_waiting(facts);
    made.verdict.victims = global_ranks(facts.view, waiting);
    made.verdict.sentence += fmt::format("; {} communicators are unknown, {} ranks wait",
                                         made.choose("its", "their"), waiting.size());
  }
  return made.verdict;
}

std::optional<Verdict> rule_ended_early(const Case& facts) {
  for (const Wait& wait : facts.graph.waits()) {
    const Communicator& comm = facts.view.comms()[wait.comm];
    const auto has_left = [&](const Member& member, std::uint64_t ordinal) {
      return facts.view.rank(member.at).ended_well && member.view->entered < ordinal;
    };
    std::vector<std::uint32_t> ended;
    for (const Member& member : comm.members) {
      if (has_left(member, wait.ordinal)) ended.push_back(member.at);
    }
    // A rank that left no record may be the unseen member.
    const bool is_seen = !ended.empty();
    for (std::uint32_t at = 0; at < facts.view.rank_count() && !is_seen; ++at) {
      const RankSnapshot& rank = facts.view.rank(at);
      const bool is_blank =
          std::ranges::none_of(rank.comms, [](const Membership& one) { return one.entered > 0; });
      if (rank.ended_well && is_blank && comm.uncounted > 0) ended.push_back(at);
    }
    if (ended.empty()) continue;
    std::vector<std::uint32_t> waiting;
    for (const Wait& one : facts.graph.waits()) {
      const bool misses_one =
          !is_seen || std::ranges::any_of(comm.members, [&](const Member& member) {
            return has_left(member, one.ordinal);
          });
      if (one.comm == wait.comm && misses_one) waiting.push_back(one.at);
    }
    std::ranges::sort(waiting);
    waiting.erase(std::ranges::unique(waiting).begin(), waiting.end());
    Verdict verdict;
    verdict.finding = Finding::kDied;
    verdict.confidence = Confidence::kMajority;
    verdict.culprits = global_ranks(facts.view, ended);
    verdict.nodes = nodes_of(facts.view, ended);
    verdict.victims = global_ranks(facts.view, waiting);
    verdict.comm = comm.key;
    verdict.group = facts.view.group_name(comm);
    verdict.ordinal = wait.ordinal;
    verdict.signature = wait.signature;
    if (verdict.signature.kind == OpKind::kUnknown) {
      verdict.signature = facts.view.signature(comm, wait.ordinal).value_or(Signature{});
    }
    verdict.sentence =
        fmt::format("{} ended with exit code 0 before {}", ranks_text(facts.view, ended),
                    operation_text(facts.view, comm, wait.ordinal, verdict.signature));
    return verdict;
  }
  return std::nullopt;
}

}  // namespace robustrun::tracer
