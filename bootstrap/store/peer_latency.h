#pragma once
// Tracks how long peers take for a block and backs off from failing ones. Pure; its size is bounded
// by the number of nodes.

#include <map>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::bootstrap {

class PeerLatency {
 public:
  // `node` delivered a block, `took` after the request.
  void note_block(base::NodeId node, base::Nanos took);
  // `node` was slower than usual. Every kLatesAreFailure such calls in a row count as a failure.
  void note_late(base::NodeId node, base::Nanos now);
  void note_failure(base::NodeId node, base::Nanos now);
  // Whether `node` failed recently and should not be asked now.
  [[nodiscard]] bool is_out(base::NodeId node, base::Nanos now) const;
  // How long a peer may be silent before another one is asked as well.
  [[nodiscard]] base::Nanos patience() const;

 private:
  struct Failures {
    base::Nanos out_for{};
    base::Nanos until{};
    int late = 0;
  };
  base::Nanos usual_{};  // 0: unknown
  std::map<base::NodeId, Failures> failures_;
};

}  // namespace robustrun::bootstrap
