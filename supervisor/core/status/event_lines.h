#pragma once
// A run's events for other programs: journal entries and state changes as JSON objects, one per
// line (docs/formats/events.md). Pure; the outlets pass in the journal's entries one by one.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/core/job/job.h"
#include "supervisor/core/report/report.h"

namespace robustrun::supervisor {

// The members of one line; empty ones are left out.
struct RunEvent {
  base::Nanos at{};   // supervisor's clock
  std::string event;  // "decision", "worker_exited", …
  std::string rule;
  std::optional<std::uint32_t> attempt;
  std::string node;
  std::optional<std::uint32_t> rank;
  std::string from;  // state of the job
  std::string to;  // state of the job
  std::string text;
  std::vector<std::string> evidence;
  std::vector<std::string> alternatives;
  std::optional<std::uint64_t> steps;
  std::optional<std::int64_t> step;
  std::optional<std::int32_t> exit_code;
  bool incident = false;  // something failed
  bool gave_up = false;   // the run ends because of a failure
};

class EventLines {
 public:
  // The event for an entry; nullopt for entries that only the core needs (timers, ports, answers),
  // and for those whose result is in a decision.
  std::optional<RunEvent> take(const JournalEntry& entry);
  // The event for a new state; nullopt if `state` is that of the call before.
  std::optional<RunEvent> take(JobState state, base::Nanos at);
  // The line, with the run's id and the time of day, without a newline.
  [[nodiscard]] std::string json(const RunEvent& event) const;

 private:
  std::optional<RunEvent> tell(const Event& event);
  [[nodiscard]] std::string node_name(base::NodeId node) const;

  std::string run_id_;
  std::string program_;
  base::Nanos first_at_{};
  base::Nanos wall_time_{};
  std::vector<std::string> nodes_;  // by NodeId
  JobState state_ = JobState::kIdle;
};

// Unix time as "2026-08-01T10:00:02.400Z".
[[nodiscard]] std::string utc_text(base::Nanos unix_time);

}  // namespace robustrun::supervisor
