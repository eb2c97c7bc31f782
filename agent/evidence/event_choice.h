#pragma once
// Chooses the ranks for which NCCL traces each step of its data on the network. That costs NCCL's
// thread five events per step, so it is done for a few ranks spread over the job, and for all ranks
// while something is suspected.
//
// Owned by the Worker, on the agent's loop. The plugin in the worker applies the choice
// (tracer/nccl/mask.h) to operations that are called from then on.

#include <cstdint>

#include "base/core/ids.h"
#include "tracer/record_file.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// Whether `rank` is one of the at most kRanksInFull ranks that are always traced; depends only on
// rank and size. In a smaller job all ranks are.
[[nodiscard]] bool is_sampled(base::Rank rank, std::uint32_t world_size);

// False: the user has chosen NCCL's events (ROBUSTRUN_NCCL_MASK), and that choice stays.
[[nodiscard]] bool chooses_events(const wire::WorkerTemplate& workers);

class EventChoice {
 public:
  // Create it before the worker starts; `record` outlives it.
  EventChoice(tracer::RecordFile& record, bool is_sampled);
  // True: traces each step from now on, whichever rank this is; false: only if it is sampled.
  void trace_in_full(bool in_full);

 private:
  void write();
  tracer::RecordFile& record_;
  const bool is_sampled_;
  bool in_full_;
};

}  // namespace robustrun::agent
