#pragma once
// Answers the core's SolveBackup from the network's topology and the job's parallelism. Pure; the
// driver runs it on the blocking pool.
//
// Nodes are found by their names. Of a node that the topology does not describe only the ranks are
// known.

#include <string>
#include <vector>

#include "supervisor/core/types/copy_events.h"
#include "supervisor/placement_request.h"

namespace robustrun::supervisor {

class BackupSolver {
 public:
  // If `request` is not enabled, only its cluster is used.
  explicit BackupSolver(const PlacementRequest& request);

  // Never fails: without a solution the answer has no keepers and gives the reason.
  [[nodiscard]] BackupSolved solve(const SolveBackup& question) const;

 private:
  topo::Cluster cluster_;
  topo::Parallel parallel_;
  std::vector<topo::NodeIndex> by_name_;
};

}  // namespace robustrun::supervisor
