#pragma once
// The job, independent of its supervision: machines, script, checkpoints, and the simulated
// duration. Plain data, from the command line and journals.

#include <cstdint>
#include <optional>

#include "simulator/figure.h"

namespace robustrun::simulator {

struct JobTerms {
  std::uint32_t nodes = 1;  // machines that train at a time
  std::uint32_t gpus_per_node = 8;
  std::uint32_t spares = 0;  // additional machines
  Nanos duration{};
  Figure<Nanos> step;   // one step of training
  Figure<Nanos> start;  // of the script: from its first line until it could train
  // `start` after a machine was lost, and its standby workers with it; nullopt: as `start`.
  std::optional<Figure<Nanos>> start_cold;
  Figure<Nanos> load;  // of a checkpoint
  Figure<Nanos> checkpoint_every;
  Figure<Nanos> checkpoint_stall;  // how long training pauses for a checkpoint
  Figure<Nanos> residual;  // per incident, under every policy: time that no model explains
};

}  // namespace robustrun::simulator
