#pragma once
// The counters among a run's metrics (docs/metrics.md): sums over its journal that are not part of
// its status (status.h). Pure; the outlets pass in the journal's entries one by one.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "supervisor/core/types/journal_entry.h"

namespace robustrun::supervisor {

enum class WorkerStage : std::uint8_t { kPending, kRunning, kSucceeded, kFailed, kStopped };
inline constexpr std::size_t kWorkerStages = 5;
[[nodiscard]] std::string_view to_string(WorkerStage state);

struct RunTotals {
  std::map<Rule, std::uint64_t> incidents;  // by the rule that decided about them
  std::map<Rule, std::uint64_t> restarts;  // by their cause
  std::uint64_t hangs_suspected = 0;
  std::uint64_t hangs_convicted = 0;
  std::uint64_t hangs_passed = 0;
  std::uint64_t agents_lost = 0;
  std::uint64_t faults_injected = 0;
  std::uint32_t supervisors = 1;          // this one and its predecessors
  std::uint64_t earlier_steps = 0;        // of the attempts before this one
  std::array<std::uint64_t, kWorkerStages> workers{};  // of this attempt, by WorkerStage
};

class TotalsFold {
 public:
  void take(const JournalEntry& entry);
  [[nodiscard]] const RunTotals& totals() const { return totals_; }

 private:
  void take(const Event& event);
  void take(const Decision& decision);
  void begin_attempt(std::uint32_t attempt);
  void form(const GroupFormed& group);
  void note(base::Attempt attempt, base::Rank rank, WorkerStage state);

  RunTotals totals_;
  std::vector<WorkerStage> workers_;  // by rank
  std::uint32_t attempt_ = 0;
  std::uint64_t steps_ = 0;    // of this attempt, as far as the journal tells
  std::optional<Rule> cause_;  // of the failure that has no verdict yet
};

}  // namespace robustrun::supervisor
