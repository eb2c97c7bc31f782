#pragma once
// Of which ranks NCCL tells each step of its data on the network: that costs its thread five events
// a step, so of a few that are spread over the job, and of all while something is suspected.
//
// Owned by the Worker, on the agent's loop. The plugin in the worker follows (tracer/nccl/mask.h),
// for operations that are called from then on.

#include <cstdint>

#include "base/core/ids.h"
#include "tracer/record_file.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// At most kRanksInFull of a job's ranks, by rank and size alone; all of a smaller job.
[[nodiscard]] bool is_sampled(base::Rank rank, std::uint32_t world_size);

// False: the user has chosen NCCL's events (ROBUSTRUN_NCCL_MASK), and that stays.
[[nodiscard]] bool chooses_events(const wire::WorkerTemplate& workers);

class EventChoice {
 public:
  // Before the worker starts; `record` outlives this.
  EventChoice(tracer::RecordFile& record, bool is_sampled);
  void trace_in_full(bool in_full);

 private:
  void write();
  tracer::RecordFile& record_;
  const bool is_sampled_;
  bool in_full_;
};

}  // namespace robustrun::agent
