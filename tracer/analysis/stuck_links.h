#pragma once
// Links on which data has left one rank and does not arrive at another that is ready for it: by the
// flows of an operation that all have entered, or, where there are none (gloo), by TCP.

#include <optional>
#include <string>
#include <vector>

#include "tracer/analysis/rules.h"

namespace robustrun::tracer {

struct StuckLinks {
  const Wait* wait = nullptr;  // of those inside; never null
  std::vector<Edge> edges;  // from a rank to itself: the other end is nobody who is seen
  std::vector<std::string> lines;  // of evidence, one for each
  bool has_flows = false;
  bool is_proved = false;  // both ends of each say so
};

// None: nobody waits, or nothing stands still on its way.
[[nodiscard]] std::optional<StuckLinks> stuck_links(const Case& facts);

}  // namespace robustrun::tracer
