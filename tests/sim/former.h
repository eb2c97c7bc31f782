#pragma once
// A supervisor that seemed dead and was replaced, but lives on: it was cut off from its run's
// directory, or suspended. It folds what it has written, hears agents that do not know its
// successor yet, and decides and orders as if it were alone. Its orders may reach an agent long
// after that agent has accepted the successor.

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
  std::set<base::NodeId> heard;                  // whose agents still follow it
};

}  // namespace robustrun::sim
