#pragma once
// Copies of workers' states in the memory of another node (agent/copies/peer_copies.h): who keeps
// whose, and the order to save those of a node that is lost. The bytes go from agent to agent, over
// connections of their own (wire/bulk/bulk_listener.h).
//
// An agent that offers an address for them (Hello::bulk) knows the orders; a supervisor that gives
// one knows the reports.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/core/ids.h"
#include "wire/messages/facts.h"

namespace robustrun::wire {

// Supervisor to agent, before StartWorkers of the attempt, and again when anything of it changes:
// each stands for all before. What is in no list any more is given back with StartWorkers.
struct PlaceCopies {
  base::Attempt attempt;
  std::vector<CopyRoute> send;  // where copies of this node's ranks go
  std::vector<CopyRoute> hold;  // of which ranks copies are taken and kept, and from whom
  std::vector<CopyRoute> fetch;  // ranks of this node whose newest copy another node has
  std::optional<std::uint64_t>
      rate{};  // bytes/s that this node sends at most; none: its own default
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "send", send);
    v(3, "hold", hold);
    v(4, "fetch", fetch);
    v(5, "rate", rate);
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

// Supervisor to every agent of the attempt, once all its ranks have said that they can: each rank
// holds its first copy of `from_step` or later, and its agent sends that one, whatever newer ones
// there are. The copy of the round before is let go, unless that round is `complete`: then it is
// held instead of the one that was complete before it.
struct CopyRound {
  base::Attempt attempt;
  std::uint64_t round = 0;  // never 0, and never used again in a run
  std::uint64_t from_step = 0;
  std::uint64_t complete = 0;  // the last round whose copies are all at the peers; 0: not known
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "round", round);
    v(3, "from_step", from_step);
    v(4, "complete", complete);
  }
};

}  // namespace robustrun::wire
