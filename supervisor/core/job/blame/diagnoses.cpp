#include "supervisor/core/job/blame/diagnoses.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "supervisor/core/fault/failure_signature.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::supervisor {
namespace {

// "45 s", "9 min 45 s", never less than the time itself.
std::string time_in_words(base::Nanos duration) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(duration).count();
  if (seconds < 100) return fmt::format("{} s", seconds);
  return fmt::format("{} min {} s", seconds / 60, seconds % 60);
}

std::string in_words(const tracer::Verdict& verdict) {
  if (verdict.finding == tracer::Finding::kNotEnded) return verdict.sentence;
  return fmt::format("{}: {}", is_slowness(verdict.finding) ? "slow" : "hang", verdict.sentence);
}

std::vector<std::string> runner_up(const tracer::Verdict& verdict) {
  if (verdict.runner_up.finding == tracer::Finding::kNothing) return {};
  return {"else: " + verdict.runner_up.sentence};
}

// "; will be confirmed in 45 s unless it moves"
std::string outlook_in_words(const Diagnosed& what) {
  using Outlook = Diagnosed::Outlook;
  const std::string in = time_in_words(what.acts_in);
  const bool is_one = what.verdict.culprits.size() == 1;
  const bool is_none = what.verdict.culprits.empty();
  const char* const it_moves = is_one ? "it moves" : is_none ? "something moves" : "they move";
  const char* const it_stops = is_one    ? "it stops moving"
                               : is_none ? "nothing moves any more"
                                         : "they stop moving";
  switch (what.outlook) {
    case Outlook::kUntold: return "";
    case Outlook::kIfStill: return fmt::format("; will be confirmed in {} unless {}", in, it_moves);
    case Outlook::kForSure:
      return fmt::format("; will be confirmed in {}: it cannot resolve itself", in);
    case Outlook::kByTimeout:
      return fmt::format(
          "; the attempt ends in {} unless the hang is over by then (--hang-timeout)", in);
    case Outlook::kWhileMoves:
      return fmt::format("; {}: the attempt ends in {} (--hang-timeout), or sooner if {}", it_moves,
                         in, it_stops);
    case Outlook::kNoSteps:
      return "; nothing is done about it, as the script has reported too few steps";
    case Outlook::kExitHandlers:
      return "; nothing is done about it, as its exit handlers may still save or upload something";
    case Outlook::kEndsProcess:
      return fmt::format("; will be ended in {} unless {} (--hang-timeout)", in, it_moves);
    case Outlook::kLeftAlone: return "; nothing is done about it (--hang-timeout=0)";
  }
  return "";
}

// The lines of the script at which ranks hold up the others, or wait for each other; empty where
// the cause is a device, a link or a stopped process.
std::string script_line_of(const tracer::Verdict& verdict) {
  using tracer::Finding;
  constexpr std::array kInTheScript = {Finding::kNeverEntered, Finding::kInputStall,
                                       Finding::kLongPhase, Finding::kGroupFailure,
                                       Finding::kUndecided};
  const bool is_in_script = std::ranges::find(kInTheScript, verdict.finding) != kInTheScript.end();
  return is_in_script ? verdict.script_line : "";
}

// Ranks that call different collectives will do so again: the script is to blame. All other
// findings leave that open.
bool is_the_scripts(tracer::Finding finding) {
  return finding == tracer::Finding::kMismatch || finding == tracer::Finding::kOrderInversion;
}

Classification looks(const tracer::Verdict& verdict, const std::vector<FaultRow>& rows) {
  const char* const found = is_the_scripts(verdict.finding) ? "mismatch"
                            : is_slowness(verdict.finding)  ? "slow"
                                                            : "hang";
  return classify_finding(found, fmt::format("\"{}\"", verdict.sentence), rows);
}

}  // namespace

void Diagnoses::diagnosed(const Event& event) {
  const auto& what = body<Diagnosed>(event);
  switch (what.stage) {
    case Diagnosed::Stage::kSuspected: return suspect(what);
    case Diagnosed::Stage::kPassed:
      if (is_slowness(what.verdict.finding)) return slow_.pass(in_words(what.verdict));
      places_.forget(what.verdict.script_line);
      return orders_.decide(Rule::kHangPassed, "the hang is over: it resolved itself",
                            {in_words(what.verdict)});
    case Diagnosed::Stage::kConvicted: return convict(what.verdict);
    case Diagnosed::Stage::kPostMortem: return;  // too late: the workers run again
    case Diagnosed::Stage::kRound: return slow_.hear_round(what);
  }
}

