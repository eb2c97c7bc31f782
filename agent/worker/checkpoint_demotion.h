#pragma once
// Sets a checkpoint aside by order of the supervisor: a mark beside it, so that nobody starts from
// it again (checkpoint/store/retention.h). On the agent's loop; the disk is touched on a thread of
// its own, because a directory may hang.
//
// Whatever the order says, nothing is written but the mark of an attempt that is there and was
// committed.

#include <memory>

#include "agent/node/node_context.h"
#include "base/core/result.h"
#include "base/io/blocking_pool.h"

namespace robustrun::agent {

class CheckpointDemotion {
 public:
  explicit CheckpointDemotion(NodeContext& node);
  // Answered by CheckpointDemoted, unless this is gone by then.
  void demote(wire::DemoteCheckpoint order);

 private:
  NodeContext& node_;
  base::BlockingPool pool_;
  std::shared_ptr<bool> alive_;  // for answers that come too late
};

// On any thread. kNotFound: none of the directories has such a committed attempt.
[[nodiscard]] base::Status set_aside(const wire::DemoteCheckpoint& order);

}  // namespace robustrun::agent
