#pragma once
// What nodes without workers should keep ready, and which of them have been told: a relay from the
// node that told what its workers import to the spares. Nothing depends on it but how fast a
// replacement starts, so it is not journaled: a successor of this supervisor learns it anew.
//
// Bookkeeping for the driver, on its loop.

#include <cstdint>
#include <map>
#include <optional>

#include "base/core/ids.h"
#include "wire/messages/standby.h"

namespace robustrun::supervisor {

class SpareStandbys {
 public:
  // An order of a new attempt: the node is no spare. One of another version of the run makes what
  // the spares have out of date.
  void note_start(base::NodeId node, const wire::StartWorkers& order);
  // Of a worker of the current attempt.
  void note_modules(const wire::StandbyModules& report);
  // What the agent of a node without workers has to hear now; it counts as heard. Nothing: it knows
  // it already, or there is nothing to say.
  [[nodiscard]] std::optional<wire::KeepStandbys> tell(base::NodeId node,
                                                       base::Generation generation);
  // Its connection broke, and who knows what it has heard.
  void forget(base::NodeId node) { heard_.erase(node); }

 private:
  struct Heard {
    base::Generation generation;
    std::uint64_t serial = 0;
  };
  std::optional<wire::StartWorkers> newest_;  // to the last node of the group
  wire::KeepStandbys keep_;
  std::uint64_t serial_ = 0;  // of keep_; 0: there is none yet
  std::map<base::NodeId, Heard> heard_;  // one per spare node
};

}  // namespace robustrun::supervisor
