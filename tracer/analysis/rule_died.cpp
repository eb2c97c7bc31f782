// R1: a rank has ended and others wait for it.

#include <fmt/format.h>

#include <algorithm>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/limits.h"

namespace robustrun::tracer {
namespace {

struct End {
  std::string verb;   // "was killed by SIGKILL", "died"
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
  if (!is_waited_for) dead = unplaced(facts, Guilt::kDead);
  if (dead.empty()) return std::nullopt;
  Accusation made = accuse(facts, Finding::kDied, dead);
  if (is_waited_for) made.verdict.confidence = Confidence::kExact;
  made.verdict.is_moving = false;
  if (!is_waited_for) made.verdict.lasting = facts.graph.longest_wait();
  const End end = end_of(facts, made);
  made.verdict.sentence = made.who + " " + end.verb + where_it_ended(facts, dead.front(), made);
  if (!end.cause.empty()) made.verdict.sentence += ": " + end.cause;
  made.verdict.sentence += waiting_text(facts, made);
  if (!is_waited_for) {
    const std::vector<std::uint32_t> waiting = all_waiting(facts);
    made.verdict.victims = global_ranks(facts.view, waiting);
    made.verdict.sentence += fmt::format("; what {} part in is not known, {} ranks wait",
                                         made.choose("it took", "they took"), waiting.size());
  }
  return made.verdict;
}

}  // namespace robustrun::tracer
