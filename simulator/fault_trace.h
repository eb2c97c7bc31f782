#pragma once
// What goes wrong in a cluster, when and where: one trace per seed, in absolute time, over all its
// machines, spares too. Every policy that is compared meets the same one; what strikes a machine
// that a policy does not use then does not hurt it. Pure.

#include <cstdint>
#include <vector>

#include "simulator/failure_model.h"
#include "supervisor/core/types/worker_events.h"

namespace robustrun::simulator {

struct TracedFault {
  Nanos at{};
  std::uint32_t machine = 0;
  FaultKind kind = FaultKind::kGpu;
  bool stays = false;  // a restart on the same machine fails the same way, until it is repaired
  // From when somebody takes the machine away until it is back (a dead one: from `at`); of kSlow:
  // until it is fast again by itself.
  Nanos lasts{};
  double slows = 1;  // of kSlow: steps take so many times as long meanwhile
  // Of a real run that is played again (replay.h):
  bool is_place = false;  // `machine` is the place in the group, whoever has it then
  bool node_answers = false;  // of kMachine: its agent died alone
  const supervisor::WorkerExited* exited = nullptr;  // what the worker left
};

// Ascending in time. Poisson in time, uniform over machines. `machines` > 0.
[[nodiscard]] std::vector<TracedFault> make_trace(const FailureModel& model, std::uint32_t machines,
                                                  Nanos duration, std::uint64_t seed);

}  // namespace robustrun::simulator
