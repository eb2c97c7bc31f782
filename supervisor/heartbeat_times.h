#pragma once
// How often agents send heartbeats, and after how much silence a node is suspect or lost. A run
// takes its values from the options named here, whose defaults are in
// cli/options/options_table.cpp; the values below are for tests. cli/nodes/nodes.cpp checks that
// suspect_after and lost_after are long enough. docs/recovery.md quotes the defaults.

#include "base/core/clock.h"

namespace robustrun::supervisor {

struct LeaseTimes {
  base::Nanos interval = std::chrono::seconds(1);        // --heartbeat-interval
  // --node-suspect-after. Also how long an agent whose connection broke may take to come back, and
  // for how long a step of other ranks counts as recent progress (leases.h).
  base::Nanos suspect_after = std::chrono::seconds(3);
  base::Nanos lost_after = std::chrono::seconds(10);  // --node-lost-after
  // --orphan-grace: how long workers continue while their supervisor is unreachable
  base::Nanos orphan_grace = std::chrono::minutes(10);
  template <class V>
  void fields(V& v) {
    v(1, "interval", interval);
    v(2, "suspect_after", suspect_after);
    v(3, "lost_after", lost_after);
    v(4, "orphan_grace", orphan_grace);
  }
};

}  // namespace robustrun::supervisor
