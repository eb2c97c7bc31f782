#pragma once
// What came of the groups of a replay (replay.h), as an event of the journal.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::supervisor {

struct GroupReplayed {
  enum class Outcome : std::uint8_t {
    kUntested,  // it could not be run, or lost a machine: says nothing of anybody
    kPassed,
    kFailed,
  };
  Outcome outcome = Outcome::kUntested;
  std::vector<base::NodeId> named;  // whom the alignment test itself found to compute wrongly
  std::string why;  // unless it passed; printable
  template <class V>
  void fields(V& v) {
    v(1, "outcome", outcome);
    v(2, "named", named);
    v(3, "why", why);
  }
};

// Event: what ReplayNodes asked for is over.
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
