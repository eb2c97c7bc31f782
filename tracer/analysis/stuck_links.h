#pragma once
// Finds stuck links: data has left one rank and does not arrive at another rank that is ready for
// it. Uses flows that stand still, of an operation that all seen members have entered. If it finds
// no such flows (gloo has none), uses TCP's counters.

#include <optional>
#include <string>
#include <vector>

#include "tracer/analysis/rules.h"

namespace robustrun::tracer {

struct StuckLinks {
  const Wait* wait = nullptr;  // the wait that the links block; never null
  std::vector<Edge> edges;  // from a rank to itself: the other end was not seen
  std::vector<std::string> lines;  // evidence, one line per edge
  bool has_flows = false;
  bool is_proved = false;  // by flows at both ends of each link between two ranks
};

// nullopt: no rank waits in an operation that all seen members have entered, or no data is stuck.
[[nodiscard]] std::optional<StuckLinks> stuck_links(const Case& facts);

}  // namespace robustrun::tracer
