#pragma once
// How often agents send heartbeats, and after how much silence a node is suspect and lost. A run's
// values are those of the options named here: change their defaults in
// cli/options/options_table.cpp; the values below are for tests. cli/nodes/nodes.cpp keeps them
// apart from each other; docs/recovery.md quotes them. A broken connection must
// come back within suspect_after, and peers' progress is recent for as long.

#include "base/core/clock.h"

namespace robustrun::supervisor {

struct LeaseTimes {
  base::Nanos interval = std::chrono::seconds(1);        // --heartbeat-interval
  base::Nanos suspect_after = std::chrono::seconds(3);   // --node-suspect-after
  base::Nanos lost_after = std::chrono::seconds(10);     // --node-lost-after
  base::Nanos orphan_grace = std::chrono::minutes(10);   // --orphan-grace
  template <class V>
  void fields(V& v) {
    v(1, "interval", interval);
    v(2, "suspect_after", suspect_after);
    v(3, "lost_after", lost_after);
    v(4, "orphan_grace", orphan_grace);
  }
};

}  // namespace robustrun::supervisor
