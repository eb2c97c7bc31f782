#pragma once
// What each phase of the start and of restarts has cost, over the nodes: median, most, and who that
// was. Pure, from the journal alone.
//
// A sample is one phase of one node at one start; of phases that the journal knows only of the
// group (older journals, "check", "catch up") one of the group. Beside the account of the run's
// time (report_time.h), which counts each moment once: nodes work side by side.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::supervisor {

struct Facts;
struct JournalEntry;

inline constexpr std::string_view kCostOfStart = "start";
inline constexpr std::string_view kCostOfRestarts = "restart";

// Phases of the start, in order: "agent" (the run's beginning → its agent said hello), "check",
// "processes" (the order → the node's last worker), "interpreter" (→ the script's first line runs
// on all ranks of the node), "first step". Of restarts: "stop" (the decision → no worker is left on
// the node), "relaunch" (an agent was lost → it, or its successor, said hello), and the same from
// "check" on, then "catch up" (→ the steps of before are done again).
struct PhaseCost {
  std::string of;  // "start", "restart"
  std::string phase;
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

// Of any journal, whole or not, sensible or not. Phases without a sample are left out.
[[nodiscard]] std::vector<PhaseCost> phase_costs(const Facts& facts,
                                                 const std::vector<JournalEntry>& entries);

// "agent 0.41 s, at most 0.90 s (n3); processes 3.10 ms"; empty without any.
[[nodiscard]] std::string cost_words(const std::vector<PhaseCost>& costs, std::string_view of);

}  // namespace robustrun::supervisor
