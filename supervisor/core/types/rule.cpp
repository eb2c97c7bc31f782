#include "supervisor/core/types/rule.h"

namespace robustrun::supervisor {

std::string_view rule_word(Rule rule) {
  switch (rule) {
    case Rule::kStart: return "start";
    case Rule::kWorkerFailed: return "worker_failed";
    case Rule::kStartFailed: return "start_failed";
    case Rule::kAgentLost: return "agent_lost";
    case Rule::kPortConflict: return "port_conflict";
    case Rule::kRestart: return "restart";
    case Rule::kBudgetExhausted: return "budget_exhausted";
    case Rule::kCrashLoop: return "crash_loop";
    case Rule::kInfrastructureGivenUp: return "infrastructure_given_up";
    case Rule::kDoNotRequeue: return "do_not_requeue";
    case Rule::kSignal: return "signal";
    case Rule::kSecondSignal: return "second_signal";
    case Rule::kTimeLimit: return "time_limit";
    case Rule::kStepGoal: return "step_goal";
    case Rule::kSucceeded: return "succeeded";
    case Rule::kBudgetRefilled: return "budget_refilled";
    case Rule::kNodeReplaced: return "node_replaced";
    case Rule::kGroupShrunk: return "group_shrunk";
    case Rule::kGroupGrew: return "group_grew";
    case Rule::kWaitForNodes: return "wait_for_nodes";
    case Rule::kSpareChanged: return "spare_changed";
    case Rule::kResumed: return "resumed";
    case Rule::kPreempted: return "preempted";
    case Rule::kNodeEnding: return "node_ending";
    case Rule::kPreflight: return "preflight";
    case Rule::kPreflightWarning: return "preflight_warning";
    case Rule::kNodeUnfit: return "node_unfit";
    case Rule::kPlaced: return "placed";
    case Rule::kNotPlaced: return "not_placed";
    case Rule::kHangSuspected: return "hang_suspected";
    case Rule::kHangConvicted: return "hang_convicted";
    case Rule::kHangPassed: return "hang_passed";
    case Rule::kSlow: return "slow";
    case Rule::kMismatch: return "mismatch";
    case Rule::kNodeHealth: return "node_health";
    case Rule::kMachineFault: return "machine_fault";
    case Rule::kNodeEvicted: return "node_evicted";
    case Rule::kNodeReturned: return "node_returned";
    case Rule::kStopTimeCheck: return "stop_time_check";
    case Rule::kUpdated: return "updated";
    case Rule::kUpdating: return "updating";
    case Rule::kRolledBack: return "rolled_back";
    case Rule::kMetricAlarm: return "metric_alarm";
    case Rule::kSlowUnclear: return "slow_unclear";
    case Rule::kSlowKept: return "slow_kept";
    case Rule::kSlowDrain: return "slow_drain";
    case Rule::kSlowEvicted: return "slow_evicted";
    case Rule::kSlowOver: return "slow_over";
    case Rule::kReplay: return "replay";
    case Rule::kReplayed: return "replayed";
    case Rule::kMetricFault: return "metric_fault";
    case Rule::kResumePoint: return "resume_point";
    case Rule::kCheckpointPoisoned: return "checkpoint_poisoned";
    case Rule::kCheckpointKept: return "checkpoint_kept";
    case Rule::kCopiesPlaced: return "copies_placed";
    case Rule::kCopiesSaved: return "copies_saved";
    case Rule::kCopiesLost: return "copies_lost";
    case Rule::kCopiesAwaited: return "copies_awaited";
    case Rule::kEndedEarly: return "ended_early";
    case Rule::kNotResumed: return "not_resumed";
    case Rule::kColdStart: return "cold_start";
    case Rule::kLateCrash: return "late_crash";
    case Rule::kNodeLeft: return "node_left";
    case Rule::kNodeDrained: return "node_drained";
    case Rule::kKilled: return "killed";
  }
  return "unknown";
}

RuleRole role_of(Rule rule) {
  switch (rule) {
    case Rule::kWorkerFailed:
    case Rule::kStartFailed:
    case Rule::kAgentLost:
    case Rule::kPortConflict:
    case Rule::kHangConvicted:
    case Rule::kMismatch:
    case Rule::kEndedEarly:
    case Rule::kMachineFault:
    case Rule::kMetricFault:
    case Rule::kUpdating:
    case Rule::kSlowEvicted:
    case Rule::kNodeLeft:
    case Rule::kGroupGrew: return RuleRole::kCause;
    case Rule::kRestart:
    case Rule::kBudgetExhausted:
    case Rule::kCrashLoop:
    case Rule::kInfrastructureGivenUp:
    case Rule::kDoNotRequeue: return RuleRole::kVerdict;
    case Rule::kSignal:
    case Rule::kSecondSignal:
    case Rule::kPreempted:
    case Rule::kTimeLimit:
    case Rule::kStepGoal:
    case Rule::kSucceeded: return RuleRole::kEnd;
    case Rule::kNodeReplaced:
    case Rule::kGroupShrunk:
    case Rule::kPlaced:
    case Rule::kNotPlaced:
    case Rule::kNodeEvicted:
    case Rule::kNodeDrained:
    case Rule::kStopTimeCheck:
    case Rule::kReplay:
    case Rule::kReplayed:
    case Rule::kRolledBack:
    case Rule::kCheckpointPoisoned:
    case Rule::kCheckpointKept:
    case Rule::kCopiesPlaced:
    case Rule::kCopiesSaved:
    case Rule::kCopiesLost:
    case Rule::kCopiesAwaited:
    case Rule::kNotResumed:
    case Rule::kWaitForNodes: return RuleRole::kSequel;
    case Rule::kStart:
    case Rule::kBudgetRefilled:
    case Rule::kNodeEnding:
    case Rule::kResumed:
    case Rule::kPreflight:
    case Rule::kPreflightWarning:
    case Rule::kNodeUnfit:
    case Rule::kHangSuspected:
    case Rule::kHangPassed:
    case Rule::kSlow:
    case Rule::kNodeHealth:
    case Rule::kNodeReturned:
    case Rule::kUpdated:
    case Rule::kMetricAlarm:
    case Rule::kSlowUnclear:
    case Rule::kSlowKept:
    case Rule::kSlowDrain:
    case Rule::kSlowOver:
    case Rule::kResumePoint:
    case Rule::kColdStart:
    case Rule::kLateCrash:
    case Rule::kKilled:
    case Rule::kSpareChanged: return RuleRole::kOther;
  }
  return RuleRole::kOther;  // a rule of a newer version
}

// Nodes that come and go, and an update, cause restarts, but they are no incidents.
bool is_incident(Rule rule) {
  return role_of(rule) == RuleRole::kCause && rule != Rule::kGroupGrew && rule != Rule::kNodeLeft &&
         rule != Rule::kUpdating;
}

bool gives_up(Rule rule) { return role_of(rule) == RuleRole::kVerdict && rule != Rule::kRestart; }

}  // namespace robustrun::supervisor
