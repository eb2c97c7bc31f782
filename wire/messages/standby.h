#pragma once
// Standby workers of nodes that have had no workers yet: what the workers of another node have
// imported, and the order to keep interpreters that have done so, too
// (agent/standby/spare_standbys.h).

#include <string>

#include "base/core/ids.h"
#include "wire/messages/orders.h"

namespace robustrun::wire {

// Agent to supervisor, from the last node of the group, once for an attempt whose workers there
// started the usual way. The list is of docs/formats/standby.md, at most kModulesBytesMax.
struct StandbyModules {
  base::Attempt attempt;
  std::string list;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "list", list);
  }
};

// Supervisor to the agent of a node without workers: keep standbys for those that `like` would
// start, whatever their ranks will be. The same again means nothing new.
struct KeepStandbys {
  StartWorkers like;
  std::string list;  // empty: keep none, those that are there are out of date
  template <class V>
  void fields(V& v) {
    v(1, "like", like);
    v(2, "list", list);
  }
};

}  // namespace robustrun::wire
