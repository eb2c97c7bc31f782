#pragma once
// Answers the core's SolveBackup with what is known of the network and of the job's parallelism.
// Pure; the driver lets it work on the blocking pool.
//
// Nodes are found by their names. Of those that no description has, nothing is known but the ranks.

#include <string>
#include <vector>

#include "supervisor/core/types/copy_events.h"
#include "supervisor/placement_request.h"

namespace robustrun::supervisor {

class BackupSolver {
 public:
  // `request` may be of a run that is not placed by any topology.
  explicit BackupSolver(const PlacementRequest& request);

  // Never fails: without an answer it has no keepers and says why.
  [[nodiscard]] BackupSolved solve(const SolveBackup& question) const;

 private:
  topo::Cluster cluster_;
  topo::Parallel parallel_;
  std::vector<topo::NodeIndex> by_name_;
};

}  // namespace robustrun::supervisor
