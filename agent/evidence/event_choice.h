#pragma once
// Chooses the ranks for which NCCL traces each step of a transfer over the network. The trace costs
// NCCL's thread five events per step, so only a few ranks spread over the job are traced, or all
// ranks while a hang is suspected.
//
// Owned by the Worker, on the agent's loop. The plugin in the worker applies the choice
// (tracer/nccl/mask.h) to operations that are called from then on.

#include <cstdint>

#include "base/core/ids.h"
#include "tracer/record_file.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// Whether `rank` is always traced. kRanksInFull ranks of a job are, or all ranks of a smaller job.
// Depends on rank and size alone.
[[nodiscard]] bool is_sampled(base::Rank rank, std::uint32_t world_size);

// Returns false if the user has chosen NCCL's events (ROBUSTRUN_NCCL_MASK): the agent then chooses
// nothing.
[[nodiscard]] bool chooses_events(const wire::WorkerTemplate& workers);

class EventChoice {
 public:
  // Create it before the worker starts; `record` outlives it.
  EventChoice(tracer::RecordFile& record, bool is_sampled);
  // True: each step is traced from now on. False: only if the rank is sampled.
  void trace_in_full(bool in_full);

 private:
  void write();
  tracer::RecordFile& record_;
  const bool is_sampled_;
  bool in_full_;
};

}  // namespace robustrun::agent
