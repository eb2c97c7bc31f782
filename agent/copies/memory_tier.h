#pragma once
// Memory of this node in which workers keep copies of their state (checkpoint/memory/staging.h).
// The memory outlives the workers: the next attempt's worker of a rank gets the same memory, and
// the agent saves copies that a dead worker had not saved.
//
// Owned by the NodeAgent, on its loop. The content is not trusted: it is decoded within bounds, and
// a copy with a wrong checksum is not saved. A thread of this object reserves memory and saves
// copies, because both block.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "agent/copies/memory.h"
#include "agent/node/node_context.h"
#include "base/core/ids.h"
#include "base/core/result.h"

namespace robustrun::agent {

// Access to copies that nodes keep for each other; implemented in peer_copies.cpp.
class PeerMemory {
 public:
  virtual ~PeerMemory() = default;
  // Fetches memory with copies of a rank that is to run here. This node may hold the copies
  // already, because the rank ran on another node before; otherwise they come from another node.
  // `answer` gets an invalid descriptor if no copies could be fetched within kCopyFetchMax.
  // `answer` may be called at once, and is not called after this object is destroyed.
  virtual void fetch(base::Rank rank, std::function<void(GivenMemory)> answer) = 0;
  // Takes over the memory of a rank that runs on another node from now on.
  virtual void adopt(base::Rank rank, GivenMemory given) = 0;
  // Calls `go`, perhaps at once, when copies of other nodes' ranks are saved or given up.
  virtual void after_saving(std::function<void()> go) = 0;
  // Whether a peer keeps copies of `rank`.
  [[nodiscard]] virtual bool is_kept(base::Rank rank) const = 0;
};

class MemoryTier {
 public:
  using Answer = std::function<void(base::Result<GivenMemory>)>;

  static std::unique_ptr<MemoryTier> make(NodeContext& node);
  virtual ~MemoryTier() = default;

  // Answers with the memory that `rank` has, or, if its slots are too small, with new memory in its
  // place. If the rank has no memory here, its copies are first fetched from other nodes. `bytes`:
  // the least size of kCopiesWithoutBoard slots together; 0: no new memory is made, and the answer
  // may be an invalid descriptor. If a peer keeps copies of the rank and there is room, new memory
  // has a board (checkpoint/memory/hold_board.h). kLimit: too little memory. kConflict: copies are
  // being saved. `answer` is not called after this object is destroyed.
  virtual void give(base::Rank rank, std::uint64_t bytes, Answer answer) = 0;
  // Saves the newest complete copies that are not on disk, and commits checkpoints that are
  // complete with them. No worker may be alive. `done` is called once, after kBreakpointSaveMax at
  // the latest. Saves that are not finished by then continue, but cannot commit once the next
  // attempt has begun to save. Until they end, no rank is given memory, and another call starts
  // nothing: its `done` waits for the same saves, or is called at once if kBreakpointSaveMax is
  // over.
  virtual void save_copies(std::function<void()> done) = 0;
  // Calls `go`, perhaps at once, when new workers may load and save: copies of this node's and of
  // other nodes' ranks are saved or given up (rescue_run.h).
  virtual void after_saving(std::function<void()> go) = 0;
  // An attempt begins, in which the ranks of `slots` run here. Memory of ranks that now run on
  // other nodes goes to PeerMemory::adopt(), or is freed if there are no peers. Copies that other
  // nodes have of the ranks of `slots` are fetched while the workers start.
  virtual void keep(const std::vector<wire::WorkerSlot>& slots) = 0;

  // nullptr: there are no peers any more.
  virtual void use_peers(PeerMemory* peers) = 0;
  // A rank's memory on this node.
  struct Own {
    base::Rank rank;
    const GivenMemory* given = nullptr;  // valid until the next call of a non-const function
    std::uint64_t serial = 0;  // changes when the rank gets other memory
  };
  [[nodiscard]] virtual std::vector<Own> memories() const = 0;
  // A second descriptor of the rank's memory; nullopt: it has none here.
  [[nodiscard]] virtual std::optional<GivenMemory> same_memory_of(base::Rank rank) const = 0;
};

}  // namespace robustrun::agent
