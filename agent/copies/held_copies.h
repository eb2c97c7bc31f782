#pragma once
// Copies of other nodes' ranks in this node's memory: received from the nodes that the supervisor
// named, saved on behalf of their workers when their node is lost, and given to the node that runs
// those ranks next.
//
// Owned by PeerCopies, on the agent's loop; bytes are moved on threads of its own. Copies arrive in
// slots 0 and 1 of a rank's memory, even if adopted memory has more: so the newest complete copy
// stays while the next one arrives. In rounds (wire/messages/peer_copies.h) the copy of the last
// complete round stays; the sender says which round that is.

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent/copies/memory.h"
#include "agent/copies/rescue_run.h"
#include "agent/node/node_context.h"
#include "base/io/blocking_pool.h"
#include "base/io/timer.h"
#include "checkpoint/memory/memory_area.h"
#include "wire/bulk/bulk_listener.h"

namespace robustrun::agent {

// The rounds whose copies are in a rank's slots (CopyRound); 0: none.
using SlotRounds = std::array<std::uint64_t, checkpoint::kCopiesWithoutBoard>;

struct HeldArrival;

class HeldCopies : public std::enable_shared_from_this<HeldCopies> {
 public:
  // The memory of a rank that runs here now, or ran here last.
  using OwnMemory = std::function<std::optional<GivenMemory>(base::Rank)>;

  HeldCopies(NodeContext& node, OwnMemory own)
      : node_(node), own_(std::move(own)), linger_(node.executor) {}

  // Copies are accepted only from the nodes of `hold` from now on.
  void allow(const std::vector<wire::CopyRoute>& hold);
  // `connection` comes from a peer whose request has been read.
  void take(wire::BulkConnection connection);
  // Takes over the memory of a rank that runs on another node from now on.
  void adopt(base::Rank rank, GivenMemory given);
  // Gives away the memory of a rank that runs here from now on; nullopt: it has no complete copy.
  std::optional<GivenMemory> hand_over(base::Rank rank);
  // Answered by HeldCopiesSaved, after kBreakpointSaveMax at the latest; if that says that saving
  // continues, SavingOver follows.
  void save(const wire::SaveHeldCopies& order);
  // Calls `go`, perhaps at once, when every save() has ended or was given up
  // (RescueRun::is_waited_for()).
  void after_saving(std::function<void()> go);
  // The attempt of the last allow() has begun. Copies that no peer may send any more are freed
  // after kCopiesLinger; until then peers can still fetch them.
  void begin_attempt();
  // The last call: ends what is under way; nothing is answered any more.
  void abandon();

 private:
  struct Held {
    GivenMemory given;
    std::shared_ptr<checkpoint::MemoryArea> area;  // of `given`, while copies arrive
    std::optional<std::size_t> newest;  // slot of the last copy that arrived
    SlotRounds rounds{};
    std::uint64_t complete = 0;  // the last complete round, as its node last said
    std::shared_ptr<wire::BulkStream> stream;  // the transfer under way, in either direction
    bool saving = false;
  };
  struct Saving {
    wire::SaveHeldCopies order;
    std::vector<RescuedMemory> memories;
    bool answered = false;
  };
  base::BlockingPool& streams();
  void keep(wire::BulkConnection connection);
  void serve(const wire::BulkConnection& connection);
  void answer(const std::shared_ptr<wire::BulkStream>& stream, wire::BulkVerdict verdict);
  void on_arrived(base::Rank rank, const std::shared_ptr<HeldArrival>& arrival);
  void finish_saving(Saving& saving, const RescueRun::Lines& lines);
  void go_on_saving(Saving& saving);
  void free_unwanted();

  NodeContext& node_;
  OwnMemory own_;
  std::map<base::Rank, Held> held_;
  std::map<base::Rank, wire::CopyRoute> allowed_;
  std::optional<base::BlockingPool> streams_, saver_;  // made when first needed
  std::vector<std::shared_ptr<RescueRun>> runs_;  // rescues that are waited for
  base::Timer linger_;
  std::uint64_t next_lane_ = 0;
};

}  // namespace robustrun::agent
