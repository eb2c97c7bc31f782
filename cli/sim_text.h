#pragma once
// What `robustrun sim` shows of a study: tables for people, JSON for scripts (docs/sim.md), and a
// picture. Pure.

#include <string>

#include "simulator/study.h"

namespace robustrun::cli {

[[nodiscard]] std::string sim_text(const simulator::StudyRequest& request,
                                   const simulator::Study& study);
[[nodiscard]] std::string sim_json(const simulator::StudyRequest& request,
                                   const simulator::Study& study);
// Bars of where the time goes, one per policy: an SVG document.
[[nodiscard]] std::string sim_svg(const simulator::StudyRequest& request,
                                  const simulator::Study& study);

}  // namespace robustrun::cli
