#pragma once
// What a job is, whoever supervises it: its machines, its script, its checkpoints, and how long it
// is looked at. Plain data, from the command line.

#include <cstdint>
#include <optional>

#include "simulator/figure.h"

namespace robustrun::simulator {

struct JobTerms {
  std::uint32_t nodes = 1;  // machines that train at a time
  std::uint32_t gpus_per_node = 8;
  std::uint32_t spares = 0;  // machines beside them
  Nanos duration{};
  Figure<Nanos> step;   // of training
  Figure<Nanos> start;  // of the script: from its first line until it could train
  // The same after a machine was lost, where no standby worker waits; none: no difference is known.
  std::optional<Figure<Nanos>> start_cold;
  Figure<Nanos> load;  // of a checkpoint
  Figure<Nanos> checkpoint_every;
  Figure<Nanos> checkpoint_stall;  // training stands still for one
  Figure<Nanos> residual;  // per incident, of every policy: what no model explains
};

}  // namespace robustrun::simulator
