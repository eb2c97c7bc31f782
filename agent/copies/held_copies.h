#pragma once
// Copies of other nodes' ranks in this node's memory: received from the nodes that the supervisor
// named, saved on behalf of their workers when their node is lost, and given to the node that runs
// those ranks next.
//
// Owned by PeerCopies, on the agent's loop; bytes are moved on threads of its own. A rank has
// kCopiesWithoutBoard slots, so that its newest complete copy stays while the next one arrives. In
// rounds (wire/messages/peer_copies.h) the copy of the last complete round stays; the sender says
// which round that is.

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
  // The memory of a rank that runs here now, or ran here last.
  using OwnMemory = std::function<std::optional<GivenMemory>(base::Rank)>;

  static std::shared_ptr<HeldCopies> make(NodeContext& node, OwnMemory own);
  virtual ~HeldCopies() = default;

  // Copies are accepted only from the nodes of `hold` from now on.
  virtual void allow(const std::vector<wire::CopyRoute>& hold) = 0;
  // `connection` comes from a peer whose request has been read.
  virtual void take(wire::BulkConnection connection) = 0;
  // Takes over the memory of a rank that runs on another node from now on.
  virtual void adopt(base::Rank rank, GivenMemory given) = 0;
  // Gives away the memory of a rank that runs here from now on; nullopt: it has no complete copy.
  virtual std::optional<GivenMemory> hand_over(base::Rank rank) = 0;
  // Answered by HeldCopiesSaved, after kBreakpointSaveMax at the latest; if that says that saving
  // continues, SavingOver follows.
  virtual void save(const wire::SaveHeldCopies& order) = 0;
  // Calls `go` when no rescue is waited for any more.
  virtual void after_saving(std::function<void()> go) = 0;
  // The attempt of the last allow() has begun. Copies that no peer may send any more are freed
  // after kCopiesLinger; until then peers can still fetch them.
  virtual void begin_attempt() = 0;
  // The last call: ends what is under way; nothing is answered any more.
  virtual void abandon() = 0;
};

}  // namespace robustrun::agent
