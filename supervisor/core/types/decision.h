#pragma once
// What was decided, and why: journaled, and shown to the user. Nobody derives it again.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/ids.h"
#include "supervisor/core/types/fault_table.h"

namespace robustrun::supervisor {

enum class Rule : std::uint8_t {
  kStart,  // first attempt
  kWorkerFailed,  // a worker's death ends the attempt
  kStartFailed,  // a worker's program could not be run
  kAgentLost,  // the agent died; it is launched again in place
  kPortConflict,  // MASTER_PORT was taken meanwhile: infrastructure, not counted
  kRestart,  // the group is started again
  kBudgetExhausted,  // no restart left
  kCrashLoop,  // same failure before first progress
  kInfrastructureGivenUp,
  kDoNotRequeue,  // a worker exited with 93
  kSignal,  // a signal ends the run
  kSecondSignal,  // and a second one at once
  kTimeLimit,
  kStepGoal,
  kSucceeded,
  kBudgetRefilled,
  kNodeReplaced,  // a spare takes a lost node's place
  kGroupShrunk,  // no spare: the group goes on with fewer nodes
  kGroupGrew,  // a node is back: the group is started again, larger
  kWaitForNodes,  // too few nodes: waits for more
  kSpareChanged,  // a node outside the group was lost, or is there
  kResumed,  // another supervisor goes on with the run
  kPreempted,  // whoever owns the nodes wants them for somebody else
  kNodeEnding,  // a node will be taken from us soon
  kPreflight,  // the check before the start is over: what came of it
  kPreflightWarning,  // it found something that may do harm
  kNodeUnfit,  // it found a node that must not take part
  kPlaced,  // nodes got their places by the network's topology
  kNotPlaced,  // they did not, though that was asked for
  kHangSuspected,  // workers wait for somebody
  kHangConvicted,  // and will wait for ever
  kHangPassed,  // they do no longer
  kSlow,  // a worker or a link is slower than its peers
  kMismatch,  // ranks called different collectives, and one failed because of that
  kNodeHealth,  // an agent noticed something about its machine
  kMachineFault,  // which ends the attempt
  kNodeEvicted,  // a machine takes no part from now on
  kNodeReturned,  // it does again: it was checked, and it is fit
  kStopTimeCheck,  // all nodes are checked before the restart
  kUpdated,  // another version was asked for, or is used from now on
  kUpdating,  // the group is started again for one
  kRolledBack,  // the next attempt has an older one again
  kMetricAlarm,  // a number that the script reports, or its pace, goes wrong, or is right again
  kSlowUnclear,  // a vote on who slows the job down named no machine
  kSlowKept,  // it named one that stays: it is not worth a restart, or nothing can replace it
  kSlowDrain,  // or one that will be replaced soon
  kSlowEvicted,  // which ends the attempt
  kSlowOver,  // the job is as fast as before again: nothing is replaced
  kReplay,  // groups of nodes are replayed before the restart
  kReplayed,  // and what came of it
  kMetricFault,  // a number that goes wrong ends the attempt
  kResumePoint,  // which checkpoint the workers go on from
  kCheckpointPoisoned,  // one that does them no good is set aside
  kCheckpointKept,  // or could not be
  kCopiesPlaced,  // which nodes keep whose copies in memory
  kCopiesSaved,  // those of a lost node were saved from the memory of another
  kCopiesLost,  // or are gone
  kCopiesAwaited,  // a machine is replaced when copies of its state are elsewhere
  kEndedEarly,  // a worker ended with exit code 0 while others waited for it, and they failed
  kNotResumed,  // the script began at step 0 again, though steps had been done
  kColdStart,  // a restarted worker had no standby worker, for a reason not reported before
  kLateCrash,  // a worker crashed when its script and exit handlers had ended: no failure
  kNodeLeft,  // a node was told to end: the group is started again without it
};

// Why something is done: rule, evidence, and what else could have been done.
struct Decision {
  Rule rule = Rule::kStart;
  base::Attempt attempt;
  std::string text;  // one sentence for the user
  std::vector<std::string> evidence;  // "rank 1 on node0: SIGKILL", …
  std::vector<std::string> alternatives;  // "no restart: 0 of 3 used"
  std::optional<Classification> looks_like{};  // of a worker's failure, once it is known, or anew
  std::vector<base::NodeId> nodes{};  // machines that were evicted or came back
  template <class V>
  void fields(V& v) {
    v(1, "rule", rule);
    v(2, "attempt", attempt);
    v(3, "text", text);
    v(4, "evidence", evidence);
    v(5, "alternatives", alternatives);
    v(6, "looks_like", looks_like);
    v(7, "nodes", nodes);
  }
};

}  // namespace robustrun::supervisor
