#pragma once
// Failures and durations from the journal of one run: what failed and when, and how long each stage
// took. A query over the journal that uses the time account of the report
// (supervisor/core/report/report.h). Pure. Accepts any journal, even truncated or inconsistent;
// what it does not contain is left out.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/fault_trace.h"
#include "supervisor/core/report/report.h"

namespace robustrun::simulator {

// Timed stages. Each has words (words_of) and a use in the simulation (site.cpp).
enum class Stage : std::uint8_t {
  kRunStart,  // from the run's beginning to the first step
  kWorkerDeath,  // a worker died → the core learnt of it
  kMachineDeath,  // an agent's last message → the node is given up
  kHangSuspected,  // the last progress → a hang is suspected
  kHangConvicted,  // the last progress → the hang is certain
  kStop,  // the decision → no worker is left
  kStopHung,  // the same after a hang: hanging workers do not react
  kCheck,  // of the nodes, between two attempts
  kStart,  // all is ready → the last worker was started
  kScript,  // → the first step, including the load of a checkpoint
  kScriptWarm,  // the same if every worker was a standby worker
  // An agent whose node answers was lost → its successor joined. In a run where that did not
  // happen: the start of its first agents.
  kAgent,
  kSlowFor,  // a machine was slow until it recovered by itself
  kEnding,  // the end of a run after an order to stop
};
inline constexpr std::size_t kStages = 14;
const char* words_of(Stage stage);

struct SeenFault {
  Nanos at{};  // since the run's start: time of the failure
  std::uint32_t attempt = 0;
  FaultKind kind = FaultKind::kPassing;
  bool is_unclear = false;  // counted as kPassing because its cause is unknown
  bool on_purpose = false;  // `robustrun inject`
  bool in_training = false;  // otherwise while workers started
  std::uint32_t place = 0;  // of the machine, in the group
  bool node_answers = false;  // for kMachine: only its agent was lost, the node still answered
  double slows = 1;  // for kSlow
  Nanos lasts{};  // for kSlow; 0: it did not recover by itself
  // The exit of the worker that ended first, with its last output; none: no worker's end was the
  // failure.
  std::optional<supervisor::WorkerExited> exited;
};

// A number of steps and the time of each.
struct PaceSeen {
  std::uint64_t steps = 0;
  Nanos step{};
};

struct RunRecord {
  std::string name;
  std::uint32_t nodes = 0;  // that train: the first group
  std::uint32_t spares = 0;
  Nanos duration{};
  double node_days = 0;  // of machines in the group
  std::vector<SeenFault> faults;  // in order of time
  std::uint32_t by_user = 0;  // restarts for updates, and orders to stop, the scheduler's too
  std::uint32_t stalls = 0;  // times that ranks waited, without a restart for it
  std::array<std::vector<Nanos>, kStages> times;
  std::vector<PaceSeen> paces;
  // From checkpoint notes: steps between two checkpoints, and how long a rank waits for one.
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
