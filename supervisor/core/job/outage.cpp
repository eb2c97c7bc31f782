// From the first fault of an attempt until nothing of it is left: then a restart, or the end.

#include <fmt/core.h>

#include <algorithm>
#include <csignal>

#include "base/core/words.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

// What the next hang in the same line of the script leads to.
std::string hangs_in_words(const Fault& root) {
  if (root.hangs_there == 0) return "";
  if (root.hangs_there == 1) {
    return fmt::format(" (another hang in {} counts as the script's)", root.script_line);
  }
  return fmt::format(" (the hang in {} came back; {} end the run)", root.script_line,
                     kHangsAtLineMax);
}

}  // namespace

void Job::Impl::break_down(Fault fault, std::optional<LookBack> look_back) {
  outage.emplace(std::move(fault));
  // What follows is decided when the group is down, with all evidence; but workers are told by
  // now whether it is a restart, as far as can be seen.
  const bool restart = verdict().restart;
  const bool others_run =
      plan.world_size() > 1 && !outage->is_handover() && outage->root.rule != Rule::kUpdating;
  decide(outage->root.rule, outage->root.words + (others_run ? "; the others are stopped" : ""),
         outage->evidence.lines(), {}, outage->looks_like);
  outage->said = outage->looks_like;
  prices.note_failure(now);
  kill_at = now + spec.deadlines.shutdown_grace;
  save_first = state == JobState::kRunning && outage->is_handover();
  growths = outage->root.rule == Rule::kGroupGrew ? growths + 1 : 0;
  enter(JobState::kStopping);
  if (look_back) {
    outage->explained_by = now + kLookBackMax;
    out.push_back(*std::move(look_back));
  }
  send_stops(SIGTERM, outage->stop_reason(restart));
  arm_stop_timer();
  if (restart) launch_due();
  conclude_if_gone();
}

void Job::Impl::add_fault(Fault fault, bool explains_root) {
  if (!outage->add(std::move(fault), explains_root)) return;
  const Rule rule = outage->root.rule;
  if (rule == Rule::kPortConflict || rule == Rule::kAgentLost || rule == Rule::kNodeLeft) {
    decide(rule, outage->root.words, outage->evidence.lines());
  }
}

// Peers of a machine that goes often fail before that is known here: their own words say so, or
// they failed, of nothing that is clear, after its last word.
bool JobQuestions::explains_root(base::NodeId lost, std::optional<base::Nanos> last_word) const {
  const Fault& root = outage->root;
  if (!spec.policy.is_on() || root.rule != Rule::kWorkerFailed) return false;
  if (root.looks_like && root.looks_like->sequel) return true;
  const bool is_clear = root.looks_like && root.looks_like->confidence == Confidence::kHigh;
  const bool is_its_own = std::ranges::find(root.nodes, lost) != root.nodes.end();
  return !is_clear && !is_its_own && last_word && unix_seconds(*last_word) <= root.time_s;
}

void Job::Impl::worker_exited_stopping(const Event& event) {
  const auto& exited = body<WorkerExited>(event);
  if (!note_ended(exited.rank) || exited.ended_well()) return;
  if (asks_not_to_requeue(exited, spec.compat)) return do_not_requeue(event);
  if (exited.stopped_by_us) return;
  Fault fault = worker_fault(exited, context(event.node));
  if (is_lost_at_end(exited) && !lost_at_end) lost_at_end = fault.exit_code;
  add_fault(std::move(fault));
}

void Job::Impl::start_failed_stopping(const Event& event) {
  const auto& failed = body<WorkerStartFailed>(event);
  if (note_ended(failed.rank)) add_fault(start_fault(failed, context(event.node)));
}

void Job::Impl::workers_gone_stopping(const Event& event) {
  if (note_gone(event.node, body<WorkersGone>(event))) conclude_if_gone();
}

