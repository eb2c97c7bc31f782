// The policy in words: `robustrun policy`.

#include <fmt/format.h>

#include "base/core/text.h"
#include "base/core/words.h"
#include "cli/options/values.h"
#include "cli/tables/policy_file.h"

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
    case FirstAction::kTolerate: return "something may pass: networks, services (tolerate)";
    case FirstAction::kRestart: return "a new start may do (restart)";
    case FirstAction::kRollBack: return "the script or its data is to blame (roll back)";
    case FirstAction::kCheck: return "it is not clear who is to blame (check)";
    case FirstAction::kGiveUp: return "no restart can help (give up)";
    case FirstAction::kReplay: return "the job computes something wrong (replay)";
  }
  return "";
}

std::string step_in_words(Step step, const Policy& policy) {
  switch (step) {
    case Step::kRestart: return "start again";
    case Step::kEvict:
      return "take the machine to blame out, if the run can do without it, and start again";
    case Step::kCheck:
      return fmt::format("check all nodes ({}), leave out who is unfit, and start again",
                         policy.check == PreflightDepth::kGpu ? "GPUs at work"
                         : policy.check == PreflightDepth::kFast
                             ? "what takes no time"
                             : "speed of processors and links too");
    case Step::kRollBack: return "go back to the version before the last update, and start again";
    case Step::kGiveUp: return "end the run";
    case Step::kReplay:
      return "replay on groups of nodes, in two phases, take out the node that fails in both, and "
             "start again";
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
      "When steps have become slower and a machine is named for it, {} looks at all workers, one "
      "every {}, are compared: who is named in more than half of them is replaced {} later, if a "
      "spare is there and the time that is left (--time-limit, --stop-after-steps; else {}) times "
      "the share that is lost is more than the median restart of this run has cost (without one: "
      "{}).\n",
      slow.rounds, duration_in_words(slow.every), duration_in_words(slow.drain_within),
      duration_in_words(slow.assumed_remaining), duration_in_words(slow.assumed_price));
}

}  // namespace

std::string policy_text(const Policy& policy) {
  if (!policy.is_on()) return "Every failure is answered by a restart (--compat=torchrun).\n";
  std::string out;
  for (const supervisor::Ladder& ladder : policy.ladders) {
    out += fmt::format("If {}:\n", faults_in_words(ladder.action));
    for (std::size_t i = 0; i < ladder.rungs.size(); ++i) {
      out += fmt::format("  {}. {}\n", i + 1, rung_in_words(ladder.rungs[i], policy));
    }
  }
  out += fmt::format(
      "A step that cannot be taken is passed over. Restarts are bounded by --max-restarts. After "
      "{} of "
      "progress the ladders are climbed from below again.\n\n",
      duration_in_words(policy.forgotten_after));
  out += fmt::format(
      "While workers run, a machine is evicted at once when it says that it is broken, and when it "
      "has "
      "something that may pass more than {} times within {}.\n",
      policy.tolerated, duration_in_words(policy.tolerated_within));
  out += fmt::format(
      "One that is surely broken, that the run needs and that no spare can replace is started on "
      "once "
      "more; when it fails again within {} it is evicted and another one is waited for "
      "(--wait-for-nodes). While a run waits, hosts that were left out are tested again.\n",
      duration_in_words(policy.blamed_within));
  if (policy.blamed > 0) {
    out += fmt::format(
        "{} failures within {} that were traced to a machine, and not to the script, evict it if a "
        "spare is there.\n",
        policy.blamed, duration_in_words(policy.blamed_within));
  }
  for (const auto& [what, acts] : {std::pair("is not a number", policy.acts_on_nan),
                                   std::pair("jumps", policy.acts_on_jump)}) {
    if (!acts) continue;
    out += fmt::format("A loss or gradient norm that {} ends the attempt, {} in a run.\n", what,
                       base::counted(policy.alarms_acted_on, "time"));
  }
  if (policy.poison_after > 0) {
    out += fmt::format(
        "A checkpoint from which the job went on and failed within {} steps, {}, and not "
        "through a machine, is set aside: the next older one is taken. So it is at once when a "
        "number "
        "of the job goes wrong within these steps and that is acted on.\n",
        policy.poison_steps, base::counted(policy.poison_after, "time"));
  }
  out += fmt::format("What a machine says of itself explains failures of the next {}.\n",
                     duration_in_words(policy.suspected_for));
  if (policy.slow.rounds > 0) out += slow_in_words(policy.slow);
  return out;
}

}  // namespace robustrun::cli
