#pragma once
// A run's events for other programs: what is journaled, and how its state changes, as JSON objects
// of one line each (docs/formats/events.md). Pure; the driver's fold, entry by entry.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/core/job/job.h"
#include "supervisor/core/report/report.h"

namespace robustrun::supervisor {

// One line's members; what does not apply is left empty, and then absent.
struct RunEvent {
  base::Nanos at{};   // supervisor's clock
  std::string event;  // "decision", "worker_exited", …
  std::string rule;
  std::optional<std::uint32_t> attempt;
  std::string node;
  std::optional<std::uint32_t> rank;
  std::string from;  // states
  std::string to;
  std::string text;
  std::vector<std::string> evidence;
  std::vector<std::string> alternatives;
  std::optional<std::uint64_t> steps;
  std::optional<std::int64_t> step;
  std::optional<std::int32_t> exit_code;
  bool incident = false;  // something failed
  bool gave_up = false;   // and nothing more is tried
};

class EventLines {
 public:
  // What is told of an entry; none of what only the core needs (timers, ports, answers).
  std::optional<RunEvent> take(const JournalEntry& entry);
  // The state after an event; none while it stays the same.
  std::optional<RunEvent> take(JobState state, base::Nanos at);
  // With the run's id and the time of day. Without a line end.
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
