// R1: a rank has ended and others wait for it.

#include <fmt/format.h>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/limits.h"

namespace robustrun::tracer {
namespace {

std::string how_it_ended(const Case& facts, const Accusation& made) {
  const std::string end = facts.view.rank(made.culprits.front()).end.substr(0, kNameBytes);
  for (const std::uint32_t at : made.culprits) {
    if (facts.view.rank(at).end.substr(0, kNameBytes) != end) return "have ended";
  }
  if (end.empty()) return made.choose("has ended", "have ended");
  if (end.starts_with("killed")) return made.choose("was ", "were ") + end;
  if (end.starts_with("exit")) return made.choose("has ended (", "have ended (") + end + ")";
  return "died: " + end;
}

// The operation that it was in when it died, or did not come to any more.
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
  for (std::uint32_t at = 0; !is_waited_for && at < facts.view.rank_count(); ++at) {
    if (!facts.view.is_dead(at) || !facts.view.memberships(at).empty()) continue;
    Blame unknown;
    unknown.at = at;
    unknown.guilt = Guilt::kDead;
    unknown.age = base::Nanos{-1};
    dead.push_back(unknown);
  }
  if (dead.empty()) return std::nullopt;
  Accusation made = accuse(facts, Finding::kDied, dead);
  if (is_waited_for) made.verdict.confidence = Confidence::kExact;
  made.verdict.is_moving = false;
  if (!is_waited_for) made.verdict.lasting = facts.graph.longest_wait();
  made.verdict.sentence = made.who + " " + how_it_ended(facts, made) +
                          where_it_ended(facts, dead.front(), made) + waiting_text(facts, made);
  if (!is_waited_for) {
    const std::vector<std::uint32_t> waiting = all_waiting(facts);
    made.verdict.victims = global_ranks(facts.view, waiting);
    made.verdict.sentence += fmt::format("; what {} part in is not known, {} ranks wait",
                                         made.choose("it took", "they took"), waiting.size());
  }
  return made.verdict;
}

}  // namespace robustrun::tracer
