#pragma once
// Orders about copies of workers' states in the memory of another node
// (agent/copies/peer_copies.h): which node keeps which copies, and the saving of a lost node's
// copies. The copies themselves go from agent to agent over other connections
// (wire/bulk/bulk_listener.h).
//
// An agent that offers an address for copies (Hello::bulk) knows these orders. A supervisor that
// sends such an address knows the reports about copies.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/core/ids.h"
#include "wire/messages/facts.h"

namespace robustrun::wire {

// Supervisor to agent, before StartWorkers of the attempt and at every change. Each order replaces
// the previous one. Copies of ranks that are no longer in `hold` are released a minute after
// StartWorkers.
struct PlaceCopies {
  base::Attempt attempt;
  std::vector<CopyRoute> send;  // where copies of this node's ranks go
  // The ranks whose copies this node accepts and keeps, and the ranks' nodes.
  std::vector<CopyRoute> hold;
  std::vector<CopyRoute> fetch;  // where ranks of this node get their newest copy from
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

// Supervisor to agent: save the copies that you hold of these ranks, because the ranks' node is
// lost. Answered by HeldCopiesSaved.
struct SaveHeldCopies {
  base::Attempt attempt;  // the attempt whose workers made the copies
  std::uint64_t order = 0;
  std::vector<base::Rank> ranks;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "order", order);
    v(3, "ranks", ranks);
  }
};

// Supervisor to every agent of the attempt, once all ranks are ready: each rank holds its first
// copy of step `from_step` or later, and its agent sends that copy to the keeper even if newer
// copies exist. A rank then holds at most two rounds' copies: that of `round`, and that of
// `complete`. Copies of other rounds are released.
struct CopyRound {
  base::Attempt attempt;
  std::uint64_t round = 0;  // never 0, and never reused in a run
  std::uint64_t from_step = 0;
  std::uint64_t complete = 0;  // the last round whose copies are all at the keepers; 0: unknown
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "round", round);
    v(3, "from_step", from_step);
    v(4, "complete", complete);
  }
};

}  // namespace robustrun::wire
