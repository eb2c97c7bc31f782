#include "supervisor/core/job/phases/finishing.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/core/result.h"
#include "base/core/words.h"
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

void Finishing::signal(const Event& event) {
  const auto& received = body<SignalReceived>(event);
  const base::Nanos grace = received.grace.value_or(run_.spec.deadlines.shutdown_grace);
  base::Nanos given = grace;  // a stop under way keeps its deadline
  if (orders_.state() == JobState::kStopping) {
    given = std::min<base::Nanos>(grace, std::chrono::round<std::chrono::seconds>(stops_.left()));
  }
  ++end_signals_;
  std::string text = fmt::format("stopping ({})", origin_in_words(received));
  if (orders_.workers_may_run() && !workers_.all_gone()) {
    const bool is_ctrl_c = received.by.empty() && received.signal == SIGINT;
    text += fmt::format("; {} to save, {} kills", base::in_seconds(given),
                        is_ctrl_c ? "Ctrl-C again" : "a second signal");
  }
  const Ending how = ending_of(received);
  orders_.decide(how.rule, std::move(text),
                 {fmt::format("stopped ({})", origin_in_words(received))});
  end_run(how, received.signal, grace);
}

Ending Finishing::ending_of(const SignalReceived& received) const {
  switch (received.cause) {
    case SignalReceived::Cause::kPreempted:
      return {Rule::kPreempted, exit_code_for_infrastructure(run_.spec.compat)};
    case SignalReceived::Cause::kTimeLimit: return {Rule::kTimeLimit, kExitTimeLimit};
    case SignalReceived::Cause::kNone: break;
  }
  return {Rule::kSignal, exit_code_for_signal(received.signal, run_.spec.compat)};
}

StopReason Finishing::reason() const {
  return ending_.rule == Rule::kPreempted ? StopReason::kPreempt : StopReason::kStop;
}

// A worker that was told to end may still ask, by its exit code, that the job is not requeued.
void Finishing::worker_exited(const Event& event) {
  stops_.note_exit(body<WorkerExited>(event));
  if (!asks_not_to_requeue(body<WorkerExited>(event), run_.spec.compat)) return;
  if (ending_.rule != Rule::kPreempted && ending_.rule != Rule::kTimeLimit) return;
  if (std::exchange(ending_.exit_code, kExitDoNotRequeue) == kExitDoNotRequeue) return;
  orders_.decide(
      Rule::kDoNotRequeue,
      fmt::format("a worker asks with exit code {} not to be requeued", kExitDoNotRequeue));
}

void Finishing::signal_again(const Event& event) {
  const auto& received = body<SignalReceived>(event);
  ++end_signals_;
  stops_.save_first(false);  // workers have been told to save, and the user is in a hurry
  if (end_signals_ == 1) {
    orders_.decide(Rule::kSignal, fmt::format("{} received; the run is stopping already",
                                              origin_in_words(received)));
    const bool is_sooner = received.grace && stops_.hasten(orders_.now() + *received.grace);
    stops_.send(received.signal, reason());
    if (is_sooner) stops_.arm();
  } else if (end_signals_ == 2) {
    orders_.decide(Rule::kSecondSignal,
                   fmt::format("{} again: killing all workers", origin_in_words(received)));
    stops_.hasten(orders_.now());
    stops_.send(SIGKILL, reason());
    stops_.arm();
  }
}

void Finishing::user_signal(const Event& event) {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].gone) continue;
    orders_.give(
        ForwardSignal{base::NodeId{i}, orders_.attempt(), body<SignalReceived>(event).signal});
  }
}

void Finishing::time_limit(const Event&) {
  orders_.decide(Rule::kTimeLimit, fmt::format("time limit of {} reached",
                                               base::in_seconds(orders_.now() - run_.started_at)));
  end_run({Rule::kTimeLimit, kExitTimeLimit}, SIGTERM, run_.spec.deadlines.shutdown_grace);
}

void Finishing::step_goal(const Event& event) {
  orders_.decide(Rule::kStepGoal, fmt::format("every rank has done {} steps: the goal is reached",
                                              body<StepGoalReached>(event).steps));
  end_run({Rule::kStepGoal, kExitSuccess}, SIGTERM, run_.spec.deadlines.shutdown_grace);
}

void Finishing::give_up(std::string text, std::vector<std::string> evidence,
                        std::optional<int> exit_code) {
  orders_.decide(Rule::kInfrastructureGivenUp, std::move(text), std::move(evidence));
  const int code = exit_code.value_or(exit_code_for_infrastructure(run_.spec.compat));
  end_run({Rule::kInfrastructureGivenUp, code}, SIGTERM, run_.spec.deadlines.shutdown_grace);
}

void Finishing::end_run(Ending how, int signal, base::Nanos grace) {
  ending_ = how;
  // Workers that save already, for a handover, go on with it.
  const bool may_save = orders_.state() == JobState::kRunning ||
                        (orders_.state() == JobState::kStopping && stops_.saves_first());
  stops_.save_first(may_save && signal != SIGKILL && role_of(how.rule) == RuleRole::kEnd &&
                    how.rule != Rule::kSucceeded);
  if (!orders_.workers_may_run()) return finish();
  const base::Nanos latest = orders_.now() + grace;
  if (orders_.state() == JobState::kStopping) {
    stops_.hasten(latest);  // a stop keeps its deadline
  } else {
    stops_.kill_at(latest);
  }
  orders_.enter(JobState::kFinishing);
  stops_.send(signal, reason());
  stops_.arm();
  finish_if_gone();
}

void Finishing::workers_gone(const Event& event) {
  const auto& gone = body<WorkersGone>(event);
  if (!workers_.note_gone(event.node, gone)) return;
  copies_.note_gone(event.node, gone);
  if (!gone.unkillable.empty()) {
    orders_.decide(ending_.rule, "left behind: " + workers_.unkillable().back(),
                   workers_.unkillable());
  }
  finish_if_gone();
}

void Finishing::overdue(const Event&) {
  Evidence late;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const base::NodeId node{i};
    if (nodes_.at(node).gone) continue;
    agents_.drop(node, AgentLost{"it did not stop its workers in time"});
    late.add(fmt::format("the agent of {} did not stop its workers in time", nodes_.name(node)));
  }
  orders_.decide(ending_.rule, late.first.front() + "; ending without it", late.lines());
  finish_if_gone();
}

void Finishing::finish_if_gone() {
  if (workers_.all_gone()) finish();
}

void Finishing::finish(Ending how) {
  ending_ = how;
  finish();
}

void Finishing::finish() {
  RR_ASSERT(workers_.all_gone());
  stops_.tell_killed();
  copies_.save_held();  // a keeper's memory ends with its agent
  order_end();
  orders_.enter(JobState::kFinished);
  orders_.cancel_all();
}

void Finishing::order_end() {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    orders_.give(DismissAgent{base::NodeId{i}, ending_.exit_code});
  }
  orders_.give(Finish{ending_.exit_code});
}

}  // namespace robustrun::supervisor
