#include "cli/text/policy_text.h"

#include <fmt/format.h>

#include "base/core/text.h"
#include "base/core/words.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using supervisor::FirstAction;
using supervisor::Policy;
using supervisor::PreflightDepth;
using supervisor::Rung;
using supervisor::Step;

const char* faults_in_words(FirstAction action) {
  switch (action) {
    case FirstAction::kEvict: return "a machine is broken (evict)";
    case FirstAction::kTolerate: return "the fault may be transient: networks, services (tolerate)";
    case FirstAction::kRestart: return "a restart may suffice (restart)";
    case FirstAction::kRollBack: return "the script or its data is to blame (roll back)";
    case FirstAction::kCheck: return "the culprit is unknown (check)";
    case FirstAction::kGiveUp: return "no restart can help (give up)";
    case FirstAction::kReplay: return "the job computes wrong results (replay)";
  }
  return "";
}

std::string step_in_words(Step step, const Policy& policy) {
  switch (step) {
    case Step::kRestart: return "restart";
    case Step::kEvict:
      return "evict the machine to blame, if the run can do without it, and restart";
    case Step::kCheck:
      return fmt::format("check all nodes ({}), evict the unfit ones, and restart",
                         policy.check == PreflightDepth::kGpu ? "with GPU tests"
                         : policy.check == PreflightDepth::kFast
                             ? "fast checks"
                             : "also speed of processors and links");
    case Step::kRollBack: return "roll back to the version before the last update, and restart";
    case Step::kGiveUp: return "end the run";
    case Step::kReplay:
      return "replay on groups of nodes in two phases, evict the node that fails in both, and "
             "restart";
  }
  return "";
}

std::string rung_in_words(const Rung& rung, const Policy& policy) {
  const std::string words = step_in_words(rung.step, policy);
  if (rung.times == 0) return words;
  return rung.times == 1 ? words + "; once" : fmt::format("{}; {} times", words, rung.times);
}

std::string duration_in_words(base::Nanos time) {
  if (time < std::chrono::minutes(1)) {
    return fmt::format("{:.4g} s", std::chrono::duration<double>(time).count());
  }
  const double minutes = std::chrono::duration<double, std::ratio<60>>(time).count();
  return minutes < 120 ? fmt::format("{:.4g} min", minutes) : fmt::format("{:.4g} h", minutes / 60);
}

std::string slow_in_words(const supervisor::SlowPolicy& slow) {
  return fmt::format(
      "When steps have become slower because of a machine, all workers are compared in {} rounds, "
      "one every {}. A machine that is slow in more than half of them is replaced {} later, if "
      "there "
      "is a spare and the remaining time (--time-limit, --stop-after-steps; else {}) times the "
      "lost "
      "share exceeds the cost of this run's median restart (without a restart: {}).\n",
      slow.rounds, duration_in_words(slow.every), duration_in_words(slow.drain_within),
      duration_in_words(slow.assumed_remaining), duration_in_words(slow.assumed_price));
}

const char* drain_in_words(supervisor::DrainAnswer answer) {
  switch (answer) {
    case supervisor::DrainAnswer::kAtRestart:
      return "is replaced at the next restart, if there is a spare";
    case supervisor::DrainAnswer::kNow:
      return "is replaced at once, after the workers had time to save, if there is a spare";
    case supervisor::DrainAnswer::kSay: return "is only reported";
  }
  return "";
}

}  // namespace

std::string policy_text(const Policy& policy) {
  if (!policy.is_on()) return "Every failure leads to a restart (--compat=torchrun).\n";
  std::string out;
  for (const supervisor::Ladder& ladder : policy.ladders) {
    out += fmt::format("If {}:\n", faults_in_words(ladder.action));
    for (std::size_t i = 0; i < ladder.rungs.size(); ++i) {
      out += fmt::format("  {}. {}\n", i + 1, rung_in_words(ladder.rungs[i], policy));
    }
  }
  out += fmt::format(
      "A step that is impossible is skipped. --max-restarts bounds the restarts. After {} of "
      "progress "
      "each ladder begins at its first step again.\n\n",
      duration_in_words(policy.forgotten_after));
  out += fmt::format(
      "While workers run, a machine is evicted at once if it reports that it is broken, or reports "
      "transient faults more than {} times within {}.\n",
      policy.tolerated, duration_in_words(policy.tolerated_within));
  out += fmt::format(
      "If no spare can replace a broken machine that the run needs, it gets one more start; if it "
      "fails again within {} it is evicted, and the run waits for another one (--wait-for-nodes). "
      "While a run waits, evicted hosts are tested again.\n",
      duration_in_words(policy.blamed_within));
  if (policy.blamed > 0) {
    out += fmt::format(
        "{} failures within {} that are due to a machine, and not to the script, evict it if there "
        "is "
        "a spare.\n",
        policy.blamed, duration_in_words(policy.blamed_within));
  }
  for (const auto& [what, acts] : {std::pair("is not a number", policy.acts_on_nan),
                                   std::pair("jumps", policy.acts_on_jump)}) {
    if (!acts) continue;
    out += fmt::format("A loss or gradient norm that {} ends the attempt, at most {} per run.\n",
                       what, base::counted(policy.alarms_acted_on, "time"));
  }
  if (policy.poison_after > 0) {
    out += fmt::format(
        "A checkpoint is demoted, and the next older one loaded, after the job has failed within "
        "{} "
        "steps of loading it {} without a machine to blame; at once if a loss or gradient norm "
        "ends "
        "the attempt within these steps.\n",
        policy.poison_steps, base::counted(policy.poison_after, "time"));
  }
  if (policy.hang_still > base::Nanos{}) {
    out += fmt::format(
        "A rank for which all others wait, and which only sleeps or waits for a lock in the "
        "script, "
        "is confirmed as hanging after {}.\n",
        duration_in_words(policy.hang_still));
  }
  out += fmt::format("A machine's report about itself explains failures of the next {}.\n",
                     duration_in_words(policy.suspected_for));
  out += fmt::format("A node that the scheduler drains, reboots or maintains {}.\n",
                     drain_in_words(policy.drain));
  if (policy.slow.rounds > 0) out += slow_in_words(policy.slow);
  return out;
}

}  // namespace robustrun::cli
