#pragma once
// A real run's failures played in the simulator, beside what the run made of them: the test of the
// simulator against reality. Pure.
//
// Taken from the run itself: its layout, its policy, how long it lasted, and which failure struck
// when and where. Not taken from it, but from `site` (the journals of other runs, or medians over
// all of its own incidents of a kind, as the caller says): how long anything takes. What the core
// decides is decided anew.
//
// Left out, and counted: failures while workers were starting, ranks that waited and went on by
// themselves, and restarts that users ordered.

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
  JobTerms job;  // step, start, load, checkpoints; nodes, spares and duration are the run's
  OwnTimes times;
  Site site;  // for the start of a run and its end
  std::uint64_t seed = 1;
};

// Rows of `robustrun report`, and the same of the simulation.
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
  std::uint32_t played = 0;     // failures that ended an attempt that trained
  std::uint32_t simulated = 0;  // that did so in the simulation, too
  std::uint32_t while_starting = 0, stalls = 0, by_user = 0;  // left out
  std::vector<ReplayRow> rows;  // each column sums up to `duration`
  bool start_is_copied = false;  // no other run says how long a start takes: it is the run's own
};

// kInvalidArgument when the journal does not tell enough: no specification, or no training.
[[nodiscard]] base::Result<Replay> replay_run(const ReplayRequest& request);

}  // namespace robustrun::simulator
