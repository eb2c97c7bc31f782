#pragma once
// What `robustrun sim` shows of a study: tables for people, JSON for scripts (docs/sim.md), and a
// picture. Pure.

#include <string>
#include <vector>

#include "simulator/replay.h"
#include "simulator/study.h"
#include "simulator/study_figures.h"

namespace robustrun::cli {

[[nodiscard]] std::string sim_text(const simulator::StudyRequest& request,
                                   const simulator::Study& study);
[[nodiscard]] std::string sim_json(const simulator::StudyRequest& request,
                                   const simulator::Study& study);
// What the journals said that the study was fed with.
[[nodiscard]] std::string site_text(const simulator::Site& site);
[[nodiscard]] std::string site_json(const simulator::Site& site);
[[nodiscard]] std::string figure_json(const simulator::KnownFigure& figure);

// A real run beside its simulation.
struct ReplayShown {
  simulator::Replay replay;
  simulator::Site site;  // whose times were used
  bool calibrated_by_itself = false;
  std::vector<simulator::KnownFigure> figures;
};
[[nodiscard]] std::string replay_text(const ReplayShown& shown);
[[nodiscard]] std::string replay_json(const ReplayShown& shown);

// Bars of where the time goes, one per policy: an SVG document.
[[nodiscard]] std::string sim_svg(const simulator::StudyRequest& request,
                                  const simulator::Study& study);

}  // namespace robustrun::cli
