#pragma once
// How long each phase of the start and of restarts took over all nodes: median, maximum, and the
// slowest node. Pure, from the journal alone.
//
// A sample is one phase of one node at one start. For phases that the journal knows only for the
// whole group (kCheck, kCatchUp), a sample is one phase of the group. The account of the run's time
// (account.h) counts each moment once; here a moment counts for each node, as nodes work in
// parallel.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::supervisor {

struct Facts;
struct JournalEntry;

enum class StartKind : std::uint8_t { kStart, kRestart };
// "start", "restart"
[[nodiscard]] const char* to_string(StartKind kind);

enum class CostPhase : std::uint8_t {
  kAgent,  // of the start: from the run's beginning until the agent has joined
  kStop,  // of a restart: from the decision until no worker is left on the node
  kRelaunch,  // of a restart: from the loss of an agent until its successor has joined
  kCheck,
  kProcesses,  // from the order until the node's last worker is started
  kInterpreter,  // until the script's first line runs on all ranks of the node
  kFirstStep,
  kCatchUp,  // of a restart: until the steps done before the failure are done again
};
// "agent", "stop", "relaunch", "check", "processes", "interpreter", "first step", "catch up"
[[nodiscard]] const char* to_string(CostPhase phase);

struct PhaseCost {
  StartKind of = StartKind::kStart;
  CostPhase phase = CostPhase::kAgent;
  std::uint32_t samples = 0;  // 1 or more
  base::Nanos median{};
  base::Nanos max{};
  std::string slowest;  // node of `max`; empty: the group
  std::uint32_t attempt = 0;  // of `max`
  template <class V>
  void fields(V& v) {
    v(1, "of", of);
    v(2, "phase", phase);
    v(3, "samples", samples);
    v(4, "median", median);
    v(5, "max", max);
    v(6, "slowest", slowest);
    v(7, "attempt", attempt);
  }
};

// Accepts any journal, even an incomplete or inconsistent one. Phases without a sample are left
// out.
[[nodiscard]] std::vector<PhaseCost> phase_costs(const Facts& facts,
                                                 const std::vector<JournalEntry>& entries);

// "agent 0.41 s, at most 0.90 s (n3); processes 3.10 ms": medians and maxima of the costs of this
// kind; empty without such costs.
[[nodiscard]] std::string cost_words(const std::vector<PhaseCost>& costs, StartKind of);

}  // namespace robustrun::supervisor
