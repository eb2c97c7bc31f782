#pragma once
// Copies of other nodes' ranks in this node's memory. They come from the nodes that the supervisor
// named. If such a node is lost, this node saves the copies of that node's ranks to disk. The node
// that runs those ranks next can fetch the copies.
//
// Owned by PeerCopies, on the agent's loop; copies are received, sent and saved on threads of this
// object. Copies arrive in slots 0 and 1 of a rank's memory; memory taken over by adopt() may have
// more slots. The newest complete copy stays while the next one arrives. In rounds (CopyRound in
// wire/messages/peer_copies.h) the copy of the last complete round stays; the sender says which
// round is complete.

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

// For each slot of a rank, the number of the round whose copy is there; 0: none.
using SlotRounds = std::array<std::uint64_t, checkpoint::kCopiesWithoutBoard>;

struct HeldArrival;

class HeldCopies : public std::enable_shared_from_this<HeldCopies> {
 public:
  // Returns the memory of a rank that runs on this node or ran here last; nullopt: none.
  using OwnMemory = std::function<std::optional<GivenMemory>(base::Rank)>;

  HeldCopies(NodeContext& node, OwnMemory own)
      : node_(node), own_(std::move(own)), linger_(node.executor) {}

  // From now on, copies are accepted only from the nodes of `hold`.
  void allow(const std::vector<wire::CopyRoute>& hold);
  // Answers the request of a peer that sends or fetches copies.
  void take(wire::BulkConnection connection);
  // Takes over the memory of a rank that runs on another node from now on. No effect if `given` has
  // no complete copy, or if copies of the rank are held already.
  void adopt(base::Rank rank, GivenMemory given);
  // Gives away the held memory of a rank that runs here from now on; nullopt: no complete copy is
  // held.
  std::optional<GivenMemory> hand_over(base::Rank rank);
  // Sends HeldCopiesSaved when the copies are saved, or after kBreakpointSaveMax. If that message
  // says that saving continues, SavingOver follows.
  void save(const wire::SaveHeldCopies& order);
  // Calls `go`, perhaps at once, when every save() has ended or was given up.
  void after_saving(std::function<void()> go);
  // The attempt of the last allow() has begun. Copies of ranks that are no longer in `hold` are
  // freed after kCopiesLinger; until then peers can fetch them.
  void begin_attempt();
  // The last call: ends all transfers; requests and orders get no answer any more.
  void abandon();

 private:
  struct Held {
    GivenMemory given;
    std::shared_ptr<checkpoint::MemoryArea> area;  // mapping of `given`; null: no copy came yet
    std::optional<std::size_t> newest;  // slot of the last copy that arrived
    SlotRounds rounds{};
    std::uint64_t complete = 0;  // the last complete round, as the sender said; 0: unknown
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
  void free_elsewhere(Held unwanted);

  NodeContext& node_;
  OwnMemory own_;
  std::map<base::Rank, Held> held_;
  std::map<base::Rank, wire::CopyRoute> allowed_;
  std::optional<base::BlockingPool> streams_, saver_;  // made when first needed
  std::vector<std::shared_ptr<RescueRun>> runs_;  // saves that callers may still wait for
  base::Timer linger_;
  std::uint64_t next_lane_ = 0;
};

}  // namespace robustrun::agent
