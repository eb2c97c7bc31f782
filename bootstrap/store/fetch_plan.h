#pragma once
// The fetch of one block from peers: decides which peer to ask and when to ask another one. Pure.
//
// The first source is asked at once. A peer that is itself fetching the block sends signs of life;
// as long as one of the asked peers was heard from recently, no other is asked. Otherwise the next
// one is asked as well (a hedged request; Dean and Barroso, CACM 56(2), 2013), at most
// kAskedAtOnceMax at a time. When no source is left and all have ended or been given up, the fetch
// is over, and the caller reads the block from the storage.

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
    // Peers that were silent or slow too long and are given up; their connections can be closed.
    std::vector<base::NodeId> dropped;
    // Peers that were silent so long that another one is asked.
    std::vector<base::NodeId> late;
    bool is_over = false;  // no peer is left that could have it
    base::Nanos look_at{};  // call next() again by then
  };
  // Call this at the beginning, after each event, and at the time returned last.
  [[nodiscard]] Step next(base::Nanos now);

  // The peer accepted the connection.
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
