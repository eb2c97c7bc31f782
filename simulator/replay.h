#pragma once
// Replays a real run's failures in the simulator and compares the result with the run: the test of
// the simulator against reality. Pure.
//
// Taken from the run: its layout, policy and duration, and the time and place of each failure. All
// durations of stages are taken from `site` instead (journals of other runs, or medians over all of
// the run's own incidents of a kind, as the caller chooses). The core decides anew.
//
// Left out and counted: failures while workers were starting, stalls that ended by themselves, and
// restarts ordered by users.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/own_run.h"
#include "simulator/site.h"

namespace robustrun::simulator {

struct ReplayRequest {
  const std::vector<supervisor::JournalEntry>* run = nullptr;
  std::string name;
  JobTerms job;  // step, start, load, checkpoints; nodes, spares and duration come from the run
  OwnTimes times;
  Site site;  // for the start of a run and its end
  std::uint64_t seed = 1;
};

// A row of `robustrun report`, and its counterpart in the simulation.
struct ReplayRow {
  std::string spent;
  Nanos real{};
  Nanos simulated{};
};

struct Replay {
  std::string name;
  std::uint32_t nodes = 0, spares = 0;
  Nanos duration{};
  double real_ettr = 0, simulated_ettr = 0;
  std::uint32_t played = 0;  // failures that ended an attempt in training
  std::uint32_t simulated = 0;  // of these, those that did so in the simulation
  std::uint32_t while_starting = 0, stalls = 0, by_user = 0;  // left out
  std::vector<ReplayRow> rows;  // each column sums to `duration`
  bool start_is_copied = false;  // no other run tells how long a start takes: it is the run's own
};

// kInvalidArgument when the journal lacks the specification or any training.
[[nodiscard]] base::Result<Replay> replay_run(const ReplayRequest& request);

}  // namespace robustrun::simulator
