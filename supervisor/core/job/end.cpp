// Orders to end the run, and the end itself.

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/core/result.h"
#include "base/core/words.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::supervisor {
namespace {

// "Ctrl-C", "SIGTERM", "robustrun stop", "robustrun stop, SIGUSR1"
std::string origin_in_words(const SignalReceived& received) {
  if (!received.by.empty()) {
    const std::string name = base::signal_name(received.signal);
    const bool is_usual = received.signal == SIGTERM ||
                          received.cause != SignalReceived::Cause::kNone ||
                          received.by.find(name) != std::string::npos;
    return received.by + (is_usual ? "" : ", " + name);
  }
  return received.signal == SIGINT ? "Ctrl-C" : base::signal_name(received.signal);
}

}  // namespace

void Job::Impl::end_signal(const Event& event) {
  const auto& received = body<SignalReceived>(event);
  const base::Nanos grace = received.grace.value_or(spec.deadlines.shutdown_grace);
  ++end_signals;
  std::string text = fmt::format("stopping ({})", origin_in_words(received));
  if (workers_may_run() && !all_gone()) {
    const bool is_ctrl_c = received.by.empty() && received.signal == SIGINT;
    text += fmt::format("; {} to save, {} kills", base::in_seconds(grace),
                        is_ctrl_c ? "Ctrl-C again" : "a second signal");
  }
  const Ending how = ending_of(received);
  decide(how.rule, std::move(text), {fmt::format("stopped ({})", origin_in_words(received))});
  end_run(how, received.signal, grace);
}

Ending Job::Impl::ending_of(const SignalReceived& received) const {
  switch (received.cause) {
    case SignalReceived::Cause::kPreempted:
      return {Rule::kPreempted, exit_code_for_infrastructure(spec.compat)};
    case SignalReceived::Cause::kTimeLimit: return {Rule::kTimeLimit, kExitTimeLimit};
    case SignalReceived::Cause::kNone: break;
  }
  return {Rule::kSignal, exit_code_for_signal(received.signal, spec.compat)};
}

// The reason that the workers are given for the end under way.
StopReason JobQuestions::end_reason() const {
  return ending.rule == Rule::kPreempted ? StopReason::kPreempt : StopReason::kStop;
}

// A worker that was told to end may still ask, by its exit code, that the job is not requeued.
void Job::Impl::worker_exited_finishing(const Event& event) {
  if (!asks_not_to_requeue(body<WorkerExited>(event), spec.compat)) return;
  if (ending.rule != Rule::kPreempted && ending.rule != Rule::kTimeLimit) return;
  if (std::exchange(ending.exit_code, kExitDoNotRequeue) == kExitDoNotRequeue) return;
  decide(Rule::kDoNotRequeue,
         fmt::format("a worker asks with exit code {} not to be requeued", kExitDoNotRequeue));
}

void Job::Impl::end_signal_again(const Event& event) {
  const auto& received = body<SignalReceived>(event);
  ++end_signals;
  save_first = false;  // workers have been told to save, and the user is in a hurry
  if (end_signals == 1) {
    decide(Rule::kSignal,
           fmt::format("{} received; the run is stopping already", origin_in_words(received)));
    const bool is_sooner = received.grace && now + *received.grace < kill_at;
    if (is_sooner) kill_at = now + *received.grace;
    send_stops(received.signal, end_reason());
    if (is_sooner) arm_stop_timer();
  } else if (end_signals == 2) {
    decide(Rule::kSecondSignal,
           fmt::format("{} again: killing all workers", origin_in_words(received)));
    kill_at = std::min(kill_at, now);  // never later than before
    send_stops(SIGKILL, end_reason());
    arm_stop_timer();
  }
}

void Job::Impl::user_signal(const Event& event) {
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].gone) continue;
    out.push_back(ForwardSignal{base::NodeId{i}, attempt, body<SignalReceived>(event).signal});
  }
}

