#pragma once
// Standby workers on nodes that have had no workers yet (agent/standby/planned_standbys.h). Another
// node reports the modules that its workers have imported, and the supervisor orders standby
// workers that import the same modules.

#include <string>

#include "base/core/ids.h"
#include "wire/messages/orders.h"

namespace robustrun::wire {

// Agent to supervisor: the modules that the node's workers have imported. Only from the last node
// of the group, for an attempt whose workers there had a cold start or began with an earlier run's
// list of modules.
struct StandbyModules {
  base::Attempt attempt;
  std::string list;  // format: docs/formats/standby.md; at most kModulesBytesMax
  bool is_of_earlier_run = false;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "list", list);
    v(3, "is_of_earlier_run", is_of_earlier_run);
  }
};

// Supervisor to the agent of a node without workers: keep standby workers for the workers that
// `like` would start, whatever their ranks will be. A repeated order has no further effect.
struct KeepStandbys {
  StartWorkers like;
  std::string list;  // as in StandbyModules; empty: keep no standby workers, and end existing ones
  template <class V>
  void fields(V& v) {
    v(1, "like", like);
    v(2, "list", list);
  }
};

}  // namespace robustrun::wire
