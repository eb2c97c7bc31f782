#pragma once
// What happened in a run, made from its journal: `robustrun report`, the summary at the end of a
// run and --summary-json show it. render.h makes text from it. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "supervisor/core/report/alarms.h"
#include "supervisor/core/report/checkpoints.h"
#include "supervisor/core/report/evictions.h"
#include "supervisor/core/report/hang.h"
#include "supervisor/core/report/incident.h"
#include "supervisor/core/report/injected.h"
#include "supervisor/core/report/time/account.h"
#include "supervisor/core/report/time/costs.h"
#include "supervisor/core/report/time/stages.h"
#include "supervisor/core/types/journal_entry.h"

namespace robustrun::supervisor {

enum class RunOutcome : std::uint8_t { kUnfinished, kSucceeded, kFailed, kStopped };
// "unfinished", "succeeded", "failed", "stopped"
[[nodiscard]] const char* to_string(RunOutcome outcome);

// A supervisor that took the run over after its predecessor died.
struct Takeover {
  std::uint32_t incarnation = 0;
  base::Nanos at{};                        // since the run's start
  base::Nanos away{};                      // upper limit of the time without a supervisor
  std::string host;
  template <class V>
  void fields(V& v) {
    v(1, "incarnation", incarnation);
    v(2, "at", at);
    v(3, "away", away);
    v(4, "host", host);
  }
};

// A start of the same Slurm job before this one; the job was queued again after it.
struct EarlierStart {
  std::string run_id;
  std::string run_directory;
  std::optional<int> exit_code;  // nullopt: its journal has no end
  base::Nanos started{};  // Unix time
  base::Nanos duration{};
  std::uint64_t steps = 0;  // least of all ranks, last attempt
  std::uint32_t incidents = 0;
  std::string reason;  // as in RunReport
  template <class V>
  void fields(V& v) {
    v(1, "run_id", run_id);
    v(2, "run_directory", run_directory);
    v(3, "exit_code", exit_code);
    v(4, "started", started);
    v(5, "duration", duration);
    v(6, "steps", steps);
    v(7, "incidents", incidents);
    v(8, "reason", reason);
  }
};
// "slurm-4711: exit code 94 after 3 h 05 min, 1200 steps, 2 incidents: Slurm preempts job 4711"
[[nodiscard]] std::string in_words(const EarlierStart& start);

struct RunReport {
  std::string run_id;
  std::string program;
  std::string version;
  RunOutcome outcome = RunOutcome::kUnfinished;
  // Whether the run has a supervisor now. Not in the JSON, which is made from journals alone.
  bool is_active = false;
  std::optional<base::Nanos>
      read_ago;  // of an active run: age of its last reading; not in the JSON
  std::string reason;  // why the run ended; without an end: the last known state
  std::optional<int> exit_code;  // nullopt: the journal has no end
  base::Nanos started{};  // Unix time
  base::Nanos duration{};
  std::uint32_t nodes = 0;
  std::uint32_t world_size = 0;
  std::uint32_t attempts = 0;
  std::uint64_t steps = 0;  // least of all ranks, last attempt
  // Last known number of a step, from the script or its optimizer; perhaps of an earlier attempt.
  std::optional<std::int64_t> step;
  std::vector<wire::Metric> metrics;  // the newest values
  // Lists of what happened are in order of time.
  std::vector<Incident> incidents;
  std::vector<InjectedFault> injected;
  std::vector<Takeover> takeovers;
  // Of the workers' output: bytes that could not be written.
  std::uint64_t dropped_bytes = 0;
  std::string log_directory;
  std::string placement;  // why the nodes have the places they have; empty: by their order
  std::vector<HangReport> hangs;
  TimeReport time;  // what the duration was spent on
  std::vector<Eviction> evictions;
  std::vector<AlarmReport> alarms;
  std::vector<PhaseCost> costs;  // of the start, then of restarts
  std::optional<CheckpointReport> checkpoints;  // nullopt: nothing was reported
  std::vector<StageCost> stages;  // of the start, then of restarts
  std::vector<EarlierStart> earlier_starts;  // only in `robustrun report`
  std::vector<MovedCheckpoint> moved;  // half-written ones
  // Of the current attempt; if the run has ended, over all attempts (pace.h).
  std::optional<double> steps_per_second;
  std::optional<base::Nanos> left;  // from the journal's last reading until step_goal() (pace.h)
  std::vector<BandwidthRow> bandwidth;  // of all attempts, at most kBandwidthReportedMax
  // In the last attempt: the longest time that a rank waited for training data (0: no rank waited),
  // and this rank.
  base::Nanos data_waited{};
  std::uint32_t data_rank = 0;
  std::uint64_t data_skipped = 0;  // records of text that the training skips
  std::vector<std::string> killed;  // decisions to kill workers that ignored a stop order
  template <class V>
  void fields(V& v) {
    v(1, "run_id", run_id);
    v(2, "program", program);
    v(3, "version", version);
    v(4, "outcome", outcome);
    v(5, "reason", reason);
    v(6, "exit_code", exit_code);
    v(7, "started", started);
    v(8, "duration", duration);
    v(9, "nodes", nodes);
    v(10, "world_size", world_size);
    v(11, "attempts", attempts);
    v(12, "steps", steps);
    v(13, "step", step);
    v(14, "metrics", metrics);
    v(15, "incidents", incidents);
    v(16, "dropped_bytes", dropped_bytes);
    v(17, "log_directory", log_directory);
    v(18, "injected", injected);
    v(19, "takeovers", takeovers);
    v(20, "placement", placement);
    v(21, "hangs", hangs);
    v(22, "time", time);
    v(23, "evictions", evictions);
    v(24, "alarms", alarms);
    v(25, "costs", costs);
    v(26, "checkpoints", checkpoints);
    v(27, "stages", stages);
    v(28, "earlier_starts", earlier_starts);
    v(29, "moved", moved);
    v(30, "steps_per_second", steps_per_second);
    v(31, "left", left);
    v(32, "bandwidth", bandwidth);
    v(33, "data_waited", data_waited);
    v(34, "data_rank", data_rank);
    v(35, "killed", killed);
    v(36, "data_skipped", data_skipped);
  }
};

// Accepts any journal: members stay empty where entries are missing or contradict each other.
RunReport build_report(const std::vector<JournalEntry>& entries);

// One JSON object. Durations are in seconds (names end in _s); bytes that are not UTF-8 are
// escaped.
std::string report_json(const RunReport& report);

}  // namespace robustrun::supervisor