void Job::Impl::time_limit(const Event&) {
  decide(Rule::kTimeLimit,
         fmt::format("time limit of {} reached", base::in_seconds(now - started_at)));
  end_run({Rule::kTimeLimit, kExitTimeLimit}, SIGTERM, spec.deadlines.shutdown_grace);
}

void Job::Impl::step_goal(const Event& event) {
  decide(Rule::kStepGoal, fmt::format("every rank has done {} steps: the goal is reached",
                                      body<StepGoalReached>(event).steps));
  end_run({Rule::kStepGoal, kExitSuccess}, SIGTERM, spec.deadlines.shutdown_grace);
}

void Job::Impl::do_not_requeue(const Event& event) {
  Fault fault = worker_fault(body<WorkerExited>(event), context(event.node));
  if (state == JobState::kStopping) {
    outage->add(fault);
  } else {
    outage.emplace(fault);
    decide(Rule::kWorkerFailed, fault.words, outage->evidence.lines(), {}, outage->looks_like);
  }
  decide(Rule::kDoNotRequeue,
         fmt::format("giving up, do not requeue: a worker asked for it with exit code {}",
                     kExitDoNotRequeue),
         outage->evidence.lines());
  end_run({Rule::kDoNotRequeue, kExitDoNotRequeue}, SIGTERM, spec.deadlines.shutdown_grace);
}

void Job::Impl::give_up(std::string text, std::vector<std::string> evidence,
                        std::optional<int> exit_code) {
  decide(Rule::kInfrastructureGivenUp, std::move(text), std::move(evidence));
  const int code = exit_code.value_or(exit_code_for_infrastructure(spec.compat));
  end_run({Rule::kInfrastructureGivenUp, code}, SIGTERM, spec.deadlines.shutdown_grace);
}

void Job::Impl::end_run(Ending how, int signal, base::Nanos grace) {
  ending = how;
  save_first = state == JobState::kRunning && signal != SIGKILL &&
               role_of(how.rule) == RuleRole::kEnd && how.rule != Rule::kSucceeded;
  if (!workers_may_run()) return finish();
  const base::Nanos latest = now + grace;
  kill_at = state == JobState::kStopping ? std::min(kill_at, latest) : latest;
  enter(JobState::kFinishing);
  send_stops(signal, end_reason());
  arm_stop_timer();
  finish_if_gone();
}

void Job::Impl::send_stops(int signal, StopReason reason) {
  const base::Nanos grace = std::max(base::Nanos{}, kill_at - now);
  out.reserve(out.size() + running_nodes + 1);
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].gone) continue;
    out.emplace_back(StopWorkers{base::NodeId{i}, attempt, signal, grace, reason, save_first});
  }
}

void Job::Impl::arm_stop_timer() {
  set_timer(TimerId::kState, kill_at + spec.deadlines.kill_margin);
}

void Job::Impl::workers_gone_finishing(const Event& event) {
  const auto& gone = body<WorkersGone>(event);
  if (!note_gone(event.node, gone)) return;
  if (!gone.unkillable.empty()) {
    decide(ending.rule, "left behind: " + unkillable.back(), unkillable);
  }
  finish_if_gone();
}

void Job::Impl::finish_overdue(const Event&) {
  Evidence late;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const base::NodeId node{i};
    if (at(node).gone) continue;
    drop_agent(node, "it did not stop its workers in time", true);
    late.add(fmt::format("the agent of {} did not stop its workers in time", name(node)));
  }
  decide(ending.rule, late.first.front() + "; ending without it", late.lines());
  finish_if_gone();
}

void Job::Impl::finish_if_gone() {
  if (all_gone()) finish();
}

void Job::Impl::finish() {
  RR_ASSERT(all_gone());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    out.push_back(DismissAgent{base::NodeId{i}, ending.exit_code});
  }
  out.push_back(Finish{ending.exit_code});
  enter(JobState::kFinished);
  live_timers.fill(0);
}

}  // namespace robustrun::supervisor
