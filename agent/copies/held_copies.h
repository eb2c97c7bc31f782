#pragma once
// Copies of other nodes' ranks in this node's memory: taken from the nodes that the supervisor
// named, saved in their workers' names when their node is lost, and given to whoever runs those
// ranks next.
//
// Owned by PeerCopies, on the agent's loop; bytes move on threads of its own. A rank has two slots:
// the newest whole copy stays while the next one arrives; in rounds (wire/messages/peer_copies.h)
// that of the last one that was complete, as the sender says.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "agent/copies/memory.h"
#include "agent/node/node_context.h"
#include "wire/bulk/bulk_listener.h"

namespace robustrun::agent {

class HeldCopies {
 public:
  // Memory of a rank that runs here, or ran here last.
  using OwnMemory = std::function<std::optional<GivenMemory>(base::Rank)>;

  static std::shared_ptr<HeldCopies> make(NodeContext& node, OwnMemory own);
  virtual ~HeldCopies() = default;

  // From whom copies are taken from now on.
  virtual void allow(const std::vector<wire::CopyRoute>& hold) = 0;
  // A peer that has sent its request.
  virtual void take(wire::BulkConnection connection) = 0;
  // Memory of a rank that runs elsewhere from now on.
  virtual void adopt(base::Rank rank, GivenMemory given) = 0;
  // For a rank that runs here from now on; nullopt when there is no complete copy of it.
  virtual std::optional<GivenMemory> hand_over(base::Rank rank) = 0;
  // Answered by HeldCopiesSaved, after kBreakpointSaveMax at the latest; by SavingOver, too, when
  // it says that saving goes on.
  virtual void save(const wire::SaveHeldCopies& order) = 0;
  // Calls `go` when nothing that was to be saved is waited for any more.
  virtual void after_saving(std::function<void()> go) = 0;
  // The attempt of the last allow() has begun: what nobody may send any more goes, after
  // kCopiesLinger, in which others may still fetch it.
  virtual void begin_attempt() = 0;
  // The last call: ends whatever is under way, and nothing is answered any more.
  virtual void abandon() = 0;
};

}  // namespace robustrun::agent