void Job::Impl::stop_overdue(const Event&) {
  outage->explained_by.reset();  // not in time either
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const base::NodeId node{i};
    if (at(node).gone) continue;
    drop_agent(node, "it did not stop its workers in time", true);
    // Whoever has the place next: its workers die with the agent. One that takes no part any more
    // is not started again for that.
    if (spec.nodes[i].volunteer || !at(node).may_work()) {
      out.push_back(DismissAgent{node});
    } else {
      at(node).retry_at = now;
    }
    add_fault(infrastructure_fault(
        Rule::kAgentLost,
        fmt::format("the agent of {} did not stop its workers in time and is replaced", name(node)),
        context(node)));
  }
  conclude_if_gone();
}

OutageVerdict Job::Impl::verdict() const {
  const Fault& root = outage->root;
  const std::uint32_t allowed = budget.policy().max_restarts;
  if (!unkillable.empty()) {
    return {false, Rule::kInfrastructureGivenUp, exit_code_for_infrastructure(spec.compat),
            unkillable.front() + ": nothing is started beside what is left"};
  }
  if (lost_at_end) {
    return {false, Rule::kBudgetExhausted, *lost_at_end,
            "no restart: a script had returned, and training would begin anew"};
  }
  if (root.rule == Rule::kUpdating || (versions.now && versions.is_changing())) {
    return {true, Rule::kRestart, kExitSuccess,
            fmt::format("restart with version {}, not counted", versions.next), false};
  }
  // torchrun has no room for a node that goes without a restart left, unless the group may shrink.
  const bool is_the_end = spec.compat && root.rule == Rule::kNodeLeft &&
                          nodes_there < min_nodes() && !budget.allows(FaultClass::kUser);
  if (is_the_end) {
    return {false, Rule::kBudgetExhausted, root.exit_code,
            fmt::format("no restart: {}, and none is left (--max-restarts)",
                        missing_in_words(nodes_there))};
  }
  if (outage->nothing_failed()) {
    return {true, Rule::kRestart, kExitSuccess, "restart, not counted because nothing failed",
            false};
  }
  if (version_is_to_blame() && !versions.is_changing() && versions.older(false)) {
    return {true, Rule::kRestart, kExitSuccess,
            fmt::format("restart with version {}, not counted", *versions.older(false)), false};
  }
  if (root.fault_class == FaultClass::kPermanent) {
    return {false, Rule::kBudgetExhausted, root.exit_code,
            "no restart: what cannot be run now cannot be run next time"};
  }
  const bool counted = is_counted(root.fault_class);
  if (counted && !made_progress && budget.is_crash_loop(root.signature) && !blames_checkpoint()) {
    if (is_surely_broken()) {
      return {false, Rule::kInfrastructureGivenUp, exit_code_for_infrastructure(spec.compat),
              "no restart: the same failure again, before any progress" + broken_in_words(true)};
    }
    return {false, Rule::kCrashLoop, kExitCrashLoop,
            "no restart: the same failure again, before any progress: " + root.signature};
  }
  if (counted && root.hangs_there >= kHangsAtLineMax && budget.policy().crash_loop_stop) {
    return {false, Rule::kCrashLoop, kExitCrashLoop,
            fmt::format("no restart: the script hangs in {} again and again, {} times now (a wait "
                        "that is meant to be: --hang-timeout=0)",
                        root.script_line, root.hangs_there)};
  }
  if (is_failed_start(root) && !may_start_again(now)) {
    return {false, Rule::kInfrastructureGivenUp, exit_code_for_infrastructure(spec.compat),
            failed_starts_in_words(now, root.words)};
  }
  if (budget.allows(root.fault_class)) {
    return {true, Rule::kRestart, kExitSuccess,
            (counted ? fmt::format("restart {} of {}", budget.used() + 1, allowed)
                     : std::string("restart, not counted because the script is not to blame")) +
                hangs_in_words(root)};
  }
  if (!counted) {
    return {false, Rule::kInfrastructureGivenUp, exit_code_for_infrastructure(spec.compat),
            fmt::format("given up after {} infrastructure faults in a row without progress",
                        budget.used_uncounted() + 1)};
  }
  return {false, Rule::kBudgetExhausted, root.exit_code,
          (allowed == 0 ? std::string("no restart: none is allowed (--max-restarts)")
                        : fmt::format("no restart left: {} of {} used", budget.used(), allowed)) +
              broken_in_words(true)};
}

