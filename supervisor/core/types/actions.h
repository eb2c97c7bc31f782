#pragma once
// What the core wants done. Actions are idempotent; they carry node, generation and attempt where
// these apply. The driver carries them out in order. A Decision is journaled and shown to the user.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/core/types/decision.h"
#include "supervisor/core/types/events.h"
#include "wire/messages/facts.h"

namespace robustrun::supervisor {

using wire::StopReason;

// Start the agent of a node (again). Answered by AgentJoined or AgentLost of that generation. If an
// agent of an older generation still lives (it was silent, or did not stop its workers), it is
// killed first, and its workers die with it.
struct LaunchAgent {
  base::NodeId node;
  base::Generation generation;
};

// After SupervisorResumed, for every node: the agent that the core knows there. An agent that had
// joined must connect again, or counts as lost.
struct AdoptNode {
  enum class Agent : std::uint8_t { kExpected, kJoined, kLost };
  base::NodeId node;
  base::Generation generation;
  std::string name;
  Agent agent = Agent::kExpected;
  std::string listens{};  // endpoint of an agent that had joined
};

struct ReservePort {
  base::NodeId node;
  base::Attempt attempt;
};

// A worker's place in the group (docs/compat.md).
struct Assignment {
  base::Rank rank;
  base::LocalRank local_rank;
  std::uint32_t role_rank = 0;
};

// The workers of one node. Their ranks are consecutive.
class NodeWorkers {
 public:
  NodeWorkers() = default;
  NodeWorkers(base::Rank first, std::uint32_t count) : first_(first.value), count_(count) {}
  [[nodiscard]] std::uint32_t size() const { return count_; }
  [[nodiscard]] Assignment operator[](std::uint32_t local) const {
    return {base::Rank{first_ + local}, base::LocalRank{local}, first_ + local};
  }
  class Iterator {
   public:
    Iterator(const NodeWorkers& of, std::uint32_t local) : of_(of), local_(local) {}
    Assignment operator*() const { return of_[local_]; }
    Iterator& operator++() { return ++local_, *this; }
    bool operator==(const Iterator& other) const { return local_ == other.local_; }

   private:
    const NodeWorkers& of_;
    std::uint32_t local_;
  };
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, count_}; }

 private:
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

struct StartWorkers {
  base::NodeId node;
  base::Attempt attempt;
  NodeWorkers workers;
  std::uint32_t group_rank = 0;
  std::uint32_t group_world_size = 1;
  std::uint32_t world_size = 1;
  std::string master_addr;
  std::uint32_t master_port = 0;
  std::uint32_t version = 0;  // of the run (versions.h)
  std::uint32_t ordered_by = 0;  // incarnation of the supervisor that began the attempt
  bool saving = false;  // copies are being saved: workers load only after an order with false
  std::uint32_t restarts = 0;  // restarts so far that count against max_restarts
};

// A node of the group; its ranks are first_rank … first_rank + slots - 1.
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

// The places of the nodes from this attempt on. Comes before the attempt's first order. Journaled,
// and shown as a table.
struct GroupFormed {
  base::Attempt attempt;
  std::vector<GroupMember> members;  // by group rank
  std::vector<std::string> spares;  // names of nodes that have joined and are not needed
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "members", members);
    v(3, "spares", spares);
  }
};

struct StopWorkers {
  base::NodeId node;
  base::Attempt attempt;
  int signal = 15;
  base::Nanos grace{};
  StopReason reason = StopReason::kStop;
  bool save_first = false;  // workers that save by themselves before a stop get no signal
};

struct ForwardSignal {
  base::NodeId node;
  base::Attempt attempt;
  int signal = 0;
};

// The agent may end; it kills the processes that it still has.
struct DismissAgent {
  base::NodeId node;
  int exit_code = 0;  // the run's
};

struct SetTimer {
  TimerId id = TimerId::kState;
  std::uint64_t sequence = 0;
  base::Nanos at{};  // supervisor's monotonic clock
};

// Check these nodes; workers may run on them meanwhile. Answered by NodesChecked.
struct CheckNodes {
  std::uint64_t check = 0;
  bool full = false;  // a full check instead of a fast one
  std::vector<base::NodeId> nodes;
  std::vector<std::string> addresses;  // of their data interfaces, in the same order
  bool gpus = false;  // test the GPUs under load, too
};

// The result of a check, with one verdict per node. An unfit node is left out from now on. Not
// journaled: the verdicts follow from NodesChecked, and decisions report them.
struct NodesJudged {
  std::uint64_t check = 0;
  std::vector<NodeVerdict> verdicts;
};

// Replay these groups at the same time, on nodes that run nothing else. Answered by NodesReplayed.
// Ends an earlier replay that still runs; without groups it does nothing else.
struct ReplayNodes {
  struct Place {
    base::NodeId node;
    std::string address;  // of its data interface
    std::uint32_t slots = 1;  // processes of the program
  };
  std::uint64_t replay = 0;
  base::Nanos limit{};  // a group that runs for longer has failed
  std::vector<std::vector<Place>> groups;
};

// Mark this checkpoint so that no attempt resumes from it again. Answered by CheckpointDemoted.
struct DemoteCheckpoint {
  base::NodeId node;
  std::uint64_t order = 0;
  CheckpointId id;
  std::vector<std::string> directories;
};

// Last action of a run. It follows DismissAgent for every node, including nodes whose agents were
// lost. The driver then writes the summary and exits.
struct Finish {
  int exit_code = 0;  // by the rules of exit_code.h
};

using Action =
    std::variant<LaunchAgent, ReservePort, StartWorkers, StopWorkers, ForwardSignal, DismissAgent,
                 SetTimer, Decision, GroupFormed, Finish, AdoptNode, CheckNodes, NodesJudged,
                 SolvePlacement, LookBack, LookAtPace, ReplayNodes, DemoteCheckpoint, SolveBackup,
                 PlaceCopies, SaveHeldCopies>;

}  // namespace robustrun::supervisor
