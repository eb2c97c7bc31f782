#pragma once
// What NCCL's RAS says of the ranks of a job, beside what their own agents saw.
//
// It is hearsay: who was seen by an agent keeps what that says and gets a line of evidence; who was
// not, and is dead by RAS, counts as dead. Pure.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "tracer/analysis/snapshot.h"
#include "tracer/ras.h"

namespace robustrun::tracer {

struct SaidByRas {
  std::string report;  // as RAS wrote it; empty: nothing was said
  bool is_shared = false;  // another job may have written it
  // Ranks without snapshot: rank, node and local rank alone, ascending.
  std::vector<RankSnapshot> unseen;
};

// Ranks are those of the communicator of the world's size; of several, only where all say the same
// of a rank. Nothing is taken over (kConflict) when a process is not the one that its rank's
// snapshot names, or when no process is, in a report that may be another job's.
base::Status add_ras(const SaidByRas& said, FleetSnapshot& fleet);

}  // namespace robustrun::tracer
