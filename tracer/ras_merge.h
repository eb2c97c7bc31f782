#pragma once
// Merges a report of NCCL's RAS into the snapshots that the agents took.
//
// The report is secondary evidence. A rank with a snapshot by its agent keeps it, and only gets a
// line of evidence. A rank without a snapshot counts as dead if RAS considers it dead. Pure.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "tracer/analysis/snapshot.h"
#include "tracer/ras.h"

namespace robustrun::tracer {

struct RasEvidence {
  std::string report;  // as RAS wrote it; empty: no report
  bool is_shared = false;  // the report may be about another job
  // The ranks without a snapshot, ascending; only rank, node and local rank are set.
  std::vector<RankSnapshot> unseen;
};

// Adds the report in `evidence` to `fleet`. Ranks are identified by the communicator that has the
// world's size; if there are several, a rank counts only if all agree about it. Fails with
// kConflict, and changes nothing, if a rank has another process than in its snapshot, or if a
// report that may be about another job matches no process of this job.
base::Status add_ras(const RasEvidence& evidence, FleetSnapshot& fleet);

}  // namespace robustrun::tracer
