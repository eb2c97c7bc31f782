#pragma once
// Shorthands for what a job is told.

#include <string>
#include <utility>
#include <vector>

#include "supervisor/core/types/events.h"

namespace robustrun::supervisor::test {

using base::Nanos;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline JobSpec make_spec(std::vector<std::uint32_t> slots = {2}) {
  JobSpec spec;
  spec.run_id = "test";
  for (std::size_t i = 0; i < slots.size(); ++i) {
    spec.nodes.push_back({"node" + std::to_string(i), "10.0.0." + std::to_string(i), slots[i]});
  }
  return spec;
}

inline JobSpec group_spec(std::vector<std::uint32_t> slots, std::uint32_t min, std::uint32_t max) {
  JobSpec spec = make_spec(std::move(slots));
  spec.group.min_nodes = min;
  spec.group.max_nodes = max;
  return spec;
}

inline JobSpec open_spec(std::uint32_t min, std::uint32_t max) {
  JobSpec spec = make_spec({});
  spec.group.open = true;
  spec.group.min_nodes = min;
  spec.group.max_nodes = max;
  spec.group.wait_for_nodes = seconds(600);
  return spec;
}

inline WorkerExited exited(std::uint32_t attempt, std::uint32_t rank, int code) {
  WorkerExited exit;
  exit.attempt.value = attempt;
  exit.rank.value = rank;
  exit.pid = 100 + static_cast<int>(rank);
  exit.code = code;
  return exit;
}

inline WorkerExited killed(std::uint32_t attempt, std::uint32_t rank, int signal) {
  WorkerExited exit = exited(attempt, rank, signal);
  exit.kind = base::ExitStatus::Kind::kSignaled;
  return exit;
}

}  // namespace robustrun::supervisor::test
