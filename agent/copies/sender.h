#pragma once
// Sends copies of each of this node's ranks to its keeper, and reports to the supervisor which
// copies exist: the newest complete ones, or during a round the copy held for it (round_part.h).
//
// Owned by PeerCopies, on the agent's loop. Workers report nothing: the headers of their memory are
// read every kCopiesLookEvery. One copy is sent at a time, on a thread, at kCopiesBytesPerSecond at
// most or at the rate that was ordered. Copies that were superseded meanwhile are skipped; a copy
// that is overwritten while it is being sent is given up.

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
  // The first call starts sending.
  virtual void place(const wire::PlaceCopies& order) = 0;
  // `order` is ignored unless it is for the attempt that was placed last.
  virtual void begin_round(const wire::CopyRound& order) = 0;
  // Whether a node keeps copies of `rank`.
  [[nodiscard]] virtual bool is_kept(base::Rank rank) const = 0;
  // Ends what is under way. No call may follow.
  virtual void abandon() = 0;
};

}  // namespace robustrun::agent