// In a job that has become slower, a rank that is late by a second looks like one that never comes:
// so a suspected hang may also begin a vote.
void Diagnoses::suspect(const Diagnosed& what) {
  std::vector<std::string> evidence = what.verdict.evidence;
  std::string next = slow_.begin_vote(what);
  if (!next.empty()) evidence.push_back(std::move(next));
  const bool is_slow = is_slowness(what.verdict.finding);
  orders_.decide(is_slow ? Rule::kSlow : Rule::kHangSuspected,
                 in_words(what.verdict) + outlook_in_words(what), std::move(evidence),
                 runner_up(what.verdict),
                 is_slow ? std::optional(looks(what.verdict, spec_.faults)) : std::nullopt);
}

// Their scripts and exit handlers are over, so that nothing is lost with these processes.
void Diagnoses::end_lingering(const tracer::Verdict& verdict) {
  std::vector<base::Rank> left;  // some may have ended since the look
  for (const base::Rank rank : verdict.culprits) {
    const bool is_ours = rank.value < group_.plan().world_size();
    if (is_ours && !workers_.has_ended(rank)) left.push_back(rank);
  }
  if (left.empty() || workers_.succeeded() + left.size() != group_.plan().world_size()) return;
  const bool is_one = left.size() == 1;
  const std::string which =
      is_one ? fmt::format("rank {}", left.front().value) : fmt::format("{} of them", left.size());
  moves_.succeed(fmt::format("; {} did not end by {} and {} stopped", which,
                             is_one ? "itself" : "themselves", is_one ? "is" : "are"),
                 verdict.evidence);
}

void Diagnoses::convict(const tracer::Verdict& verdict) {
  if (verdict.finding == tracer::Finding::kNotEnded) return end_lingering(verdict);
  Fault fault =
      infrastructure_fault(Rule::kHangConvicted, in_words(verdict), moves_.context(group_.front()));
  fault.words += "; confirmed";
  fault.script_line = script_line_of(verdict);
  if (!fault.script_line.empty()) fault.hangs_there = places_.note(fault.script_line);
  const bool came_back = fault.hangs_there > 1;
  if (is_the_scripts(verdict.finding) || came_back) {
    fault.fault_class = FaultClass::kUser;
    fault.exit_code = kExitFailure;
    fault.signature =
        came_back ? "hang in " + fault.script_line : std::string(to_string(verdict.finding));
  }
  fault.looks_like = came_back
                         ? classify_finding("returning hang",
                                            fmt::format("\"{}\"", verdict.sentence), spec_.faults)
                         : looks(verdict, spec_.faults);
  const bool is_early_end = early_ends_.explain(fault, verdict);
  for (const base::Rank rank : verdict.culprits) {
    if (is_early_end) break;
    if (rank.value >= group_.plan().world_size()) continue;
    const base::NodeId node = group_.plan().node_of[rank.value];
    if (std::ranges::find(fault.nodes, node) == fault.nodes.end()) fault.nodes.push_back(node);
  }
  moves_.break_down(std::move(fault), {.evidence = verdict.evidence});
}

// The rank that called another collective than the others is to blame, not the one that failed.
void Diagnoses::explain(Outage& outage, const tracer::Verdict& verdict) {
  if (is_the_scripts(verdict.finding) && outage.root.fault_class == FaultClass::kUser) {
    const std::string finding(to_string(verdict.finding));
    outage.explain(Rule::kMismatch, finding + ": " + verdict.sentence, finding);
    outage.looks_like = outage.said = looks(verdict, spec_.faults);
    orders_.decide(Rule::kMismatch, outage.root.words, verdict.evidence, runner_up(verdict),
                   outage.looks_like);
  } else {
    early_ends_.name_operation(outage, verdict);
  }
}

}  // namespace robustrun::supervisor
