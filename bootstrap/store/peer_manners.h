#pragma once
// What a node has learnt of its peers: how long a block usually takes, and who failed lately and is
// not asked for a while. Pure; bounded by the nodes of the run.

#include <map>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::bootstrap {

class PeerManners {
 public:
  // A block came, so long after it was asked for.
  void note_block(base::NodeId node, base::Nanos took);
  // It was silent for longer than others take: so often in a row that counts as a failure.
  void note_late(base::NodeId node, base::Nanos now);
  void note_failure(base::NodeId node, base::Nanos now);
  [[nodiscard]] bool is_out(base::NodeId node, base::Nanos now) const;
  // How long nothing need be heard before another one is asked as well.
  [[nodiscard]] base::Nanos patience() const;

 private:
  struct Failures {
    base::Nanos out_for{};
    base::Nanos until{};
    int late = 0;
  };
  base::Nanos usual_{};  // 0: nothing is known
  std::map<base::NodeId, Failures> failures_;
};

}  // namespace robustrun::bootstrap
