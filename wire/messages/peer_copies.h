#pragma once
// Copies of workers' states in the memory of another node (agent/copies/peer_copies.h): who keeps
// whose, and the order to save those of a node that is lost. The bytes go from agent to agent, over
// connections of their own (wire/bulk/bulk_listener.h).
//
// An agent that offers an address for them (Hello::bulk) knows the orders; a supervisor that gives
// one knows the reports.

#include <cstdint>
#include <optional>
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

struct HeldCopiesSaved {
  base::Attempt attempt;
  std::uint64_t order = 0;
  std::uint32_t saved = 0;  // copies that are on disk now and were not before
  std::vector<std::string> errors;  // for the log
  bool saving = false;  // it goes on: SavingOver follows
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "order", order);
    v(3, "saved", saved);
    v(4, "errors", errors);
    v(5, "saving", saving);
  }
};

// Agent to supervisor, if its template says `overlap_saves`: what WorkersGone or HeldCopiesSaved
// said to go on has ended, or is not waited for any more. Said again on every connection.
struct SavingOver {
  base::Attempt attempt;  // as there: whose workers made the copies
  std::uint64_t order = 0;  // as SaveHeldCopies; 0: copies of the node's own workers
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "order", order);
  }
};

// What a rank does in rounds (CopyRound); what is said is of the last round that it was told.
struct RoundPart {
  enum class Stage : std::uint32_t {
    kReady = 1,  // it can hold copies, and has made some in this attempt
    kHeld = 2,  // it holds the one of `step`
    kKept = 3,  // which is at the peer, too
    kRefused = 4,  // for which the peer has no room
  };
  Stage stage = Stage::kReady;
  std::uint64_t round = 0;  // 0: none
  std::uint64_t step = 0;
  bool operator==(const RoundPart&) const = default;
  template <class V>
  void fields(V& v) {
    v(1, "stage", stage);
    v(2, "round", round);
    v(3, "step", step);
  }
};

struct KeptCopy {
  base::Rank rank;
  bool here = false;  // a complete copy in this node's memory
  bool at_peer = false;  // one, perhaps of an older step, in its peer's
  std::uint64_t step = 0;  // of the newest complete one here; without `here` of that at the peer
  std::optional<RoundPart> part{};  // none: an older agent, or there is no memory to hold copies
  template <class V>
  void fields(V& v) {
    v(1, "rank", rank);
    v(2, "here", here);
    v(3, "at_peer", at_peer);
    v(4, "step", step);
    v(5, "part", part);
  }
};

// Agent to supervisor: what its own ranks have. At once when anything but `step` of one changes,
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
