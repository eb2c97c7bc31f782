#pragma once
// Results of a replay (core/preflight/replay.h) on groups of nodes, as an event. Plain data.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::supervisor {

struct GroupReplayed {
  enum class Outcome : std::uint8_t {
    kUntested,  // could not be run, or lost a machine: no evidence about any machine
    kPassed,
    kFailed,
  };
  Outcome outcome = Outcome::kUntested;
  std::vector<base::NodeId> named;  // nodes that the alignment test found to compute wrongly
  std::string why;  // why the group did not pass; printable
  template <class V>
  void fields(V& v) {
    v(1, "outcome", outcome);
    v(2, "named", named);
    v(3, "why", why);
  }
};

// Event: the answer to ReplayNodes.
struct NodesReplayed {
  std::uint64_t replay = 0;
  base::Nanos took{};
  std::vector<GroupReplayed> groups;  // in the order of ReplayNodes
  template <class V>
  void fields(V& v) {
    v(1, "replay", replay);
    v(2, "took", took);
    v(3, "groups", groups);
  }
};

}  // namespace robustrun::supervisor
