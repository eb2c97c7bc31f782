#pragma once
// What `robustrun data plan` prints. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "loader/index/source_index.h"
#include "loader/plan/figures.h"
#include "loader/plan/planner.h"

namespace robustrun::cli {

struct DataPlanShown {
  std::string path;  // of the specification
  loader::Spec spec;
  std::vector<loader::SourceIndex> sources;
  std::uint32_t ranks = 1;
  std::vector<loader::StepFigures> steps;
  std::vector<double> asked;           // by source: the share that the specification asks for
  loader::Cursor end;                  // the position after these steps
  std::uint64_t digest = 0;            // of the last step's plan
  double plan_ms = 0;                  // mean time to plan a step
};

[[nodiscard]] std::string data_plan_text(const DataPlanShown& shown);
[[nodiscard]] std::string data_plan_json(const DataPlanShown& shown);

}  // namespace robustrun::cli
