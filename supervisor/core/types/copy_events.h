#pragma once
// Copies of workers' states in the memory of other nodes: who keeps whose, what is there, and the
// order to save those of a node that is lost. The core's questions, orders and what it hears. Plain
// data; topo/spares/backup.h works out who keeps whose, agents carry the bytes.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/ids.h"
#include "supervisor/core/types/placement.h"
#include "supervisor/core/types/policy.h"
#include "wire/messages/facts.h"

namespace robustrun::supervisor {

using wire::CopiesKept;  // `part` of its copies is empty: it is the shell's alone
using wire::CopyRoute;
using wire::HeldCopiesSaved;
using wire::KeptCopy;
using wire::SavingOver;

// Who is to keep whose copies? Answered by BackupSolved.
struct SolveBackup {
  std::uint64_t digest = 0;  // of the places: the answer repeats it
  std::vector<PlacementNode> places;
  std::vector<std::uint32_t> former;  // by place: the place that keeps its copies so far; or empty
  std::vector<RankGroups> evictable;
};

struct BackupSolved {
  std::uint64_t digest = 0;
  std::vector<std::uint32_t> keepers;  // by place: another place, each once; empty: nobody
  std::string text;  // what they are to each other, or why nobody keeps anything
  bool is_relaxed = false;  // some share what they should not
  template <class V>
  void fields(V& v) {
    v(1, "digest", digest);
    v(2, "keepers", keepers);
    v(3, "text", text);
    v(4, "relaxed", is_relaxed);
  }
};

// Before StartWorkers of the attempt, and again when it changes; each stands for all before.
struct PlaceCopies {
  base::NodeId node;
  base::Attempt attempt;
  std::vector<CopyRoute> send, hold, fetch;
};

// Save what you hold of these ranks in their names. Answered by HeldCopiesSaved.
struct SaveHeldCopies {
  base::NodeId node;
  base::Attempt attempt;  // whose workers made them
  std::uint64_t order = 0;
  std::vector<base::Rank> ranks;
};

}  // namespace robustrun::supervisor
