#pragma once
// The rules that decisions follow: what each means for a run, and its word in the labels of metrics
// and in events. Pure.

#include <cstdint>
#include <string_view>

namespace robustrun::supervisor {

// Journals contain the numbers: new values are appended, and no number is used again.
enum class Rule : std::uint8_t {
  kStart,  // first attempt
  kWorkerFailed,  // a worker's death ends the attempt
  kStartFailed,  // a worker's program could not be run
  kAgentLost,  // the agent of a node of the group was lost, or did not start
  kPortConflict,  // another process took MASTER_PORT first: infrastructure, not counted
  kRestart,  // the workers are restarted
  kBudgetExhausted,  // no restart is left, or a restart would change nothing
  kCrashLoop,  // the script fails in the same way again and again (docs/glossary.md)
  kInfrastructureGivenUp,
  kDoNotRequeue,  // a worker exited with 93
  kSignal,  // a signal ends the run
  kSecondSignal,  // a second signal ends the run at once
  kTimeLimit,
  kStepGoal,
  kSucceeded,
  kBudgetRefilled,
  kNodeReplaced,  // another node takes the place of one that is lost, left out or moved
  kGroupShrunk,  // no spare: the group goes on with fewer nodes
  kGroupGrew,  // a node has joined: the workers are restarted in a larger group
  kWaitForNodes,  // too few nodes: waits for more
  kSpareChanged,  // a node outside the group was lost, or joined
  kResumed,  // another supervisor took the run over
  kPreempted,  // the scheduler takes the nodes for another job
  kNodeEnding,  // a node will be taken away soon
  kPreflight,  // result of a check of nodes
  kPreflightWarning,  // a check found something that may do harm, or did not end
  kNodeUnfit,  // a check found a node that must not take part
  kPlaced,  // nodes got their places by the network's topology
  kNotPlaced,  // places by topology were requested, but could not be found
  kHangSuspected,  // ranks wait for another rank
  kHangConvicted,  // a hang is proven: it ends the attempt
  kHangPassed,  // ranks that seemed to hang go on by themselves
  kSlow,  // a worker or a link is slower than its peers
  kMismatch,  // ranks called different collectives, and one failed because of that
  kNodeHealth,  // an agent or the scheduler reports something about a machine
  kMachineFault,  // a report about a machine ends the attempt
  kNodeEvicted,  // a machine takes no part from now on
  kNodeReturned,  // a machine takes part again: it passed a check, or is not drained any more
  kStopTimeCheck,  // all nodes are checked before the restart
  kUpdated,  // another version was requested, or is used from now on
  kUpdating,  // the workers are restarted for another version
  kRolledBack,  // the next attempt gets an older version again
  kMetricAlarm,  // a number that the script reports, or its pace, goes wrong, or is right again
  kSlowUnclear,  // a vote on which machine slows the job down named none
  kSlowKept,  // the vote named a machine that stays: a restart is not worth it, or impossible
  kSlowDrain,  // the vote named a machine that will be replaced soon
  kSlowEvicted,  // the slow machine is replaced, which ends the attempt
  kSlowOver,  // the job is as fast as before again, and nothing is replaced
  kReplay,  // groups of nodes are replayed before the restart
  kReplayed,  // result of the replay
  kMetricFault,  // a number that goes wrong ends the attempt
  kResumePoint,  // the checkpoint that the workers resumed from
  kCheckpointPoisoned,  // a checkpoint that leads to failures is set aside
  kCheckpointKept,  // a checkpoint could not be set aside
  kCopiesPlaced,  // which nodes keep whose copies in memory
  kCopiesSaved,  // copies of a lost node were saved from the memory of another
  kCopiesLost,  // copies of a lost node are gone
  kCopiesAwaited,  // a slow machine stays until ranks have copies on other nodes
  kEndedEarly,  // a worker ended with exit code 0 while others waited for it, and they failed
  kNotResumed,  // the script began at step 0 again, though steps had been done
  kColdStart,  // a restarted worker had no standby worker, for a reason not reported before
  kLateCrash,  // a signal ended a worker after its script and exit handlers: no failure
  kNodeLeft,  // a node was told to end or is drained: the workers are restarted without it
  kNodeDrained,  // a spare replaces a node that the scheduler drains; it is not to blame
  kKilled,  // workers were killed after the grace period of a stop
};

// "worker_failed"; "unknown" for a rule of a newer version. The words never change: docs/metrics.md
// and docs/formats/events.md document them.
[[nodiscard]] std::string_view rule_word(Rule rule);

// What a decision by this rule means in the course of a run.
enum class RuleRole : std::uint8_t {
  kCause,  // something failed, or the workers must be restarted for another reason
  kVerdict,  // the answer to the causes: kRestart, or one that ends the run
  kSequel,  // another consequence of the last cause
  kEnd,  // the run ends, not because of a failure
  kOther,
};
[[nodiscard]] RuleRole role_of(Rule rule);

// Whether the attempt ends because something failed, hangs or is slow. That is each
// RuleRole::kCause, except for nodes that come or go and for updates.
[[nodiscard]] bool is_incident(Rule rule);
// Whether the run ends because of a failure, so that nothing more is tried.
[[nodiscard]] bool gives_up(Rule rule);
// Whether the decision's nodes take no part in the run from now on.
[[nodiscard]] inline bool takes_out(Rule rule) {
  return rule == Rule::kNodeEvicted || rule == Rule::kNodeDrained;
}
// Whether the decision says why nodes have the places they have.
[[nodiscard]] inline bool is_about_places(Rule rule) {
  return rule == Rule::kPlaced || rule == Rule::kNotPlaced;
}

}  // namespace robustrun::supervisor
