#pragma once
// How a run stands, as `robustrun status` shows it: plain data, and its fold from a journal. Pure.
//
// A StatusFold takes the entries of a run's journal in order. In the driver these are the entries
// that it writes; driver/status_view.cpp then fills in what the journal does not tell (readings,
// signs of life). Commands take the entries from the file. As JSON: docs/formats/status.md. As
// text: render.h.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/core/job/job.h"
#include "supervisor/core/report/pace.h"
#include "supervisor/core/report/report.h"
#include "supervisor/core/status/group_wait.h"
#include "supervisor/core/status/run_totals.h"

namespace robustrun::supervisor {

enum class AgentStatus : std::uint8_t { kStarting, kJoined, kSuspect, kLost };
inline constexpr std::uint8_t kAgentStatuses = 4;
// "starting", "joined", "suspect", "lost"
[[nodiscard]] const char* to_string(AgentStatus status);

// kSilent: the supervisor does not answer, and the status is from the journal alone.
enum class SupervisorStatus : std::uint8_t { kSilent, kAnswers, kEnded };
// "silent", "answers", "ended"
[[nodiscard]] const char* to_string(SupervisorStatus status);

// A rank that waits for training data at least this long is shown as waiting.
inline constexpr base::Nanos kDataWaitShown = std::chrono::seconds(2);

struct RankStatus {
  WorkerStage state = WorkerStage::kPending;
  std::int32_t pid = 0;  // on its node; 0: not started
  // Only a supervisor that answers knows these:
  std::uint64_t steps = 0;  // in this attempt
  // The number of its last step, from the script or its optimizer.
  std::optional<std::int64_t> step;
  base::Nanos data_waited{};  // for training data, in this attempt
  std::optional<base::Nanos> data_waiting{};  // of the current wait for data; nullopt: no wait
  std::string data_place{};  // of the current wait: "source web, /data/web-0.bin"; empty: unknown
  std::uint64_t data_skipped = 0;  // records of text that the training skips
  template <class V>
  void fields(V& v) {
    v(1, "state", state);
    v(2, "pid", pid);
    v(3, "steps", steps);
    v(4, "step", step);
    v(5, "data_waited", data_waited);
    v(6, "data_waiting", data_waiting);
    v(7, "data_place", data_place);
    v(8, "data_skipped", data_skipped);
  }
  friend bool operator==(const RankStatus&, const RankStatus&) = default;
};

// The hang that was diagnosed last, or the slowness if there is no hang; until it passes or the
// next attempt begins.
struct HangStatus {
  tracer::Finding finding = tracer::Finding::kNothing;
  bool confirmed = false;  // a proven hang: it ends the attempt
  std::string sentence;
  std::vector<std::uint32_t> culprits;  // ranks
  std::vector<std::string> nodes;  // of the culprits
  std::vector<std::uint32_t> victims;  // ranks that wait for them
  std::string operation;  // "all_reduce"; empty: no particular one
  std::uint64_t ordinal = 0;  // of the operation; 0: unknown
  std::string group;  // the operation's process group
  std::string place;  // where all culprits are: "load (train.py:87)"; empty: unknown
  base::Nanos lasting{};  // until now
  template <class V>
  void fields(V& v) {
    v(1, "finding", finding);
    v(2, "confirmed", confirmed);
    v(3, "sentence", sentence);
    v(4, "culprits", culprits);
    v(5, "nodes", nodes);
    v(6, "victims", victims);
    v(7, "operation", operation);
    v(8, "ordinal", ordinal);
    v(9, "group", group);
    v(10, "place", place);
    v(11, "lasting", lasting);
  }
};

struct NodeStatus {
  std::string name;
  std::string address;
  std::optional<std::uint32_t> node_rank;  // nullopt: not in the group
  std::uint32_t first_rank = 0;  // its ranks are first_rank … first_rank + workers - 1
  std::uint32_t workers = 0;
  AgentStatus agent = AgentStatus::kStarting;
  std::int32_t pid = 0;  // of the agent, on its machine; 0: unknown
  std::uint32_t losses = 0;  // how often an agent of this node was lost
  std::string trouble;  // how the last agent was lost, or why it is suspect
  std::string scheduler;  // what the scheduler plans for it: "it is draining (bad disk)"
  bool evicted = false;  // or drained: the node takes no part until it returns
  // By --topology; without racks, the switch above the node. Empty: unknown, or the supervisor does
  // not answer.
  std::string rack;
  // Only a supervisor that answers knows these:
  std::optional<base::Nanos> heard;  // time since the agent was last heard of
  std::string stage;  // stage of a start under way (wire/messages/stages.h); empty: none
  base::Nanos stage_took{};  // until now
  std::optional<std::uint32_t> stage_rank;  // the rank at that stage; nullopt: the node itself
  std::vector<RankStatus> ranks;  // of this attempt, by local rank; the journal has state and pid
  // Only valid once there is a group.
  [[nodiscard]] bool is_spare() const {
    return agent == AgentStatus::kJoined && !node_rank && !evicted;
  }
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "address", address);
    v(3, "node_rank", node_rank);
    v(4, "first_rank", first_rank);
    v(5, "workers", workers);
    v(6, "agent", agent);
    v(7, "pid", pid);
    v(8, "losses", losses);
    v(9, "trouble", trouble);
    v(10, "heard", heard);
    v(11, "stage", stage);
    v(12, "stage_took", stage_took);
    v(13, "stage_rank", stage_rank);
    v(14, "ranks", ranks);
    v(15, "scheduler", scheduler);
    v(16, "evicted", evicted);
    v(17, "rack", rack);
  }
  friend bool operator==(const NodeStatus&, const NodeStatus&) = default;
};

