#pragma once
// A real run beside its simulation (`robustrun sim --replay`), as text and as one JSON object
// (docs/sim.md). Pure.

#include <string>
#include <vector>

#include "simulator/replay.h"
#include "simulator/study_figures.h"

namespace robustrun::cli {

struct ReplayShown {
  simulator::Replay replay;
  simulator::Site site;  // the journals whose times were used
  bool calibrated_by_itself = false;  // the times are the replayed run's own
  std::vector<simulator::KnownFigure> figures;
};
[[nodiscard]] std::string replay_text(const ReplayShown& shown);
[[nodiscard]] std::string replay_json(const ReplayShown& shown);

}  // namespace robustrun::cli