void Job::Impl::conclude_if_gone() {
  if (!all_gone()) return;
  // It decides whose failure this was.
  if (outage->explained_by && now < *outage->explained_by) {
    return set_timer(TimerId::kState, *outage->explained_by);
  }
  attribute();
  StepChoice next;
  if (verdict().is_spent) next = next_step();
  if (outage->root.rule == Rule::kSlowEvicted && eviction_obstacle(outage->nodes, false).empty()) {
    next.step = Step::kEvict;
  }
  if (next.step == Step::kEvict) outage->root.fault_class = FaultClass::kInfrastructure;
  const OutageVerdict last = verdict();
  std::vector<std::string> evidence = outage->evidence.lines();
  evidence.insert(evidence.end(), unkillable.begin(), unkillable.end());
  // Said again only if what came later changed it.
  std::optional<Classification> looks_like = outage->looks_like;
  if (looks_like == outage->said) looks_like.reset();
  if (!last.restart) {
    decide(last.rule, last.text, std::move(evidence), {}, std::move(looks_like));
    ending = {last.rule, last.exit_code};
    save_held_copies();
    return finish();
  }
  if (next.step == Step::kGiveUp) return give_up_by_policy(std::move(next), std::move(evidence));
  if (version_is_to_blame()) {
    versions.all[versions.present].failed = true;
    if (!last.is_spent && !versions.is_changing()) roll_back(outage->root.words);
  }
  const bool is_stuck =
      std::ranges::find(next.passed, "evict: " + eviction_obstacle(outage->nodes, true)) !=
      next.passed.end();
  const std::string broken = is_stuck ? broken_in_words(false) : std::string();
  take_step(next.step);
  judge_checkpoint();
  const base::Nanos delay = last.is_spent ? restart_delay() : base::Nanos{};
  next.passed.push_back(fmt::format("end the run: {} of {} restarts were used before",
                                    budget.used(), budget.policy().max_restarts));
  std::string text = fmt::format("{}: starting {} again", last.text, workers_in_words());
  const bool lacks_one = next.step == Step::kEvict || outage->root.rule == Rule::kNodeLeft;
  if (lacks_one && nodes_there < min_nodes()) {
    text += " when a node is there";
  } else if (delay > base::Nanos{}) {
    text += " in " + base::in_seconds(delay);
  }
  text += broken;
  decide(Rule::kRestart, std::move(text), std::move(evidence), std::move(next.passed),
         std::move(looks_like));
  if (is_failed_start(outage->root)) budget.note_failed_start(now);
  if (last.is_spent) {
    budget.spend(outage->root.fault_class, made_progress ? std::string() : outage->root.signature);
  }
  outage.reset();
  ++attempt.value;
  launch_due();
  wait_before_restart(delay);
}

void Job::Impl::give_up_by_policy(StepChoice last, std::vector<std::string> evidence) {
  const Fault& root = outage->root;
  const Rule rule =
      is_counted(root.fault_class) ? Rule::kBudgetExhausted : Rule::kInfrastructureGivenUp;
  decide(rule, fmt::format("no restart: it would not help ({})", outage->looks_like->name),
         std::move(evidence), std::move(last.passed));
  ending = {rule, root.exit_code};
  save_held_copies();
  finish();
}

base::Nanos JobQuestions::restart_delay() const {
  return budget.delay(base::Rng(seed + attempt.value).next());
}

}  // namespace robustrun::supervisor