struct RestartStatus {
  std::uint32_t attempt = 0;  // the attempt that failed
  base::Nanos at{};  // since the run's start
  std::string cause;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "at", at);
    v(3, "cause", cause);
  }
};

struct RunStatus {
  std::string run_id;
  std::string program;
  std::vector<std::string> command;  // redacted
  std::string version;
  SupervisorStatus supervisor = SupervisorStatus::kSilent;
  bool is_busy = false;  // kSilent, but the supervisor's process is there; not in the JSON object
  std::string host;  // of the supervisor; empty: unknown
  std::int32_t pid = 0;  // of the supervisor; 0: unknown
  JobState state = JobState::kIdle;
  base::Nanos started{};  // Unix time
  base::Nanos uptime{};  // from the journal alone: until its last entry
  std::uint32_t attempt = 0;
  std::uint32_t workers = 0;
  std::uint64_t steps = 0;  // least of all ranks, in this attempt
  // Last known number of a step, from the script or its optimizer; perhaps of an earlier attempt.
  std::optional<std::int64_t> step;
  std::optional<double> steps_per_second;
  std::optional<base::Nanos> stepped;  // time since the last step
  std::vector<wire::Metric> metrics;  // the newest values
  std::uint32_t restarts = 0;
  std::vector<RestartStatus> last_restarts;  // in order, at most kRestartsKept
  std::string decision;  // the last one
  base::Nanos decided{};  // time since that decision
  std::optional<std::int32_t> exit_code;
  std::vector<NodeStatus> nodes;  // by node rank, then those outside the group
  std::string run_directory;
  std::string log_directory;
  std::string console_log;  // empty: the console is not written to a file
  std::string metrics_url;  // empty: metrics are not served, or the supervisor does not answer
  std::string placement;  // why the nodes have the places they have; empty: by their order
  std::optional<std::uint64_t> committed_step;  // of the last committed checkpoint
  std::optional<std::uint64_t> loaded_step;  // of the checkpoint that this attempt resumed from
  std::string cold;  // the newest reason why a worker started without a standby; empty: none
  std::uint32_t max_restarts = 0;
  std::uint32_t restarts_used = 0;  // those that count against max_restarts
  std::optional<std::uint64_t> stop_after_steps;
  std::optional<HangStatus> hang;
  std::vector<EarlierStart> earlier_starts;  // of a requeued Slurm job
  std::optional<GroupWait> group_wait;  // under way; only a supervisor that answers knows it
  std::optional<base::Nanos> left;  // until step_goal() (pace.h) at this speed; only in kRunning
  // Of the last seconds. From the journal alone: of the whole last attempt that reported some.
  std::vector<BandwidthRow> bandwidth;
  template <class V>
  void fields(V& v) {
    v(1, "run_id", run_id);
    v(2, "program", program);
    v(3, "command", command);
    v(4, "version", version);
    v(5, "supervisor", supervisor);
    v(6, "host", host);
    v(7, "pid", pid);
    v(8, "state", state);
    v(9, "started", started);
    v(10, "uptime", uptime);
    v(11, "attempt", attempt);
    v(12, "workers", workers);
    v(13, "steps", steps);
    v(14, "step", step);
    v(15, "steps_per_second", steps_per_second);
    v(16, "stepped", stepped);
    v(17, "metrics", metrics);
    v(18, "restarts", restarts);
    v(19, "last_restarts", last_restarts);
    v(20, "decision", decision);
    v(21, "decided", decided);
    v(22, "exit_code", exit_code);
    v(23, "nodes", nodes);
    v(24, "run_directory", run_directory);
    v(25, "log_directory", log_directory);
    v(26, "console_log", console_log);
    v(27, "placement", placement);
    v(28, "committed_step", committed_step);
    v(29, "loaded_step", loaded_step);
    v(30, "cold", cold);
    v(31, "max_restarts", max_restarts);
    v(32, "restarts_used", restarts_used);
    v(33, "stop_after_steps", stop_after_steps);
    v(34, "hang", hang);
    v(35, "earlier_starts", earlier_starts);
    v(36, "group_wait", group_wait);
    v(37, "metrics_url", metrics_url);
    v(38, "left", left);
    v(39, "bandwidth", bandwidth);
  }
};

