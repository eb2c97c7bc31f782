#pragma once
// Failures and durations from the journal of one run: what failed and when, and how long each stage
// took. Uses the account of time of the report (supervisor/core/report/report.h). Pure. Accepts any
// journal, even truncated or inconsistent; missing data are left out.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/fault_trace.h"
#include "supervisor/core/report/report.h"

namespace robustrun::simulator {

// Timed stages of a run.
enum class Stage : std::uint8_t {
  kRunStart,  // from the start of the run to the first step
  kWorkerDeath,  // from a worker's death until the core knew of it
  kMachineDeath,  // from an agent's last message until the node was given up
  kHangSuspected,  // from the last progress until a hang was suspected
  kHangConvicted,  // from the last progress until the hang was certain
  kStop,  // from the decision until no worker was left
  kStopHung,  // as kStop, after a hang: hanging workers do not react
  kCheck,  // of the nodes, between two attempts
  kStart,  // from the moment all was ready until the last worker was started
  kScript,  // from the last worker's start to the first step, with the load of a checkpoint
  kScriptWarm,  // as kScript, if every worker was a standby worker
  // From the loss of an agent whose node still answered until its successor joined. In a run
  // without such a loss: the start of its first agents.
  kAgent,
  kSlowFor,  // how long a machine was slow until it recovered by itself
  kEnding,  // the end of a run after an order to stop
};
inline constexpr std::size_t kStages = 14;
const char* words_of(Stage stage);

struct SeenFault {
  Nanos at{};  // time of the failure since the run's start
  std::uint32_t attempt = 0;
  FaultKind kind = FaultKind::kPassing;
  bool is_unclear = false;  // counted as kPassing because its cause is unknown
  bool on_purpose = false;  // injected by `robustrun inject`
  bool in_training = false;  // false: while workers started
  std::uint32_t place = 0;  // of the machine, in the group
  bool node_answers = false;  // for kMachine: only its agent was lost, the node still answered
  double slows = 1;  // for kSlow
  Nanos lasts{};  // for kSlow; 0: it did not recover by itself
  // The exit of the worker that ended first, with its last output; nullopt: the failure was not the
  // end of a worker.
  std::optional<supervisor::WorkerExited> exited;
};

// A number of steps and the time of each.
struct PaceSeen {
  std::uint64_t steps = 0;
  Nanos step{};
};

struct RunRecord {
  std::string name;
  std::uint32_t nodes = 0;  // of the first group
  std::uint32_t spares = 0;
  Nanos duration{};
  double node_days = 0;  // of machines in the group
  std::vector<SeenFault> faults;  // in order of time
  std::uint32_t by_user = 0;  // restarts for updates; stops by users, the scheduler or a time limit
  std::uint32_t stalls = 0;  // how often ranks stalled without causing a restart
  std::array<std::vector<Nanos>, kStages> times;
  std::vector<PaceSeen> paces;
  // From notes about checkpoints: steps between two checkpoints, and the median of how long a rank
  // waits for one.
  std::vector<std::uint64_t> checkpoint_steps;
  std::optional<Nanos> checkpoint_stall;
  std::vector<std::uint64_t> steps_again;  // per failure: steps done twice
  supervisor::TimeReport time;  // as `robustrun report` has it

  [[nodiscard]] std::vector<Nanos>& of(Stage stage) {
    return times[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] const std::vector<Nanos>& of(Stage stage) const {
    return times[static_cast<std::size_t>(stage)];
  }
};

[[nodiscard]] RunRecord record_of(std::string name,
                                  const std::vector<supervisor::JournalEntry>& entries);

}  // namespace robustrun::simulator
