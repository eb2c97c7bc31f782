#pragma once
// Finds links on which data has left one rank and does not arrive at another that is ready for it:
// by the flows of an operation that all members have entered or, without flows (gloo), by TCP.

#include <optional>
#include <string>
#include <vector>

#include "tracer/analysis/rules.h"

namespace robustrun::tracer {

struct StuckLinks {
  const Wait* wait = nullptr;  // the wait that the links block; never null
  std::vector<Edge> edges;  // an edge from a rank to itself: the other end was not seen
  std::vector<std::string> lines;  // evidence, one line per edge
  bool has_flows = false;
  bool is_proved = false;  // with flows; both ends of every link between two ranks were seen
};

// nullopt: no rank waits in an operation that all have entered, or no data is stuck.
[[nodiscard]] std::optional<StuckLinks> stuck_links(const Case& facts);

}  // namespace robustrun::tracer
