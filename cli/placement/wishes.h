#pragma once
// The job's shape and traffic: --parallel, --rank-order, --affinity, --model, --traffic, --rerank.
// Pure. Errors are whole sentences for the user.

#include <optional>

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "topo/network/parallel.h"
#include "topo/network/traffic.h"
#include "topo/spares/replace.h"

namespace robustrun::cli {

struct PlacementWishes {
  topo::Parallel parallel;  // not resolved; without --parallel all ranks are dp
  std::optional<double> affinity;
  std::optional<topo::Model> model;
  topo::Traffic traffic;  // --traffic
  topo::Rerank rerank = topo::Rerank::kNever;
};

[[nodiscard]] base::Result<PlacementWishes> placement_wishes(const Settings& settings);

// The traffic of a job of the sizes `resolved`, by --model and --traffic; all 0 if unknown.
[[nodiscard]] base::Result<topo::Traffic> traffic_of_job(const Settings& settings,
                                                         const PlacementWishes& wishes,
                                                         const topo::Parallel& resolved);

}  // namespace robustrun::cli
