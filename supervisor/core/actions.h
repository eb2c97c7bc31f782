#pragma once
// What the core wants done. Actions are idempotent and carry node, generation and attempt where
// they apply; the shell carries them out in order. A Decision is journaled and shown to the user;
// nobody re-derives it.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/core/events.h"

namespace robustrun::supervisor {

// Start the agent of a node (again). Answered by AgentJoined or AgentLost of that generation. An
// agent of an older generation that still lives (it was silent, or did not stop its workers) is
// killed first: its workers die with it.
struct LaunchAgent {
  base::NodeId node;
  base::Generation generation;
};

// After SupervisorResumed, for every node: who counts there. An agent that had joined is expected
// to connect again, or is lost.
struct AdoptNode {
  enum class Agent : std::uint8_t { kExpected, kJoined, kLost };
  base::NodeId node;
  base::Generation generation;
  std::string name;
  Agent agent = Agent::kExpected;
  std::string listens{};   // of one that had joined: where it can be called
};

struct ReservePort {
  base::NodeId node;
  base::Attempt attempt;
};

// A worker's place in the group (torchrun.md a.2.1).
struct Assignment {
  base::Rank rank;
  base::LocalRank local_rank;
  std::uint32_t role_rank = 0;
};

struct StartWorkers {
  base::NodeId node;
  base::Attempt attempt;
  std::vector<Assignment> workers;
  std::uint32_t group_rank = 0;
  std::uint32_t group_world_size = 1;
  std::uint32_t world_size = 1;
  std::string master_addr;
  std::uint32_t master_port = 0;
};

// Who is who from this attempt on: before the first order of the attempt. Journaled, and shown as a
// table; the ranks of a node are first_rank … first_rank + slots - 1.
struct GroupMember {
  base::NodeId node;
  std::string name;
  std::string address;
  std::uint32_t first_rank = 0;
  std::uint32_t slots = 0;
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "name", name);
    v(3, "address", address);
    v(4, "first_rank", first_rank);
    v(5, "slots", slots);
  }
};

struct GroupFormed {
  base::Attempt attempt;
  std::vector<GroupMember> members;  // by node rank
  std::vector<std::string> spares;  // names of nodes that are there and not needed
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "members", members);
    v(3, "spares", spares);
  }
};

enum class StopCause : std::uint8_t { kRestart, kPreempt, kStop };

struct StopWorkers {
  base::NodeId node;
  base::Attempt attempt;
  int signal = 15;
  base::Nanos grace{};
  StopCause cause = StopCause::kStop;
};

struct ForwardSignal {
  base::NodeId node;
  base::Attempt attempt;
  int signal = 0;
};

// The agent may go; it kills whatever it still has.
struct DismissAgent {
  base::NodeId node;
  int exit_code = 0;  // the run's
};

struct SetTimer {
  TimerId id = TimerId::kState;
  std::uint64_t sequence = 0;
  base::Nanos at{};  // supervisor's monotonic clock
};

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
};

// Why something is done: rule, evidence, and what else could have been done.
struct Decision {
  Rule rule = Rule::kStart;
  base::Attempt attempt;
  std::string text;  // one sentence for the user
  std::vector<std::string> evidence;  // "rank 1 on node0: SIGKILL", …
  std::vector<std::string> alternatives;  // "no restart: 0 of 3 used"
  std::optional<Classification> looks_like{};  // of a worker's failure, once it is known, or anew
  template <class V>
  void fields(V& v) {
    v(1, "rule", rule);
    v(2, "attempt", attempt);
    v(3, "text", text);
    v(4, "evidence", evidence);
    v(5, "alternatives", alternatives);
    v(6, "looks_like", looks_like);
  }
};

// Look at these nodes before anything is started on them. Answered by NodesChecked.
struct CheckNodes {
  std::uint64_t check = 0;
  bool full = false;
  std::vector<base::NodeId> nodes;
  std::vector<std::string> addresses;  // of their data interfaces, in the same order
  bool gpus = false;  // are put to work and tested
};

// What a check means, one verdict per node. A node whose verdict is unfit is left out from now on.
// Not journaled: it follows from the event, and the decisions say what came of it.
struct NodesJudged {
  std::uint64_t check = 0;
  std::vector<NodeVerdict> verdicts;
};

// Last action of a run, right behind DismissAgent for every node, also for one whose agent was
// lost. The shell dismisses nothing more, writes the summary and exits.
struct Finish {
  int exit_code = 0;  // base rules of decisions.md 7; see exit_code.h
};

using Action = std::variant<LaunchAgent, ReservePort, StartWorkers, StopWorkers, ForwardSignal,
                            DismissAgent, SetTimer, Decision, GroupFormed, Finish, AdoptNode,
                            CheckNodes, NodesJudged, SolvePlacement, LookBack>;

}  // namespace robustrun::supervisor
