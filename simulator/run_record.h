#pragma once
// What the journal of one run tells of failures and of times: what went wrong, when, and how long
// each stage took. A query over the journal, beside the report (supervisor/core/report/report.h),
// whose account of time it uses. Pure. Of any journal, whole or not, sensible or not: what it does
// not tell is left out.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/fault_trace.h"
#include "supervisor/core/report/report.h"

namespace robustrun::simulator {

// What is timed. Each has words (words_of) and a place in the simulation (site.cpp).
enum class Stage : std::uint8_t {
  kRunStart,       // from the run's beginning to the first step
  kWorkerDeath,    // a worker died → the core heard of it
  kMachineDeath,   // an agent's last word → it is given up
  kHangSuspected,  // the last progress → a hang is suspected
  kHangConvicted,  // the last progress → the hang is certain
  kStop,           // the decision → no worker is left
  kStopHung,       // the same after a hang: who hangs does not obey
  kCheck,          // of the nodes, between two attempts
  kStart,          // all is there → the last worker was started
  kScript,         // → the first step, with the load of a checkpoint
  kScriptWarm,     // the same where every worker was a standby worker
  kAgent,          // start of an agent
  kSlowFor,        // a machine was slow, and was fast again by itself
  kEnding,         // the end of a run that is stopped
};
inline constexpr std::size_t kStages = 14;
const char* words_of(Stage stage);

struct SeenFault {
  Nanos at{};  // since the run's start: when it had gone wrong
  std::uint32_t attempt = 0;
  FaultKind kind = FaultKind::kPassing;
  bool is_unclear = false;    // nobody could say what it was: counted as passing
  bool on_purpose = false;    // `robustrun inject`
  bool in_training = false;   // else while workers started
  std::uint32_t place = 0;    // of the machine, in the group
  bool node_answers = false;  // of kMachine: its agent died alone, and another one came
  double slows = 1;           // of kSlow
  Nanos lasts{};              // likewise; 0: until the run's end
  std::optional<supervisor::WorkerExited> exited;  // what the worker left that ended first
};

// So many steps, at so long each.
struct PaceSeen {
  std::uint64_t steps = 0;
  Nanos step{};
};

struct RunRecord {
  std::string name;
  std::uint32_t nodes = 0;  // that train: the first group
  std::uint32_t spares = 0;
  Nanos duration{};
  double node_days = 0;  // of machines that train
  std::vector<SeenFault> faults;  // in order
  std::uint32_t by_user = 0;      // restarts for other code, and orders to stop
  std::uint32_t stalls = 0;       // ranks that waited, and went on by themselves
  std::array<std::vector<Nanos>, kStages> times;
  std::vector<PaceSeen> paces;
  // From notes about checkpoints: steps from one to the next, and how long a rank waits for one.
  std::vector<std::uint64_t> checkpoint_steps;
  std::optional<Nanos> checkpoint_stall;
  std::vector<std::uint64_t> steps_again;  // per failure, done twice
  supervisor::TimeReport time;             // as `robustrun report` has it

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
