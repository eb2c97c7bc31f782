#pragma once
// Copies of workers' states in the memory of other nodes: who keeps whose, what is there, and the
// order to save those of a node that is lost. The core's questions, orders and what it hears. Plain
// data; topo/backup.h works out who keeps whose, agents carry the bytes.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/ids.h"
#include "supervisor/core/types/placement.h"
#include "supervisor/core/types/policy.h"

namespace robustrun::supervisor {

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

struct CopyRoute {
  base::Rank rank;
  base::NodeId node;  // the other one
  base::Generation generation;
  std::string endpoint;
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

struct HeldCopiesSaved {
  base::Attempt made_in;  // as SaveHeldCopies::attempt: another one than that of today
  std::uint64_t order = 0;
  std::uint32_t saved = 0;  // copies that are on disk now and were not before
  std::vector<std::string> errors;
  bool saving = false;  // it goes on: SavingOver follows
  template <class V>
  void fields(V& v) {
    v(1, "made_in", made_in);
    v(2, "order", order);
    v(3, "saved", saved);
    v(4, "errors", errors);
    v(5, "saving", saving);
  }
};

// What was said to be saved still, by WorkersGone or HeldCopiesSaved, has ended.
struct SavingOver {
  base::Attempt made_in;  // as HeldCopiesSaved
  std::uint64_t order = 0;  // as there; 0: copies of the node's own workers
  template <class V>
  void fields(V& v) {
    v(1, "made_in", made_in);
    v(2, "order", order);
  }
};

struct KeptCopy {
  base::Rank rank;
  bool here = false;  // a complete copy in the memory of its own node
  bool at_peer = false;  // in that of its keeper
  std::uint64_t step = 0;
  bool operator==(const KeptCopy&) const = default;
  template <class V>
  void fields(V& v) {
    v(1, "rank", rank);
    v(2, "here", here);
    v(3, "at_peer", at_peer);
    v(4, "step", step);
  }
};

// What the ranks of a node have; of the others the last word counts.
struct CopiesKept {
  base::Attempt attempt;
  std::vector<KeptCopy> copies;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "copies", copies);
  }
};

}  // namespace robustrun::supervisor
