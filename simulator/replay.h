#pragma once
// Replays a real run's failures in the simulator and compares the result with the run: the test of
// the simulator against reality. Pure.
//
// The run gives its layout, policy and duration, and the time and place of each failure. The caller
// gives the durations of stages: `times` and `job`, and `site` for the run's start and end. They
// come from journals of other runs, or are medians over all of the run's own incidents of a kind.
// The core decides anew.
//
// Left out and counted: failures while workers were starting, stalls that no restart ended, and
// restarts and stops by users, the scheduler or a time limit. Failures before the simulated first
// step or after the simulated end are left out without a count.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/own_run.h"
#include "simulator/site.h"

namespace robustrun::simulator {

struct ReplayRequest {
  const std::vector<supervisor::JournalEntry>* run = nullptr;  // not null; the caller's
  std::string name;
  JobTerms job;  // step, start, load, checkpoints; nodes, spares and duration come from the run
  OwnTimes times;
  Site site;  // for the start of a run and its end
  std::uint64_t seed = 1;
};

// A row of `robustrun report`, and its counterpart in the simulation.
struct ReplayRow {
  std::string spent;  // what the time was spent on, in the report's words
  Nanos real{};
  Nanos simulated{};
};

struct Replay {
  std::string name;
  std::uint32_t nodes = 0, spares = 0;
  Nanos duration{};
  double real_ettr = 0, simulated_ettr = 0;
  std::uint32_t played = 0;  // failures during training, which were played again
  std::uint32_t simulated = 0;  // incidents that these failures caused in the simulation
  std::uint32_t while_starting = 0, stalls = 0, by_user = 0;  // left out
  std::vector<ReplayRow> rows;  // each column sums to `duration`
  // No other run tells how long a start takes, so the run's own start was used.
  bool start_is_copied = false;
};

// kInvalidArgument: the journal lacks the specification, or the run never trained.
[[nodiscard]] base::Result<Replay> replay_run(const ReplayRequest& request);

}  // namespace robustrun::simulator
