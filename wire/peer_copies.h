#pragma once
// Copies of workers' states in the memory of another node (agent/peer_copies.h): who keeps whose,
// and the order to save those of a node that is lost. The bytes go from agent to agent, over
// connections of their own (wire/bulk_door.h).
//
// An agent that offers an address for them (Hello::bulk) knows the orders; a supervisor that gives
// one knows the reports.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/ids.h"

namespace robustrun::wire {

struct CopyRoute {
  base::Rank rank;
  base::NodeId node;  // the other one
  base::Generation generation;
  std::string endpoint;  // its Hello::bulk
  template <class V>
  void fields(V& v) {
    v(1, "rank", rank);
    v(2, "node", node);
    v(3, "generation", generation);
    v(4, "endpoint", endpoint);
  }
};

// Supervisor to agent, before StartWorkers of the attempt, and again when anything of it changes:
// each stands for all before. What is in no list any more is given back with StartWorkers.
struct PlaceCopies {
  base::Attempt attempt;
  std::vector<CopyRoute> send;   // where copies of this node's ranks go
  std::vector<CopyRoute> hold;   // of which ranks copies are taken and kept, and from whom
  std::vector<CopyRoute> fetch;  // ranks of this node whose newest copy another node has
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "send", send);
    v(3, "hold", hold);
    v(4, "fetch", fetch);
  }
};

// Supervisor to agent: save the copies that you hold of these ranks in their names; their node is
// lost. Answered by HeldCopiesSaved.
struct SaveHeldCopies {
  base::Attempt attempt;  // whose workers made them
  std::uint64_t order = 0;
  std::vector<base::Rank> ranks;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "order", order);
    v(3, "ranks", ranks);
  }
};

struct HeldCopiesSaved {
  base::Attempt attempt;
  std::uint64_t order = 0;
  std::uint32_t saved = 0;          // copies that are on disk now and were not before
  std::vector<std::string> errors;  // for the log
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "order", order);
    v(3, "saved", saved);
    v(4, "errors", errors);
  }
};

struct KeptCopy {
  base::Rank rank;
  bool here = false;       // a complete copy in this node's memory
  bool at_peer = false;    // one, perhaps of an older step, in its peer's
  std::uint64_t step = 0;  // of the newest complete one here; without `here` of that at the peer
  template <class V>
  void fields(V& v) {
    v(1, "rank", rank);
    v(2, "here", here);
    v(3, "at_peer", at_peer);
    v(4, "step", step);
  }
};

// Agent to supervisor: what its own ranks have. At once when `here` or `at_peer` of one changes,
// else at most once a second; nothing of ranks that have never copied anything.
struct CopiesKept {
  base::Attempt attempt;
  std::vector<KeptCopy> copies;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "copies", copies);
  }
};

}  // namespace robustrun::wire
