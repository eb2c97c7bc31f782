#pragma once
// The figures that a study or a replay rests on, one line each, with their sources: measured,
// published, assumed or given. Pure.

#include <string>
#include <vector>

#include "simulator/figure.h"
#include "simulator/study.h"

namespace robustrun::simulator {

// A figure as text: "repair of a machine", "24 h".
struct KnownFigure {
  std::string name;
  std::string value;
  Origin origin = Origin::kAssumed;
  std::string source;
};
[[nodiscard]] std::vector<KnownFigure> figures_of(const StudyRequest& request);
// For a replayed run.
[[nodiscard]] std::vector<KnownFigure> figures_of(const JobTerms& job, const OwnTimes& times);

}  // namespace robustrun::simulator
