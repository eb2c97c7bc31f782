#pragma once
// What happened in a run, made from its journal alone: pure, records in, plain data out.
// `robustrun report`, the summary at the end of a run and --summary-json all show this.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "supervisor/core/report/alarms.h"
#include "supervisor/core/report/checkpoints.h"
#include "supervisor/core/report/costs.h"
#include "supervisor/core/report/evictions.h"
#include "supervisor/core/report/hang.h"
#include "supervisor/core/report/incident.h"
#include "supervisor/core/report/injected.h"
#include "supervisor/core/report/stages.h"
#include "supervisor/core/report/time.h"
#include "supervisor/core/types/actions.h"
#include "supervisor/core/types/events.h"

namespace robustrun::supervisor {

// One line of the journal: an event, or a decision that followed from the events before it.
struct JournalEntry {
  base::Nanos at{};
  std::variant<Event, Decision, Finish, GroupFormed> what;
};

// A supervisor that went on where another one was killed.
struct Takeover {
  std::uint32_t incarnation = 0;
  base::Nanos at{};                        // since the run's start
  base::Nanos away{};                      // nobody supervised the run for so long, at most
  std::string host;
  template <class V>
  void fields(V& v) {
    v(1, "incarnation", incarnation);
    v(2, "at", at);
    v(3, "away", away);
    v(4, "host", host);
  }
};

struct RunReport {
  std::string run_id;
  std::string program;
  std::string version;
  std::string outcome;  // "succeeded", "failed", "stopped", "unfinished"
  std::string reason;  // the last decision's sentence
  std::optional<int> exit_code;  // none: the supervisor did not live to say it
  base::Nanos started{};  // Unix time
  base::Nanos duration{};
  std::uint32_t nodes = 0;
  std::uint32_t world_size = 0;
  std::uint32_t attempts = 0;
  std::uint64_t steps = 0;  // least of all ranks, last attempt
  std::optional<std::int64_t> step;  // the script's own number
  std::vector<wire::Metric> metrics;  // final, of rank 0
  std::vector<Incident> incidents;
  std::vector<InjectedFault> injected;  // in order
  std::vector<Takeover> takeovers;  // in order
  std::uint64_t dropped_bytes = 0;
  std::string log_directory;
  std::string placement;  // why the nodes have the places they have; empty: by their order
  std::vector<HangReport> hangs;  // in order
  TimeReport time;  // what the duration was spent with
  std::vector<Eviction> evictions;  // in order
  std::vector<AlarmReport> alarms;  // in order
  std::vector<PhaseCost> costs;  // of the start, then of restarts
  std::optional<CheckpointReport> checkpoints;  // none: the workers told of none
  std::vector<StageCost> stages;  // of the start, then of restarts
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
  }
};

// Never fails: what entries are missing or contradict each other (a supervisor killed in the
// middle) leaves its members empty.
RunReport build_report(const std::vector<JournalEntry>& entries);

// For people; `width` columns, ANSI colour if asked for. `stderr_lines`: how many of a failed
// worker's last lines are shown.
inline constexpr std::size_t kStderrLinesSummary = 10;  // at the end of a run
inline constexpr std::size_t kStderrLinesFull = 50;  // robustrun report
std::string render_report(const RunReport& report, bool colour, int width,
                          std::size_t stderr_lines = kStderrLinesSummary);

// One JSON object; durations in seconds (names end in _s), bytes that are not UTF-8 escaped.
std::string report_json(const RunReport& report);

// torchrun's ChildFailedError block (docs/compat.md) for the attempt that ended the run, with a
// newline at its end, times in the local time zone; empty when the run did not fail through a
// worker. Workers that died after our stop order are no failures.
std::string child_failed_block(const std::vector<JournalEntry>& entries);

// What belongs into our own TORCHELASTIC_ERROR_FILE (robustrun started by another torchrun): the
// root cause's error file with message.errorCode added. Empty when it left none.
std::string nested_error_json(const std::vector<JournalEntry>& entries);

}  // namespace robustrun::supervisor