class StatusFold {
 public:
  void take(const JournalEntry& entry);
  // The status at `now` of the supervisor's clock, as far as the journal tells. The nodes are in
  // the order of NodeId; the caller fills in the rest and then calls arrange().
  [[nodiscard]] RunStatus status(base::Nanos now) const;
  // Of this attempt, over all of its steps so far; nullopt: unknown.
  [[nodiscard]] std::optional<double> steps_per_second() const;

 private:
  void take(const Event& event);
  void begin(base::Nanos at, const RunStarted& run);
  void begin_attempt(base::Attempt attempt);
  void take(const Decision& decision, base::Nanos at);
  void take(const GroupFormed& group);
  void take(const Progress& progress);
  void take(const CheckpointNoted& noted);
  void take(const Diagnosed& diagnosed, base::Nanos at);
  void note(base::Attempt attempt, base::Rank rank, WorkerStage state, std::int32_t pid);
  NodeStatus* node(base::NodeId id);

  RunStatus now_;  // without the members that depend on the time
  base::Nanos first_at_{};
  base::Nanos decided_at_{};
  std::string cause_;  // of the failure that has no verdict yet; empty: none
  std::vector<RankStatus> ranks_;  // of this attempt
  base::Nanos hang_at_{};  // when it was diagnosed
  std::optional<base::Nanos> stepped_at_;
  PaceFold pace_;
};

// The waits of ranks for training data.
struct DataWaits {
  // The rank whose current wait is the longest, if it lasts for kDataWaitShown or longer; null: no
  // such wait.
  const RankStatus* waiting = nullptr;
  std::uint32_t waiting_rank = 0;
  std::uint32_t waiting_ranks = 0;  // number of ranks whose current wait lasts that long
  // The rank with the longest sum of waits in this attempt, and that sum. 0: no rank has waited.
  base::Nanos waited{};
  std::uint32_t waited_rank = 0;
  std::uint64_t skipped = 0;  // records of text that the training skips
};
// Points into `status`.
[[nodiscard]] DataWaits data_waits_of(const RunStatus& status);

// Fills in `left` from the other members.
void note_time_left(RunStatus& status);

// Sorts the nodes: those of the group by node rank, then the others in their order.
void arrange(RunStatus& status);

// The status of a run from its journal alone. Ages are those at the journal's last entry.
[[nodiscard]] RunStatus status_of_journal(const std::vector<JournalEntry>& entries);

[[nodiscard]] std::string status_json(const RunStatus& status);

}  // namespace robustrun::supervisor
