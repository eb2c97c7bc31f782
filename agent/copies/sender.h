#pragma once
// Sends copies of each of this node's ranks to the node that keeps them, and tells the supervisor
// what there is: the newest complete ones, or in rounds the one that is held (round_part.h).
//
// Owned by PeerCopies, on the agent's loop. Workers say nothing: the headers of their memory are
// looked at every kCopiesLookEvery. One copy goes at a time, on a thread of its own, at
// kCopiesBytesPerSecond at most, or at the rate that was ordered; those that became old meanwhile
// are skipped, and one that is overwritten while it goes is given up.

#include <memory>
#include <string>

#include "agent/copies/memory_tier.h"
#include "agent/node/node_context.h"
#include "wire/bulk/stream.h"

namespace robustrun::agent {

class CopySender {
 public:
  static std::shared_ptr<CopySender> make(NodeContext& node, MemoryTier& tier);
  virtual ~CopySender() = default;

  virtual void use(std::string run_id, wire::SharedBulkKeys keys) = 0;
  // The first call makes it begin.
  virtual void place(const wire::PlaceCopies& order) = 0;
  // Of the attempt that was placed last; of another one it is dropped.
  virtual void begin_round(const wire::CopyRound& order) = 0;
  // A node keeps that rank's copies.
  [[nodiscard]] virtual bool is_kept(base::Rank rank) const = 0;
  // The last call: ends what is under way.
  virtual void abandon() = 0;
};

}  // namespace robustrun::agent
