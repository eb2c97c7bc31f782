#pragma once
// What `robustrun top` takes from a run's journal: ETTR, incidents, readings of the loss, the use
// of time, and where the ranks write their logs. Pure.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/runs/log_files.h"
#include "supervisor/core/report/time/account.h"
#include "supervisor/core/types/journal_entry.h"

namespace robustrun::cli {

struct IncidentLine {
  base::Nanos at{};  // since the run's start
  std::uint32_t attempt = 0;
  std::optional<std::uint32_t> rank;
  std::string what;  // "rank 1 on vm: SIGKILL"
  std::string verdict;  // "restart 1 of 3: …"
};

struct RunFacts {
  std::optional<double> ettr;
  std::optional<double> ettr_last_hour;
  std::vector<IncidentLine> incidents;  // the last 1000, in order
  std::vector<double> losses;  // the last 256 readings, in order
  std::vector<supervisor::Stretch> timeline;  // from the start, without gaps
  AttemptLogs logs;  // of the last attempt; no ranks: no logs are known
};

// `exists`: whether this machine has the path.
[[nodiscard]] RunFacts facts_of(const std::vector<supervisor::JournalEntry>& journal,
                                const std::function<bool(const std::string& path)>& exists);

// The value of the loss; nullopt: no metric is the loss.
[[nodiscard]] std::optional<double> loss_of(const std::vector<wire::Metric>& metrics);

}  // namespace robustrun::cli
