#pragma once
// The faults of a cluster, with time and machine: one trace per seed, over all machines including
// spares. All compared policies meet the same trace; a fault of a machine that a policy does not
// use at that time does not stop the job. Pure.

#include <cstdint>
#include <vector>

#include "simulator/failure_model.h"
#include "supervisor/core/types/worker_events.h"

namespace robustrun::simulator {

struct TracedFault {
  Nanos at{};  // since training began
  std::uint32_t machine = 0;
  FaultKind kind = FaultKind::kGpu;
  bool stays = false;  // every restart on the machine fails the same way until it is repaired
  // For kMachine and kMaintenance: how long the machine is away, from `at`. For kSlow: how long it
  // is slow, from `at`. For kGpu, and for kHang if it `stays`: how long its repair takes, from its
  // removal on.
  Nanos lasts{};
  double slows = 1;  // for kSlow: steps take so many times as long
  // For a real run that is replayed (replay.h):
  bool is_place = false;  // `machine` is a place in the group, not a particular machine
  bool node_answers = false;  // for kMachine: only its agent died
  // The exit of the worker that ended first, with its last output; null: not known. Points into the
  // RunRecord that is replayed, which must outlive the trace.
  const supervisor::WorkerExited* exited = nullptr;
};

// Faults in order of time: Poisson in time, uniform over machines. A shared fault
// (FailureModel::shared) also strikes the next machines at the same time; their faults come on top
// of the rate. A trace ends early at 10,000,000 faults. `machines` > 0.
[[nodiscard]] std::vector<TracedFault> make_trace(const FailureModel& model, std::uint32_t machines,
                                                  Nanos duration, std::uint64_t seed);

}  // namespace robustrun::simulator
