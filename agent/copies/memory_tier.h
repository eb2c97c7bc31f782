#pragma once
// Memory of this node in which workers keep copies of their state (checkpoint/memory/staging.h). It
// outlives them: the next attempt's worker of a rank gets the same memory, and what a dead worker
// had not saved is saved on its behalf.
//
// Owned by the NodeAgent, on its loop. The content is not trusted: it is decoded within bounds, and
// nothing is saved whose checksum is wrong. Reserving memory and saving block, so they run on a
// thread of their own.

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

// What the memory tier needs of other nodes (peer_copies.h).
class PeerMemory {
 public:
  virtual ~PeerMemory() = default;
  // Fetches memory with copies of a rank that is to run here, from this node or another. `answer`
  // gets no memory if there are no copies, or after kCopyFetchMax. It may be called at once, and is
  // not called after this object is destroyed.
  virtual void fetch(base::Rank rank, std::function<void(GivenMemory)> answer) = 0;
  // Takes over the memory of a rank that runs on another node from now on.
  virtual void adopt(base::Rank rank, GivenMemory given) = 0;
  // Calls `go` when copies of other nodes' ranks are no longer being saved, or take too long.
  virtual void after_saving(std::function<void()> go) = 0;
  // Whether a peer keeps copies of `rank`.
  [[nodiscard]] virtual bool is_kept(base::Rank rank) const = 0;
};

class MemoryTier {
 public:
  using Answer = std::function<void(base::Result<GivenMemory>)>;

  static std::unique_ptr<MemoryTier> make(NodeContext& node);
  virtual ~MemoryTier() = default;

  // Answers with memory for `rank`: what the rank has here or, if its slots are too small, new
  // memory in its place. `bytes`: the least size of kCopiesWithoutBoard slots together; 0: only the
  // memory that the rank has. New memory needs twice its size to be available; it has a HoldBoard,
  // if there is room for one, when a peer keeps copies of the rank. A rank without memory here
  // first gets the copies that other nodes have of it. kLimit: too little memory; kConflict: copies
  // are being saved. Nothing is answered after this object is destroyed.
  virtual void give(base::Rank rank, std::uint64_t bytes, Answer answer) = 0;
  // Saves the newest complete copies that are not on disk, and commits those that were the last
  // missing parts. No worker may be alive. `done` is called once, after kBreakpointSaveMax at the
  // latest. Unfinished saves then continue, and cannot commit once the next attempt has begun to
  // save. Meanwhile no rank is given memory; another call starts nothing and waits as well, unless
  // that time is over.
  virtual void save_copies(std::function<void()> done) = 0;
  // Calls `go`, perhaps at once, when new workers may load and save: copies of this node's and of
  // other nodes' ranks are saved, or no longer waited for (rescue_run.h).
  virtual void after_saving(std::function<void()> go) = 0;
  // An attempt begins with `slots`. All other ranks run on other nodes now: their memory is held
  // for these (PeerMemory::adopt()) or freed. Copies that other nodes have of these ranks are
  // fetched while the workers start.
  virtual void keep(const std::vector<wire::WorkerSlot>& slots) = 0;

  // nullptr: there are no peers any more.
  virtual void use_peers(PeerMemory* peers) = 0;
  struct Own {
    base::Rank rank;
    const GivenMemory* given = nullptr;  // valid until the next call of any function here
    std::uint64_t serial = 0;  // changes when the rank gets other memory
  };
  [[nodiscard]] virtual std::vector<Own> memories() const = 0;
  [[nodiscard]] virtual std::optional<GivenMemory> same_memory_of(base::Rank rank) const = 0;
};

}  // namespace robustrun::agent
