#pragma once
// How a run stands: what `robustrun status` shows. Pure data, and its fold from a journal.
//
// One StatusFold takes the entries of a run in their order: the driver's, as they are written, or a
// reader's, from the file. What the journal does not tell (readings, signs of life) is filled in by
// the driver (driver_status.cpp). As JSON: docs/formats/status.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/core/job/job.h"
#include "supervisor/core/report/report.h"

namespace robustrun::supervisor {

struct NodeStatus {
  std::string name;
  std::string address;
  std::optional<std::uint32_t> node_rank;  // none: not in the group
  std::uint32_t first_rank = 0;  // its ranks are this one and the `workers` - 1 behind it
  std::uint32_t workers = 0;
  std::string agent;  // "starting", "joined", "suspect", "lost"
  std::int32_t pid = 0;  // of the agent, on its machine; 0: none is known
  std::uint32_t losses = 0;  // of its agents
  std::string trouble;  // how the last one was lost, or why it is suspected
  std::optional<base::Nanos> heard;  // ago; a supervisor that answers knows it
  std::string stage;  // of a start under way (wire/messages/stages.h), in words; it knows that, too
  base::Nanos stage_took{};  // until now
  std::optional<std::uint32_t> stage_rank;  // whose it is; none: the node's
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
  }
};

struct RestartStatus {
  std::uint32_t attempt = 0;  // the one that failed
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
  std::string supervisor;  // "answers", "silent" (journal alone), "ended"
  std::string host;  // of the supervisor; empty: not known
  std::int32_t pid = 0;  // of the supervisor; 0: not known
  std::string state;  // a JobState in words
  base::Nanos started{};  // Unix time
  base::Nanos uptime{};  // or, from the journal alone, until its last entry
  std::uint32_t attempt = 0;
  std::uint32_t workers = 0;
  std::uint64_t steps = 0;  // least of all ranks, of this attempt
  std::optional<std::int64_t> step;  // the script's own number
  std::optional<double> steps_per_second;
  std::optional<base::Nanos> stepped;  // ago
  std::vector<wire::Metric> metrics;  // of rank 0
  std::uint32_t restarts = 0;
  std::vector<RestartStatus> last_restarts;  // in order, at most kRestartsKept
  std::string decision;  // the last one
  base::Nanos decided{};  // ago
  std::optional<std::int32_t> exit_code;
  std::vector<NodeStatus> nodes;  // by node rank; those outside the group behind them
  std::string run_directory;
  std::string log_directory;
  std::string console_log;  // empty: the console is the terminal's
  std::string placement;  // as in RunReport
  std::optional<std::uint64_t> committed_step;  // of the last checkpoint that was committed
  std::optional<std::uint64_t> loaded_step;  // of the one that this attempt goes on from
  std::string cold;  // the newest reason why a restart did without a standby worker; empty: none
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
  }
};

class StatusFold {
 public:
  void take(const JournalEntry& entry);
  // As the journal tells, at `now` of the supervisor's clock. Nodes are by NodeId; who must be told
  // apart further is the caller's: see arrange().
  [[nodiscard]] RunStatus status(base::Nanos now) const;

 private:
  void take(const Event& event);
  void begin(base::Nanos at, const RunStarted& run);
  void begin_attempt(base::Attempt attempt);
  void take(const Decision& decision, base::Nanos at);
  void take(const GroupFormed& group);
  void take(const Progress& progress);
  void take(const CheckpointNoted& noted);
  NodeStatus* node(base::NodeId id);

  RunStatus now_;  // but for what depends on the time
  base::Nanos first_at_{};
  base::Nanos decided_at_{};
  std::string cause_;  // of what is going on, if something failed
  std::optional<base::Nanos> stepped_at_;
  // For the speed: the first mark of this attempt that has steps.
  std::optional<base::Nanos> first_step_at_;
  std::uint64_t first_steps_ = 0;
};

// Nodes of the group first, by node rank; the others behind them, as they were.
void arrange(RunStatus& status);

// Of a run whose supervisor is not asked. Ages count from the journal's last entry.
[[nodiscard]] RunStatus status_of_journal(const std::vector<JournalEntry>& entries);

// For people. `nodes_max` lines of the table at most.
[[nodiscard]] std::string render_status(const RunStatus& status, bool colour, int width,
                                        std::size_t nodes_max);
[[nodiscard]] std::string status_json(const RunStatus& status);

}  // namespace robustrun::supervisor
