#pragma once
// The result of a study of `robustrun sim` as text, and as one JSON object (docs/sim.md) with times
// in seconds (names ending with _ns: in nanoseconds) and shares from 0 to 1. Pure.

#include <string>

#include "simulator/study.h"
#include "simulator/study_figures.h"

namespace robustrun::cli {

[[nodiscard]] std::string sim_text(const simulator::StudyRequest& request,
                                   const simulator::Study& study);
[[nodiscard]] std::string sim_json(const simulator::StudyRequest& request,
                                   const simulator::Study& study);
// One number that the study rests on, as a JSON object.
[[nodiscard]] std::string figure_json(const simulator::KnownFigure& figure);

}  // namespace robustrun::cli
