#pragma once
// Sends the newest complete copy of each of this node's ranks to the node that keeps them, and
// tells the supervisor what there is.
//
// Owned by PeerCopies, on the agent's loop. Workers say nothing: the headers of their memory are
// looked at every kCopiesLookEvery. One copy goes at a time, on a thread of its own, at
// kCopiesBytesPerSecond at most; those that became old meanwhile are skipped, and one that is
// overwritten while it goes is given up.

#include <memory>
#include <string>
#include <vector>

#include "agent/memory_tier.h"
#include "agent/node_context.h"
#include "wire/bulk_stream.h"

namespace robustrun::agent {

class CopySender {
 public:
  static std::shared_ptr<CopySender> make(NodeContext& node, MemoryTier& tier);
  virtual ~CopySender() = default;

  virtual void use(std::string run_id, wire::SharedBulkKeys keys) = 0;
  // The first call makes it begin.
  virtual void place(base::Attempt attempt, std::vector<wire::CopyRoute> send) = 0;
  // The last call: ends what is under way.
  virtual void abandon() = 0;
};

}  // namespace robustrun::agent
