// The life of the workers: exits, progress, success.

#include <fmt/core.h>

#include <algorithm>
#include <csignal>

#include "base/core/text.h"
#include "base/core/words.h"
#include "supervisor/core/fault/fault_class.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/core/types/limits.h"
#include "supervisor/core/types/metric_alarm.h"

namespace robustrun::supervisor {
namespace {

std::string last_words(const WorkerExited& exited) {
  std::string words = base::join(exited.stderr_tail, "\n");
  const std::size_t size = std::min(words.size(), kLastWordsBytesMax);
  return words.substr(words.size() - size);
}

}  // namespace

bool Job::Impl::note_seen(base::Rank rank) {
  WorkerState& worker = workers[rank.value];
  if (worker != WorkerState::kAbsent) return false;
  worker = WorkerState::kAlive;
  ++seen_workers;
  return true;
}

bool Job::Impl::note_ended(base::Rank rank) {
  note_seen(rank);
  WorkerState& worker = workers[rank.value];
  if (worker == WorkerState::kEnded) return false;
  worker = WorkerState::kEnded;
  ++at(plan.node_of[rank.value]).ended;
  return true;
}

bool Job::Impl::note_gone(base::NodeId node, const WorkersGone& what) {
  if (at(node).gone) return false;
  at(node).gone = true;
  --running_nodes;
  if (what.saving) copies.goes_on({node, at(node).generation}, what.attempt, 0);
  for (const std::string& process : what.unkillable) {
    if (unkillable.size() == kEvidenceMax) break;
    unkillable.push_back(fmt::format("{} on {} cannot be killed", process, name(node)));
  }
  return true;
}

void Job::Impl::worker_exited(const Event& event) {
  const auto& exited = body<WorkerExited>(event);
  if (!note_ended(exited.rank)) return;
  if (exited.ended_well()) {
    if (!exited.status().success()) {
      Fault late = worker_fault(exited, context(event.node));
      decide(Rule::kLateCrash, late.words + ": counts as exit code 0", {}, {},
             std::move(late.looks_like));
    }
    note_ended_well(exited);
    return worker_succeeded();
  }
  if (asks_not_to_requeue(exited, spec.compat)) return do_not_requeue(event);
  Fault fault = worker_fault(exited, context(event.node));
  if (is_lost_at_end(exited)) {
    // The others are left alone: they have come as far, or will fail without this one.
    if (!lost_at_end) lost_at_end = fault.exit_code;
    decide(Rule::kWorkerFailed,
           fault.words + "; a save or an upload under way may be lost, the rest is done",
           {fault.words}, {}, std::move(fault.looks_like));
    return worker_succeeded();
  }
  const bool is_early_end = blame_early_end(fault, exited);
  std::optional<LookBack> look_back;
  if (exited.traced && plan.world_size() > 1 && fault.fault_class == FaultClass::kUser) {
    look_back = LookBack{attempt, exited.rank, last_words(exited)};
  }
  break_down(std::move(fault), std::move(look_back));
  if (outage) outage->lacks_operation = is_early_end && operation_in_traceback(exited).empty();
}

// An agent may report WorkersGone by itself once its last worker is reaped.
void Job::Impl::workers_gone(const Event& event) {
  if (!note_gone(event.node, body<WorkersGone>(event))) return;
  const std::uint32_t vanished = plan.slots(event.node) - at(event.node).ended;
  if (vanished == 0) return;
  break_down(infrastructure_fault(Rule::kWorkerFailed,
                                  fmt::format("{} of {} vanished: their end was never reported",
                                              base::counted(vanished, "worker"), name(event.node)),
                                  context(event.node)));
}

void Job::Impl::worker_succeeded() {
  if (++succeeded_workers < plan.world_size()) return check_all_started();
  succeed();
}

void Job::Impl::succeed(const std::string& note, std::vector<std::string> evidence) {
  if (lost_at_end) {
    decide(Rule::kBudgetExhausted, "no restart: all scripts had returned");
    return end_run({Rule::kBudgetExhausted, *lost_at_end}, SIGTERM,
                   std::min(kLeftoverGrace, spec.deadlines.shutdown_grace));
  }
  const std::string all = plan.world_size() == 1
                              ? "the worker finished"
                              : fmt::format("all {} workers finished", plan.world_size());
  decide(Rule::kSucceeded, all + note, std::move(evidence));
  end_run({Rule::kSucceeded, kExitSuccess}, SIGTERM,
          std::min(kLeftoverGrace, spec.deadlines.shutdown_grace));
}

void Job::Impl::progress(const Event& event) {
  const auto& mark = body<Progress>(event);
  script_runs = script_runs || mark.mark == Progress::Mark::kUserCode;
  const bool first_step = mark.mark == Progress::Mark::kFirstStep;
  if (const auto lost = mark.step ? trail.take(mark.steps, *mark.step) : std::nullopt) {
    decide(Rule::kNotResumed, fmt::format("the script did not resume: step 0 after {}", *lost), {},
           {"resume from a checkpoint: the script has loaded none, or saved none"});
  }
  if (first_step) prices.note_first_step(mark.reached_at, now);
  if (mark.mark == Progress::Mark::kCaughtUp) prices.note_caught_up(mark.reached_at, now);
  if (spec.stop_after_steps) {
    steps_done =
        mark.step ? static_cast<std::uint64_t>(std::max<std::int64_t>(*mark.step, 0)) : mark.steps;
    steps_done_at = now;
  }
  if (!first_step && mark.steps <= steps) return;
  has_progress_source = true;
  steps = std::max(steps, mark.steps);
  note_progress();
}

void Job::Impl::note_progress() {
  const base::Nanos amount = now - progress_at;
  progress_at = now;
  made_progress = true;
  growths = 0;
  escalation.note_progress(spec.policy, amount);
  hang_places.note_progress(amount, spec.restart.window);
  backoff.note_progress();
  const bool refilled = budget.note_progress(amount);
  if (refilled) {
    decide(Rule::kBudgetRefilled,
           fmt::format("{} of progress: all {} restarts are available again",
                       base::in_seconds(budget.policy().window), budget.policy().max_restarts));
  }
  note_version_works();
  if (state == JobState::kRunning) maybe_grow();
}

// Alarms are reported; they stop the workers only if the policy says so. An alarm alone never ends
// the run: without a restart left the run goes on.
void Job::Impl::metric_alarm(const Event& event) {
  const auto& alarm = body<MetricAlarm>(event);
  const std::string text = in_words(alarm);
  if (alarm.over) return decide(Rule::kMetricAlarm, text);
  Classification looks =
      classify_finding(to_string(alarm.kind), fmt::format("\"{}\" (rank 0)", text), spec.faults);
  const Policy& policy = spec.policy;
  const bool acts = (alarm.kind == MetricAlarm::Kind::kNotANumber && policy.acts_on_nan) ||
                    (alarm.kind == MetricAlarm::Kind::kJump && policy.acts_on_jump);
  std::vector<std::string> alternatives;
  if (acts && alarms_acted_on >= policy.alarms_acted_on) {
    alternatives.push_back(fmt::format("stop and look for the cause: was done {} in this run",
                                       base::counted(alarms_acted_on, "time")));
  } else if (acts && !budget.allows(FaultClass::kUser)) {
    alternatives.emplace_back("stop and look for the cause: no restart is left");
  } else if (acts) {
    ++alarms_acted_on;
    return break_down({FaultClass::kUser,
                       Rule::kMetricFault,
                       kExitFailure,
                       unix_seconds(now),
                       fmt::format("metric {}", alarm.name),
                       text,
                       std::move(looks),
                       {}});
  }
  decide(Rule::kMetricAlarm, text, {}, std::move(alternatives), std::move(looks));
}

// Workers that report no steps count as making progress while they live.
void Job::Impl::uptime(const Event&) {
  if (!has_progress_source && now >= uptime_due) {
    uptime_due = now + budget.policy().uptime_is_progress;
    note_progress();
  } else {
    maybe_grow();
  }
  if (state == JobState::kRunning) arm_uptime_timer();
}

// For uptime as progress, and for nodes that wait to be taken in.
void Job::Impl::arm_uptime_timer() {
  const bool counts = budget.policy().uptime_is_progress > base::Nanos{} && !has_progress_source;
  base::Nanos at = counts ? uptime_due : kNever;
  if (group.size() < max_nodes() && may_grow_at() > now) at = std::min(at, may_grow_at());
  if (at != kNever) set_timer(TimerId::kUptime, at);
}

}  // namespace robustrun::supervisor
