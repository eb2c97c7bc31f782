#pragma once
// Demotes a checkpoint by order of the supervisor: writes a mark beside it, so that no attempt
// starts from it again (checkpoint/store/retention.h). Marks only existing, committed checkpoints,
// whatever the order says. Used on the agent's loop; reads and writes the disk on its own thread,
// because a directory may hang.

#include <memory>

#include "agent/node/node_context.h"
#include "base/core/result.h"
#include "base/io/blocking_pool.h"

namespace robustrun::agent {

class CheckpointDemotion {
 public:
  explicit CheckpointDemotion(NodeContext& node);
  // Sends CheckpointDemoted as the answer, unless this object is destroyed before.
  void demote(wire::DemoteCheckpoint order);

 private:
  NodeContext& node_;
  base::BlockingPool pool_;
  std::shared_ptr<bool> alive_;  // tells late answers that this object is gone
};

// The blocking part of demote(); any thread. kNotFound: no directory has such a committed
// checkpoint.
[[nodiscard]] base::Status set_aside(const wire::DemoteCheckpoint& order);

}  // namespace robustrun::agent
