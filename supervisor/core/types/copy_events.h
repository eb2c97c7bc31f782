#pragma once
// Copies of workers' states in the memory of other nodes: which node keeps whose copies, which
// copies there are, and the order to save the copies of a lost node. These are the core's questions
// and orders, and the events that answer them. Plain data. topo/spares/backup.h computes the
// keepers; agents carry the bytes.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/ids.h"
#include "supervisor/core/types/placement.h"
#include "supervisor/core/types/policy.h"
#include "wire/messages/facts.h"

namespace robustrun::supervisor {

using wire::CopiesKept;  // KeptCopy::part is empty here: only the driver uses it
using wire::CopyRoute;
using wire::HeldCopiesSaved;
using wire::KeptCopy;
using wire::SavingOver;

// Which node is to keep whose copies? Answered by BackupSolved.
struct SolveBackup {
  std::uint64_t digest = 0;  // of `places` and `evictable`: the answer repeats it
  std::vector<PlacementNode> places;
  std::vector<std::uint32_t> former;  // by place: the place of its keeper so far; or empty
  std::vector<RankGroups> evictable;
};

struct BackupSolved {
  std::uint64_t digest = 0;
  std::vector<std::uint32_t> keepers;  // by place: the place of its keeper; empty: no keepers
  std::string text;  // how keepers and owners are related, or why there are no keepers
  bool is_relaxed = false;  // some keepers may fail together with their owners
  template <class V>
  void fields(V& v) {
    v(1, "digest", digest);
    v(2, "keepers", keepers);
    v(3, "text", text);
    v(4, "relaxed", is_relaxed);
  }
};

// The routes of a node's copies. Comes before the attempt's StartWorkers, and again when the routes
// change. Replaces the node's earlier routes.
struct PlaceCopies {
  base::NodeId node;
  base::Attempt attempt;
  std::vector<CopyRoute> send, hold, fetch;
};

// Save to disk, on behalf of `ranks`, the copies that the node keeps of them. Answered by
// HeldCopiesSaved.
struct SaveHeldCopies {
  base::NodeId node;
  base::Attempt attempt;  // the attempt whose workers made the copies
  std::uint64_t order = 0;
  std::vector<base::Rank> ranks;
};

}  // namespace robustrun::supervisor
