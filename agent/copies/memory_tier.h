#pragma once
// Memory of this node in which workers keep copies of their state (checkpoint/memory/staging.h),
// and which outlives them: the next attempt's worker of a rank gets the same memory, and what the
// dead one had not saved is saved in its name.
//
// Owned by the Agent, on its loop. What a worker left there is not trusted: it is
// decoded within bounds, and nothing is saved whose checksum is wrong. Reserving memory and saving
// block, so they run on a thread of their own.

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

// What other nodes have to do with it (peer_copies.h).
class PeerMemory {
 public:
  virtual ~PeerMemory() = default;
  // Memory with copies of a rank that comes here, from this node or another; none when there is
  // none, or after kCopyFetchMax. `answer` may be called at once, and is not once this is gone.
  virtual void fetch(base::Rank rank, std::function<void(GivenMemory)> answer) = 0;
  // Memory of a rank that runs elsewhere from now on.
  virtual void adopt(base::Rank rank, GivenMemory given) = 0;
  // Calls `go` when no copies of other nodes' ranks are being saved any more, or it takes too long.
  virtual void after_saving(std::function<void()> go) = 0;
  // Another node keeps that rank's copies.
  [[nodiscard]] virtual bool is_kept(base::Rank rank) const = 0;
};

class MemoryTier {
 public:
  using Answer = std::function<void(base::Result<GivenMemory>)>;

  static std::unique_ptr<MemoryTier> make(NodeContext& node);
  virtual ~MemoryTier() = default;

  // Memory of at least `bytes` for that rank: what it has, or new in its place, if the node has
  // twice as much. 0 bytes: only what it has. kLimit: there is not enough; kConflict: its copies
  // are being saved. Nothing is answered once this is gone. A rank whose copies a peer keeps gets
  // memory with a board, if the node has twice as much as that takes: as much again.
  // A rank that has none here gets what other nodes have of it first.
  virtual void give(base::Rank rank, std::uint64_t bytes, Answer answer) = 0;
  // Saves the newest complete copies that are not on disk, and commits where they are the last
  // parts. No worker may live. `done` is called once, after kBreakpointSaveMax at the latest; what
  // is not done by then goes on, and cannot commit once the next attempt has begun to save. While
  // it goes on nobody is given memory, so that another call only waits for it.
  virtual void save_copies(std::function<void()> done) = 0;
  // Calls `go` when new workers may load and save: what goes on, here and of copies of other nodes'
  // ranks, has ended, or is not waited for any more (rescue_run.h). Perhaps at once.
  virtual void after_saving(std::function<void()> go) = 0;
  // All other ranks run elsewhere now: their memory is given to the peers, or back.
  virtual void keep(const std::vector<wire::WorkerSlot>& slots) = 0;

  // nullptr: none any more.
  virtual void use_peers(PeerMemory* peers) = 0;
  struct Own {
    base::Rank rank;
    const GivenMemory* given = nullptr;  // until the next call of anything here
    std::uint64_t serial = 0;  // another one for other memory of the same rank
  };
  [[nodiscard]] virtual std::vector<Own> memories() const = 0;
  [[nodiscard]] virtual std::optional<GivenMemory> same_memory_of(base::Rank rank) const = 0;
};

}  // namespace robustrun::agent
