// R1b: a rank's process is frozen from outside: SIGSTOP, a debugger, its cgroup.

#include <fmt/format.h>

#include <algorithm>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

std::string state_of(const RankSnapshot& rank) {
  const ProcessState& process = rank.evidence.process;
  if (!rank.evidence.has_process || process.state.empty()) return "";
  if (process.frozen) return " (frozen by its cgroup)";
  return process.state == "t" ? " (state t: a debugger holds it)"
                              : fmt::format(" (state {})", process.state.substr(0, 1));
}

// A stopped rank may leave no fresh record. Whether the stopped ranks are all that some operation
// lacks.
bool lacks_only(const Case& facts, const std::vector<Blame>& stopped) {
  std::vector<base::Rank> ranks;
  for (const Blame& blame : stopped) ranks.push_back(facts.view.rank(blame.at).rank);
  std::ranges::sort(ranks);
  return std::ranges::any_of(facts.graph.waits(), [&](const Wait& wait) {
    const auto unseen = unseen_members(facts, facts.view.comms()[wait.comm]);
    return !wait.has_edges && !unseen.empty() && std::ranges::includes(ranks, unseen);
  });
}

}  // namespace

std::optional<Verdict> rule_stopped(const Case& facts) {
  if (facts.graph.waits().empty()) return std::nullopt;
  std::vector<Blame> stopped;
  for (const Blame& blame : facts.graph.blames()) {
    if (blame.guilt == Guilt::kStopped) stopped.push_back(blame);
  }
  const bool is_waited_for = !stopped.empty();
  if (!is_waited_for) stopped = unplaced(facts, Guilt::kStopped);
  if (stopped.empty()) return std::nullopt;
  Accusation made = accuse(facts, Finding::kStopped, stopped);
  if (is_waited_for || lacks_only(facts, stopped)) {
    made.verdict.confidence = Confidence::kExact;
  }
  made.verdict.is_moving = false;
  const std::string state =
      made.is_plural() ? "" : state_of(facts.view.rank(made.culprits.front()));
  made.verdict.sentence =
      fmt::format("{} {} stopped{}", made.named, made.choose("is", "are"), state);
  if (!is_waited_for) {
    made.victims = all_waiting(facts);
    made.verdict.victims = global_ranks(facts.view, made.victims);
    made.verdict.lasting = facts.graph.longest_wait();
  }
  if (!made.operation.empty()) {
    made.verdict.sentence +=
        fmt::format("; others are in {}{}", made.operation, for_text(made.age));
  }
  made.verdict.sentence += waiting_text(facts, made);
  return made.verdict;
}

}  // namespace robustrun::tracer
