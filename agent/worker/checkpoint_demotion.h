#pragma once
// Demotes a checkpoint by order of the supervisor: puts a mark beside it, so that no attempt starts
// from it again (checkpoint/store/retention.h). Used on the agent's loop; the disk is touched on a
// thread of its own, because a directory may hang.
//
// Whatever the order says, only the mark of an existing, committed checkpoint is written.

#include <memory>

#include "agent/node/node_context.h"
#include "base/core/result.h"
#include "base/io/blocking_pool.h"

namespace robustrun::agent {

class CheckpointDemotion {
 public:
  explicit CheckpointDemotion(NodeContext& node);
  // Answered by CheckpointDemoted, unless this object is destroyed before.
  void demote(wire::DemoteCheckpoint order);

 private:
  NodeContext& node_;
  base::BlockingPool pool_;
  std::shared_ptr<bool> alive_;  // tells late answers that this object is gone
};

// The blocking part; any thread. kNotFound: no directory has such a committed checkpoint.
[[nodiscard]] base::Status set_aside(const wire::DemoteCheckpoint& order);

}  // namespace robustrun::agent
