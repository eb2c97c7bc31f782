#pragma once
// Standby workers on spare nodes: relays to the spares the list of modules that the group's workers
// import, and remembers which spares have the newest list. The list only affects how fast a
// replacement starts, so it is not journaled: a successor of this supervisor learns it again.
//
// Owned by WorkerOrders, on the driver's loop.

#include <cstdint>
#include <map>
#include <optional>

#include "base/core/ids.h"
#include "wire/messages/standby.h"

namespace robustrun::supervisor {

class SpareStandbys {
 public:
  // A node gets workers of a new attempt, so it is no spare. An order with another version of the
  // run makes the spares' standby workers outdated.
  void note_start(base::NodeId node, const wire::StartWorkers& order);
  // A report of a worker of the current attempt.
  void note_modules(const wire::StandbyModules& report);
  // The order that the agent of a spare must get now; it counts as sent. nullopt: the agent has the
  // newest order, or there is none yet.
  [[nodiscard]] std::optional<wire::KeepStandbys> tell(base::NodeId node,
                                                       base::Generation generation);
  // The node's connection broke: it may have missed the last order.
  void forget(base::NodeId node) { heard_.erase(node); }

 private:
  struct Heard {
    base::Generation generation;
    std::uint64_t serial = 0;
  };
  std::optional<wire::StartWorkers> newest_;  // the newest order to the node with the last ranks
  wire::KeepStandbys keep_;
  std::uint64_t serial_ = 0;  // of keep_; 0: there is no list yet
  std::map<base::NodeId, Heard> heard_;  // one per spare node
};

}  // namespace robustrun::supervisor
