#pragma once
// Everything that can happen to a job. Each event carries its time (`at`, by the supervisor's
// monotonic clock). An event from a node also carries the node and the generation of its agent; the
// core drops events of other generations or attempts than the current ones. All events are appended
// to the journal before they are handled.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/core/types/agent_events.h"
#include "supervisor/core/types/bandwidth.h"
#include "supervisor/core/types/checkpoint_events.h"
#include "supervisor/core/types/copy_events.h"
#include "supervisor/core/types/diagnosis.h"
#include "supervisor/core/types/health.h"
#include "supervisor/core/types/job_spec.h"
#include "supervisor/core/types/metric_alarm.h"
#include "supervisor/core/types/placement.h"
#include "supervisor/core/types/preflight.h"
#include "supervisor/core/types/replay_events.h"
#include "supervisor/core/types/stage_events.h"
#include "supervisor/core/types/versions.h"
#include "supervisor/core/types/worker_events.h"
#include "wire/messages/facts.h"

namespace robustrun::supervisor {

using wire::PortReserved;

// First event of every journal.
struct RunStarted {
  JobSpec spec;
  base::Nanos wall_time{};  // Unix time of `at`
  std::uint64_t seed = 0;  // source of all randomness of the core
  std::string version;  // robustrun's
  template <class V>
  void fields(V& v) {
    v(1, "spec", spec);
    v(2, "wall_time", wall_time);
    v(3, "seed", seed);
    v(4, "version", version);
  }
};

// An agent that this supervisor did not launch offers its node: in an open group, or in place of a
// lost node (--replace). The node gets the next NodeId; AgentJoined follows.
struct NodeOffered {
  NodeSpec spec;
  template <class V>
  void fields(V& v) {
    v(1, "spec", spec);
  }
};

// When the last rank of a node reached a mark.
struct NodeMark {
  base::NodeId node;
  base::Nanos at{};
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "at", at);
  }
};

// A mark of the whole group's progress, made by the driver from many readings and journaled.
struct Progress {
  enum class Mark : std::uint8_t {
    kUserCode,  // user code runs on every rank
    kFirstStep,  // every rank has done a step
    kCaughtUp,  // the steps that were done before the restart are done again
    kSummary,  // once a minute, and before a worker's end or a hang, if there is news
  };
  base::Attempt attempt;
  Mark mark = Mark::kSummary;
  base::Nanos reached_at{};  // when the last rank reached the mark, by the workers' own records
  std::uint64_t steps = 0;  // the least of all ranks, since this attempt's start
  // The least of all ranks, by the script's own number or, for a rank without one, by the count in
  // the state of its optimizer. None: some rank has neither.
  std::optional<std::int64_t> step;
  // Newest reading of rank 0, or of the highest rank if only that rank's output has metrics.
  std::vector<std::string> metric_names;
  std::vector<double> metric_values;
  std::vector<NodeMark> nodes{};  // of kUserCode and kFirstStep, ascending by node
  std::vector<Bandwidth> bandwidth{};  // of kSummary: since this attempt's start
  // Of kSummary: the rank that has waited for training data longest in this attempt, and how long.
  base::Nanos data_waited{};
  base::Rank data_rank{};
  std::uint64_t data_skipped = 0;  // of kSummary: records of text that the training skips
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "mark", mark);
    v(3, "reached_at", reached_at);
    v(4, "steps", steps);
    v(5, "step", step);
    v(6, "metric_names", metric_names);
    v(7, "metric_values", metric_values);
    v(8, "nodes", nodes);
    v(9, "bandwidth", bandwidth);
    v(10, "data_waited", data_waited);
    v(11, "data_rank", data_rank);
    v(12, "data_skipped", data_skipped);
  }
};

// Every rank has reached the goal of --stop-after-steps.
struct StepGoalReached {
  base::Attempt attempt;
  std::uint64_t steps = 0;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "steps", steps);
  }
};

// A signal for the run. SIGTERM, SIGINT and others end the run; SIGUSR1 and SIGUSR2 are passed on
// (native mode).
struct SignalReceived {
  // The cause, if the scheduler tells it.
  enum class Cause : std::uint8_t { kNone, kPreempted, kTimeLimit };
  std::int32_t signal = 0;
  bool forward_only = false;
  std::optional<base::Nanos> grace{};  // instead of Deadlines::shutdown_grace
  std::string
      by{};  // "robustrun stop", or the scheduler's cause; empty: a signal to the supervisor
  Cause cause = Cause::kNone;
  template <class V>
  void fields(V& v) {
    v(1, "signal", signal);
    v(2, "forward_only", forward_only);
    v(3, "grace", grace);
    v(4, "by", by);
    v(5, "cause", cause);
  }
};

// kState: the deadline of the present state.
// kBackoff: the end of the wait before a restart.
// kTimeLimit: the end of --time-limit.
// kUptime: workers without steps have lived long enough for progress, or the group may grow again.
// kNodes: an agent's hello is overdue, or a lost agent is to be launched again.
// kSlow: the next round of the vote on which machine slows the job down, or the time to replace the
// machine that the vote named.
enum class TimerId : std::uint8_t { kState, kBackoff, kTimeLimit, kUptime, kNodes, kSlow };
inline constexpr std::size_t kTimers = 6;

struct TimerFired {
  TimerId id = TimerId::kState;
  std::uint64_t sequence = 0;  // of the SetTimer that it answers; older ones are ignored
  template <class V>
  void fields(V& v) {
    v(1, "id", id);
    v(2, "sequence", sequence);
  }
};

// A fault was injected (`robustrun inject`), or is about to be. The event is for the report alone:
// the effects of the fault are handled like those of any other fault.
struct FaultInjected {
  std::string kind;  // as the command line calls it
  base::Attempt attempt;  // the current one
  std::optional<base::NodeId> node;  // none: the supervisor itself
  std::optional<base::Rank> victim;  // none: the whole node
  std::int32_t pid = 0;  // of the process that was hit; 0: none
  std::string done;  // what was done, in words
  template <class V>
  void fields(V& v) {
    v(1, "kind", kind);
    v(2, "attempt", attempt);
    v(3, "node", node);
    v(4, "rank", victim);
    v(5, "pid", pid);
    v(6, "done", done);
  }
};

// Another supervisor has taken the run over from its journal. The core gives pending orders again.
struct SupervisorResumed {
  std::uint32_t incarnation = 2;  // number of this supervisor; the first one has 1
  std::string host;
  std::int32_t pid = 0;
  base::Nanos wall_time{};  // Unix time
  base::Nanos away{};  // since the last entry of the journal
  template <class V>
  void fields(V& v) {
    v(1, "incarnation", incarnation);
    v(2, "host", host);
    v(3, "pid", pid);
    v(4, "wall_time", wall_time);
    v(5, "away", away);
  }
};

using EventBody =
    std::variant<RunStarted, AgentJoined, AgentLost, PortReserved, WorkerStarted, WorkerStartFailed,
                 WorkerExited, WorkersGone, Progress, StepGoalReached, SignalReceived, TimerFired,
                 NodeOffered, FaultInjected, SupervisorResumed, NodeEnding, NodesChecked,
                 PlacementSolved, Diagnosed, NodeHealth, UpdateRequested, MetricAlarm,
                 NodesReplayed, CheckpointNoted, CheckpointDemoted, BackupSolved, CopiesKept,
                 HeldCopiesSaved, StartStages, SavingOver, CheckpointMoved>;

struct Event {
  base::Nanos at{};
  base::NodeId node;  // of events that come from a node
  base::Generation generation;  // of that node's agent
  EventBody body;
};

}  // namespace robustrun::supervisor
