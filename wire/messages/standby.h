#pragma once
// Standby workers of nodes that have had no workers yet: the modules that another node's workers
// have imported, and the order to keep interpreters that have imported them, too
// (agent/standby/planned_standbys.h).

#include <string>

#include "base/core/ids.h"
#include "wire/messages/orders.h"

namespace robustrun::wire {

// Agent to supervisor, from the last node of the group, for an attempt whose workers there had a
// cold start, or began with the list of an earlier run. The list has the format of
// docs/formats/standby.md, at most kModulesBytesMax.
struct StandbyModules {
  base::Attempt attempt;
  std::string list;
  bool is_of_earlier_run = false;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "list", list);
    v(3, "is_of_earlier_run", is_of_earlier_run);
  }
};

// Supervisor to the agent of a node without workers: keep standby workers for what `like` would
// start, whatever their ranks will be. A repeated order has no further effect.
struct KeepStandbys {
  StartWorkers like;
  std::string list;  // empty: keep none, and end those that exist
  template <class V>
  void fields(V& v) {
    v(1, "like", like);
    v(2, "list", list);
  }
};

}  // namespace robustrun::wire
