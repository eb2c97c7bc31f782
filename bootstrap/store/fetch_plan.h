#pragma once
// The fetch of one block from peers: decides which peer to ask and when to ask another one. Pure.
//
// The first peer is asked at once. A peer that is itself fetching the block sends signs of life. If
// no asked peer was heard from within the patience, the next peer is asked as well (a hedged
// request; Dean and Barroso, CACM 56(2), 2013), at most kAskedAtOnceMax at a time. When no peer is
// left and all have ended or been given up, the fetch is over, and the caller reads the block from
// the storage.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::bootstrap {

class FetchPlan {
 public:
  // `sources`: the peers in the order to ask. `patience`: PeerLatency::patience().
  FetchPlan(std::vector<base::NodeId> sources, base::Nanos patience)
      : sources_(std::move(sources)), patience_(patience) {}

  struct Step {
    std::optional<base::NodeId> ask;  // peer to ask now
    // Peers that are given up because they were silent for kSilentPeerMax or had no block after
    // kSlowPeerMax; their connections can be closed.
    std::vector<base::NodeId> dropped;
    // Peers that were silent for the patience; each is named once.
    std::vector<base::NodeId> late;
    bool is_over = false;  // no peer is left that could have it
    base::Nanos look_at{};  // call next() again by then
  };
  // Call this at the beginning, after each on_…() call, and at the time `look_at` of the last step.
  [[nodiscard]] Step next(base::Nanos now);

  // The peer accepted the connection, which counts as hearing from it.
  void on_life(base::NodeId node, base::Nanos now);
  // The peer sent a sign of life: the block is on its way here or to the peer.
  void on_sign(base::NodeId node, base::Nanos now);
  // The peer does not have the block, or failed.
  void on_end(base::NodeId node);

 private:
  struct Asked {
    base::NodeId node;
    base::Nanos since{};
    base::Nanos heard_at{};
    bool was_late = false;
  };
  std::vector<base::NodeId> sources_;
  std::size_t next_ = 0;
  std::vector<Asked> asked_;
  base::Nanos patience_;
};

}  // namespace robustrun::bootstrap
