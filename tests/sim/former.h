#pragma once
// A supervisor that another one has followed, because it seemed to be dead, and that lives on: it
// was cut off from its run's directory, or stood still. It folds what it has written, hears those
// agents that have not heard of its successor, and decides and orders as if it were alone. Its
// orders may reach an agent long after that one has accepted the successor.

#include <cstdint>
#include <map>
#include <set>

#include "supervisor/core/job/job.h"
#include "tests/sim/event_queue.h"

namespace robustrun::sim {

namespace core = supervisor;

struct Former {
  std::uint32_t incarnation = 0;
  core::Job job;
  Dice dice;
  std::map<core::TimerId, std::uint64_t> armed;  // newest sequence of each
  std::set<base::NodeId> heard;                  // whose agents talk to it
};

}  // namespace robustrun::sim
